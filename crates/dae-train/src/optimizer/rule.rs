//! An optimizer, ready to be applied.

use super::sweep::sweep;
use dae_schedule::Optimizer;
use pulp::Arch;

/// An optimizer with its constants worked out once. Its results follow `torch.optim.SGD`, `Adam` and `AdamW`.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    arch: Arch,
    kind: Kind,
}

/// Constants that depend on the step are kept in f64 and rounded to f32 once a step, as PyTorch does.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Plain {
        lr: f64,
        weight_decay: f32,
    },
    Momentum {
        lr: f64,
        momentum: f32,
        nesterov: bool,
        weight_decay: f32,
    },
    Adam {
        lr: f64,
        beta1: f64,
        beta2: f64,
        eps: f32,
        weight_decay: f64,
        decoupled: bool,
    },
}

impl Rule {
    /// The rule of a schedule's optimizer.
    pub fn new(spec: &Optimizer) -> Self {
        let kind = match *spec {
            Optimizer::Sgd {
                lr,
                momentum: 0.0,
                weight_decay,
                ..
            } => Kind::Plain {
                lr: as_written(lr),
                weight_decay,
            },
            Optimizer::Sgd {
                lr,
                momentum,
                nesterov,
                weight_decay,
            } => Kind::Momentum {
                lr: as_written(lr),
                momentum,
                nesterov,
                weight_decay,
            },
            Optimizer::Adam {
                lr,
                beta1,
                beta2,
                eps,
                weight_decay,
            }
            | Optimizer::AdamW {
                lr,
                beta1,
                beta2,
                eps,
                weight_decay,
            } => Kind::Adam {
                lr: as_written(lr),
                beta1: as_written(beta1),
                beta2: as_written(beta2),
                eps,
                weight_decay: as_written(weight_decay),
                decoupled: matches!(spec, Optimizer::AdamW { .. }),
            },
        };
        Self {
            arch: Arch::new(),
            kind,
        }
    }

    /// The names of the state buffers, in the order [`Rule::apply`] takes them. Each is as long as the parameters and
    /// starts as zeros.
    pub fn state_names(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Plain { .. } => &[],
            Kind::Momentum { .. } => &["momentum"],
            Kind::Adam { .. } => &["m", "v"],
        }
    }

    /// Applies step `t` (the 1-based count of committed updates) to one slice, in place.
    ///
    /// `grads` holds one slice for each worker's slot; the gradient is `(g0 + g1 + ...) * scale`, summed in rank order.
    /// `lr_factor` multiplies the learning rate. Returns whether every gradient element was finite; the slice has been
    /// changed either way, so a step that must be skipped on such a gradient is judged by [`super::sum_of_squares`]
    /// first.
    ///
    /// # Panics
    /// If `t` is 0, the slices are not all of one length, or `state` does not match [`Rule::state_names`].
    pub fn apply(
        &self,
        t: u64,
        lr_factor: f32,
        scale: f32,
        params: &mut [f32],
        state: &mut [&mut [f32]],
        grads: &[&[f32]],
    ) -> bool {
        assert!(t > 0, "steps are counted from 1");
        match (self.kind, state) {
            (Kind::Plain { lr, weight_decay }, []) => {
                let lr = (lr * f64::from(lr_factor)) as f32;
                self.arch.dispatch(
                    #[inline(always)]
                    || {
                        sweep(grads, scale, params, [], |g, p, []| {
                            *p -= lr * (g + weight_decay * *p);
                        })
                    },
                )
            }
            (
                Kind::Momentum {
                    lr,
                    momentum,
                    nesterov,
                    weight_decay,
                },
                [buffer],
            ) => {
                let lr = (lr * f64::from(lr_factor)) as f32;
                // The look-ahead is a blend of two constants, so that the loop has no branch.
                let (ahead, own) = if nesterov { (momentum, 1.0) } else { (1.0, 0.0) };
                self.arch.dispatch(
                    #[inline(always)]
                    || {
                        sweep(grads, scale, params, [buffer], |g, p, [b]| {
                            let g = g + weight_decay * *p;
                            // From zeros, the first step makes it the gradient itself, as PyTorch does.
                            *b = momentum * *b + g;
                            *p -= lr * (ahead * *b + own * g);
                        })
                    },
                )
            }
            (
                Kind::Adam {
                    lr,
                    beta1,
                    beta2,
                    eps,
                    weight_decay,
                    decoupled,
                },
                [m, v],
            ) => {
                let lr = lr * f64::from(lr_factor);
                let step = AdamStep {
                    step_size: (lr / (1.0 - libm::pow(beta1, t as f64))) as f32,
                    root_correction: (1.0 - libm::pow(beta2, t as f64)).sqrt() as f32,
                    blend1: (1.0 - beta1) as f32,
                    beta2: beta2 as f32,
                    blend2: (1.0 - beta2) as f32,
                    eps,
                    keep: if decoupled {
                        (1.0 - lr * weight_decay) as f32
                    } else {
                        1.0
                    },
                    penalty: if decoupled { 0.0 } else { weight_decay as f32 },
                };
                self.arch.dispatch(
                    #[inline(always)]
                    || {
                        sweep(grads, scale, params, [m, v], |g, p, [m, v]| {
                            let g = g + step.penalty * *p;
                            *m += (g - *m) * step.blend1;
                            *v = *v * step.beta2 + g * g * step.blend2;
                            let denominator = v.sqrt() / step.root_correction + step.eps;
                            *p = *p * step.keep - step.step_size * *m / denominator;
                        })
                    },
                )
            }
            (_, state) => panic!(
                "{} state slices where {:?} are due",
                state.len(),
                self.state_names()
            ),
        }
    }
}

/// The constants of one Adam or AdamW step (Kingma and Ba 2015, algorithm 1; Loshchilov and Hutter 2019, algorithm 2).
#[derive(Clone, Copy)]
struct AdamStep {
    /// The learning rate over the first moment's bias correction.
    step_size: f32,
    /// The square root of the second moment's bias correction.
    root_correction: f32,
    /// `1 - beta1`.
    blend1: f32,
    beta2: f32,
    /// `1 - beta2`.
    blend2: f32,
    eps: f32,
    /// What decoupled weight decay leaves of a parameter.
    keep: f32,
    /// The L2 penalty added to the gradient.
    penalty: f32,
}

/// The decimal number an f32 was written as: `1 - beta` loses the digits that `0.999f32` lacks, and PyTorch has them.
fn as_written(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

#[cfg(test)]
mod tests;
