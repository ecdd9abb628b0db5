//! Stopping, crashing, and going on: as if nothing had happened.

use crate::linear::{Act, Linear};
use crate::made_up::MadeUp;
use crate::rig::{FEATURES, Folder, Ran, Rig, topology};
use dae_train::actors::Ended;
use dae_train::job::{JobError, JobHandle};
use dae_train::topology::Topology;
use proptest::prelude::*;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A topology with everything that has a state: moments, a rate that moves, noise that is new in each epoch.
fn stateful(word: &str) -> Topology {
    topology(&format!("{word} | step adam(0.02) clip=0.5")).warmup(6).cosine(0.1)
}

/// A run that is asked to stop in step `last`, and leaves every checkpoint that is due.
fn stopping(topology: &Topology, last: u64) -> Rig {
    let handle: Arc<OnceLock<JobHandle>> = Arc::default();
    let stop = handle.clone();
    let model = Linear::new(FEATURES).acting(move |now| {
        now.patient();
        if now.is(0, last) {
            now.stop(&stop);
        }
        Act::Compute
    });
    Rig::new(topology).backend(model).handle_to(&handle)
}

fn stopped_at(ran: &Ran, step: u64) {
    assert!(matches!(&ran.report.how, Ended::Stopped(why) if why == "asked to"), "{:?}", ran.report.how);
    assert_eq!(ran.report.step, step);
    assert_eq!(ran.log.steps().len() as u64, step);
}

/// The same bits and the same lines, from the first step to the last.
fn as_if_nothing_had_happened(ran: &Ran, whole: &Ran) {
    assert_eq!(ran.log.lines("step"), whole.log.lines("step"));
    assert_eq!(ran.bits(), whole.bits());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_run_stopped_twice_equals_one_left_alone(
        word in prop::sample::select(vec!["split 1", "split 3", "accum 2 | split 2"]),
        first in 1u64..59, more in 1u64..59,
    ) {
        let topology = stateful(word);
        let whole = Rig::new(&topology).run().finished();
        let (folder, second) = (Folder::new(), (first + more).min(59));
        stopped_at(&folder.run(stopping(&topology, first)).unwrap(), first);
        if second > first {
            let ran = folder.resume(stopping(&topology, second)).unwrap();
            stopped_at(&ran, second);
            prop_assert_eq!((ran.first, ran.resumed), (first, Some(folder.checkpoint(first))));
        }
        let ran = folder.resume(Rig::new(&topology)).unwrap().finished();
        prop_assert_eq!((ran.first, ran.skipped.len()), (second, 0));
        as_if_nothing_had_happened(&ran, &whole);
    }
}

#[test]
fn a_listener_may_stop_at_any_time() {
    // The step it comes to is a matter of chance; that its length is a free key makes it comparable.
    let endless = topology("split 2 | step adam(0.001)").steps(1_000_000);
    let folder = Folder::new();
    let rig = Rig::new(&endless).listening(|handle| {
        Box::new(move |_| {
            handle.stop("seen enough");
            true
        })
    });
    let ran = folder.run(rig).unwrap();
    assert!(matches!(&ran.report.how, Ended::Stopped(why) if why == "seen enough"));
    let at = ran.report.step;
    assert_eq!(ran.log.kinds(), ["started", "checkpoint", "stopped"]);
    let longer = endless.steps(at + 50);
    let ran = folder.resume(Rig::new(&longer)).unwrap().finished();
    assert_eq!((ran.first, ran.report.step), (at, at + 50));
    assert_eq!(ran.log.kinds(), ["started", "checkpoint", "stopped", "resumed", "checkpoint", "finished"]);
    as_if_nothing_had_happened(&ran, &Rig::new(&longer).run().finished());
}

#[test]
fn stopping_before_the_first_step_or_in_the_last_one() {
    let topology = stateful("split 2");
    let folder = Folder::new();
    let rig = Rig::new(&topology).join(|_, handle| {
        handle.stop("asked to");
        Ok(Vec::new())
    });
    stopped_at(&folder.run(rig).unwrap(), 1);
    // In the last step there is nothing left to stop.
    let ran = folder.resume(stopping(&topology, 60)).unwrap().finished();
    as_if_nothing_had_happened(&ran, &Rig::new(&topology).run().finished());
}

/// A run with checkpoints at 15 and 30, stopped at 40.
fn interrupted(topology: &Topology) -> Folder {
    let folder = Folder::new();
    stopped_at(&folder.run(stopping(topology, 40)).unwrap(), 40);
    assert_eq!(folder.kept(), [15, 30, 40]);
    folder
}

#[test]
fn a_crashed_run_goes_on_from_its_last_checkpoint() {
    let topology = stateful("split 2").checkpoint_every(15);
    let whole = Rig::new(&topology).run().finished();
    let folder = interrupted(&topology);
    // As a crash in step 41 leaves it: no last checkpoint, a write begun, a line torn.
    fs::remove_dir_all(folder.checkpoint(40)).unwrap();
    fs::create_dir(folder.checkpoints().join(".step-0000000045.tmp-1")).unwrap();
    let mut log = OpenOptions::new().append(true).open(folder.events()).unwrap();
    log.write_all(b"{\"type\":\"step\",\"step\":41,\"lo").unwrap();
    let ran = folder.resume(Rig::new(&topology)).unwrap().finished();
    assert_eq!((ran.first, ran.resumed.clone()), (30, Some(folder.checkpoint(30))));
    as_if_nothing_had_happened(&ran, &whole);
    let resumed = ran.log.events("resumed");
    assert_eq!(resumed.len(), 1);
    assert_eq!(resumed[0]["step"], 30);
    // The checkpoint that is gone is gone from the log as well.
    let written: Vec<_> = ran.log.events("checkpoint").iter().map(|e| e["step"].as_u64().unwrap()).collect();
    assert!(!written.contains(&40), "{written:?}");
    assert_eq!((written[..2].to_vec(), written.last().copied()), (vec![15, 30], Some(60)));
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_told() {
    let topology = stateful("split 2").checkpoint_every(15);
    let whole = Rig::new(&topology).run().finished();
    let shorten = |path: &Path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(file.metadata().unwrap().len() - 1).unwrap();
    };
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(path, bytes).unwrap();
    };
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path), &'a str);
    let damages: [Damage; 5] = [
        ("model.safetensors", &shorten, "bytes where its manifest says"),
        ("optimizer.safetensors", &shorten, "bytes where its manifest says"),
        ("model.safetensors", &flip, "does not match the SHA-256"),
        ("manifest.json", &shorten, "is not a valid manifest"),
        ("manifest.json", &|path| fs::remove_file(path).unwrap(), "it does not exist"),
    ];
    for (file, damage, told) in damages {
        let folder = interrupted(&topology);
        damage(&folder.checkpoint(40).join(file));
        let ran = folder.resume(Rig::new(&topology)).unwrap().finished();
        assert_eq!((ran.first, ran.resumed.clone()), (30, Some(folder.checkpoint(30))), "{file}");
        let [(path, why)] = &ran.skipped[..] else { panic!("{:?}", ran.skipped) };
        assert_eq!(*path, folder.checkpoint(40));
        assert!(why.to_string().contains(told) && why.to_string().contains(file), "{why}");
        as_if_nothing_had_happened(&ran, &whole);
    }
}

#[test]
fn damaged_checkpoints_do_not_push_out_the_valid_ones() {
    let topology = stateful("split 2").checkpoint_every(15);
    let folder = interrupted(&topology);
    for step in [30, 40] {
        fs::write(folder.checkpoint(step).join("model.safetensors"), "").unwrap();
    }
    // Three are kept: the one it went on from, and those it has written since, at steps of its own.
    let ran = folder.resume(stopping(&topology.checkpoint_every(50), 53)).unwrap();
    assert_eq!((ran.first, ran.skipped.len()), (15, 2));
    assert_eq!(folder.kept(), [15, 50, 53]);
}

#[test]
fn a_resume_on_other_data_is_refused() {
    let topology = stateful("split 2").checkpoint_every(15);
    let folder = interrupted(&topology);
    let before = fs::read(folder.events()).unwrap();
    let refused = |samples, features| {
        let rig = Rig::new(&topology).dataset(MadeUp::new(samples, features));
        let error = folder.resume(rig).unwrap_err();
        let JobError::OtherTopology { differences, .. } = error else { panic!("{error:?}") };
        differences
    };
    assert_eq!(
        refused(49, FEATURES),
        ["data: 49 samples of shape [12] here, 50 samples of shape [12] in the checkpoint"]
    );
    assert_eq!(
        refused(50, 8),
        ["data: 50 samples of shape [8] here, 50 samples of shape [12] in the checkpoint"]
    );
    assert_eq!(fs::read(folder.events()).unwrap(), before);
    folder.resume(Rig::new(&topology)).unwrap().finished();
}

#[test]
fn samples_that_are_not_in_use_make_no_difference() {
    let mut topology = stateful("split 2");
    topology.data.limit = Some(30);
    let folder = Folder::new();
    stopped_at(&folder.run(stopping(&topology, 40)).unwrap(), 40);
    assert_eq!((folder.read(40).meta.samples, folder.read(40).meta.shape), (30, vec![FEATURES]));
    let ran = folder.resume(Rig::new(&topology).dataset(MadeUp::new(44, FEATURES))).unwrap().finished();
    as_if_nothing_had_happened(&ran, &Rig::new(&topology).run().finished());
}

#[test]
fn where_every_checkpoint_is_damaged_nothing_is_touched() {
    let topology = stateful("split 2").checkpoint_every(15);
    let folder = interrupted(&topology);
    for step in folder.kept() {
        fs::write(folder.checkpoint(step).join("model.safetensors"), "").unwrap();
    }
    let before = fs::read(folder.events()).unwrap();
    let error = folder.resume(Rig::new(&topology)).unwrap_err().to_string();
    assert!(error.contains("step-0000000040") && error.contains("bytes where its manifest says"), "{error}");
    assert_eq!(fs::read(folder.events()).unwrap(), before, "the log of a run that may yet be saved");
}
