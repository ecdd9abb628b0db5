//! Joins: the same numbers as the oracle of the algebra, stopping and going on, children that fail.

use crate::interpreted::interpreted;
use crate::linear::{Act, Linear};
use crate::rig::{FEATURES, Folder, Ran, Rig, plan, topology, until};
use dae_train::actors::Ended;
use dae_train::checkpoint::{self, Snapshot};
use dae_train::job::JobHandle;
use dae_train::topology::Topology;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub fn bits(params: &[f32]) -> Vec<u32> {
    params.iter().map(|p| p.to_bits()).collect()
}

/// Holds a run against the oracle: parameters to the bit, losses nearly.
pub fn holds(topology: &Topology) -> Ran {
    let (word, rounds) = (&topology.schedule.word, interpreted(topology, None).rounds);
    let ran = Rig::new(topology).run().finished();
    assert_eq!(ran.bits(), bits(&rounds.last().unwrap().params), "{word}");
    let steps = ran.log.steps();
    assert_eq!(steps.len(), rounds.len(), "{word}");
    for (step, round) in steps.iter().zip(&rounds) {
        assert!((step.loss - round.loss).abs() < 1e-6 * round.loss, "{word}: {step:?} {}", round.loss);
    }
    assert_eq!(steps.last().unwrap().samples, rounds.last().unwrap().samples, "{word}");
    ran
}

#[test]
fn one_shard_that_waits_and_averages() {
    holds(&topology("step sgd(0.2) | every 3 | join 2").steps(12));
}

#[test]
fn what_users_write_first() {
    holds(&topology("step raw | join 2 outer=adam(1e-2) shards=2").steps(20));
    holds(&topology("split 2 | step adamw(1e-2) | every 5 | join 2 outer=nesterov(0.7,0.9)").steps(20));
}

#[test]
fn fragments_take_turns_as_they_do_in_the_oracle() {
    for word in [
        "step sgd(0.2) | every 4 | join 2 frag=2",
        "split 2 | step adam(1e-2) | every 6 | join 3 outer=nesterov(0.5,0.5) frag=3 delay=1",
        "step adam(1e-2) | every 2 | every 4 | join 2 outer=nesterov(0.5,0.5) frag=2 delay=3 mix=0.5 wire=int8",
        "step sgd(0.1) | every 5 | join 3 outer=adam(0.01) delay=4 mix=0.2 weight=equal scale=sum shards=2",
        "step sgd(0.1) | every 12 | join 2 frag=12 wire=topk(0.2)",
        "step adam(1e-2) | every 3 | join 2 mix=0.7 wire=bf16 shards=2",
    ] {
        // All rounds whole; and an end in the middle of one, in which a child gets fewer samples than another or none.
        holds(&topology(word).steps(24));
        for epochs in [1.1, 1.73, 2.3, 3.0] {
            holds(&topology(word).epochs(epochs).masking(0.1));
        }
    }
}

#[test]
fn the_rate_of_raw_gradients_is_that_of_the_outer_optimizer() {
    let steps = |word: &str| topology(word).steps(20).warmup(4).cosine(0.1);
    let around = Rig::new(&steps("step raw | join 2 outer=adam(1e-2)")).run().finished();
    let split = Rig::new(&steps("split 2 | step adam(1e-2)")).run().finished();
    assert_eq!(around.bits(), split.bits());
    let rates = |ran: &Ran| ran.log.steps().iter().map(|s| s.lr).collect::<Vec<_>>();
    assert_eq!(rates(&around), rates(&split));
}

#[test]
fn alone_nobody_is_late() {
    for outer in ["nesterov(0.7,0.9)", "avg", "adam(0.01)"] {
        let word =
            |sync: &str| format!("step adam(0.01) | every 3 | join 1 sync={sync} outer={outer} shards=2");
        let waits = holds(&topology(&word("bsp")).steps(14));
        for sync in ["async", "ssp(2)"] {
            let free = Rig::new(&topology(&word(sync)).steps(14)).run().finished();
            assert_eq!(free.bits(), waits.bits(), "{sync} {outer}");
        }
    }
}

#[test]
fn who_waits_for_nobody_learns_too() {
    for word in [
        "step raw | join 3 sync=async outer=sgd(0.1) stale=lr/tau shards=2",
        "step raw | join 3 sync=async outer=adam(0.01) stale=dc(0.04)",
        "split 2 | step adam(0.02) | every 5 | join 3 sync=async outer=nesterov(0.2,0.3)",
        "step sgd(0.2) | every 5 | join 3 sync=quorum(2,keep)",
        "step sgd(0.2) | every 5 | join 3 sync=quorum(2,drop)",
        "step sgd(0.2) | every 5 | join 3 sync=ssp(1) stale=drop(4)",
        "step sgd(0.2) | every 5 | join 3 sync=async outer=elastic(0.3)",
    ] {
        let ran = Rig::new(&topology(word).steps(300)).run().finished();
        let losses: Vec<_> = ran.log.steps().iter().map(|s| s.loss).collect();
        let mean = |l: &[f64]| l.iter().sum::<f64>() / l.len() as f64;
        let tenth = losses.len() / 10;
        let (first, last) = (losses[0], mean(&losses[losses.len() - tenth..]));
        assert!(last < first / 4.0 && last < 0.05, "{word}: {first} to {last}");
        let tally = ran.report.tally.unwrap();
        let counted: u64 =
            tally.children.iter().map(|child| child.staleness.values().sum::<u64>() + child.dropped).sum();
        assert_eq!(counted, 3 * 300 / plan(&topology(word)).period(), "{word}: every push is counted once");
    }
}

#[test]
fn a_child_that_fails_ends_the_run_with_its_cause() {
    for sync in ["bsp", "async", "ssp(1)", "quorum(2,drop)"] {
        let word = format!("split 2 | step sgd(0.1) | every 4 | join 3 sync={sync} shards=2");
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
            assert!(cause.contains("worker 3") && cause.contains("out of cheese"), "{sync}: {cause}");
            assert_eq!(ran.stuck, [""; 0], "{sync}");
            assert_eq!(ran.report.checkpoint, None);
        }
    }
}

#[test]
fn a_child_that_hangs_is_blamed_and_not_those_that_wait_for_it() {
    for (word, hangs) in [
        ("step sgd(0.1) | every 2 | join 3 shards=2", 1),
        ("split 2 | step sgd(0.1) | every 2 | join 2", 3),
        ("step sgd(0.1) | every 2 | join 3 sync=async", 2),
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
        assert!(
            ran.failed().contains("within 1s") || ran.failed().contains("1.0"),
            "{word}: {}",
            ran.failed()
        );
        assert_eq!(ran.stuck, [format!("worker {hangs}")], "{word}: {}", ran.failed());
    }
}

#[test]
fn who_waits_long_for_another_child_is_not_called_stalled() {
    let mut topology = topology("split 2 | step sgd(0.1) | every 12 | join 2").steps(24);
    topology.job.stall_timeout_s = 1;
    // One child's first round takes three times the bound of a step, none of its steps does.
    let backend = Linear::new(FEATURES).acting(move |moment| {
        let (start, slow) = (Instant::now(), moment.member.rank() == 2 && moment.step <= 12);
        assert!(!slow || until(|| start.elapsed() > Duration::from_millis(250)));
        Act::Compute
    });
    Rig::new(&topology).backend(backend).run().finished();
}

#[test]
fn numbers_that_are_not_finite_are_told_whose_they_are() {
    let backend = Linear::new(FEATURES).acting(|moment| match (moment.member.rank(), moment.step) {
        (1, 5) => Act::Loss(f64::NAN),
        _ => Act::Compute,
    });
    let ran = Rig::new(&topology("step sgd(0.1) | every 2 | join 2")).backend(backend).run();
    assert!(ran.failed().contains("the loss of worker"), "{}", ran.failed());
}

/// Runs to the end in one go, and once more with a stop in the middle.
pub fn stopped_and_resumed(topology: &Topology) -> (Ran, Ran) {
    let whole = Rig::new(topology).run().finished();
    let (folder, handle) = (Folder::new(), Arc::new(OnceLock::<JobHandle>::new()));
    let asked = handle.clone();
    let backend = Linear::new(FEATURES).acting(move |moment| {
        if moment.is(0, 13) {
            asked.get().unwrap().stop("enough");
        }
        Act::Compute
    });
    let first = folder.run(Rig::new(topology).backend(backend).handle_to(&handle)).unwrap();
    assert!(matches!(&first.report.how, Ended::Stopped(why) if why == "enough"), "{:?}", first.report);
    assert!(first.report.step < whole.report.step, "{:?}", first.report);
    assert!(first.report.checkpoint.is_some(), "{:?}", first.report);
    let resumed = folder.resume(Rig::new(topology)).unwrap().finished();
    assert_eq!(resumed.first, first.report.step);
    (whole, resumed)
}

#[test]
fn stopping_and_going_on_changes_no_bit_of_a_word_that_waits() {
    for word in [
        "split 2 | step adam(0.01) | every 3 | join 2 outer=nesterov(0.7,0.9) shards=2",
        "step sgd(0.1, momentum=0.9) | every 4 | join 3 outer=elastic(0.3)",
        "step raw | every 2 | join 2 outer=adam(0.01)",
        "split 2 | step sgd(0.1, momentum=0.5) | every 2 | join 2 outer=nesterov(0.7,0.5) wire=int8 shards=2",
        "step raw | join 2 outer=adam(0.01) wire=topk(0.1)",
        "split 2 | step adam(0.01) | every 4 | join 2 outer=nesterov(0.5,0.5) frag=2 delay=1 mix=0.5 wire=int8",
        "step adam(0.01) | every 3 | join 3 frag=3",
        "step sgd(0.1) | every 3 | join 2 delay=2 weight=equal",
        "step adam(0.01) | every 2 | join 2 mix=0.3 shards=2",
    ] {
        let (whole, resumed) = stopped_and_resumed(&topology(word).steps(300).masking(0.1));
        assert_eq!(resumed.bits(), whole.bits(), "{word}");
        assert_eq!(resumed.log.lines("step"), whole.log.lines("step"), "{word}");
    }
}

#[test]
fn a_word_that_waits_for_nobody_goes_on_with_what_is_left() {
    for sync in ["async", "ssp(2)", "quorum(2,keep)"] {
        let word = format!("step adam(0.01) | every 3 | join 3 sync={sync} outer=nesterov(0.5,0.5) shards=2");
        let (whole, resumed) = stopped_and_resumed(&topology(&word).steps(300));
        let samples = |ran: &Ran| ran.log.steps().last().unwrap().samples;
        assert_eq!(samples(&resumed), samples(&whole), "{sync}: no sample is lost or had twice");
        assert_eq!(samples(&resumed), 300 * 3 * 4);
    }
}

#[test]
fn what_a_wire_keeps_back_is_in_the_checkpoint_and_counts() {
    let half = |epochs| {
        topology("step adam(0.01) | every 2 | join 2 outer=nesterov(0.5,0.5) wire=topk(0.2)").epochs(epochs)
    };
    let whole = Rig::new(&half(4.0)).run().finished();
    let folder = Folder::new();
    let first = folder.run(Rig::new(&half(1.92))).unwrap().finished();
    let checkpoint = folder.read(first.report.step);
    assert_eq!(
        checkpoint.state_names,
        ["outer_momentum", "child0_m", "child0_v", "child0_kept", "child1_m", "child1_v", "child1_kept"]
    );
    let kept = |name: &str| name.ends_with("kept");
    let mut state = checkpoint.state.clone();
    for (name, state) in checkpoint.state_names.iter().zip(&mut state).filter(|(name, _)| kept(name)) {
        assert!(state.iter().filter(|x| **x != 0.0).count() > 50, "{name}");
        state.fill(0.0);
    }
    let resumed = |state: &[Vec<f32>]| {
        let state: Vec<&[f32]> = state.iter().map(Vec::as_slice).collect();
        let names: Vec<&str> = checkpoint.state_names.iter().map(String::as_str).collect();
        let snapshot = Snapshot { params: &checkpoint.params, names: &names, state: &state };
        checkpoint::write(&folder.checkpoints(), &checkpoint.meta, snapshot, 2).unwrap();
        let resumed = folder.resume(Rig::new(&half(4.0))).unwrap().finished();
        std::fs::remove_dir_all(folder.checkpoint(resumed.report.step)).unwrap();
        assert_eq!(resumed.first, first.report.step);
        resumed.bits()
    };
    assert_eq!(resumed(&checkpoint.state), whole.bits());
    assert_ne!(resumed(&state), whole.bits());
}

fn a_run_that_dies_goes_on_from_what_was_written_while_it_ran(word: &str) {
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
    let resumed = folder.resume(Rig::new(&topology)).unwrap().finished();
    assert_eq!((resumed.first, resumed.bits()), (6, whole.bits()), "{word}");
}

#[test]
fn periodic_checkpoints_are_whole() {
    let word = "split 2 | step adam(0.01) | every 2 | join 2 outer=nesterov(0.7,0.9) shards=3 wire=bf16";
    let streams =
        "split 2 | step adam(0.01) | every 2 | join 2 outer=nesterov(0.5,0.5) frag=2 mix=0.3 wire=bf16";
    for word in [word, streams, "split 2 | step adam(0.01) | every 2 | join 2 delay=1"] {
        a_run_that_dies_goes_on_from_what_was_written_while_it_ran(word);
    }
    let patient = Linear::new(FEATURES).acting(|moment| {
        moment.patient();
        Act::Compute
    });
    // Of a word that waits for nobody too.
    let word = "step adam(0.01) | every 2 | join 3 sync=async outer=nesterov(0.5,0.5)";
    let free = crate::rig::topology(word).steps(60).checkpoint_every(10);
    let folder = Folder::new();
    let ran = folder.run(Rig::new(&free).backend(patient)).unwrap().finished();
    assert_eq!(ran.report.step, 90);
    let saved = ran.log.events("checkpoint");
    assert!(saved.len() > 4, "{saved:?}");
    // Up to two children were under way when one fell due.
    assert!(saved.iter().all(|e| e["step"].as_u64().unwrap() % 10 <= 2), "{saved:?}");
}

#[test]
fn a_run_that_is_through_can_be_made_longer() {
    for sync in ["bsp", "ssp(1)", "async", "quorum(2,drop)"] {
        // Steps of 12 samples: of the third, the first child gets one and the others none.
        let word = format!("step adam(0.01) | join 3 sync={sync} outer=nesterov(0.5,0.5)");
        let epochs = |epochs| topology(&word).epochs(epochs);
        let folder = Folder::new();
        let first = folder.run(Rig::new(&epochs(0.5))).unwrap().finished();
        let again = folder.resume(Rig::new(&epochs(0.5))).unwrap().finished();
        assert_eq!(again.report.step, first.report.step, "{sync}: there was nothing left to do");
        assert_eq!(again.bits(), bits(first.report.params.as_deref().unwrap()));
        let longer = folder.resume(Rig::new(&epochs(2.0))).unwrap().finished();
        assert!(longer.report.step > first.report.step + 3, "{sync}: {:?}", longer.report);
    }
}

#[test]
fn a_checkpoint_of_another_word_is_refused() {
    let folder = Folder::new();
    let topology = |word: &str| topology(word).steps(6);
    folder.run(Rig::new(&topology("step sgd(0.1) | every 3 | join 2"))).unwrap().finished();
    let error = folder.resume(Rig::new(&topology("step sgd(0.1) | every 3 | join 3"))).unwrap_err();
    assert!(error.to_string().contains("schedule.word"), "{error}");
}

#[test]
fn staleness_is_written_down() {
    let folder = Folder::new();
    folder
        .run(Rig::new(&topology("step sgd(0.1) | every 3 | join 2 sync=async").steps(30)))
        .unwrap()
        .finished();
    let path = folder.events().with_file_name("staleness.json");
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let counted: u64 = json["children"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|child| child["staleness"].as_object().unwrap().values())
        .map(|count| count.as_u64().unwrap())
        .sum();
    assert_eq!(counted, 20, "{json}");
    assert!(folder.events().with_file_name("staleness.png").is_file());
}
