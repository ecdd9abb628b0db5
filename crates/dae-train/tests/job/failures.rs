//! Workers, models and data that fail: once, and the run goes on as if nothing had happened; always, and it ends with
//! the first cause.

use crate::linear::{Act, Linear, Moment};
use crate::made_up::MadeUp;
use crate::rig::{FEATURES, Folder, Ran, Rig, topology};
use dae_train::backend::{Backend, BackendError, Replica};
use dae_train::data::Batch;
use dae_train::job::JobHandle;
use dae_train::layout::Layout;
use dae_train::topology::Topology;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Something that happens so often, and then no more.
fn times(n: u64) -> impl Fn() -> bool + Send + Sync {
    let left = AtomicU64::new(n);
    move || left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok()
}

const ALWAYS: u64 = u64::MAX;

/// A model that does this to one rank in one step, so often.
fn at(rank: usize, step: u64, n: u64, act: impl Fn() -> Act + Send + Sync + 'static) -> Linear {
    let happens = times(n);
    let hit = move |now: &Moment<'_>| now.is(rank, step) && happens();
    Linear::new(FEATURES).acting(move |now| {
        now.patient();
        if hit(now) { act() } else { Act::Compute }
    })
}

fn boom() -> Act {
    panic!("boom")
}

fn words() -> impl Strategy<Value = (&'static str, usize)> {
    prop::sample::select(vec![("split 1", 1), ("split 2", 2), ("accum 2 | split 2", 2), ("split 3", 3)])
}

fn momentum(word: &str) -> Topology {
    topology(&format!("{word} | step adam(0.02)"))
}

/// The run was put right: the bits and the lines are those of a run in which nothing happened.
fn put_right(ran: &Ran, topology: &Topology) {
    let whole = Rig::new(topology).run().finished();
    assert_eq!(ran.bits(), whole.bits());
    assert_eq!(ran.log.lines("step"), whole.log.lines("step"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_worker_that_panics_once_costs_nothing((word, workers) in words(), rank in 0usize..3, step in 1u64..=60) {
        let (topology, rank) = (momentum(word), rank % workers);
        let ran = Rig::new(&topology).backend(at(rank, step, 1, boom)).run().finished();
        let [cause] = &ran.restarts()[..] else { panic!("{:?}", ran.restarts()) };
        prop_assert!(cause.contains(&format!("worker {rank}: boom (panicked at ")), "{}", cause);
        prop_assert_eq!(ran.log.events("restarted")[0]["step"].as_u64(), Some(step - 1));
        put_right(&ran, &topology);
    }

    #[test]
    fn a_model_that_fails_once_costs_nothing((word, workers) in words(), rank in 0usize..3, step in 1u64..=60) {
        let (topology, rank) = (momentum(word), rank % workers);
        let model = at(rank, step, 1, || Act::Fail("out of cheese"));
        let ran = Rig::new(&topology).backend(model).run().finished();
        prop_assert_eq!(ran.restarts(), [format!("\"worker {rank}: out of cheese\"")]);
        put_right(&ran, &topology);
    }
}

#[test]
fn failures_in_several_steps_and_of_several_ranks_at_once() {
    let topology = momentum("split 3");
    let (first, second, third) = (times(1), times(1), times(1));
    let model = Linear::new(FEATURES).acting(move |now| match (now.member.rank(), now.step) {
        // Two in the same step are one failure of the group.
        (1, 9) if first() => boom(),
        (2, 9) if second() => Act::Fail("out of cheese"),
        (0, 10) if third() => boom(),
        _ => Act::Compute,
    });
    let ran = Rig::new(&topology).backend(model).run().finished();
    let restarts = ran.restarts();
    assert_eq!(restarts.len(), 2, "{restarts:?}");
    assert!(restarts[0].contains("worker 1: boom") || restarts[0].contains("worker 2: out of cheese"));
    assert!(restarts[1].contains("worker 0: boom"), "{restarts:?}");
    put_right(&ran, &topology);
}

#[test]
fn a_worker_that_always_panics_ends_the_run_with_the_first_cause() {
    for (restarts, rank) in [(0, 1), (2, 0), (2, 2)] {
        let mut topology = momentum("split 3").checkpoint_every(10);
        topology.job.restarts = restarts;
        let folder = Folder::new();
        let ran = folder.run(Rig::new(&topology).backend(at(rank, 25, ALWAYS, boom))).unwrap();
        let cause = ran.failed();
        assert!(cause.contains(&format!("worker {rank}: boom (panicked at ")), "{cause}");
        assert!(cause.contains(&format!("anew {restarts} times (job.restarts)")), "{cause}");
        assert_eq!(ran.restarts().len(), restarts as usize);
        assert_eq!((ran.report.step, &ran.report.checkpoint, &ran.report.params), (24, &None, &None));
        assert_eq!(ran.log.events("failed")[0]["step"], 24);
        assert_eq!(ran.log.steps().len(), 24);
        // What was saved on the way is still there to go on from.
        assert_eq!(folder.kept(), [10, 20]);
        let ran = folder.resume(Rig::new(&topology)).unwrap().finished();
        assert_eq!(ran.first, 20);
        put_right(&ran, &topology);
    }
}

#[test]
fn a_model_that_always_fails_ends_the_run_with_its_own_words() {
    let mut topology = momentum("split 2");
    topology.job.restarts = 1;
    let ran = Rig::new(&topology).backend(at(1, 25, ALWAYS, || Act::Fail("out of cheese"))).run();
    let want = "worker 1: out of cheese; the group had been formed anew 1 times (job.restarts)";
    assert_eq!(ran.failed(), want);
    assert_eq!(ran.log.events("failed")[0]["cause"], want);
}

#[test]
fn a_replica_that_cannot_be_made() {
    let topology = momentum("split 3");
    let model = |n: u64| {
        let happens = times(n);
        Linear::new(FEATURES).made(move |rank| match rank == 2 && happens() {
            true => Err(BackendError("no room for another".into())),
            false => Ok(()),
        })
    };
    let ran = Rig::new(&topology).backend(model(1)).run().finished();
    assert_eq!(ran.restarts(), ["\"worker 2: no room for another\""]);
    put_right(&ran, &topology);
    let ran = Rig::new(&topology).backend(model(ALWAYS)).run();
    assert!(ran.failed().starts_with("worker 2: no room for another;"), "{}", ran.failed());
    assert_eq!((ran.report.step, ran.log.steps().len()), (0, 0));
}

#[test]
fn a_failure_while_stopping_ends_the_run_and_tells_both() {
    let topology = momentum("split 2").checkpoint_every(10);
    let handle: Arc<OnceLock<JobHandle>> = Arc::default();
    let stop = handle.clone();
    let model = Linear::new(FEATURES).acting(move |now| {
        now.patient();
        if now.is(0, 25) {
            now.stop(&stop);
            return boom();
        }
        Act::Compute
    });
    let folder = Folder::new();
    let ran = folder.run(Rig::new(&topology).backend(model).handle_to(&handle)).unwrap();
    let cause = ran.failed();
    assert!(cause.contains("worker 0: boom") && cause.contains("(while stopping: asked to)"), "{cause}");
    assert_eq!((ran.report.step, ran.report.restarts, folder.kept()), (24, 0, vec![10, 20]));
    put_right(&folder.resume(Rig::new(&topology)).unwrap().finished(), &topology);
}

/// A model that cannot even say what it begins with.
struct Shapeless(Layout);

impl Backend for Shapeless {
    fn layout(&self) -> &Layout {
        &self.0
    }

    fn initialise(&self, _: u64, _: &mut [f32]) -> Result<(), BackendError> {
        Err(BackendError("no idea".into()))
    }

    fn replica(&self, _: &dae_collective::Member) -> Result<Box<dyn Replica>, BackendError> {
        unreachable!("it never came to that")
    }

    fn reconstruct(&self, _: &[f32], _: &Batch, _: &mut [f32]) -> Result<f64, BackendError> {
        unreachable!("it never came to that")
    }
}

#[test]
fn a_model_that_cannot_begin_leaves_nothing_behind() {
    let folder = Folder::new();
    let rig = Rig::new(&momentum("split 2")).any_backend(Arc::new(Shapeless(Layout::new([]))));
    let error = folder.run(rig).unwrap_err();
    assert_eq!(error.to_string(), "the model cannot compute: no idea");
    assert!(!folder.events().exists());
    folder.run(Rig::new(&momentum("split 2"))).unwrap().finished();
}

/// Data of which one sample fails to be read, so often.
fn unreadable(n: u64) -> MadeUp {
    let happens = times(n);
    MadeUp::new(50, FEATURES).reading(move |id| assert!(id != 7 || !happens(), "sample 7 is unreadable"))
}

#[test]
fn a_loader_that_panics_once_is_restarted() {
    // Often enough to see the moment in which a loader has gone and not yet said why.
    for word in ["split 1", "split 2", "accum 2 | split 2"].repeat(4) {
        let topology = momentum(word);
        let ran = Rig::new(&topology).dataset(unreadable(1)).run().finished();
        let [cause] = &ran.restarts()[..] else { panic!("{:?}", ran.restarts()) };
        assert!(cause.contains(": loader ") && cause.contains("sample 7 is unreadable"), "{word}: {cause}");
        put_right(&ran, &topology);
    }
}

#[test]
fn a_loader_that_always_panics_ends_the_run_with_its_cause() {
    let mut topology = momentum("split 2");
    topology.job.restarts = 2;
    let ran = Rig::new(&topology).dataset(unreadable(ALWAYS)).run();
    let cause = ran.failed();
    assert!(cause.contains(": loader ") && cause.contains("sample 7 is unreadable"), "{cause}");
    assert_eq!(ran.restarts().len(), 2);
}
