//! Gradients against autograd and finite differences, and what models promise, on real tensors.

#![allow(clippy::unwrap_used)]

use dae_collective::{Arena, Contribution};
use dae_torch::{
    Activation, ConvAutoencoder, Mlp, Model, Parameter, Params, ReconstructionLoss, Tensor, TorchBackend,
};
use dae_train::backend::{Backend, BackendError};
use dae_train::data::{Batch, uniform};
use std::sync::Arc;
use std::time::Duration;

/// A model without its own pass: the same computation, by autograd.
struct ByAutograd<M>(M);

impl<M: Model> Model for ByAutograd<M> {
    fn parameters(&self) -> Vec<Parameter> {
        self.0.parameters()
    }
    fn forward(&self, params: &Params, noisy: &Tensor) -> Tensor {
        self.0.forward(params, noisy)
    }
    fn loss(&self, params: &Params, samples: &dae_torch::Samples) -> Tensor {
        self.0.loss(params, samples)
    }
    fn reconstruct(&self, params: &Params, noisy: &Tensor) -> Tensor {
        self.0.reconstruct(params, noisy)
    }
}

fn batch(rows: usize, features: usize, item: u64) -> Batch {
    let mut batch = Batch::new(rows + 1, features, true);
    batch.rows = rows;
    let fill = |out: &mut [f32], item| {
        uniform(7, item, 0.5, out);
        out.iter_mut().for_each(|x| *x += 0.5);
    };
    fill(&mut batch.clean, item);
    fill(&mut batch.noisy, item + 100);
    let mask = batch.mask.as_mut().unwrap();
    uniform(7, item + 200, 1.0, mask);
    mask.iter_mut().for_each(|x| *x = f32::from(*x > 0.0));
    batch
}

/// Loss and gradient of the sum over two micro-batches of unequal size.
fn gradient(model: impl Model + 'static, shape: &[usize]) -> (f64, Vec<f32>) {
    let backend = TorchBackend::new(Arc::new(model), shape, 6, 1).unwrap();
    let len = backend.layout().len();
    let mut params = vec![0.0; len];
    backend.initialise(3, &mut params).unwrap();
    let arena = Arena::new(len, 0, 1, Duration::from_secs(60));
    arena.load(0, &params, &[], dae_collective::Scale::UNKNOWN).unwrap();
    let mut member = arena.join(0).unwrap();
    let mut replica = backend.replica(&member).unwrap();
    member.slot().fill(f32::NAN);
    let features = shape.iter().product();
    let mut loss = replica.gradient(&mut member, &batch(5, features, 0), true).unwrap();
    loss += replica.gradient(&mut member, &batch(2, features, 1), false).unwrap();
    let slot = member.slot().to_vec();
    let grads = backend.layout().tensors().iter().flat_map(|t| slot[t.range()].to_vec()).collect();
    (loss, grads)
}

fn assert_close(a: &[f32], b: &[f32], what: &str) {
    let scale = b.iter().fold(1e-6f32, |m, x| m.max(x.abs()));
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= 2e-5 * scale, "{what}: element {i} is {x}, by autograd {y}");
    }
    assert_eq!(a.len(), b.len());
}

#[test]
fn the_perceptrons_own_pass_is_autograds_gradient() {
    for activation in [Activation::Relu, Activation::Sigmoid, Activation::Tanh] {
        for cross_entropy in [true, false] {
            let loss = ReconstructionLoss { cross_entropy, ..ReconstructionLoss::BCE };
            let mlp = Mlp::new([12, 9, 4, 9, 12], activation, loss);
            let (own, grads) = gradient(mlp.clone(), &[12]);
            let (reference, by_autograd) = gradient(ByAutograd(mlp), &[12]);
            assert!((own - reference).abs() < 1e-5 * reference, "{own} {reference}");
            assert_close(&grads, &by_autograd, &format!("{activation:?}, cross entropy {cross_entropy}"));
        }
    }
}

/// The loss at the parameters moved along a direction.
fn loss_along(backend: &TorchBackend, params: &[f32], direction: &[f32], by: f32, batch: &Batch) -> f64 {
    let moved: Vec<f32> = params.iter().zip(direction).map(|(p, d)| p + by * d).collect();
    let mut out = vec![0.0; batch.rows * batch.features];
    backend.reconstruct(&moved, batch, &mut out).unwrap()
}

#[test]
fn every_models_gradient_is_its_losss_slope() {
    let emphasis = ReconstructionLoss { corrupted: 1.5, clean: 0.5, ..ReconstructionLoss::BCE };
    let linear = ReconstructionLoss { logits: false, ..ReconstructionLoss::MSE };
    let models: Vec<(&str, Arc<dyn Model>, Vec<usize>)> = vec![
        (
            "tied",
            Arc::new(Mlp::new([16, 8, 4, 8, 16], Activation::Tanh, ReconstructionLoss::BCE).tied()),
            vec![16],
        ),
        ("emphasis", Arc::new(Mlp::new([16, 8, 16], Activation::Sigmoid, emphasis)), vec![16]),
        ("linear output", Arc::new(Mlp::new([16, 8, 16], Activation::Sigmoid, linear)), vec![16]),
        ("plain", Arc::new(Mlp::new([16, 8, 16], Activation::Tanh, ReconstructionLoss::BCE)), vec![16]),
        ("conv", Arc::new(ConvAutoencoder::new(ReconstructionLoss::BCE)), vec![1, 8, 8]),
    ];
    for (name, model, shape) in models {
        let backend = TorchBackend::new(model, &shape, 5, 1).unwrap();
        let len = backend.layout().len();
        let (mut params, mut direction) = (vec![0.0; len], vec![0.0; len]);
        backend.initialise(1, &mut params).unwrap();
        for t in backend.layout().tensors() {
            uniform(9, t.offset as u64, 1.0, &mut direction[t.range()]);
        }
        let arena = Arena::new(len, 0, 1, Duration::from_secs(60));
        arena.load(0, &params, &[], dae_collective::Scale::UNKNOWN).unwrap();
        let mut member = arena.join(0).unwrap();
        let mut replica = backend.replica(&member).unwrap();
        let batch = batch(5, shape.iter().product(), 0);
        let loss = replica.gradient(&mut member, &batch, true).unwrap();
        assert!((loss - loss_along(&backend, &params, &direction, 0.0, &batch)).abs() < 1e-5, "{name}");
        let slope: f64 = member.slot().iter().zip(&direction).map(|(g, d)| f64::from(g * d)).sum();
        let by = 1e-3;
        let ahead = loss_along(&backend, &params, &direction, by, &batch);
        let behind = loss_along(&backend, &params, &direction, -by, &batch);
        let difference = (ahead - behind) / f64::from(2.0 * by);
        // Relu and max-pooling have corners within the difference: hence the wide bound.
        let bound = if name == "conv" { 0.05 } else { 0.01 };
        assert!(
            (slope - difference).abs() <= bound * (1.0 + difference.abs()),
            "{name}: {slope} {difference}"
        );
    }
}

/// Parameters are views: what the arena applies is what the next gradient sees.
#[test]
fn a_step_in_the_arena_is_seen_by_the_model() {
    let mlp = Mlp::new([12, 6, 12], Activation::Relu, ReconstructionLoss::BCE);
    let backend = TorchBackend::new(Arc::new(mlp), &[12], 6, 1).unwrap();
    let mut params = vec![0.0; backend.layout().len()];
    backend.initialise(3, &mut params).unwrap();
    let arena = Arena::new(params.len(), 0, 1, Duration::from_secs(60));
    arena.load(0, &params, &[], dae_collective::Scale::UNKNOWN).unwrap();
    let mut member = arena.join(0).unwrap();
    let mut replica = backend.replica(&member).unwrap();
    let batch = batch(5, 12, 0);
    let mut losses = vec![];
    for _ in 0..50 {
        losses.push(replica.gradient(&mut member, &batch, true).unwrap());
        let descend = |view: &mut dae_collective::Apply<'_>| {
            for (p, g) in view.params.iter_mut().zip(view.grads[0]) {
                *p -= 0.2 * g;
            }
            Ok(((), Some(true)))
        };
        member.reduce(Contribution::default(), descend).unwrap();
    }
    assert!(losses.windows(2).all(|w| w[1] < w[0]) && losses[49] < 0.95 * losses[0], "{losses:?}");
}

struct Wrong(&'static str);

impl Model for Wrong {
    fn parameters(&self) -> Vec<Parameter> {
        match self.0 {
            "none" => vec![],
            "twice" => [Parameter::linear("a", 4, 4), Parameter::linear("a", 4, 4)].concat(),
            _ => Parameter::linear("a", 5, 4).to_vec(),
        }
    }
    fn forward(&self, params: &Params, noisy: &Tensor) -> Tensor {
        match self.0 {
            "name" => noisy.linear(&params["b.weight"], None::<&Tensor>),
            _ => noisy.linear(&params["a.weight"], Some(&params["a.bias"])),
        }
    }
}

#[test]
fn a_model_that_cannot_compute_is_an_error_before_step_0() {
    let error = |kind| -> BackendError {
        TorchBackend::new(Arc::new(Wrong(kind)), &[4], 2, 1).map(drop).unwrap_err()
    };
    assert!(error("none").0.contains("no parameters"), "{}", error("none"));
    assert!(error("twice").0.contains("two parameters are named `a.weight`"), "{}", error("twice"));
    assert!(error("name").0.contains("declares a.bias, a.weight"), "{}", error("name"));
    let shape = error("shape").0;
    assert!(shape.contains("cannot be multiplied") && !shape.contains('\n'), "{shape}");
}
