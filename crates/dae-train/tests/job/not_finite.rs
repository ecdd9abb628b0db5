//! Losses and gradients that are not numbers: all stop together, the culprit is named, nothing bad is saved.

use crate::linear::{Act, Linear};
use crate::rig::{FEATURES, Folder, Rig, topology};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const WORLD: usize = 3;
const BAD: u64 = 18;

/// Runs into a bad number of `rank` in step [`BAD`], and checks all that must be so.
fn all_stop_together(optimizer: &str, rank: usize, act: Act, what: &str) {
    let topology = topology(&format!("split {WORLD} | step {optimizer}")).checkpoint_every(5);
    let reached: Arc<Mutex<[u64; WORLD]>> = Arc::default();
    let note = reached.clone();
    let model = Linear::new(FEATURES).acting(move |now| {
        now.patient();
        note.lock().unwrap()[now.member.rank()] = now.step;
        if now.is(rank, BAD) { act } else { Act::Compute }
    });
    let folder = Folder::new();
    let ran = folder.run(Rig::new(&topology).backend(model)).unwrap();

    let cause = ran.failed();
    let want = format!("the {what} of worker {rank} was not a finite number in step {BAD};");
    assert!(cause.starts_with(&want), "{optimizer}, {act:?}: {cause}");
    assert_eq!(*reached.lock().unwrap(), [BAD; WORLD], "nobody goes on alone, and nobody stops before");
    // To form the group anew would only run into it again.
    assert_eq!(ran.restarts(), [""; 0]);

    // Only good steps were told, and only good parameters saved.
    assert_eq!(ran.log.steps().len() as u64, BAD - 1);
    assert!(ran.log.steps().iter().all(|s| s.loss.is_finite()));
    assert_eq!((ran.report.step, &ran.report.params, &ran.report.checkpoint), (BAD - 1, &None, &None));
    assert_eq!(ran.log.events("failed")[0]["step"], BAD - 1);
    assert_eq!(folder.kept(), [5, 10, 15]);
    let before = Rig::new(&topology.clone().steps(15)).run().finished();
    assert_eq!(folder.read(15).params, before.params());

    let ran = folder.resume(Rig::new(&topology)).unwrap().finished();
    assert_eq!(ran.first, 15);
    assert_eq!(ran.bits(), Rig::new(&topology).run().finished().bits());
}

#[test]
fn a_loss() {
    all_stop_together("sgd(0.1)", 0, Act::Loss(f64::NAN), "loss");
    all_stop_together("adam(0.01)", 1, Act::Loss(f64::INFINITY), "loss");
    all_stop_together("adam(0.01) clip=0.1", 2, Act::Loss(f64::NEG_INFINITY), "loss");
}

#[test]
fn a_gradient_under_a_finite_loss() {
    // The bad element lies in the slice of another rank, which must not be blamed.
    all_stop_together("sgd(0.1)", 2, Act::Gradient(0, f32::NAN), "gradient");
    all_stop_together("adam(0.01)", 0, Act::Gradient(150, f32::INFINITY), "gradient");
    all_stop_together("sgd(0.05, momentum=0.9)", 1, Act::Gradient(40, f32::NEG_INFINITY), "gradient");
}

#[test]
fn a_gradient_under_a_finite_loss_and_clipping() {
    all_stop_together("sgd(0.1) clip=0.1", 1, Act::Gradient(159, f32::NAN), "gradient");
    all_stop_together("adam(0.01) clip=0.1", 2, Act::Gradient(31, f32::INFINITY), "gradient");
}

#[test]
fn a_state_that_gives_no_finite_loss_takes_no_older_ones_place() {
    // The copy of step 17 is whole in the very step that shows its loss, and is not worth the one of step 15.
    for act in [Act::Loss(f64::NAN), Act::Gradient(5, f32::NAN)] {
        let mut topology = topology("split 2 | step adam(0.01)").checkpoint_every(1);
        topology.checkpoint.keep = 1;
        let model = Linear::new(FEATURES).acting(move |now| {
            now.patient();
            if now.is(1, BAD) { act } else { Act::Compute }
        });
        let folder = Folder::new();
        let ran = folder.run(Rig::new(&topology).backend(model)).unwrap();
        assert!(ran.failed().contains("step 18"), "{}", ran.failed());
        assert_eq!(folder.kept(), [15]);
        let saved: Vec<_> = ran.log.events("checkpoint").iter().map(|e| e["step"].as_u64()).collect();
        assert_eq!(saved, (1..=15).step_by(2).map(Some).collect::<Vec<_>>());
        assert_eq!(ran.log.kinds().last().map(String::as_str), Some("failed"));
    }
}

#[test]
fn of_several_bad_ranks_the_first_is_named() {
    for (act, what) in [(Act::Loss(f64::NAN), "loss"), (Act::Gradient(5, f32::NAN), "gradient")] {
        let model = Linear::new(FEATURES).acting(move |now| match (now.member.rank(), now.step) {
            (1 | 2, BAD) => act,
            _ => Act::Compute,
        });
        let ran = Rig::new(&topology("split 3 | step sgd(0.1)")).backend(model).run();
        let want = format!("the {what} of worker 1 was not a finite number in step 18;");
        assert!(ran.failed().starts_with(&want), "{}", ran.failed());
        assert_eq!((ran.report.step, ran.report.restarts), (BAD - 1, 0));
    }
}

#[test]
fn a_sum_may_be_too_large_where_no_part_of_it_is() {
    let model = Linear::new(FEATURES).acting(|now| match now.step {
        BAD => Act::Gradient(5, f32::MAX),
        _ => Act::Compute,
    });
    let ran = Rig::new(&topology("split 3 | step sgd(0.1)")).backend(model).run();
    let want = "the sum of the gradients was not a finite number in step 18;";
    assert!(ran.failed().starts_with(want), "{}", ran.failed());
    assert_eq!(ran.report.step, BAD - 1);
}

#[test]
fn a_run_may_diverge_by_itself() {
    // A rate that is far too large: the numbers grow until they are none.
    let calls = Arc::new(AtomicU64::new(0));
    let count = calls.clone();
    let model = Linear::new(FEATURES).acting(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        Act::Compute
    });
    let folder = Folder::new();
    let wild = topology("split 2 | step sgd(100)").steps(2000).checkpoint_every(1);
    let ran = folder.run(Rig::new(&wild).backend(model)).unwrap();
    let step = ran.report.step;
    assert!(
        ran.failed().contains(&format!("was not a finite number in step {};", step + 1)),
        "{}",
        ran.failed()
    );
    assert_eq!(calls.load(Ordering::Relaxed), 2 * (step + 1));
    assert_eq!(ran.log.steps().len() as u64, step);
    for kept in folder.kept() {
        assert!(folder.read(kept).params.iter().all(|p| p.is_finite()), "step {kept}");
    }
}
