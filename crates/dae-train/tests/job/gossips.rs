//! Gossip: the same numbers as the oracle of the algebra, stopping and going on, peers that fail.

use crate::interpreted::interpreted;
use crate::joins::{bits, holds, stopped_and_resumed};
use crate::linear::{Act, Linear};
use crate::rig::{FEATURES, Folder, Ran, Rig, plan, topology, until};
use dae_train::gossip::mean;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn what_users_write_first() {
    for word in [
        "step sgd(0.2) | gossip 3",
        "step sgd(0.2) | gossip 4 graph=exp push",
        "split 2 | step adam(0.02) | every 3 | gossip 2 graph=complete",
        "step sgd(0.1, momentum=0.9) | every 2 | gossip 5 graph=hops(1,2) | every 2",
    ] {
        holds(&topology(word).steps(12));
    }
}

#[test]
fn of_one_it_is_nothing() {
    let alone = Rig::new(&topology("step adam(0.02)").steps(12)).run().finished();
    for gossip in
        ["gossip 1", "gossip 1 sync=async", "gossip 1 graph=exp push", "every 3 | gossip 1 graph=complete"]
    {
        let ran = Rig::new(&topology(&format!("step adam(0.02) | {gossip}")).steps(12)).run().finished();
        assert_eq!(ran.bits(), alone.bits(), "{gossip}");
    }
}

#[test]
fn a_peer_that_is_through_with_its_data_mixes_on() {
    // Steps of 12 samples: of the last, the first peer gets one or four and the others none.
    for (word, epochs) in
        [("step sgd(0.2) | gossip 3", 0.5), ("step sgd(0.2) | gossip 3 graph=exp push", 1.04)]
    {
        let ran = holds(&topology(word).epochs(epochs));
        assert!(!ran.log.steps().last().unwrap().samples.is_multiple_of(12));
    }
}

#[test]
fn it_learns() {
    for graph in ["ring", "exp push", "complete", "ring sync=async"] {
        let word = format!("step sgd(0.2) | every 2 | gossip 4 graph={graph}");
        let ran = Rig::new(&topology(&word).steps(300)).run().finished();
        let losses: Vec<_> = ran.log.steps().iter().map(|step| step.loss).collect();
        let last = losses[losses.len() - 10..].iter().sum::<f64>() / 10.0;
        assert!(last < losses[0] / 4.0 && last < 0.05, "{word}: {} to {last}", losses[0]);
    }
}

#[test]
fn stopping_and_going_on_changes_no_bit() {
    for word in [
        "split 2 | step adam(0.01) | every 3 | gossip 3 graph=exp push",
        "step sgd(0.1, momentum=0.9) | every 4 | gossip 4",
        "split 2 order=exact | step adam(0.01) | gossip 2 graph=complete push",
    ] {
        let (whole, resumed) = stopped_and_resumed(&topology(word).steps(120).masking(0.1));
        assert_eq!(resumed.bits(), whole.bits(), "{word}");
        assert_eq!(resumed.log.lines("step"), whole.log.lines("step"), "{word}");
    }
}

#[test]
fn periodic_checkpoints_hold_all_peers() {
    let word = "step adam(0.01) | every 2 | gossip 4 push";
    let topology = topology(word).steps(16).checkpoint_every(3);
    let whole = Rig::new(&topology).run().finished();
    let folder = Folder::new();
    // It dies in its last round but one: what it goes on from was written while it ran.
    let dying = Linear::new(FEATURES).acting(|moment| {
        moment.patient();
        if moment.is(2, 15) { Act::Fail("out of cheese") } else { Act::Compute }
    });
    let died = folder.run(Rig::new(&topology).backend(dying)).unwrap();
    assert!(died.failed().contains("out of cheese"));
    assert_eq!(folder.kept(), [3, 6]);
    let there = folder.read(6);
    let own = |name: &&String| name.ends_with("_own");
    assert_eq!(there.state_names.iter().filter(own).count(), 4, "{:?}", there.state_names);
    let held = there.state.iter().zip(&there.state_names).filter(|(_, name)| own(name));
    let held: Vec<_> = held.map(|(held, _)| held.clone()).collect();
    assert_eq!(bits(&mean(&held)), bits(&there.params));
    assert!(held[0] != held[1]);
    assert!(there.meta.children.iter().all(|child| child.weight == Some(1.0) && child.steps == 12));
    let truth = interpreted(&topology, None);
    assert_eq!(bits(&there.params), bits(&truth.rounds[5].params));
    assert_eq!(held, truth.rounds[5].replicas);
    let resumed = folder.resume(Rig::new(&topology)).unwrap().finished();
    assert_eq!((resumed.first, resumed.bits()), (6, whole.bits()));
}

#[test]
fn a_run_that_is_through_can_be_made_longer() {
    let epochs = |epochs| topology("step adam(0.01) | every 2 | gossip 3 push").epochs(epochs);
    let folder = Folder::new();
    let first = folder.run(Rig::new(&epochs(0.5))).unwrap().finished();
    let again = folder.resume(Rig::new(&epochs(0.5))).unwrap().finished();
    assert_eq!(again.report.step, first.report.step, "there was nothing left to do");
    assert_eq!(again.bits(), first.bits());
    let longer = folder.resume(Rig::new(&epochs(2.0))).unwrap().finished();
    assert!(longer.report.step > first.report.step + 2, "{:?}", longer.report);
    // All but the three samples that the short step of the first run had cut off.
    assert_eq!(longer.log.steps().last().unwrap().samples, 97);
}

#[test]
fn who_waits_for_nobody_goes_on_with_what_is_left() {
    for gossip in ["gossip 3 sync=async", "gossip 4 graph=exp sync=async"] {
        let word = format!("step adam(0.01) | every 3 | {gossip}");
        let (whole, resumed) = stopped_and_resumed(&topology(&word).steps(300));
        let samples = |ran: &Ran| ran.log.steps().last().unwrap().samples;
        assert_eq!(samples(&resumed), samples(&whole), "{word}: no sample is lost or had twice");
        let rounds = 100 * plan(&topology(&word)).children() as u64;
        assert_eq!((whole.report.step, resumed.report.step), (rounds, rounds));
    }
}

#[test]
fn a_peer_that_fails_ends_the_run_with_its_cause() {
    for graph in ["ring", "exp push", "complete", "ring sync=async"] {
        let word = format!("split 2 | step sgd(0.1) | every 4 | gossip 3 graph={graph}");
        for panics in [false, true] {
            let backend = Linear::new(FEATURES).acting(move |moment| {
                if moment.member.rank() == 3 && moment.step == 6 {
                    assert!(!panics, "out of cheese");
                    return Act::Fail("out of cheese");
                }
                Act::Compute
            });
            let ran = Rig::new(&topology(&word).steps(2000)).backend(backend).run();
            let cause = ran.failed();
            assert!(cause.contains("worker 3") && cause.contains("out of cheese"), "{word}: {cause}");
            assert_eq!((&ran.stuck[..], &ran.report.checkpoint), (&[] as &[String], &None), "{word}");
        }
    }
}

#[test]
fn a_peer_that_hangs_is_blamed_and_not_those_that_wait_for_it() {
    for (word, hangs) in [
        ("step sgd(0.1) | every 2 | gossip 4", 2),
        ("split 2 | step sgd(0.1) | every 2 | gossip 2 graph=exp push", 3),
        ("step sgd(0.1) | every 2 | gossip 3 sync=async", 1),
    ] {
        let mut topology = topology(word).steps(200);
        topology.job.stall_timeout_s = 1;
        let over = Arc::new(AtomicBool::new(false));
        let open = over.clone();
        let backend = Linear::new(FEATURES).acting(move |moment| {
            assert!(!moment.is(hangs, 6) || until(|| open.load(Ordering::Acquire)));
            Act::Compute
        });
        let ran = Rig::new(&topology).backend(backend).patience(Duration::from_millis(300)).run();
        over.store(true, Ordering::Release);
        assert!(ran.failed().contains("within 1s") || ran.failed().contains("1.0"), "{}", ran.failed());
        assert_eq!(ran.stuck, [format!("worker {hangs}")], "{word}: {}", ran.failed());
    }
}

#[test]
fn numbers_that_are_not_finite_are_told_whose_they_are() {
    let backend = Linear::new(FEATURES).acting(|moment| match (moment.member.rank(), moment.step) {
        (1, 5) => Act::Loss(f64::NAN),
        _ => Act::Compute,
    });
    let ran = Rig::new(&topology("step sgd(0.1) | every 2 | gossip 3")).backend(backend).run();
    assert!(ran.failed().contains("the loss of worker 1"), "{}", ran.failed());
}
