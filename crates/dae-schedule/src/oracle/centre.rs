//! [`Centre`]: what a join's children lie around, and the update that moves it.

use std::ops::Range;

use super::leaf::rules;
use super::process::Motion;
use super::rule::Rule;
use super::tape::Tape;
use crate::join::{Join, Outer, Scale};
use crate::optimizer::Optimizer;

/// Parameters, outer state, and a version.
pub(super) struct Centre {
    pub(super) x: Vec<f32>,
    pub(super) version: u64,
    outer: Outer,
    scale: Scale,
    /// The outer optimizer, cut into shards or fragments.
    rules: Vec<(Range<usize>, Rule)>,
    #[cfg(test)]
    spare: Vec<(Range<usize>, Rule)>,
    #[cfg(test)]
    pub(super) before: Vec<f32>,
}

/// A displacement that was pushed.
#[derive(Clone, Debug)]
pub(super) struct Contribution {
    pub(super) child: usize,
    /// The round of the child it is, counted from 0.
    pub(super) round: u64,
    /// The version it pulled, and what that was.
    pub(super) read: u64,
    pub(super) from: Vec<f32>,
    /// Where the child stands now, or its raw gradient.
    pub(super) motion: Motion,
    /// What it counts.
    pub(super) weight: f64,
    /// The samples that went into it, and the sum of their losses.
    pub(super) samples: f64,
    pub(super) loss: f64,
}

impl Centre {
    pub(super) fn new(join: &Join, x: &[f32]) -> Self {
        // By the pseudo-gradient old - new all outer rules are descents.
        let optimizer = match join.outer {
            Outer::Avg => Optimizer::sgd(1.0),
            Outer::Nesterov { lr, mu } => {
                Optimizer::Sgd { lr, momentum: mu, nesterov: mu > 0.0, weight_decay: 0.0 }
            }
            // u <- b u + (old - new); x <- x - a u. The inner rate of the paper cancels out while it does not change.
            Outer::SlowMo { a, b } => {
                Optimizer::Sgd { lr: a, momentum: b, nesterov: false, weight_decay: 0.0 }
            }
            // The centre goes the share a of the way to the children.
            Outer::Elastic(a) => Optimizer::sgd(a),
            Outer::Optimizer(optimizer) => optimizer,
        };
        let parts = if join.frag > 1 { join.frag } else { join.shards };
        Self {
            x: x.to_vec(),
            version: 0,
            outer: join.outer,
            scale: join.scale,
            rules: rules(optimizer, x.len(), parts),
            #[cfg(test)]
            spare: rules(optimizer, x.len(), parts),
            #[cfg(test)]
            before: x.to_vec(),
        }
    }

    /// The slices that outer state is cut into.
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        self.rules.iter().map(|(part, _)| part.clone())
    }

    /// One update of all parts.
    pub(super) fn update(&mut self, given: &[Contribution]) {
        #[cfg(test)]
        self.before.clone_from(&self.x);
        (0..self.rules.len()).for_each(|part| self.update_part(part, given));
        self.version += 1;
    }

    /// D = sum(w d) / sum(w), x <- outer(x, D) in one part. Contributions are added in the order of the children,
    /// whoever came first.
    pub(super) fn update_part(&mut self, part: usize, given: &[Contribution]) {
        let mut given: Vec<&Contribution> = given.iter().filter(|each| each.weight > 0.0).collect();
        if mutated!(DoublePush) {
            given.extend(given.first().copied());
        }
        if given.is_empty() {
            return;
        }
        #[cfg(test)]
        if mutated!(OuterStatePerWorker) {
            std::mem::swap(&mut self.rules, &mut self.spare);
        }
        let (slice, rule) = &mut self.rules[part];
        let x = &mut self.x[slice.clone()];
        let total = match self.scale {
            Scale::Mean => given.iter().map(|each| each.weight).sum(),
            Scale::Sum => 1.0,
        };
        let raw = given.iter().all(|each| matches!(each.motion, Motion::Raw(_)));
        if raw {
            // As `split` does: sums over samples in f32, divided once.
            let mut sum = vec![0.0; x.len()];
            for each in given {
                let alone = if self.scale == Scale::Sum { (1.0 / each.weight) as f32 } else { 1.0 };
                for (sum, g) in sum.iter_mut().zip(&each.motion.numbers()[slice.clone()]) {
                    *sum += g * alone;
                }
            }
            rule.apply((1.0 / total) as f32, &sum, x);
            return;
        }
        let share = |each: &Contribution| {
            if mutated!(LostWeight) {
                return total / given.len() as f64;
            }
            if self.scale == Scale::Sum { 1.0 } else { each.weight }
        };
        let outer = self.outer;
        // The weighted sum over the children of something at one place.
        let over = |at: usize, number: &dyn Fn(f64, f64) -> f64| -> f64 {
            let at = slice.start + at;
            given
                .iter()
                .map(|each| share(each) * number(each.from[at].into(), each.motion.numbers()[at].into()))
                .sum()
        };
        if outer == Outer::Avg {
            // Values, not displacements, so that of one child the very bits are taken over.
            for (at, x) in x.iter_mut().enumerate() {
                let old = f64::from(*x);
                let value = |from: f64, to: f64| if from == old { to } else { old + (to - from) };
                *x = match self.scale {
                    Scale::Mean => (over(at, &value) / total) as f32,
                    Scale::Sum => (old + over(at, &|from, to| to - from)) as f32,
                };
            }
            return;
        }
        let mut pseudo: Vec<f32> = (0..x.len())
            .map(|at| {
                let old = f64::from(x[at]);
                let distance =
                    |from, to| if matches!(outer, Outer::Elastic(_)) { old - to } else { from - to };
                (over(at, &distance) / total) as f32
            })
            .collect();
        if mutated!(WrongSign) {
            pseudo.iter_mut().for_each(|g| *g = -*g);
        }
        rule.apply(1.0, &pseudo, x);
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        tape.number(&mut self.version);
        tape.floats(&mut self.x);
        self.rules.iter_mut().for_each(|(_, rule)| tape.rule(rule));
    }
}

impl Contribution {
    pub(super) fn blank() -> Self {
        let motion = Motion::Value(vec![]);
        Self { child: 0, round: 0, read: 0, from: vec![], motion, weight: 0.0, samples: 0.0, loss: 0.0 }
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        let mut child = self.child as u64;
        [&mut child, &mut self.round, &mut self.read].into_iter().for_each(|number| tape.number(number));
        self.child = child as usize;
        tape.floats(&mut self.from);
        self.motion.tape(tape);
        [&mut self.weight, &mut self.samples, &mut self.loss]
            .into_iter()
            .for_each(|number| tape.float(number));
    }
}
