//! A sum over nodes in which matrices travel as products of two thin ones.
//!
//! | module | what it holds |
//! |---|---|
//! | `thin` | products with thin matrices, and columns at right angles |
mod thin;

use crate::element::add;
use crate::perform::{Heads, perform, perform_with};
use crate::{Broken, Peers, Plan, Tag};
use std::ops::Range;

/// A matrix in the flat vector, row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Its first element.
    pub start: usize,
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub cols: usize,
}

impl Matrix {
    /// The whole rows of it that lie in a stretch of the vector, as a matrix of that stretch, if it becomes smaller as a
    /// product of this rank.
    fn within(self, stretch: &Range<usize>, rank: usize) -> Option<Self> {
        let Self { start, rows, cols } = self;
        if cols == 0 {
            return None;
        }
        let first = stretch.start.saturating_sub(start).div_ceil(cols);
        let end = (stretch.end.saturating_sub(start) / cols).min(rows);
        let rows = end.checked_sub(first)?;
        let smaller = rank * (rows + cols) < rows * cols;
        smaller.then(|| Self { start: start + first * cols - stretch.start, rows, cols })
    }

    fn range(self) -> Range<usize> {
        self.start..self.start + self.rows * self.cols
    }
}

/// An all-reduce in low rank, by any algorithm: thin matrices are linear in what they stand for, so they can be added.
///
/// Every matrix M is multiplied by a thin Q that all nodes have; the sum P of those products over all nodes is put at
/// right angles, and the sum of the transposed M times P is the next Q. P times that, transposed, is the sum of all M as
/// far as that rank goes. What a node's own M has beside is kept and added to it the next time. What is in no matrix
/// travels as it is, with the P.
///
/// Vogels, Karimireddy, Jaggi, "PowerSGD: practical low-rank gradient compression for distributed optimization", 2019.
pub(crate) struct LowRank {
    rank: usize,
    matrices: Vec<Matrix>,
    /// What is in no matrix.
    rest: Vec<Range<usize>>,
    plans: [Plan; 2],
    /// All P, then the rest.
    left: Vec<f32>,
    /// All Q.
    right: Vec<f32>,
    /// What is kept of each number.
    kept: Vec<f32>,
    /// A node's own Q, before it is summed.
    own: Vec<f32>,
    room: Vec<f32>,
}

impl LowRank {
    /// For the stretch of the vector that is this slice's.
    ///
    /// # Panics
    /// If the rank is 0, or matrices overlap.
    pub(crate) fn new(
        rank: usize,
        matrices: &[Matrix],
        slice: Range<usize>,
        plan: impl Fn(usize) -> Plan,
    ) -> Self {
        assert!(rank > 0, "a rank of at least 1");
        let mut matrices: Vec<_> = matrices.iter().filter_map(|m| m.within(&slice, rank)).collect();
        matrices.sort_by_key(|m| m.start);
        let (mut rest, mut at) = (vec![], 0);
        for matrix in &matrices {
            assert!(at <= matrix.start, "matrices lie one after the other");
            rest.push(at..matrix.start);
            at = matrix.range().end;
        }
        rest.push(at..slice.len());
        let left = matrices.iter().map(|m| m.rows * rank).sum::<usize>()
            + rest.iter().map(Range::len).sum::<usize>();
        let right = matrices.iter().map(|m| m.cols * rank).sum();
        Self {
            rank,
            plans: [plan(left), plan(right)],
            left: vec![0.0; left],
            right: thin::start(right),
            kept: vec![0.0; slice.len()],
            own: vec![0.0; right],
            room: vec![],
            matrices,
            rest,
        }
    }

    /// What was lost so far and not sent yet, and the thin matrices to go on with.
    pub(crate) fn residuals(&mut self) -> [&mut [f32]; 2] {
        [&mut self.kept, &mut self.right]
    }

    /// What was lost so far and not sent yet.
    pub(crate) fn kept(&self) -> &[f32] {
        &self.kept
    }

    /// The thin matrices to go on with, each at the beginning of what it stands for, which is larger.
    pub(crate) fn save_thin(&self, into: &mut [f32]) {
        for [at, _, right] in self.places() {
            into[at.start..at.start + right.len()].copy_from_slice(&self.right[right]);
        }
    }

    /// Sets what [`LowRank::kept`] and [`LowRank::save_thin`] told.
    pub(crate) fn restore(&mut self, kept: &[f32], thin: &[f32]) {
        self.kept.copy_from_slice(kept);
        for [at, _, right] in self.places() {
            self.right[right.clone()].copy_from_slice(&thin[at.start..at.start + right.len()]);
        }
    }

    /// Sums over all nodes, in place. The tags are those of what is added and of what is spread.
    pub(crate) fn reduce(
        &mut self,
        peers: &mut dyn Peers,
        tags: [Tag; 2],
        numbers: &mut [f32],
        heads: Heads<'_>,
    ) -> Result<(), Broken> {
        self.lefts(numbers);
        let Self { left, plans, room, .. } = self;
        all_reduce(peers, tags, &plans[0], left, room, Some(heads))?;
        self.own_rights(numbers);
        let Self { right, own, plans, room, .. } = self;
        right.copy_from_slice(own);
        all_reduce(peers, tags.map(|tag| Tag { bucket: 1, ..tag }), &plans[1], right, room, None)?;
        self.expand(numbers);
        Ok(())
    }

    /// Each matrix with its P and its Q in theirs.
    fn places(&self) -> Vec<[Range<usize>; 3]> {
        let (mut left, mut right) = (0, 0);
        let place = |m: &Matrix| {
            let [from, to] = [left, right];
            (left, right) = (left + m.rows * self.rank, right + m.cols * self.rank);
            [m.range(), from..left, to..right]
        };
        self.matrices.iter().map(place).collect()
    }

    /// Adds what was kept, and makes this node's P.
    fn lefts(&mut self, numbers: &mut [f32]) {
        for [at, left, right] in self.places() {
            add(&mut numbers[at.clone()], &self.kept[at.clone()]);
            thin::product(self.rank, &numbers[at], &self.right[right], &mut self.left[left]);
        }
        let mut free = self.left.len() - self.rest.iter().map(Range::len).sum::<usize>();
        for rest in &self.rest {
            self.left[free..free + rest.len()].copy_from_slice(&numbers[rest.clone()]);
            free += rest.len();
        }
    }

    /// From the sum of all P, this node's own Q, and what it keeps.
    fn own_rights(&mut self, numbers: &[f32]) {
        for [at, left, right] in self.places() {
            let (left, own) = (&mut self.left[left], &mut self.own[right]);
            thin::at_right_angles(self.rank, left);
            thin::transposed_product(self.rank, &numbers[at.clone()], left, own);
            let kept = &mut self.kept[at.clone()];
            kept.copy_from_slice(&numbers[at]);
            thin::expand(self.rank, left, own, kept, |kept, sent| *kept -= sent);
        }
    }

    /// What the sums of all P and all Q stand for.
    fn expand(&mut self, numbers: &mut [f32]) {
        for [at, left, right] in self.places() {
            let (left, right) = (&self.left[left], &mut self.right[right]);
            thin::expand(self.rank, left, right, &mut numbers[at], |x, sum| *x = sum);
            thin::revive(self.rank, right);
        }
        let mut sums = &self.left[self.left.len() - self.rest.iter().map(Range::len).sum::<usize>()..];
        for rest in &self.rest {
            let (these, more) = sums.split_at(rest.len());
            numbers[rest.clone()].copy_from_slice(these);
            sums = more;
        }
    }
}

fn all_reduce(
    peers: &mut dyn Peers,
    [first, then]: [Tag; 2],
    plan: &Plan,
    numbers: &mut [f32],
    room: &mut Vec<f32>,
    heads: Option<Heads<'_>>,
) -> Result<(), Broken> {
    perform_with(peers, first, plan.adding(), (numbers, room), None, heads)?;
    perform(peers, then, plan.copying(), numbers, room)
}

#[cfg(test)]
mod tests;
