//! What lateness costs a displacement.

use super::centre::Contribution;
use super::process::Motion;
use crate::join::Stale;

/// Corrects a contribution that goes into the update after version `version`, where the centre stands at `x`.
pub(super) fn corrected(stale: Stale, version: u64, x: &[f32], given: &mut Contribution) {
    let tau = version.saturating_sub(given.read);
    match stale {
        Stale::None | Stale::Drop(_) => {}
        // Zhang et al. 2016. A fresh one is as good as one that is one version old.
        Stale::LrOverTau if tau > 1 => {
            let age = if mutated!(StaleInverted) { 1.0 / tau as f64 } else { tau as f64 };
            change(given, |_, g, _| g / age);
        }
        Stale::LrOverTau => {}
        // Zheng et al. 2017: what the gradient would be at x, its own square standing for the curvature.
        Stale::Dc(lambda) => {
            let lambda = if mutated!(DelayUncorrected) { -f64::from(lambda) } else { f64::from(lambda) };
            change(given, |at, g, from| g + lambda * g * g * (f64::from(x[at]) - from));
        }
    }
}

/// Changes the pseudo-gradient at each place: `change(place, gradient, where it was taken)`.
fn change(given: &mut Contribution, change: impl Fn(usize, f64, f64) -> f64) {
    let (from, weight) = (&given.from, given.weight);
    match &mut given.motion {
        Motion::Value(to) => {
            for (at, (to, from)) in to.iter_mut().zip(from).enumerate() {
                let (now, from) = (f64::from(*to), f64::from(*from));
                let g = from - now;
                *to = (now - (change(at, g, from) - g)) as f32;
            }
        }
        Motion::Raw(_) if weight == 0.0 => {}
        Motion::Raw(sum) => {
            for (at, (sum, from)) in sum.iter_mut().zip(from).enumerate() {
                let g = f64::from(*sum) / weight;
                *sum = (change(at, g, f64::from(*from)) * weight) as f32;
            }
        }
    }
}
