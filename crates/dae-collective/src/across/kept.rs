//! What lossy links keep back: taken back with a sum that nobody applied, brought together for a checkpoint, set again.

use super::{Across, Way, tag};
use crate::{Broken, Incoming, Outgoing, Phase};

impl Across {
    /// From now on keeps what it takes to take a sum back.
    pub(crate) fn revocable(&mut self) {
        self.before = self.residuals().map(|now| now.map(|now| now.to_vec()));
    }

    /// A sum begins.
    pub(super) fn remember(&mut self) {
        if let Some(mut before) = self.before.take() {
            for (before, now) in before.iter_mut().zip(self.residuals().into_iter().flatten()) {
                before.copy_from_slice(now);
            }
            self.before = Some(before);
        }
    }

    /// Nobody applied what came together: what was kept back before is again what there is to send.
    pub(crate) fn take_back(&mut self) {
        if let Some(before) = self.before.take() {
            for (before, now) in before.iter().zip(self.residuals().into_iter().flatten()) {
                now.copy_from_slice(before);
            }
            self.before = Some(before);
        }
    }

    /// Whether this is the first node, which keeps the checkpoints.
    pub(crate) fn is_first(&self) -> bool {
        self.peers.node() == 0
    }

    /// Brings what each node keeps back of this slice to the first, into a place for each; in low rank, one more is for
    /// the thin matrices, which all nodes have alike. All nodes come or none. Without places the first takes it, and it is
    /// lost.
    pub(crate) fn gather(&mut self, step: u64, places: Option<Vec<&mut [f32]>>) -> Result<(), Broken> {
        let (nodes, len) = (self.peers.nodes(), self.reduced.len());
        if len == 0 {
            // Where there are fewer numbers than ranks: nobody sends nothing, for the first may have no place for it.
            return Ok(());
        }
        let mut mine = vec![0.0; len];
        match &self.way {
            Way::Plain { .. } => return Ok(()),
            Way::Coded(coded) => coded.save(&mut mine),
            Way::LowRank(low_rank) => mine.copy_from_slice(low_rank.kept()),
        }
        let mut out = vec![None; nodes];
        let mut into: Vec<_> = (0..nodes).map(|_| None).collect();
        if !self.is_first() {
            out[0] = Some(Outgoing::numbers(&mine));
            return self.peers.exchange(tag(step, Phase::Kept), &out, &mut into);
        }
        let mut lost = if places.is_none() { vec![0.0; nodes * len] } else { vec![] };
        let mut places = places.unwrap_or_else(|| lost.chunks_mut(len).collect()).into_iter();
        if let Some(own) = places.next() {
            own.copy_from_slice(&mine);
        }
        for (into, place) in into[1..].iter_mut().zip(&mut places) {
            *into = Some(Incoming::numbers(place));
        }
        if let (Some(thin), Way::LowRank(low_rank)) = (places.next(), &self.way) {
            low_rank.save_thin(thin);
        }
        self.peers.exchange(tag(step, Phase::Kept), &out, &mut into)
    }

    /// Sets what this node keeps back of its slice, and in low rank the thin matrices, as [`Across::gather`] brought them
    /// together.
    pub(crate) fn keep_back(&mut self, kept: &[f32], thin: &[f32]) {
        match &mut self.way {
            Way::Plain { .. } => {}
            Way::Coded(coded) => coded.restore(kept),
            Way::LowRank(low_rank) => low_rank.restore(kept, thin),
        }
    }
}
