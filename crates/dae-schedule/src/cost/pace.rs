//! How long a round of a process takes, drawn again and again.

use super::gradient::StepTime;
use super::random::{Random, normal_above};
use super::straggler::Slowest;

/// Rounds of a process: `repeat` inner ones, and something fixed after them.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    base: Base,
    repeat: u32,
    extra_s: f64,
    /// The share of a round in which its workers compute.
    pub(crate) busy: f64,
}

#[derive(Clone, Debug)]
enum Base {
    /// One step.
    Step { compute_s: f64, fixed_s: f64, slowest: Slowest },
    /// As some others took; at least one.
    Seen(Vec<f64>),
}

/// More inner rounds than this are drawn at once, as the normal number that their sum comes to.
const FEW: u32 = 8;
/// Rounds kept of what a simulation saw.
pub(crate) const KEPT: usize = 256;

impl Pace {
    pub(crate) fn step(time: &StepTime, slowest: Slowest) -> Self {
        let (compute_s, fixed_s) = (time.compute_s, time.links_s + time.memory_s);
        let mut pace =
            Self { base: Base::Step { compute_s, fixed_s, slowest }, repeat: 1, extra_s: 0.0, busy: 0.0 };
        pace.busy = share(time.work_s * slowest.work_of_one(), pace.mean());
        pace
    }

    /// As long as these took; no time at all if there are none.
    pub(crate) fn seen(mut rounds: Vec<f64>, busy: f64) -> Self {
        if rounds.is_empty() {
            rounds.push(0.0);
        }
        Self { base: Base::Seen(rounds), repeat: 1, extra_s: 0.0, busy }
    }

    /// Whether all rounds take the same time.
    pub(crate) fn is_constant(&self) -> bool {
        match &self.base {
            Base::Step { slowest, .. } => slowest.is_constant(),
            Base::Seen(rounds) => rounds.len() == 1,
        }
    }

    fn inner(&self) -> (f64, f64) {
        match &self.base {
            Base::Step { compute_s, fixed_s, slowest } => {
                let (mean, deviation) = slowest.moments();
                (compute_s * mean + fixed_s, compute_s * deviation)
            }
            Base::Seen(rounds) => {
                let many = rounds.len() as f64;
                let mean = rounds.iter().sum::<f64>() / many;
                let variance = rounds.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / many;
                (mean, variance.sqrt())
            }
        }
    }

    pub(crate) fn mean(&self) -> f64 {
        f64::from(self.repeat) * self.inner().0 + self.extra_s
    }

    /// The mean time of an inner round.
    pub(crate) fn inner_s(&self) -> f64 {
        self.inner().0
    }

    /// Draws rounds; what does not change from draw to draw is worked out once.
    pub(crate) fn drawer(&self) -> impl Fn(&mut Random) -> f64 {
        let (mean, deviation) = self.inner();
        let (repeat, constant) = (f64::from(self.repeat), self.is_constant());
        move |random| {
            let inner = if constant {
                repeat * mean
            } else if self.repeat > FEW {
                let sum = repeat * mean + repeat.sqrt() * deviation * normal_above(random.unit());
                sum.max(0.0)
            } else {
                (0..self.repeat).map(|_| self.one(random)).sum()
            };
            inner + self.extra_s
        }
    }

    fn draws(&self, many: usize, random: &mut Random) -> Vec<f64> {
        let draw = self.drawer();
        (0..many).map(|_| draw(random)).collect()
    }

    fn one(&self, random: &mut Random) -> f64 {
        match &self.base {
            Base::Step { compute_s, fixed_s, slowest } => compute_s * slowest.draw(random) + fixed_s,
            Base::Seen(rounds) => rounds[random.below(rounds.len())],
        }
    }

    /// A round of so many of these rounds.
    pub(crate) fn every(mut self, h: u32, random: &mut Random) -> Self {
        if self.extra_s != 0.0 && h > 1 {
            let many = if self.is_constant() { 1 } else { KEPT };
            let rounds = self.draws(many, random);
            self = Self::seen(rounds, self.busy);
        }
        self.repeat = self.repeat.saturating_mul(h);
        self
    }

    /// A round after which something follows.
    pub(crate) fn then(mut self, extra_s: f64) -> Self {
        let worked = self.busy * self.mean();
        self.extra_s += extra_s;
        self.busy = share(worked, self.mean());
        self
    }

    /// A round in which so many such processes wait for each other, one of them perhaps marked, and in which
    /// `extra_s` follows.
    pub(crate) fn slowest_of(
        &self,
        n: u32,
        marked: Option<&Self>,
        extra_s: f64,
        random: &mut Random,
    ) -> Self {
        let (own, others) = (marked.unwrap_or(self), f64::from(n - 1));
        let work = (others * self.busy * self.mean() + own.busy * own.mean()) / f64::from(n);
        let mut pace = match (&self.base, marked) {
            (Base::Step { compute_s, fixed_s, slowest }, None) if self.repeat == 1 && self.extra_s == 0.0 => {
                let base =
                    Base::Step { compute_s: *compute_s, fixed_s: *fixed_s, slowest: slowest.of_groups(n) };
                Self { base, repeat: 1, extra_s: 0.0, busy: 0.0 }
            }
            _ => Self::seen(self.longest(n, own, random), 0.0),
        };
        pace.extra_s += extra_s;
        pace.busy = share(work, pace.mean());
        pace
    }

    /// The longest of n rounds, some times over.
    fn longest(&self, n: u32, own: &Self, random: &mut Random) -> Vec<f64> {
        if self.is_constant() && own.is_constant() {
            return vec![self.mean().max(own.mean())];
        }
        const DRAWS: usize = 100_000;
        let rounds = (DRAWS / n as usize).clamp(4, KEPT);
        let (other, own) = (self.drawer(), own.drawer());
        let longest = |random: &mut Random| (1..n).fold(own(random), |most, _| most.max(other(random)));
        (0..rounds).map(|_| longest(random)).collect()
    }
}

/// A part of a time, 0 of none.
pub(crate) fn share(part: f64, of: f64) -> f64 {
    if of > 0.0 { (part / of).clamp(0.0, 1.0) } else { 0.0 }
}
