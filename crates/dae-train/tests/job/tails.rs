//! Sizes that do not divide: every sample counts once, and who has none contributes nothing.

use crate::linear::{Act, Linear};
use crate::made_up::MadeUp;
use crate::oracle;
use crate::rig::{FEATURES, Folder, Rig, plan, topology};
use dae_train::data::Sampler;
use dae_train::topology::Topology;
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

/// Runs a topology on so many samples, and holds what it consumed against the order it should follow.
fn every_sample_counts_once(topology: &Topology, samples: usize) {
    let plan = plan(topology);
    let (total, global) = (plan.total_samples(samples), plan.global_batch() as u64);
    let seen: Arc<Mutex<Vec<(u64, usize)>>> = Arc::default();
    let record = seen.clone();
    let model = Linear::new(FEATURES).acting(move |now| {
        assert!(now.batch.rows > 0, "a rank without rows computes nothing");
        let rows = now.batch.clean.chunks(FEATURES).take(now.batch.rows);
        record.lock().unwrap().extend(rows.map(|row| (now.step, MadeUp::id(row))));
        Act::Compute
    });
    let folder = Folder::new();
    let rig = Rig::new(topology).backend(model).dataset(MadeUp::new(samples, FEATURES));
    let ran = folder.run(rig).unwrap().finished();

    // Each position of the run, in its own step, once.
    let sampler = Sampler::new(topology.job.seed, samples, true);
    let mut due: Vec<_> = (0..total).map(|p| (p / global + 1, sampler.at(p).1)).collect();
    let mut seen = seen.lock().unwrap().clone();
    due.sort_unstable();
    seen.sort_unstable();
    assert_eq!(seen, due);

    let steps = ran.log.steps();
    assert_eq!(steps.len() as u64, total.div_ceil(global));
    assert!(steps.iter().all(|s| s.samples == (s.step * global).min(total)));
    let last = folder.read(ran.report.step);
    assert_eq!((last.meta.step, last.meta.cursor), (steps.len() as u64, total));

    // Every sample weighs alike, in whole steps and in short ones.
    let truth = oracle::train(topology, samples);
    let far = truth.apart(ran.params());
    assert!(far < 1e-5, "{far:e} from the oracle");
    for (ours, loss) in steps.iter().zip(truth.losses) {
        assert!((ours.loss - loss).abs() <= 1e-5 * loss, "{ours:?} {loss}");
    }
}

#[test]
fn every_size_up_to_twice_the_workers() {
    for workers in 1..=4 {
        for samples in 1..=2 * workers + 1 {
            let word = format!("split {workers} | step sgd(0.1)");
            every_sample_counts_once(&topology(&word).batch(1).epochs(1.0), samples);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_sizes(
        (workers, accum) in (1u32..=4, 1u32..=3), batch in 1u32..=3, part in 0.0f64..1.0, epochs in 0.5f64..3.0
    ) {
        let samples = 1 + (part * f64::from(2 * workers + 1)) as usize;
        let word = format!("accum {accum} | split {workers} | step sgd(0.1)");
        every_sample_counts_once(&topology(&word).batch(batch).epochs(epochs), samples);
    }
}

#[test]
fn a_run_over_nothing_ends_and_changes_nothing() {
    // A millionth of an epoch rounds to no sample at all.
    let topology = topology("split 2 | step adam(0.1)").epochs(1e-6);
    let ran = Rig::new(&topology).run().finished();
    let steps = ran.log.steps();
    assert!(steps.iter().all(|s| s.samples == 0), "{steps:?}");
    let none = Rig::new(&topology.clone().schedule("step adam(0.9)")).run().finished();
    assert_eq!(ran.bits(), none.bits());
}
