//! Going on from a checkpoint with another length, or under what must not differ.

use crate::linear::{Act, Linear};
use crate::made_up::MadeUp;
use crate::rig::{FEATURES, Folder, Rig, topology};
use dae_train::job::JobError;
use dae_train::topology::Topology;
use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

fn adam() -> Topology {
    topology("split 2 | step adam(0.02)")
}

#[test]
fn a_finished_run_can_be_made_longer() {
    let folder = Folder::new();
    folder.run(Rig::new(&adam().steps(25))).unwrap().finished();
    let ran = folder.resume(Rig::new(&adam().steps(60))).unwrap().finished();
    let whole = Rig::new(&adam().steps(60)).run().finished();
    assert_eq!(ran.first, 25);
    assert_eq!(ran.log.lines("step"), whole.log.lines("step"));
    assert_eq!(ran.bits(), whole.bits());
}

#[test]
fn a_finished_run_can_be_resumed_and_stays_as_it_is() {
    let folder = Folder::new();
    let before = folder.run(Rig::new(&adam().steps(25))).unwrap().finished();
    let (kept, checkpoint) = (folder.kept(), folder.read(25));
    // As long as it was, and shorter: all its steps are behind it.
    for steps in [25, 24, 1] {
        let after = folder.resume(Rig::new(&adam().steps(steps))).unwrap().finished();
        assert_eq!((after.first, after.report.step), (25, 25));
        assert_eq!(after.bits(), before.bits());
        assert_eq!(after.log.lines("step"), before.log.lines("step"));
        assert_eq!((folder.kept(), folder.read(25)), (kept.clone(), checkpoint.clone()), "{steps} steps");
    }
}

/// How often each sample was seen.
type Count = Arc<Mutex<BTreeMap<usize, u64>>>;

fn counting(topology: &Topology, samples: usize, seen: &Count) -> Rig {
    let seen = seen.clone();
    let model = Linear::new(FEATURES).acting(move |now| {
        for row in now.batch.clean.chunks(FEATURES).take(now.batch.rows) {
            *seen.lock().unwrap().entry(MadeUp::id(row)).or_default() += 1;
        }
        Act::Compute
    });
    Rig::new(topology).backend(model).dataset(MadeUp::new(samples, FEATURES))
}

#[test]
fn a_run_that_ended_on_a_short_step_skips_and_repeats_nothing() {
    // Eight a step: the first epoch ends with two.
    let (folder, seen) = (Folder::new(), Count::default());
    let ran = folder.run(counting(&adam().epochs(1.0), 50, &seen)).unwrap().finished();
    assert_eq!(ran.report.step, 7);
    let ran = folder.resume(counting(&adam().epochs(2.0), 50, &seen)).unwrap().finished();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen, (0..50).map(|id| (id, 2)).collect(), "each sample twice in two epochs");
    let samples: Vec<_> = ran.log.steps().iter().map(|s| s.samples).collect();
    let want: Vec<u64> = (1..=6).map(|s| 8 * s).chain((0..7).map(|s| 50 + 8 * s)).chain([100]).collect();
    assert_eq!(samples, want);
    assert_eq!(folder.read(ran.report.step).meta.cursor, 100);
}

#[test]
fn another_topology_is_told_line_by_line() {
    let folder = Folder::new();
    folder.run(Rig::new(&adam().steps(25))).unwrap().finished();
    let before = fs::read(folder.events()).unwrap();
    let other = topology("split 3 | step adam(0.02)").seed(12).batch(3).masking(0.4);
    let error = folder.resume(Rig::new(&other)).unwrap_err();
    let JobError::OtherTopology { path, differences } = &error else { panic!("{error}") };
    assert_eq!(*path, folder.checkpoint(25));
    assert_eq!(
        *differences,
        [
            "data.batch: 3 here, 4 in the checkpoint",
            "data.corruption.level: 0.4 here, 0.3 in the checkpoint",
            "job.seed: 12 here, 11 in the checkpoint",
            "schedule.word: \"split 3 | step adam(0.02)\" here, \"split 2 | step adam(0.02)\" in the checkpoint",
        ]
    );
    assert!(differences.iter().all(|line| error.to_string().contains(line)), "{error}");
    assert_eq!(fs::read(folder.events()).unwrap(), before, "a refused resume touches nothing");
    // What is free may differ: names, lengths, where and how fast it runs.
    let mut free = adam().steps(30).checkpoint_every(7);
    (free.job.name, free.job.restarts, free.data.prefetch) = ("other".into(), 0, 9);
    assert_eq!(folder.resume(Rig::new(&free)).unwrap().finished().first, 25);
}

#[test]
fn another_model_is_told() {
    let folder = Folder::new();
    folder.run(Rig::new(&adam().steps(25))).unwrap().finished();
    let wider = Rig::new(&adam()).backend(Linear::new(14)).dataset(MadeUp::new(50, 14));
    let error = folder.resume(wider).unwrap_err();
    assert!(matches!(&error, JobError::OtherModel { .. }), "{error}");
    assert!(error.to_string().contains("weight [14, 14] here, weight [12, 12] there"), "{error}");
}

#[test]
fn resuming_where_nothing_was_saved_begins_anew() {
    let whole = Rig::new(&adam()).run().finished();
    let folder = Folder::new();
    let ran = folder.resume(Rig::new(&adam())).unwrap().finished();
    assert_eq!((ran.first, &ran.resumed), (0, &None));
    assert_eq!(ran.bits(), whole.bits());
    // A run that died before its first checkpoint leaves only a log.
    fs::remove_dir_all(folder.checkpoints()).unwrap();
    let ran = folder.resume(Rig::new(&adam())).unwrap().finished();
    assert_eq!((ran.first, &ran.resumed), (0, &None));
    assert_eq!(ran.log.lines("step"), whole.log.lines("step"));
}
