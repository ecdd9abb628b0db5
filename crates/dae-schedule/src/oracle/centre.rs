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
        let parts = join.parts();
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
        let mut votes = self.votes(given);
        if mutated!(DoublePush) {
            votes.extend(votes.first().copied());
        }
        if votes.is_empty() {
            return;
        }
        #[cfg(test)]
        if mutated!(OuterStatePerWorker) {
            std::mem::swap(&mut self.rules, &mut self.spare);
        }
        let total = match self.scale {
            Scale::Mean => votes.iter().map(|(vote, _)| vote).sum(),
            Scale::Sum => 1.0,
        };
        let (slice, rule) = &mut self.rules[part];
        let x = &mut self.x[slice.clone()];
        let raw = votes.iter().all(|(_, each)| matches!(each.motion, Motion::Raw(_)));
        match (raw, self.outer) {
            (true, _) => rule.apply((1.0 / total) as f32, &summed(&votes, self.scale, slice.clone()), x),
            (false, Outer::Avg) => average(&votes, self.scale, total, slice.start, x),
            (false, outer) => {
                // An elastic centre is drawn to where its children are, any other one goes where they went.
                let elastic = matches!(outer, Outer::Elastic(_));
                let mut pseudo = vec![0.0; x.len()];
                for (at, (pseudo, x)) in pseudo.iter_mut().zip(&*x).enumerate() {
                    let old = f64::from(*x);
                    let way = |from, to| if elastic { old - to } else { from - to };
                    *pseudo = (over(&votes, slice.start + at, way) / total) as f32;
                    *pseudo *= if mutated!(WrongSign) { -1.0 } else { 1.0 };
                }
                rule.apply(1.0, &pseudo, x);
            }
        }
    }

    /// What each contribution counts. Those without samples have no vote; but where nobody has any, all moves count
    /// alike, since peers go on mixing after the data have ended.
    fn votes<'a>(&self, given: &'a [Contribution]) -> Vec<(f64, &'a Contribution)> {
        if given.iter().all(|each| each.weight == 0.0) {
            let moves = given.iter().filter(|each| matches!(each.motion, Motion::Value(_)));
            return moves.map(|each| (1.0, each)).collect();
        }
        let vote = |weight| if self.scale == Scale::Sum || mutated!(LostWeight) { 1.0 } else { weight };
        given.iter().filter(|each| each.weight > 0.0).map(|each| (vote(each.weight), each)).collect()
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        tape.number(&mut self.version);
        tape.floats(&mut self.x);
        self.rules.iter_mut().for_each(|(_, rule)| tape.rule(rule));
    }
}

/// Raw gradients as `split` adds them: sums over samples in f32, to be divided once; with `scale=sum`, means.
fn summed(votes: &[(f64, &Contribution)], scale: Scale, slice: Range<usize>) -> Vec<f32> {
    let mut sum = vec![0.0; slice.len()];
    for (_, each) in votes {
        let alone = if scale == Scale::Sum { (1.0 / each.weight) as f32 } else { 1.0 };
        for (sum, g) in sum.iter_mut().zip(&each.motion.numbers()[slice.clone()]) {
            *sum += g * alone;
        }
    }
    sum
}

/// Values, not displacements, so that of one child the very bits are taken over.
fn average(votes: &[(f64, &Contribution)], scale: Scale, total: f64, first: usize, x: &mut [f32]) {
    for (at, x) in x.iter_mut().enumerate() {
        let old = f64::from(*x);
        // Where the centre has moved since, the way gone is added to where it is now.
        let value = |from, to| if from == old { to } else { old + (to - from) };
        *x = match scale {
            // Of one alone the sum is the mean.
            _ if votes.len() == 1 => (over(votes, first + at, value) / votes[0].0) as f32,
            Scale::Mean => (over(votes, first + at, value) / total) as f32,
            Scale::Sum => (old + over(votes, first + at, |from, to| to - from)) as f32,
        };
    }
}

/// The weighted sum over children of `number(pulled, reached)` at one place.
fn over(votes: &[(f64, &Contribution)], at: usize, number: impl Fn(f64, f64) -> f64) -> f64 {
    votes
        .iter()
        .map(|(vote, each)| vote * number(each.from[at].into(), each.motion.numbers()[at].into()))
        .sum()
}

impl Contribution {
    pub(super) fn blank(parameters: usize) -> Self {
        let motion = Motion::Value(vec![0.0; parameters]);
        Self {
            child: 0,
            round: 0,
            read: 0,
            from: vec![0.0; parameters],
            motion,
            weight: 0.0,
            samples: 0.0,
            loss: 0.0,
        }
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
