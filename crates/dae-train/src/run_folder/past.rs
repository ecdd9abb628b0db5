//! What a run has left behind, read by somebody else.

use super::DiskError;
use super::event::for_each_line;
use serde::Deserialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Steps that are held of one run; of longer ones every second, fourth and so on.
const MOST_STEPS: usize = 1 << 20;
/// A summary is no larger, in bytes.
const MAX_SUMMARY: u64 = 1 << 20;

/// What a run has left in its folder so far. It is read without its lock, so the run may still be going.
#[derive(Debug, Clone)]
pub struct Past {
    /// The schedule word it began with.
    pub word: String,
    /// Its steps, by rising number; of a very long run only some.
    pub steps: Vec<PastStep>,
    /// Samples a second, once it has ended.
    pub samples_per_s: Option<f64>,
}

/// A committed step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PastStep {
    /// Committed steps, this one included.
    pub step: u64,
    /// The mean training loss of its samples; NaN if it was not finite.
    pub loss: f64,
    /// Samples consumed since the run began.
    pub samples: u64,
}

/// Why there is nothing to be read of a run.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// There is no such folder.
    #[error("there is no folder {}; name one that a run has written to, such as runs/NAME", .0.display())]
    Missing(PathBuf),
    /// Nobody has run in it.
    #[error("{} holds no run: there is no events.ndjson in it; name the folder of a run, such as runs/NAME", .0.display())]
    NoRun(PathBuf),
    /// It has no step yet.
    #[error("the run in {} has made no step yet; wait for one, or leave it out", .0.display())]
    NoStep(PathBuf),
}

impl Past {
    /// Reads a run folder.
    ///
    /// # Errors
    /// If it is none, if no step has been made, or if the disk refuses.
    pub fn read(folder: &Path) -> Result<Self, PastError> {
        let events = folder.join("events.ndjson");
        if !folder.is_dir() {
            return Err(PastError::Missing(folder.to_owned()));
        }
        if !events.is_file() {
            return Err(PastError::NoRun(folder.to_owned()));
        }
        let mut word = String::new();
        let mut steps = Steps::default();
        for_each_line(&events, |line, _| {
            match (line.kind.as_str(), line.word, line.step, line.samples) {
                ("started", Some(begun), ..) => word = begun,
                ("step", _, Some(step), Some(samples)) => {
                    steps.push(PastStep { step, loss: line.loss.unwrap_or(f64::NAN), samples });
                }
                _ => {}
            }
            Ok(())
        })?;
        if steps.kept.is_empty() {
            return Err(PastError::NoStep(folder.to_owned()));
        }
        Ok(Self { word, steps: steps.kept, samples_per_s: pace(&folder.join("summary.json")) })
    }
}

/// Steps as they are read, every `stride`-th of them.
struct Steps {
    kept: Vec<PastStep>,
    stride: u64,
    seen: u64,
}

impl Default for Steps {
    fn default() -> Self {
        Self { kept: Vec::new(), stride: 1, seen: 0 }
    }
}

impl Steps {
    fn push(&mut self, step: PastStep) {
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == MOST_STEPS {
                let mut even = false;
                self.kept.retain(|_| {
                    even = !even;
                    even
                });
                self.stride *= 2;
            }
            self.kept.push(step);
        }
        self.seen += 1;
    }
}

/// Samples a second, if a summary says so.
fn pace(summary: &Path) -> Option<f64> {
    #[derive(Deserialize)]
    struct Summary {
        samples_per_s: Option<f64>,
    }
    let mut text = String::new();
    File::open(summary).ok()?.take(MAX_SUMMARY).read_to_string(&mut text).ok()?;
    let summary: Summary = serde_json::from_str(&text).ok()?;
    summary.samples_per_s.filter(|pace| pace.is_finite() && *pace > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::{Event, EventLog};
    use std::fs;

    fn started() -> Event {
        let (word, fingerprint) = ("step adam(1e-3)".to_owned(), "f".to_owned());
        Event::Started { word, seed: 0, fingerprint, parameters: 1, workers: 1 }
    }

    #[test]
    fn a_run_is_read_as_far_as_it_has_come() {
        let folder = tempfile::tempdir().unwrap();
        let read = || Past::read(folder.path());
        assert!(matches!(read(), Err(PastError::NoRun(_))));
        let mut log = EventLog::create(&folder.path().join("events.ndjson")).unwrap();
        log.append(&started()).unwrap();
        log.flush().unwrap();
        assert!(matches!(read(), Err(PastError::NoStep(_))));
        log.append(&Event::Step { step: 1, loss: 0.5, samples: 32, lr: 0.1 }).unwrap();
        log.append(&Event::Step { step: 2, loss: f64::INFINITY, samples: 64, lr: 0.1 }).unwrap();
        log.flush().unwrap();
        let past = read().unwrap();
        assert_eq!((past.word.as_str(), past.samples_per_s), ("step adam(1e-3)", None));
        assert_eq!(past.steps[0], PastStep { step: 1, loss: 0.5, samples: 32 });
        assert!(past.steps.len() == 2 && past.steps[1].loss.is_nan());
        for (text, pace) in
            [("{\"samples_per_s\": 7.5}", Some(7.5)), ("{\"samples_per_s\": null}", None), ("[", None)]
        {
            fs::write(folder.path().join("summary.json"), text).unwrap();
            assert_eq!(read().unwrap().samples_per_s, pace, "{text}");
        }
    }

    #[test]
    fn what_is_no_run_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let error = Past::read(&folder.path().join("nowhere")).unwrap_err().to_string();
        assert!(error.contains("there is no folder") && error.contains("nowhere"), "{error}");
        fs::write(folder.path().join("events.ndjson"), "\0\n{\"type\":\"step\"}\n").unwrap();
        let error = Past::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("has made no step yet"), "{error}");
    }

    #[test]
    fn a_long_run_is_held_in_little_room() {
        let mut steps = Steps::default();
        let many = 3 * MOST_STEPS as u64;
        for step in 0..many {
            steps.push(PastStep { step, loss: 0.0, samples: step });
        }
        assert!(steps.kept.len() <= MOST_STEPS && steps.kept.len() > MOST_STEPS / 2);
        assert!(steps.kept.iter().enumerate().all(|(i, s)| s.step == i as u64 * steps.stride));
    }
}
