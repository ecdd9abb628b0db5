//! Which samples are whose: a pure function of step, rank and micro-batch.

use std::ops::Range;

use crate::gradient::GItem;
use crate::model::MItem;
use crate::word::Word;

/// Step s covers the positions from s G to (s + 1) G, cut into grains of `batch`; rank r owns the `accum` grains from
/// r accum on. All replicas of the word are ranks, the innermost item's children next to each other; stages of a
/// pipeline and parts of a layer share what is dealt to one rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deal {
    pub(super) workers: u64,
    pub(super) accum: u64,
    pub(super) batch: u64,
    /// Where the word takes over, and where the run ends.
    pub(super) positions: (u64, u64),
}

impl Deal {
    pub(super) fn new(word: &Word, batch: u64, positions: (u64, u64)) -> Self {
        let splits = word.gradient().iter().map(|item| match item {
            GItem::Split(split) => u64::from(split.n),
            _ => 1,
        });
        let children = word.model().iter().map(MItem::children).map(u64::from);
        let workers = splits.chain(children).product();
        Self { workers, accum: word.accum().into(), batch, positions }
    }

    /// The positions of one micro-batch; short or empty where the data end.
    pub(super) fn grain(&self, step: u64, rank: u64, micro: u64) -> Range<u64> {
        let (first, total) = self.positions;
        let index = rank.saturating_mul(self.accum).saturating_add(micro);
        let start = first
            .saturating_add(step.saturating_mul(self.step()))
            .saturating_add(index.saturating_mul(self.batch));
        let end = start.saturating_add(self.batch);
        let grain = start.min(total)..end.min(total);
        if mutated!(DroppedTail) && grain.end - grain.start < self.batch { 0..0 } else { grain }
    }

    /// The position that so many steps end at.
    pub(super) fn after(&self, steps: u64) -> u64 {
        let (first, total) = self.positions;
        first.saturating_add(steps.saturating_mul(self.step())).min(total)
    }

    fn step(&self) -> u64 {
        self.workers.saturating_mul(self.accum).saturating_mul(self.batch)
    }
}
