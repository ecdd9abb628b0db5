//! The same training in one thread and f64, step after step, with nothing of the actors in it.

use crate::linear::Linear;
use crate::made_up::MadeUp;
use crate::rig::{FEATURES as N, plan};
use dae_schedule::Optimizer;
use dae_train::backend::Backend;
use dae_train::data::{Batch, Dataset};
use dae_train::topology::Topology;
use std::sync::Arc;

/// What training comes to.
pub struct Truth {
    /// The weights, then the biases.
    pub params: Vec<f64>,
    /// The mean loss of each step.
    pub losses: Vec<f64>,
    /// The norm of each step's gradient, before clipping.
    pub norms: Vec<f64>,
}

impl Truth {
    /// How far flat parameters are from these, as a part of their length.
    pub fn apart(&self, flat: &[f32]) -> f64 {
        let flat: Vec<f32> =
            flat[..N * N].iter().chain(&flat[(N * N).next_multiple_of(16)..][..N]).copied().collect();
        let truth: Vec<f32> = self.params.iter().map(|p| *p as f32).collect();
        crate::rig::apart(&flat, &truth)
    }
}

/// The flat parameters a run of this topology starts with.
pub fn initial(topology: &Topology) -> Vec<f32> {
    let model = Linear::new(N);
    let mut params = vec![0.0; model.layout().len()];
    model.initialise(topology.job.seed, &mut params).unwrap();
    params
}

/// Trains on so many samples, with plain SGD or Adam at a constant rate.
pub fn train(topology: &Topology, samples: usize) -> Truth {
    let (plan, initial) = (plan(topology), initial(topology));
    let dataset: Arc<dyn Dataset> = Arc::new(MadeUp::new(samples, N));
    let feeder = dae_train::job::feeder(&plan, &dataset);
    let (global, total) = (plan.global_batch(), plan.total_samples(dataset.len()));
    let mut batch = Batch::new(global, N, false);
    let flat = initial[..N * N].iter().chain(&initial[(N * N).next_multiple_of(16)..][..N]);
    let mut params: Vec<f64> = flat.map(|p| f64::from(*p)).collect();
    let (mut m, mut v) = (vec![0.0; params.len()], vec![0.0; params.len()]);
    let (mut losses, mut norms) = (Vec::new(), Vec::new());
    for step in 0..plan.steps(dataset.len()) {
        let start = step * global as u64;
        feeder.fill(start..(start + global as u64).min(total), &mut batch);
        let (loss, mut gradient) = gradient(&params, &batch);
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let clip = plan.clip().map_or(1.0, |clip| (f64::from(clip) / (norm + 1e-6)).min(1.0));
        gradient.iter_mut().for_each(|g| *g *= clip);
        let t = (step + 1) as i32;
        for (i, g) in gradient.iter().enumerate() {
            params[i] -= match *plan.optimizer().unwrap() {
                Optimizer::Sgd { lr, .. } => f64::from(lr) * g,
                Optimizer::Adam { lr, eps, .. } => {
                    m[i] = 0.9 * m[i] + 0.1 * g;
                    v[i] = 0.999 * v[i] + 0.001 * g * g;
                    let (m, v) = (m[i] / (1.0 - 0.9f64.powi(t)), v[i] / (1.0 - 0.999f64.powi(t)));
                    f64::from(lr) * m / (v.sqrt() + f64::from(eps))
                }
                other => panic!("{other:?}"),
            };
        }
        losses.push(loss);
        norms.push(norm);
    }
    Truth { params, losses, norms }
}

/// The mean loss over the rows, and its gradient.
fn gradient(params: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
    let (mut loss, mut gradient) = (0.0, vec![0.0; params.len()]);
    let rows = batch.clean.chunks(N).zip(batch.noisy.chunks(N)).take(batch.rows);
    let part = 1.0 / (batch.rows * N) as f64;
    for (clean, noisy) in rows {
        for i in 0..N {
            let dot: f64 = (0..N).map(|j| params[i * N + j] * f64::from(noisy[j])).sum();
            let error = dot + params[N * N + i] - f64::from(clean[i]);
            loss += error * error * part;
            (0..N).for_each(|j| gradient[i * N + j] += 2.0 * error * part * f64::from(noisy[j]));
            gradient[N * N + i] += 2.0 * error * part;
        }
    }
    (loss, gradient)
}
