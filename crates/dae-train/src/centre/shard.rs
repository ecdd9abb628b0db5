//! A shard of the centre, and the update that moves it.

use super::{Contribution, Motion};
use crate::optimizer::Rule;
use dae_schedule::{Join, Optimizer, Outer, Scale, Weight};
use std::ops::Range;
use std::sync::Arc;

/// A slice of the centre: its parameters, the outer optimizer's state, a version.
pub struct Shard {
    join: Join,
    rule: Rule,
    x: Arc<Vec<f32>>,
    state: Vec<Vec<f32>>,
    version: u64,
    /// Where each child of an elastic centre stands: it does not begin from the centre.
    own: Option<Vec<Vec<f32>>>,
    finite: bool,
}

/// So many slices, one after the other, as equal as can be.
pub fn cut(len: usize, slices: usize) -> impl Iterator<Item = Range<usize>> {
    (0..slices).map(move |slice| len * slice / slices..len * (slice + 1) / slices)
}

impl Shard {
    /// The outer optimizer: by the pseudo-gradient old - new all outer rules are descents.
    pub fn rule(join: &Join) -> Rule {
        Rule::new(&match join.outer {
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
        })
    }

    /// One that stands at `x` in this version. `state` are the buffers that [`Shard::rule`] names; `own` says where the
    /// children of an elastic centre stand, and is not looked at for any other.
    ///
    /// # Panics
    /// In an update, if the buffers are not those, or not as long as `x`.
    pub fn new(join: &Join, version: u64, x: Vec<f32>, state: Vec<Vec<f32>>, own: Vec<Vec<f32>>) -> Self {
        let own = matches!(join.outer, Outer::Elastic(_)).then_some(own);
        Self { join: *join, rule: Self::rule(join), x: Arc::new(x), state, version, own, finite: true }
    }

    /// How many updates it has had.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Its parameters. Who holds them while it moves keeps what they were.
    pub fn x(&self) -> &Arc<Vec<f32>> {
        &self.x
    }

    /// The outer optimizer's state.
    pub fn state(&self) -> &[Vec<f32>] {
        &self.state
    }

    /// What a child begins its round from, where that is not the centre.
    pub fn own(&self, child: usize) -> Option<&[f32]> {
        self.own.as_ref()?.get(child).map(Vec::as_slice)
    }

    /// Whether all numbers it has come to are finite.
    pub fn finite(&self) -> bool {
        self.finite
    }

    /// One update: D = sum(w d) / sum(w), x <- outer(x, D), at `rate` times the outer learning rate. Contributions are
    /// added in the order of the children, whoever came first.
    ///
    /// # Panics
    /// If there is none, or one is not as long as the shard.
    pub fn update(&mut self, rate: f32, mut given: Vec<Contribution>) {
        assert!(!given.is_empty(), "an update has contributions");
        given.sort_by_key(|each| each.child);
        self.follow(&given);
        for each in &mut given {
            if self.join.weight == Weight::Equal {
                each.equal();
            }
            each.correct(self.join.stale, self.version, &self.x);
        }
        if let (Some(own), Outer::Elastic(a)) = (&mut self.own, self.join.outer) {
            let a = f64::from(a);
            for each in &given {
                for (own, x) in own[each.child].iter_mut().zip(&*self.x) {
                    *own = (f64::from(*own) - a * (f64::from(*own) - f64::from(*x))) as f32;
                }
            }
        }
        self.version += 1;
        self.descend(rate, &given);
        self.finite &= self.x.iter().all(|x| x.is_finite());
    }

    /// Where the children of an elastic centre have come to.
    fn follow(&mut self, given: &[Contribution]) {
        let Some(own) = &mut self.own else { return };
        for each in given {
            own[each.child].copy_from_slice(each.motion.numbers());
        }
    }

    /// x <- outer(x, D).
    fn descend(&mut self, rate: f32, given: &[Contribution]) {
        let Join { scale, outer, .. } = self.join;
        let sums = scale == Scale::Sum;
        let votes: Vec<f64> = given.iter().map(|each| if sums { 1.0 } else { each.samples }).collect();
        let total = if sums { 1.0 } else { votes.iter().sum() };
        let raw = given.iter().all(|each| matches!(each.motion, Motion::Raw(_)));
        let x = Arc::make_mut(&mut self.x);
        let mut state: Vec<_> = self.state.iter_mut().map(Vec::as_mut_slice).collect();
        let mut rule = |factor: f64, gradient: &[f32], x: &mut [f32]| {
            self.rule.apply(self.version, rate, factor as f32, x, &mut state, &[gradient]);
        };
        match (raw, outer) {
            (true, _) => rule(1.0 / total, &summed(given, scale), x),
            (false, Outer::Avg) => average(given, &votes, scale, total, x),
            (false, outer) => {
                // An elastic centre is drawn to where its children are, any other one goes where they went.
                let elastic = matches!(outer, Outer::Elastic(_));
                let mut pseudo = vec![0.0; x.len()];
                for (at, (pseudo, x)) in pseudo.iter_mut().zip(&*x).enumerate() {
                    let old = f64::from(*x);
                    let way = |from, to| if elastic { old - to } else { from - to };
                    *pseudo = (over(given, &votes, at, way) / total) as f32;
                }
                rule(1.0, &pseudo, x);
            }
        }
    }
}

/// Raw gradients as `split` adds them: sums over samples in f32, to be divided once; with `scale=sum`, means.
fn summed(given: &[Contribution], scale: Scale) -> Vec<f32> {
    let mut sum = vec![0.0; given.first().map_or(0, |each| each.motion.numbers().len())];
    for each in given {
        let alone = if scale == Scale::Sum { (1.0 / each.samples) as f32 } else { 1.0 };
        for (sum, g) in sum.iter_mut().zip(each.motion.numbers()) {
            *sum += g * alone;
        }
    }
    sum
}

/// Values, not displacements, so that of one child the very bits are taken over.
fn average(given: &[Contribution], votes: &[f64], scale: Scale, total: f64, x: &mut [f32]) {
    for (at, x) in x.iter_mut().enumerate() {
        let old = f64::from(*x);
        // Where the centre has moved since, the way gone is added to where it is now.
        let value = |from, to| if from == old { to } else { old + (to - from) };
        *x = match scale {
            // Of one alone the sum is the mean.
            _ if given.len() == 1 => {
                value(given[0].from[at].into(), given[0].motion.numbers()[at].into()) as f32
            }
            Scale::Mean => (over(given, votes, at, value) / total) as f32,
            Scale::Sum => (old + over(given, votes, at, |from, to| to - from)) as f32,
        };
    }
}

/// The weighted sum over children of `number(pulled, reached)` at one place.
fn over(given: &[Contribution], votes: &[f64], at: usize, number: impl Fn(f64, f64) -> f64) -> f64 {
    given
        .iter()
        .zip(votes)
        .map(|(each, vote)| vote * number(each.from[at].into(), each.motion.numbers()[at].into()))
        .sum()
}
