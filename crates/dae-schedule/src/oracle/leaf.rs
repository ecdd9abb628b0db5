//! [`Leaf`]: `step`, which closes a gradient.

use std::ops::Range;

use super::gradient::{Source, Sum};
use super::process::{Motion, Report};
use super::rule::Rule;
use super::tape::Tape;
use super::unsupported::{LOW_RANK, Unsupported};
use super::world::World;
use crate::gradient::{GItem, Split};
use crate::step::Step;
use crate::wire::Wire;
use crate::word::Word;

/// A model process without children: a gradient source and an optimizer.
pub(super) struct Leaf {
    index: usize,
    source: Source,
    step: Step,
    /// With `zero` each replica has the state of its slice alone. With `raw` there is no state.
    rules: Vec<(Range<usize>, Rule)>,
    /// Steps done.
    pub(super) steps: u64,
}

impl Leaf {
    pub(super) fn new(word: &Word, index: usize, parameters: usize) -> Result<Self, Unsupported> {
        let low_rank =
            |item: &GItem| matches!(item, GItem::Split(Split { n: 2.., wire: Wire::PowerSgd(_), .. }));
        if let Some(at) = word.gradient().iter().position(low_rank) {
            return Err(Unsupported::item(at, &word.gradient()[at], LOW_RANK));
        }
        let replicas: u32 = word.gradient().iter().map(|item| item.children()).product();
        let slices = if word.step().zero == 0 { 1 } else { replicas };
        let rules = match word.optimizer() {
            Some(optimizer) => rules(*optimizer, parameters, slices),
            None => vec![],
        };
        let source = Source::new(word.gradient(), parameters);
        Ok(Self { index, source, step: *word.step(), rules, steps: 0 })
    }

    pub(super) fn round(&mut self, world: &mut World<'_>, x: &[f32], start: f64) -> Report {
        let Sum { mut sum, weight, loss } = self.source.sum(world, x, self.index as u64, self.steps);
        let mut duration = (world.setting.duration)(self.index, self.steps);
        if mutated!(Unrepeatable) {
            use std::sync::atomic::{AtomicU64, Ordering};
            static CALLS: AtomicU64 = AtomicU64::new(0);
            duration *= 1.0 + super::dice::chance(0, 0, CALLS.fetch_add(1, Ordering::Relaxed));
        }
        world.lasted[self.index] = duration;
        self.steps += 1;
        let end = start + duration;
        // Divided once, here.
        let mut scale = if weight > 0.0 { (1.0 / weight) as f32 } else { 0.0 };
        let bound = self.step.clip.map_or(1.0, |clip| shrinks(&sum, scale, clip));
        let motion = if self.rules.is_empty() {
            sum.iter_mut().for_each(|g| *g *= bound);
            Motion::Raw(sum)
        } else {
            let mut x = x.to_vec();
            scale *= bound;
            if weight > 0.0 {
                apply(&mut self.rules, scale, &sum, &mut x);
            }
            Motion::Value(x)
        };
        Report { motion, weight, loss, end }
    }

    /// The optimizer, where it is not cut over replicas.
    pub(super) fn rule(&self) -> Option<&Rule> {
        if let [(_, rule)] = &self.rules[..] { Some(rule) } else { None }
    }

    /// Goes on from the state of another word's optimizer, where it is of the same kind and neither is cut.
    pub(super) fn carry(&mut self, from: &Rule) {
        if let [(_, rule)] = &mut self.rules[..] {
            rule.carry(from);
        }
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        tape.number(&mut self.steps);
        self.rules.iter_mut().for_each(|(_, rule)| tape.rule(rule));
        self.source.tape(tape);
    }

    #[cfg(test)]
    pub(super) fn forget(&mut self) {
        self.rules.iter_mut().for_each(|(_, rule)| rule.forget());
    }
}

/// An optimizer cut into slices.
pub(super) fn rules(
    optimizer: crate::Optimizer,
    parameters: usize,
    slices: u32,
) -> Vec<(Range<usize>, Rule)> {
    cut(parameters, slices as usize).map(|slice| (slice.clone(), Rule::new(optimizer, slice.len()))).collect()
}

/// So many slices, one after the other, as equal as can be.
pub(super) fn cut(parameters: usize, slices: usize) -> impl Iterator<Item = Range<usize>> {
    (0..slices).map(move |slice| parameters * slice / slices..parameters * (slice + 1) / slices)
}

/// Each slice by its own state.
pub(super) fn apply(rules: &mut [(Range<usize>, Rule)], scale: f32, sum: &[f32], x: &mut [f32]) {
    for (slice, rule) in rules {
        rule.apply(scale, &sum[slice.clone()], &mut x[slice.clone()]);
    }
}

/// What bounds the global norm of the mean, as `torch.nn.utils.clip_grad_norm_` does.
fn shrinks(sum: &[f32], scale: f32, clip: f32) -> f32 {
    let squares: f64 = sum.iter().map(|g| f64::from(g * scale).powi(2)).sum();
    (f64::from(clip) / (squares.sqrt() + 1e-6)).min(1.0) as f32
}
