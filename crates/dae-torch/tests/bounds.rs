//! What does not fit the memory it would be a view of is an error.

#![allow(clippy::unwrap_used)]

use dae_collective::{Arena, Broken, Contribution};
use dae_torch::{Activation, Init, Mlp, Model, Parameter, Params, ReconstructionLoss, Tensor, TorchBackend};
use dae_train::backend::{Backend, BackendError};
use dae_train::data::{AlignedF32, Batch};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

fn backend() -> TorchBackend {
    let mlp = Mlp::new([12, 6, 12], Activation::Relu, ReconstructionLoss::BCE);
    TorchBackend::new(Arc::new(mlp), &[3, 4], 6, 1).unwrap()
}

fn arena(len: usize, world: usize) -> Arc<Arena> {
    Arena::new(len, 0, world, Duration::from_secs(60))
}

fn batch(rows: usize, features: usize) -> Batch {
    let mut batch = Batch::new(rows, features, true);
    batch.rows = rows;
    batch
}

#[test]
fn a_batch_of_other_samples_or_fewer_rows() {
    let backend = backend();
    let arena = arena(backend.layout().len(), 1);
    let mut member = arena.join(0).unwrap();
    let mut replica = backend.replica(&member).unwrap();
    replica.gradient(&mut member, &batch(5, 12), true).unwrap();
    let mut too_few = batch(5, 12);
    too_few.rows = 6;
    let mut countless = batch(5, 12);
    countless.rows = usize::MAX / 6;
    let mut short_mask = batch(5, 12);
    short_mask.mask = Some(AlignedF32::new(59));
    let mut short_noisy = batch(5, 12);
    short_noisy.noisy = AlignedF32::new(59);
    let params = vec![0.0; backend.layout().len()];
    for bad in [batch(5, 11), batch(5, 13), too_few, countless, short_mask, short_noisy] {
        let error = replica.gradient(&mut member, &bad, true).unwrap_err();
        assert!(error.0.contains("values"), "{error:?}");
        assert_eq!(backend.reconstruct(&params, &bad, &mut [0.0; 72]).unwrap_err(), error);
    }
}

#[test]
fn an_arena_of_another_size() {
    let backend = backend();
    for len in [0, backend.layout().len() - 1, backend.layout().len() + 1] {
        let error = backend.replica(&arena(len, 1).join(0).unwrap()).map(drop).unwrap_err();
        assert!(error.0.contains(&format!("an arena of {len} values")), "{error:?}");
    }
}

#[test]
fn a_replica_computes_for_its_own_rank_and_not_after_a_break() {
    let backend = backend();
    let arena = arena(backend.layout().len(), 2);
    let [mut one, mut other] = [0, 1].map(|rank| arena.join(rank).unwrap());
    let mut replica = backend.replica(&one).unwrap();
    let for_other = catch_unwind(AssertUnwindSafe(|| replica.gradient(&mut other, &batch(5, 12), true)));
    assert!(for_other.is_err());
    arena.break_with(Broken::Left { rank: 1, cause: "out of cheese".into() });
    one.reduce(Contribution::default(), |_| Ok(((), None))).unwrap_err();
    let error = replica.gradient(&mut one, &batch(5, 12), true).unwrap_err();
    assert!(error.0.contains("out of cheese"), "{error:?}");
}

/// Two tensors whose sizes wrap to nothing where they are multiplied unchecked.
struct Immense;

impl Model for Immense {
    fn parameters(&self) -> Vec<Parameter> {
        ["a", "b"].map(|name| Parameter::new(name, [1 << 32, 1 << 32], Init::Zeros)).to_vec()
    }

    fn forward(&self, _: &Params, noisy: &Tensor) -> Tensor {
        noisy.shallow_clone()
    }
}

#[test]
fn a_model_or_sample_that_no_memory_holds() {
    let new = |model: Arc<dyn Model>, sample: &[usize]| -> BackendError {
        TorchBackend::new(model, sample, 6, 1).map(drop).unwrap_err()
    };
    let error = new(Arc::new(Immense), &[12]);
    assert!(error.0.contains("up to `a`"), "{error:?}");
    let mlp = Mlp::new([12, 6, 12], Activation::Relu, ReconstructionLoss::BCE);
    let error = new(Arc::new(mlp), &[1 << 32, 1 << 32]);
    assert!(error.0.contains("no memory holds"), "{error:?}");
}
