//! How stale contributions were, and how long children waited.

use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

/// What is counted of a join or a gossip while it runs, since the process began.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Tally {
    /// One entry a child.
    pub children: Vec<ChildTally>,
}

/// What is counted of one child.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ChildTally {
    /// For each staleness, the updates between pull and push, how many contributions had it.
    pub staleness: BTreeMap<u64, u64>,
    /// Contributions that came too late, and counted for nothing.
    pub dropped: u64,
    /// How long it waited between a push and the pull that followed, in seconds.
    pub waited_s: f64,
}

impl Tally {
    /// Of so many children.
    pub fn new(children: usize) -> Self {
        Self { children: vec![ChildTally::default(); children] }
    }

    /// A contribution has gone into an update.
    pub fn applied(&mut self, child: usize, staleness: u64) {
        if let Some(child) = self.children.get_mut(child) {
            *child.staleness.entry(staleness).or_default() += 1;
        }
    }

    /// A contribution was dropped.
    pub fn dropped(&mut self, child: usize) {
        if let Some(child) = self.children.get_mut(child) {
            child.dropped += 1;
        }
    }

    /// A child has waited.
    pub fn waited(&mut self, child: usize, time: Duration) {
        if let Some(child) = self.children.get_mut(child) {
            child.waited_s += time.as_secs_f64();
        }
    }
}
