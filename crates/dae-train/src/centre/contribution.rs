//! What a child hands a shard of the centre.

use dae_schedule::Stale;
use std::sync::Arc;

/// A child's round, in one shard's slice.
#[derive(Debug, Clone)]
pub struct Contribution {
    /// Which child.
    pub child: usize,
    /// The version it pulled.
    pub read: u64,
    /// What that was.
    pub from: Arc<Vec<f32>>,
    /// What became of it.
    pub motion: Motion,
    /// The samples that went into it, more than 0.
    pub samples: f64,
}

/// What a round leaves.
#[derive(Debug, Clone)]
pub enum Motion {
    /// Where the parameters stand.
    Value(Vec<f32>),
    /// With `step raw`: the gradient, summed over the samples.
    Raw(Vec<f32>),
}

impl Motion {
    /// The numbers.
    pub fn numbers(&self) -> &[f32] {
        match self {
            Self::Value(numbers) | Self::Raw(numbers) => numbers,
        }
    }
}

impl Contribution {
    /// Makes it count as one sample, whatever it has.
    pub(super) fn equal(&mut self) {
        if let Motion::Raw(sum) = &mut self.motion {
            let alone = (1.0 / self.samples) as f32;
            sum.iter_mut().for_each(|g| *g *= alone);
        }
        self.samples = 1.0;
    }

    /// Corrects it for an update of a centre that stands at `x` in version `version`.
    pub(super) fn correct(&mut self, stale: Stale, version: u64, x: &[f32]) {
        let tau = version.saturating_sub(self.read);
        match stale {
            Stale::None | Stale::Drop(_) => {}
            // Zhang et al. 2016. A fresh one is as good as one that is one version old.
            Stale::LrOverTau if tau > 1 => self.change(|_, g, _| g / tau as f64),
            Stale::LrOverTau => {}
            // Zheng et al. 2017: what the gradient would be at x, its own square standing for the curvature.
            Stale::Dc(lambda) => {
                let lambda = f64::from(lambda);
                self.change(|at, g, from| g + lambda * g * g * (f64::from(x[at]) - from));
            }
        }
    }

    /// Changes the pseudo-gradient at each place: `change(place, gradient, where it was taken)`.
    fn change(&mut self, change: impl Fn(usize, f64, f64) -> f64) {
        let (from, samples) = (&*self.from, self.samples);
        match &mut self.motion {
            Motion::Value(to) => {
                for (at, (to, from)) in to.iter_mut().zip(from).enumerate() {
                    let (now, from) = (f64::from(*to), f64::from(*from));
                    let g = from - now;
                    *to = (now - (change(at, g, from) - g)) as f32;
                }
            }
            Motion::Raw(sum) => {
                for (at, (sum, from)) in sum.iter_mut().zip(from).enumerate() {
                    let g = f64::from(*sum) / samples;
                    *sum = (change(at, g, f64::from(*from)) * samples) as f32;
                }
            }
        }
    }
}
