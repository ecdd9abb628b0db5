//! When the state is saved, and disks that refuse.

use crate::linear::{Act, Linear};
use crate::rig::{FEATURES, Folder, HANGS, Rig, topology};
use dae_train::job::JobError;
use dae_train::topology::Topology;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

fn adam() -> Topology {
    topology("split 2 | step adam(0.02)").checkpoint_every(10)
}

/// A model that waits until each checkpoint is written, and does this before each of rank 0's steps.
fn patient(before: impl Fn(u64) + Send + Sync + 'static) -> Linear {
    Linear::new(FEATURES).acting(move |now| {
        now.patient();
        if now.member.rank() == 0 {
            before(now.step);
        }
        Act::Compute
    })
}

fn steps_of(events: &[serde_json::Value]) -> Vec<u64> {
    events.iter().map(|e| e["step"].as_u64().unwrap()).collect()
}

#[test]
fn every_so_many_steps_and_at_the_end_and_the_newest_are_kept() {
    for (every, keep, kept) in
        [(10, 3, vec![40, 50, 55]), (20, 1, vec![55]), (7, 99, vec![7, 14, 21, 28, 35, 42, 49, 55])]
    {
        let mut topology = adam().steps(55).checkpoint_every(every);
        topology.checkpoint.keep = keep;
        let folder = Folder::new();
        let ran = folder.run(Rig::new(&topology).backend(patient(|_| ()))).unwrap().finished();
        assert_eq!(folder.kept(), kept);
        assert_eq!(ran.report.checkpoint, Some(folder.checkpoint(55)));
        // The log has all of them, each after its last step.
        let due: Vec<_> = (1..55).filter(|s| s % every == 0).chain([55]).collect();
        assert_eq!(steps_of(&ran.log.events("checkpoint")), due);
        let path = ran.log.events("checkpoint").pop().unwrap()["path"].as_str().map(PathBuf::from);
        assert_eq!(path, ran.report.checkpoint);
    }
}

#[test]
fn each_holds_the_state_of_its_step() {
    let folder = Folder::new();
    let mut topology = adam().checkpoint_every(9);
    topology.checkpoint.keep = 99;
    let ran = folder.run(Rig::new(&topology).backend(patient(|_| ()))).unwrap().finished();
    let steps = ran.log.steps();
    for at in folder.kept() {
        let saved = folder.read(at);
        let other = Folder::new();
        let short = other.run(Rig::new(&topology.clone().steps(at))).unwrap().finished();
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&saved.params), short.bits(), "step {at}");
        assert_eq!(saved.state, other.read(at).state, "step {at}");
        assert_eq!(saved.state_names, ["m", "v"]);
        assert_eq!((saved.meta.cursor, saved.meta.seed), (8 * at, 11));
        assert_eq!(saved.meta.loss, Some(steps[at as usize - 1].loss));
    }
}

#[test]
fn none_but_the_last_where_none_is_asked_for() {
    let folder = Folder::new();
    let ran = folder.run(Rig::new(&adam().checkpoint_every(0))).unwrap().finished();
    assert_eq!(folder.kept(), [60]);
    assert_eq!(ran.log.kinds(), ["started", "checkpoint", "finished"]);
}

#[test]
fn training_does_not_wait_for_a_slow_disk() {
    // The first copy is held on its way to the disk until training has reached step 300: some are left out, and no step
    // is held up or changed. It is the recorder that holds it, which tells its listeners before it passes a copy on.
    let topology = adam().steps(400);
    let free = Rig::new(&topology.clone().checkpoint_every(0)).run().finished();
    let folder = Folder::new();
    let (open, gate) = sync_channel(1);
    let gate = Mutex::new(Some(gate));
    let model = Linear::new(FEATURES).acting(move |now| {
        if now.is(0, 300) {
            open.send(()).unwrap();
        }
        Act::Compute
    });
    let freed = Arc::new(AtomicBool::new(false));
    let in_time = freed.clone();
    let rig = Rig::new(&topology.checkpoint_every(2)).backend(model).listening(|_| {
        Box::new(move |_| {
            if let Some(gate) = gate.lock().unwrap().take() {
                in_time.store(gate.recv_timeout(HANGS / 2).is_ok(), Ordering::SeqCst);
            }
            true
        })
    });
    let ran = folder.run(rig).unwrap().finished();
    assert!(freed.load(Ordering::SeqCst), "training waited for the disk");
    assert_eq!(ran.bits(), free.bits());
    assert_eq!(ran.log.lines("step"), free.log.lines("step"));
    let written = steps_of(&ran.log.events("checkpoint"));
    assert!(written.iter().all(|s| s.is_multiple_of(2)) && written.is_sorted(), "{written:?}");
    assert_eq!((written[0], written.last()), (2, Some(&400)));
    assert!(written[1..].iter().all(|s| *s >= 300), "there was no room for these: {written:?}");
    assert_eq!(folder.kept().last(), Some(&400));
    assert!(ran.log.events("checkpoint_failed").is_empty());
}

/// A model that, before step 21, puts a file where the checkpoints should go (the superuser may write anywhere, but
/// not into a file), and takes it away before step `mended`.
fn refusing(folder: &Folder, mended: u64) -> Linear {
    let (place, aside) = (folder.checkpoints(), folder.checkpoints().with_extension("aside"));
    patient(move |step| {
        if step == 15 {
            fs::rename(&place, &aside).unwrap();
            fs::write(&place, "").unwrap();
        } else if step == mended {
            fs::remove_file(&place).unwrap();
            fs::rename(&aside, &place).unwrap();
        }
    })
}

#[test]
fn a_disk_that_refuses_for_a_while_costs_only_checkpoints() {
    let free = Rig::new(&adam()).run().finished();
    let folder = Folder::new();
    let model = refusing(&folder, 35);
    let ran = folder.run(Rig::new(&adam()).backend(model)).unwrap().finished();
    assert_eq!(ran.bits(), free.bits());
    assert_eq!(ran.log.lines("step"), free.log.lines("step"));
    let failed = ran.log.events("checkpoint_failed");
    assert_eq!(steps_of(&failed), [20, 30]);
    assert!(failed[0]["cause"].as_str().unwrap().contains("checkpoints"), "{failed:?}");
    assert_eq!(steps_of(&ran.log.events("checkpoint")), [10, 40, 50, 60]);
    assert_eq!(folder.kept(), [40, 50, 60]);
}

#[test]
fn a_last_checkpoint_that_cannot_be_written_is_an_error() {
    let folder = Folder::new();
    let model = refusing(&folder, u64::MAX);
    let error = folder.run(Rig::new(&adam()).backend(model)).unwrap_err();
    assert!(matches!(&error, JobError::Checkpoint(_)), "{error:?}");
    assert!(error.to_string().contains("checkpoints"), "{error}");
    // Training went on to its end all the same, and the log says what became of it.
    let log = crate::log::Log::read(&folder.events());
    assert_eq!(log.steps().len(), 60);
    assert_eq!(steps_of(&log.events("checkpoint_failed")), [20, 30, 40, 50, 60]);
    // Once the disk takes it again, the run can be brought to its end.
    fs::remove_file(folder.checkpoints()).unwrap();
    fs::rename(folder.checkpoints().with_extension("aside"), folder.checkpoints()).unwrap();
    let ran = folder.resume(Rig::new(&adam())).unwrap().finished();
    assert_eq!(ran.first, 10);
    assert_eq!(ran.bits(), Rig::new(&adam()).run().finished().bits());
}
