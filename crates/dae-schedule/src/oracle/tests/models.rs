//! Small models: a bowl, a slope, two denoising autoencoders.

use std::ops::Range;

use crate::oracle::dice::{chance, dice};
use crate::oracle::{Grain, Model};

/// A number in [-1, 1), by sample and place.
pub(super) fn noise(seed: u64, sample: u64, place: usize) -> f64 {
    2.0 * chance(seed, sample, place as u64) - 1.0
}

/// Adds gradients of single samples in f64, so that how samples are batched changes the last digit of an f32 at most.
fn summed(grain: Range<u64>, into: &mut [f32], mut sample: impl FnMut(u64, &mut [f64]) -> f64) -> Grain {
    let mut sum = vec![0.0; into.len()];
    let weight = (grain.end - grain.start) as f64;
    let loss = grain.map(|position| sample(position, &mut sum)).sum();
    into.iter_mut().zip(sum).for_each(|(into, sum)| *into = sum as f32);
    Grain { weight, loss }
}

/// Half the squared distance to a point of each sample's own, each axis with a curvature of its own.
pub(super) struct Bowl;

impl Bowl {
    pub(super) const SIZE: usize = 5;
}

impl Model for Bowl {
    fn parameters(&self) -> usize {
        Self::SIZE
    }

    fn gradient(&self, params: &[f32], grain: Range<u64>, into: &mut [f32]) -> Grain {
        summed(grain, into, |position, sum| {
            let mut loss = 0.0;
            for (axis, sum) in sum.iter_mut().enumerate() {
                let curvature = 0.3 + 0.2 * axis as f64;
                let off = f64::from(params[axis]) - noise(1, position, axis);
                *sum += curvature * off;
                loss += 0.5 * curvature * off * off;
            }
            loss
        })
    }
}

/// A gradient that is the same everywhere: of all samples alike, or of each its own.
pub(super) struct Slope {
    pub(super) alike: bool,
}

impl Slope {
    pub(super) const STEEP: [f32; 4] = [0.5, -1.25, 2.0, -0.25];
}

impl Model for Slope {
    fn parameters(&self) -> usize {
        4
    }

    fn gradient(&self, params: &[f32], grain: Range<u64>, into: &mut [f32]) -> Grain {
        summed(grain, into, |position, sum| {
            let mut loss = 0.0;
            for (axis, sum) in sum.iter_mut().enumerate() {
                let own = if self.alike { 0.0 } else { noise(2, position, axis) };
                let slope = f64::from(Self::STEEP[axis]) + own;
                *sum += slope;
                loss += slope * f64::from(params[axis]);
            }
            loss
        })
    }
}

/// Two layers with a bend in the middle, 4 - 2 - 4, trained to give the whole for what is masked.
pub(super) struct Bent;

impl Bent {
    const WIDE: usize = 4;
    const NARROW: usize = 2;
}

impl Model for Bent {
    fn parameters(&self) -> usize {
        2 * Self::WIDE * Self::NARROW
    }

    fn gradient(&self, params: &[f32], grain: Range<u64>, into: &mut [f32]) -> Grain {
        let (down, up) = params.split_at(Self::WIDE * Self::NARROW);
        summed(grain, into, |position, sum| {
            let clean: [f64; Self::WIDE] = std::array::from_fn(|at| noise(3, position % 40, at));
            let masked: [f64; Self::WIDE] = std::array::from_fn(|at| {
                if dice(4, position, at as u64).is_multiple_of(4) { 0.0 } else { clean[at] }
            });
            let hidden: [f64; Self::NARROW] = std::array::from_fn(|h| {
                (0..Self::WIDE)
                    .map(|at| f64::from(down[h * Self::WIDE + at]) * masked[at])
                    .sum::<f64>()
                    .tanh()
            });
            let mut loss = 0.0;
            let mut back = [0.0; Self::NARROW];
            for at in 0..Self::WIDE {
                let weight = |h: usize| f64::from(up[at * Self::NARROW + h]);
                let off = (0..Self::NARROW).map(|h| weight(h) * hidden[h]).sum::<f64>() - clean[at];
                loss += 0.5 * off * off;
                for h in 0..Self::NARROW {
                    sum[Self::WIDE * Self::NARROW + at * Self::NARROW + h] += off * hidden[h];
                    back[h] += off * weight(h);
                }
            }
            for h in 0..Self::NARROW {
                let slope = back[h] * (1.0 - hidden[h] * hidden[h]);
                (0..Self::WIDE).for_each(|at| sum[h * Self::WIDE + at] += slope * masked[at]);
            }
            loss
        })
    }
}

/// What one rank of several would see if it were alone: its own shares, one after the other.
pub(super) struct Alone<'a> {
    pub(super) model: &'a dyn Model,
    pub(super) rank: u64,
    pub(super) ranks: u64,
    /// Samples of one rank in one step.
    pub(super) share: u64,
}

impl Model for Alone<'_> {
    fn parameters(&self) -> usize {
        self.model.parameters()
    }

    fn gradient(&self, params: &[f32], grain: Range<u64>, into: &mut [f32]) -> Grain {
        let (step, within) = (grain.start / self.share, grain.start % self.share);
        let start = (step * self.ranks + self.rank) * self.share + within;
        self.model.gradient(params, start..start + (grain.end - grain.start), into)
    }
}

#[test]
fn gradients_are_slopes_of_losses() {
    let models: [&dyn Model; 3] = [&Bowl, &Slope { alike: false }, &Bent];
    for model in models {
        let x: Vec<f32> = (0..model.parameters()).map(|at| noise(9, 0, at) as f32).collect();
        let (mut gradient, mut other) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        model.gradient(&x, 3..9, &mut gradient);
        for at in 0..x.len() {
            let mut loss = |by: f32| {
                let mut x = x.clone();
                x[at] += by;
                model.gradient(&x, 3..9, &mut other).loss
            };
            let slope = (loss(1e-3) - loss(-1e-3)) / 2e-3;
            assert!((slope - f64::from(gradient[at])).abs() < 1e-2, "{at}: {slope} {}", gradient[at]);
        }
    }
}
