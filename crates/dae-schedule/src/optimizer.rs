//! The optimizers a `step` can close the gradient with, and how they are written.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::print::Shortest;

/// What turns a gradient into a change of the parameters; defaults and meaning follow `torch.optim`.
///
/// A value built by hand may hold numbers that make no sense; [`crate::Model::build`] and [`crate::parse`] refuse
/// them, so the optimizer of a [`crate::Word`] is always sound: every number finite, rates and eps above 0,
/// momentum and betas in [0, 1), and Nesterov only with momentum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Optimizer {
    /// Stochastic gradient descent, written `sgd(lr, momentum=, nesterov, wd=)`.
    Sgd {
        /// Learning rate, above 0; 0.01 when left out.
        lr: f32,
        /// Momentum in [0, 1); 0 when left out.
        momentum: f32,
        /// Nesterov's look-ahead; needs momentum above 0.
        nesterov: bool,
        /// L2 penalty added to the gradient, at least 0; 0 when left out.
        weight_decay: f32,
    },
    /// Adam (Kingma and Ba 2015), written `adam(lr, beta1=, beta2=, eps=, wd=)`.
    Adam {
        /// Learning rate, above 0; 1e-3 when left out.
        lr: f32,
        /// Decay of the first moment, in [0, 1); 0.9 when left out.
        beta1: f32,
        /// Decay of the second moment, in [0, 1); 0.999 when left out.
        beta2: f32,
        /// Added to the denominator, above 0; 1e-8 when left out.
        eps: f32,
        /// L2 penalty added to the gradient, at least 0; 0 when left out.
        weight_decay: f32,
    },
    /// Adam with decoupled weight decay (Loshchilov and Hutter 2019), written like `adam`.
    AdamW {
        /// Learning rate, above 0; 1e-3 when left out.
        lr: f32,
        /// Decay of the first moment, in [0, 1); 0.9 when left out.
        beta1: f32,
        /// Decay of the second moment, in [0, 1); 0.999 when left out.
        beta2: f32,
        /// Added to the denominator, above 0; 1e-8 when left out.
        eps: f32,
        /// Share of each parameter taken away per step and unit of `lr`, at least 0; 0.01 when left out.
        weight_decay: f32,
    },
}

impl Optimizer {
    pub(crate) const SGD_LR: f32 = 0.01;
    pub(crate) const ADAM_LR: f32 = 1e-3;

    /// Plain gradient descent: no momentum, no weight decay.
    pub fn sgd(lr: f32) -> Self {
        Self::Sgd { lr, momentum: 0.0, nesterov: false, weight_decay: 0.0 }
    }

    /// Adam with the defaults of `torch.optim.Adam`.
    pub fn adam(lr: f32) -> Self {
        Self::Adam { lr, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 }
    }

    /// AdamW with the defaults of `torch.optim.AdamW`, a weight decay of 0.01 among them.
    pub fn adamw(lr: f32) -> Self {
        Self::AdamW { lr, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01 }
    }

    /// The learning rate.
    pub fn lr(&self) -> f32 {
        match *self {
            Self::Sgd { lr, .. } | Self::Adam { lr, .. } | Self::AdamW { lr, .. } => lr,
        }
    }
}

/// Prints the learning rate always, and every other setting only where it differs from its default.
impl fmt::Display for Optimizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Sgd { lr, momentum, nesterov, weight_decay } => {
                write!(f, "sgd({}", Shortest(lr))?;
                setting(f, "momentum", momentum, 0.0)?;
                if nesterov {
                    f.write_str(", nesterov")?;
                }
                setting(f, "wd", weight_decay, 0.0)?;
            }
            Self::Adam { lr, beta1, beta2, eps, weight_decay } => {
                write!(f, "adam({}", Shortest(lr))?;
                moments(f, beta1, beta2, eps)?;
                setting(f, "wd", weight_decay, 0.0)?;
            }
            Self::AdamW { lr, beta1, beta2, eps, weight_decay } => {
                write!(f, "adamw({}", Shortest(lr))?;
                moments(f, beta1, beta2, eps)?;
                setting(f, "wd", weight_decay, 0.01)?;
            }
        }
        f.write_str(")")
    }
}

fn moments(f: &mut fmt::Formatter<'_>, beta1: f32, beta2: f32, eps: f32) -> fmt::Result {
    setting(f, "beta1", beta1, 0.9)?;
    setting(f, "beta2", beta2, 0.999)?;
    setting(f, "eps", eps, 1e-8)
}

fn setting(f: &mut fmt::Formatter<'_>, name: &str, value: f32, default: f32) -> fmt::Result {
    if value == default { Ok(()) } else { write!(f, ", {name}={}", Shortest(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_stay_unsaid() {
        assert_eq!(Optimizer::sgd(0.1).to_string(), "sgd(0.1)");
        assert_eq!(Optimizer::adam(1e-3).to_string(), "adam(1e-3)");
        assert_eq!(Optimizer::adamw(5e-4).to_string(), "adamw(5e-4)");
    }

    #[test]
    fn what_differs_is_said() {
        let sgd = Optimizer::Sgd { lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 1e-4 };
        assert_eq!(sgd.to_string(), "sgd(0.1, momentum=0.9, nesterov, wd=1e-4)");
        let adamw = Optimizer::AdamW { lr: 1.0, beta1: 0.5, beta2: 0.9, eps: 1e-6, weight_decay: 0.0 };
        assert_eq!(adamw.to_string(), "adamw(1, beta1=0.5, beta2=0.9, eps=1e-6, wd=0)");
    }
}
