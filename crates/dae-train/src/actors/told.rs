//! What there is to tell of committed steps, gathered for a few milliseconds.

use super::{Committed, Keep, Kept, Pace, Recorder, Skipped, StepRecord};
use crate::centre::Taken;
use dae_actor::{ActorRef, TellError};
use std::time::{Duration, Instant};

/// How often committed steps are told.
const TELL_EVERY: Duration = Duration::from_millis(50);
/// Steps at the start that a pace leaves out.
const WARM_UP: u64 = 10;

/// Gathers committed steps for the recorder: a message per step would cost more than some steps.
pub(super) struct Told {
    /// Whom to tell, if there is anybody.
    recorder: Option<ActorRef<Recorder>>,
    steps: Vec<StepRecord>,
    slowest: Vec<u64>,
    skipped: Vec<Skipped>,
    taken: Vec<Taken>,
    last: Instant,
    /// Steps and time since the start, the first few steps left out: they pay for what later ones find ready.
    warm: u64,
    since: Option<Instant>,
    counted: u64,
    latest: Instant,
}

impl Told {
    /// Of a run of so many workers, after `first` steps.
    pub(super) fn new(recorder: Option<ActorRef<Recorder>>, workers: usize, first: u64) -> Self {
        let (slowest, now) = (vec![0; workers], Instant::now());
        let warm = first + WARM_UP;
        let (since, counted) = (None, 0);
        let (steps, skipped, taken) = (vec![], vec![], vec![]);
        Self { recorder, steps, slowest, skipped, taken, last: now, warm, since, counted, latest: now }
    }

    /// One more step, of this weight, for which all waited for that rank.
    pub(super) fn step(&mut self, record: StepRecord, weight: f64, slowest: usize) {
        if self.recorder.is_none() {
            return;
        }
        self.latest = Instant::now();
        match self.since {
            None if record.step >= self.warm => self.since = Some(self.latest),
            None => {}
            Some(_) => self.counted += weight as u64,
        }
        self.slowest[slowest] += 1;
        self.steps.push(record);
        if self.latest - self.last >= TELL_EVERY && !self.behind() {
            self.rest();
        }
    }

    /// The step told next was skipped, if it was.
    pub(super) fn skipped(&mut self, skipped: Option<Skipped>) {
        if self.recorder.is_some() {
            self.skipped.extend(skipped);
        }
    }

    /// What a join has taken up; told with the next steps.
    pub(super) fn taken(&mut self, taken: Vec<Taken>) {
        self.taken.extend(taken);
    }

    /// Whether the recorder is still at an earlier lot, perhaps since a listener is slow. Then steps are gathered: a
    /// backlog of lots would have to be worked off, listener by listener, before the run could end.
    fn behind(&self) -> bool {
        self.recorder.as_ref().is_some_and(|r| r.status().depth() > 0)
    }

    /// How fast it went.
    pub(super) fn pace(&self) -> Option<Pace> {
        let seconds = (self.latest - self.since?).as_secs_f64();
        (self.counted > 0).then_some(Pace { samples: self.counted, seconds })
    }

    /// Tells what was gathered. A recorder that cannot keep up gets it with the next lot; the lots are bounded by the
    /// steps of the run.
    pub(super) fn rest(&mut self) {
        let Some(recorder) = &self.recorder else { return };
        self.last = self.latest;
        if self.steps.is_empty() && self.taken.is_empty() {
            return;
        }
        let none = vec![0; self.slowest.len()];
        let slowest = std::mem::replace(&mut self.slowest, none);
        let (steps, skipped) = (std::mem::take(&mut self.steps), std::mem::take(&mut self.skipped));
        let taken = std::mem::take(&mut self.taken);
        if let Err(TellError::Full(lot)) = recorder.tell(Committed { steps, slowest, skipped, taken }) {
            (self.steps, self.slowest) = (lot.steps, lot.slowest);
            (self.skipped, self.taken) = (lot.skipped, lot.taken);
        }
    }

    /// A state that is whole goes to the checkpointer.
    pub(super) fn keep(&mut self, kept: Option<Kept>, step: u64, loss: Option<f64>) {
        self.rest();
        let Some(recorder) = &self.recorder else { return };
        let Some(kept) = kept else {
            return tracing::warn!(step, "no checkpoint: not every worker had room for its part of the copy");
        };
        // A recorder that has gone, or is behind, costs a checkpoint and no step.
        if let Err(e) = recorder.tell(Keep { kept, loss }) {
            tracing::warn!(step, cause = %e, "no checkpoint");
        }
    }

    /// Whether anybody is told.
    pub(super) fn anybody(&self) -> bool {
        self.recorder.is_some()
    }

    /// A checkpoint is left out.
    pub(super) fn no_room(&self, step: u64) {
        if self.anybody() {
            tracing::warn!(
                step,
                "no checkpoint: the one before is still being written; raise checkpoint.every"
            );
        }
    }
}

impl Drop for Told {
    /// However it ends, by a panic too, what was committed is told.
    fn drop(&mut self) {
        self.rest();
        if !self.steps.is_empty() {
            tracing::error!(
                steps = self.steps.len(),
                "the recorder is full: committed steps miss from its log"
            );
        }
    }
}
