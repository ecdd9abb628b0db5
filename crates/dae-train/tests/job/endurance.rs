//! Slow parts, many workers, a rank that lets the others wait.

use crate::linear::{Act, Linear};
use crate::made_up::MadeUp;
use crate::rig::{FEATURES, Folder, Ran, Rig, apart, topology};
use dae_train::topology::Topology;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// Keeps this thread busy with nothing for a while: what a device that hangs looks like.
pub fn dawdle(time: Duration) {
    let (_never, gate) = sync_channel::<()>(0);
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        assert!(gate.recv_timeout(left).is_err());
    }
}

fn stalling(word: &str, restarts: u32) -> Topology {
    let mut topology = topology(&format!("{word} | step adam(0.02)"));
    (topology.job.stall_timeout_s, topology.job.restarts) = (1, restarts);
    topology
}

const TOO_LONG: Duration = Duration::from_millis(1300);

#[test]
fn many_workers_on_few_cores_with_one_batch_ahead() {
    let mut topology = topology("accum 3 | split 8 | step adam(0.01)").batch(2).steps(200);
    topology.data.prefetch = 1;
    let one = Rig::new(&topology.clone().schedule("step adam(0.01)").batch(48)).run().finished();
    for every in [0, 10] {
        let ran = Rig::new(&topology.clone().checkpoint_every(every)).run().finished();
        let far = apart(ran.params(), one.params());
        assert!(far < 1e-5, "{far:e} from one worker");
    }
}

#[test]
fn a_batch_larger_than_the_data() {
    let topology = topology("split 2 | step sgd(0.1)").batch(64).steps(20);
    let ran = Rig::new(&topology).dataset(MadeUp::new(5, FEATURES)).run().finished();
    let one = Rig::new(&topology.clone().schedule("step sgd(0.1)").batch(128))
        .dataset(MadeUp::new(5, FEATURES))
        .run()
        .finished();
    assert!(apart(ran.params(), one.params()) < 1e-5);
    assert_eq!(ran.log.steps()[19].samples, 20 * 128);
}

#[test]
fn a_model_smaller_than_the_group() {
    // One block of parameters for five ranks: four of them have nothing to apply.
    let rig = |word: &str, batch: u32| {
        let topology = topology(&format!("{word} | step adam(0.01) clip=0.3")).batch(batch);
        let ran = Rig::new(&topology).backend(Linear::new(3)).dataset(MadeUp::new(50, 3)).run().finished();
        ran.params().to_vec()
    };
    assert!(apart(&rig("split 5", 2), &rig("split 1", 10)) < 1e-5);
}

#[test]
fn a_rank_that_is_late_once_is_named_and_the_run_goes_on() {
    let topology = stalling("split 3", 3);
    let late = AtomicBool::new(true);
    let model = Linear::new(FEATURES).acting(move |now| {
        if now.is(1, 20) && late.swap(false, Ordering::SeqCst) {
            dawdle(TOO_LONG);
        }
        Act::Compute
    });
    let ran = Rig::new(&topology).backend(model).run().finished();
    let causes = ran.restarts();
    assert!(causes[0].contains("ranks [1] did not arrive within 1s"), "{causes:?}");
    assert_eq!(ran.log.events("restarted")[0]["step"], 19);
    let whole = Rig::new(&topology).run().finished();
    assert_eq!(ran.bits(), whole.bits());
    assert_eq!(ran.log.lines("step"), whole.log.lines("step"));
}

#[test]
fn a_step_that_takes_long_is_told_while_it_does() {
    let model = Linear::new(FEATURES).acting(|now| {
        if now.is(1, 40) {
            dawdle(Duration::from_millis(3800));
        }
        Act::Compute
    });
    let ran = Rig::new(&topology("split 3 | step adam(0.02)")).backend(model).run().finished();
    assert_eq!(ran.restarts(), [""; 0]);
    let [stalled] = &ran.log.events("stalled")[..] else { panic!("{:?}", ran.log.kinds()) };
    assert_eq!(stalled["step"], 39);
    let waited = stalled["waited_s"].as_f64().unwrap();
    assert!((2.0..3.8).contains(&waited), "{waited}");
    let what = stalled["what"].as_str().unwrap();
    assert!(
        what.starts_with("rank 1 has been computing its gradient for ")
            && what.ends_with("ranks [0, 2] wait"),
        "{what}"
    );
}

#[test]
fn a_rank_that_is_always_late_ends_the_run() {
    let model = Linear::new(FEATURES).acting(|now| {
        if now.is(1, 20) {
            dawdle(TOO_LONG);
        }
        Act::Compute
    });
    let folder = Folder::new();
    let ran = folder.run(Rig::new(&stalling("split 2", 0)).backend(model)).unwrap();
    let cause = ran.failed();
    let want =
        "ranks [1] did not arrive within 1s; rank 0 waited for them: rank 1 was computing its gradient";
    assert!(cause.contains(want), "{cause}");
    assert!(cause.contains("anew 0 times (job.restarts)"), "{cause}");
    assert_eq!((ran.report.step, ran.log.steps().len()), (19, 19));
}

#[test]
fn a_rank_that_was_told_has_as_long_again_to_come_back() {
    // The others come late themselves, so that the group breaks shortly before somebody looks after it.
    let topology = stalling("split 2", 3);
    let late = AtomicU64::new(2);
    let model = Linear::new(FEATURES).acting(move |now| {
        let happens = || late.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        if now.step == 20 && happens() {
            dawdle(Duration::from_millis([600, 2200][now.member.rank()]));
        }
        Act::Compute
    });
    let ran = Rig::new(&topology).backend(model).run().finished();
    assert!(ran.restarts()[0].contains("ranks [1] did not arrive within 1s"), "{:?}", ran.restarts());
    assert_eq!(ran.bits(), Rig::new(&topology).run().finished().bits());
}

#[test]
fn a_rank_that_waits_is_not_blamed() {
    // The step begins just before somebody looks after the group, and its first rank comes late enough that the next
    // look is before its own patience ends.
    let late = AtomicU64::new(2);
    let model = Linear::new(FEATURES).acting(move |now| {
        let happens = || late.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        match now.step {
            10 => dawdle(Duration::from_millis(900)),
            20 if happens() => dawdle(Duration::from_millis([600, 1600][now.member.rank()])),
            _ => {}
        }
        Act::Compute
    });
    let ran = Rig::new(&stalling("split 2", 3)).backend(model).run().finished();
    assert!(ran.restarts()[0].contains("ranks [1] did not arrive within 1s"), "{:?}", ran.restarts());
}

/// A rank that is not seen again, in a group of this word.
fn never_comes_back(word: &str, rank: usize) -> Ran {
    let (open, gate) = sync_channel::<()>(0);
    let gate = Mutex::new(gate);
    let model = Linear::new(FEATURES).acting(move |now| {
        if now.is(rank, 20) {
            // Until the test is over, and its end of the channel gone.
            assert!(gate.lock().unwrap().recv().is_err());
        }
        Act::Compute
    });
    let rig = Rig::new(&stalling(word, 3)).backend(model).patience(Duration::from_millis(300));
    let ran = rig.run();
    drop(open);
    // The steps of the last few milliseconds are told by rank 0, so they are lost with it.
    assert_eq!((ran.report.step, ran.log.steps().len()), (19, if rank == 0 { 0 } else { 19 }));
    assert_eq!(ran.log.events("failed")[0]["step"], 19);
    assert_eq!(ran.stuck, [format!("worker {rank}")]);
    ran
}

#[test]
fn a_rank_that_never_comes_back_does_not_hold_the_run() {
    let ran = never_comes_back("split 3", 2);
    let cause = ran.failed();
    assert!(cause.contains("ranks [2] did not arrive within 1s"), "{cause}");
    assert!(cause.contains("workers [2] did not come back"), "{cause}");
}

#[test]
fn a_single_rank_that_never_comes_back_does_not_hold_the_run() {
    let ran = never_comes_back("split 1", 0);
    assert!(
        ran.failed().contains("no step was committed within 1s (job.stall_timeout_s): rank 0 is "),
        "{}",
        ran.failed()
    );
}

#[test]
fn a_loader_that_is_late_is_named() {
    let late = AtomicBool::new(true);
    let data = MadeUp::new(50, FEATURES).reading(move |id| {
        if id == 7 && late.swap(false, Ordering::SeqCst) {
            dawdle(TOO_LONG);
        }
    });
    let topology = stalling("split 1", 3);
    let ran = Rig::new(&topology).dataset(data).run().finished();
    let causes = ran.restarts();
    assert!(causes[0].contains("worker 0: loader 0: no batch within 1s"), "{causes:?}");
    assert_eq!(ran.bits(), Rig::new(&topology).run().finished().bits());
}
