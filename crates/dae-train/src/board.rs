//! Where a run's progress can be read at any time, without a message.

use crate::actors::Committed;
use std::sync::{Mutex, PoisonError};

/// A run's progress, posted by the recorder and read by whoever shows it.
#[derive(Debug, Default)]
pub struct Board(Mutex<Progress>);

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// Committed steps.
    pub step: u64,
    /// The mean loss of the latest committed steps, smoothed over about twenty.
    pub loss: Option<f64>,
    /// Samples consumed since the run began.
    pub samples: u64,
    /// How often each rank was the slowest to compute.
    pub slowest: Vec<u64>,
    /// Steps that changed nothing, since numbers in them were not finite.
    pub skipped: u64,
}

impl Board {
    /// Adds committed steps.
    pub fn post(&self, committed: &Committed) {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for record in &committed.steps {
            progress.step = record.step;
            progress.samples = record.samples;
            // A step that was skipped may have none.
            if record.loss.is_finite() {
                progress.loss = Some(progress.loss.map_or(record.loss, |l| l + (record.loss - l) / 20.0));
            }
        }
        progress.skipped += committed.skipped.len() as u64;
        progress.slowest.resize(committed.slowest.len(), 0);
        for (sum, n) in progress.slowest.iter_mut().zip(&committed.slowest) {
            *sum += n;
        }
    }

    /// The progress as of now.
    pub fn read(&self) -> Progress {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
