//! The optimizers, as `torch.optim` defines them.

use crate::optimizer::Optimizer;

/// An optimizer with its state. The arithmetic, and its order in f32 and f64, is what the runtime does: equal bits.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    optimizer: Optimizer,
    /// Updates so far.
    steps: u64,
    /// The momentum, or the first moment; empty where there is none.
    first: Vec<f32>,
    /// The second moment; empty where there is none.
    second: Vec<f32>,
}

impl Rule {
    pub(super) fn new(optimizer: Optimizer, parameters: usize) -> Self {
        let (first, second) = match optimizer {
            Optimizer::Sgd { momentum: 0.0, .. } => (0, 0),
            Optimizer::Sgd { .. } => (parameters, 0),
            Optimizer::Adam { .. } | Optimizer::AdamW { .. } => (parameters, parameters),
        };
        Self { optimizer, steps: 0, first: vec![0.0; first], second: vec![0.0; second] }
    }

    /// One update of `x` by the gradient `sum * scale`.
    pub(super) fn apply(&mut self, scale: f32, sum: &[f32], x: &mut [f32]) {
        self.steps += 1;
        match self.optimizer {
            Optimizer::Sgd { lr, momentum: 0.0, weight_decay, .. } => {
                for (x, sum) in x.iter_mut().zip(sum) {
                    *x -= lr * (sum * scale + weight_decay * *x);
                }
            }
            Optimizer::Sgd { lr, momentum, nesterov, weight_decay } => {
                let (ahead, own) = if nesterov { (momentum, 1.0) } else { (1.0, 0.0) };
                for ((x, sum), b) in x.iter_mut().zip(sum).zip(&mut self.first) {
                    let g = sum * scale + weight_decay * *x;
                    *b = momentum * *b + g;
                    *x -= lr * (ahead * *b + own * g);
                }
            }
            Optimizer::Adam { lr, beta1, beta2, eps, weight_decay } => {
                self.adam(lr, (beta1, beta2), eps, weight_decay, false, scale, sum, x);
            }
            Optimizer::AdamW { lr, beta1, beta2, eps, weight_decay } => {
                self.adam(lr, (beta1, beta2), eps, weight_decay, true, scale, sum, x);
            }
        }
    }

    /// Kingma and Ba 2015, algorithm 1; decoupled: Loshchilov and Hutter 2019, algorithm 2. What depends on the step
    /// alone is kept in f64 and rounded once.
    #[allow(clippy::too_many_arguments)]
    fn adam(
        &mut self,
        lr: f32,
        betas: (f32, f32),
        eps: f32,
        decay: f32,
        decoupled: bool,
        scale: f32,
        sum: &[f32],
        x: &mut [f32],
    ) {
        let [lr, beta1, beta2, decay] = [lr, betas.0, betas.1, decay].map(as_written);
        let t = self.steps as f64;
        let step_size = (lr / (1.0 - libm::pow(beta1, t))) as f32;
        let root_correction = (1.0 - libm::pow(beta2, t)).sqrt() as f32;
        let (blend1, blend2, beta2) = ((1.0 - beta1) as f32, (1.0 - beta2) as f32, beta2 as f32);
        let (keep, penalty) = if decoupled { ((1.0 - lr * decay) as f32, 0.0) } else { (1.0, decay as f32) };
        for (((x, sum), m), v) in x.iter_mut().zip(sum).zip(&mut self.first).zip(&mut self.second) {
            let g = sum * scale + penalty * *x;
            *m += (g - *m) * blend1;
            *v = *v * beta2 + g * g * blend2;
            *x = *x * keep - step_size * *m / (v.sqrt() / root_correction + eps);
        }
    }

    /// Its count of updates and its buffers.
    pub(super) fn state(&mut self) -> (&mut u64, [&mut Vec<f32>; 2]) {
        (&mut self.steps, [&mut self.first, &mut self.second])
    }

    /// Goes on from another's state, if they are of one kind.
    pub(super) fn carry(&mut self, from: &Self) {
        let kind = std::mem::discriminant::<Optimizer>;
        let fits = self.first.len() == from.first.len() && self.second.len() == from.second.len();
        if kind(&self.optimizer) == kind(&from.optimizer) && fits {
            *self = Self { optimizer: self.optimizer, ..from.clone() };
        }
    }

    #[cfg(test)]
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.optimizer, self.first.len());
    }
}

/// The decimal number an f32 was written as: `1 - beta` loses the digits that `0.999f32` lacks, and PyTorch has them.
fn as_written(x: f32) -> f64 {
    x.to_string().parse().unwrap_or(f64::from(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published formulas in f64, one parameter.
    fn reference(optimizer: Optimizer, mut x: f64, gradients: &[f64]) -> f64 {
        let (mut m, mut v) = (0.0, 0.0);
        for (t, g) in (1..).zip(gradients) {
            match optimizer {
                Optimizer::Sgd { lr, momentum, nesterov, weight_decay } => {
                    let [lr, momentum, decay] = [lr, momentum, weight_decay].map(as_written);
                    let g = g + decay * x;
                    m = momentum * m + g;
                    x -= lr * if nesterov { g + momentum * m } else { m };
                }
                Optimizer::Adam { lr, beta1, beta2, eps, weight_decay }
                | Optimizer::AdamW { lr, beta1, beta2, eps, weight_decay } => {
                    let [lr, b1, b2, eps, decay] = [lr, beta1, beta2, eps, weight_decay].map(as_written);
                    let decoupled = matches!(optimizer, Optimizer::AdamW { .. });
                    let g = if decoupled { *g } else { g + decay * x };
                    x -= if decoupled { lr * decay * x } else { 0.0 };
                    (m, v) = (b1 * m + (1.0 - b1) * g, b2 * v + (1.0 - b2) * g * g);
                    x -= lr * m / (1.0 - b1.powi(t)) / ((v / (1.0 - b2.powi(t))).sqrt() + eps);
                }
            }
        }
        x
    }

    #[test]
    fn rules_are_the_published_ones() {
        let sgd = |momentum, nesterov| Optimizer::Sgd { lr: 0.1, momentum, nesterov, weight_decay: 0.01 };
        let adam = Optimizer::Adam { lr: 0.05, beta1: 0.8, beta2: 0.99, eps: 1e-6, weight_decay: 0.1 };
        let adamw = Optimizer::AdamW { lr: 0.01, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.5 };
        for optimizer in [sgd(0.0, false), sgd(0.9, false), sgd(0.9, true), adam, adamw, Optimizer::adam(0.1)]
        {
            let gradients: Vec<f64> = (0..30).map(|t| (f64::from(t) * 1.3).sin()).collect();
            let (mut rule, mut x) = (Rule::new(optimizer, 1), [0.7]);
            for g in &gradients {
                // As two samples would have it: a sum, to be halved.
                rule.apply(0.5, &[2.0 * *g as f32], &mut x);
            }
            let want = reference(optimizer, f64::from(0.7_f32), &gradients);
            assert!((f64::from(x[0]) - want).abs() < 1e-5, "{optimizer}: {} {want}", x[0]);
        }
    }
}
