//! How a step is closed: what every rank does to its slice, decided alike by all.

use super::Group;
use crate::optimizer::sum_of_squares;
use dae_collective::{
    Apply, Broken, Commit, Contribution, Culprit, exact_sum_of_squares, larger, unit_of_squares,
};

/// Numbers that made all ranks skip a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spoilt {
    /// Those of one rank.
    By(Culprit),
    /// The sum alone, or what a codec made of it.
    Sum,
}

/// What became of a step, the same on all ranks.
#[derive(Clone, Copy)]
pub(super) enum Closed {
    /// Its terms did not fit their scale, and have to be given again.
    Again,
    /// It counts. Without numbers to apply, parameters and optimizer are as they were.
    Done(Commit, Option<Spoilt>),
}

/// What a step is closed with.
pub(super) struct Close<'a> {
    pub(super) group: &'a Group,
    /// Which of this node's workers does it.
    pub(super) local: usize,
    /// The step, counted from 1.
    pub(super) step: u64,
    /// What the learning rate is multiplied by.
    pub(super) rate: f32,
    /// Whether it is the first of a round.
    pub(super) first: bool,
}

impl Close<'_> {
    /// Applies the step to this rank's slice, if it may be. The second is what [`dae_collective::Member::reduce`] wants to
    /// be told.
    pub(super) fn apply(&self, view: &mut Apply<'_>) -> Result<(Closed, Option<bool>), Broken> {
        let group = self.group;
        let commit = Commit::decide(view.contributions);
        if view.again {
            return Ok((Closed::Again, None));
        }
        let spoilt = match commit.culprit {
            Some(Culprit { rank, what, at }) => {
                // A child's workers decide among themselves.
                let before = if group.child.is_some() { group.first_rank() } else { 0 };
                Some(Spoilt::By(Culprit { rank: before + rank, what, at }))
            }
            None => (group.skips && leaps(view.contributions, group.shares.accum)).then_some(Spoilt::Sum),
        };
        if spoilt.is_some() && group.skips {
            return Ok(skip(view, commit, spoilt));
        }
        if spoilt.is_some() || commit.weight == 0.0 {
            return Ok((Closed::Done(commit, spoilt), None));
        }
        let scale = (1.0 / commit.weight) as f32;
        let mut bound = 1.0;
        if group.clip.is_some() || group.skips && group.means.keeps_back() {
            let norm = norm(view, group, scale)?;
            if group.skips && !norm.is_finite() {
                return Ok(skip(view, commit, Some(Spoilt::Sum)));
            }
            // As torch.nn.utils.clip_grad_norm_ does.
            bound = group.clip.map_or(1.0, |clip| (f64::from(clip) / (norm + 1e-6)).min(1.0) as f32);
        }
        let Apply { params, state, grads, .. } = view;
        let finite = match (&group.rule, &group.child) {
            (Some(rule), _) => rule.apply(self.step, self.rate, scale * bound, params, state, grads),
            (None, child) => {
                // `step raw` moves no parameters: gradients come together, to be pushed at the end of the round.
                let raw = child.as_ref().and_then(|child| child.raw(self.local));
                raw.is_none_or(|mut sum| gather(grads, bound, self.first, &mut sum))
            }
        };
        Ok((Closed::Done(commit, None), Some(finite)))
    }
}

/// The step counts, and nobody has written anything.
fn skip(view: &mut Apply<'_>, commit: Commit, spoilt: Option<Spoilt>) -> (Closed, Option<bool>) {
    view.skipped = true;
    (Closed::Done(commit, spoilt), Some(true))
}

/// Whether finite gradients are so large that their sum might not be finite, in whatever order it is made.
fn leaps(contributions: &[Contribution], accum: usize) -> bool {
    let most: f64 = contributions.iter().map(|c| f64::from(c.peak)).sum();
    most * accum as f64 > f64::from(f32::MAX) / 2.0
}

/// Adds the sum over slots, in rank order, times `bound` to what has come together, or begins with it. Whether it is
/// finite.
fn gather(grads: &[&[f32]], bound: f32, first: bool, into: &mut [f32]) -> bool {
    let Some((own, others)) = grads.split_first() else { return true };
    let mut finite = true;
    for (at, (into, g)) in into.iter_mut().zip(*own).enumerate() {
        let sum = others.iter().fold(*g, |sum, slot| sum + slot[at]) * bound;
        finite &= sum.is_finite();
        *into = if first { sum } else { *into + sum };
    }
    finite
}

/// The norm of the whole gradient times `scale`.
fn norm(view: &mut Apply<'_>, group: &Group, scale: f32) -> Result<f64, Broken> {
    if group.arena.is_exact() {
        let peak = view.contributions.iter().fold(0.0, |peak, c| larger(peak, c.peak));
        let terms = (group.arena.world() * group.nodes.len() * group.shares.accum) as f64;
        let unit = unit_of_squares(f64::from(peak) * terms * f64::from(scale), group.arena.len());
        let mine = view.grads.iter().map(|sum| exact_sum_of_squares(sum, scale, unit)).sum();
        return Ok((view.sum_exact(mine)? as f64 * 2_f64.powi(-unit)).sqrt());
    }
    let mine = match &view.grads[..] {
        // One worker's, or what all nodes have summed up: stretch by stretch, as so many workers would.
        [sum] => view.stretches().map(|stretch| sum_of_squares(&[&sum[stretch]], scale)).sum(),
        grads => sum_of_squares(grads, scale),
    };
    Ok(view.sum(mine)?.sqrt())
}
