//! Checkpoints written, damaged, and read back.

use super::folder::{MANIFEST, MODEL, OPTIMIZER};
use super::manifest::{ending, sealed};
use super::*;
use crate::layout::Layout;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn layout() -> Layout {
    Layout::new([
        ("encoder.0.weight".into(), vec![3, 5]),
        ("encoder.0.bias".into(), vec![3]),
        ("scale".into(), vec![]),
    ])
}

fn meta(step: u64) -> Meta {
    Meta {
        step,
        cursor: step * 256,
        seed: u64::MAX,
        samples: 1000,
        shape: vec![5],
        fingerprint: "abc".into(),
        topology: "name = \"t\"\n# comment".into(),
        word: "split 2 | step adam(1e-3)".into(),
        optimizer: "adam(1e-3)".into(),
        scale: None,
        children: vec![],
        loss: Some(0.1 + 0.2),
        layout: layout(),
        version: VERSION,
    }
}

/// A flat buffer with zero padding, its elements distinct.
fn flat(seed: f32) -> Vec<f32> {
    let mut buffer = vec![0.0; layout().len()];
    for tensor in layout().tensors() {
        for i in tensor.range() {
            buffer[i] = seed + i as f32 / 3.0;
        }
    }
    buffer
}

fn write_step(folder: &Path, step: u64, keep: usize) -> std::path::PathBuf {
    let (params, m, v) = (flat(step as f32), flat(0.5), flat(-2.0));
    let snapshot = Snapshot { params: &params, state: &[&m, &v], names: &["m", "v"] };
    write(folder, &meta(step), snapshot, keep).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_step(&folder.path().join("a/b"), 7, 3);
    assert!(path.ends_with("step-0000000007"));
    assert_eq!(names(&path), [MANIFEST, MODEL, OPTIMIZER]);
    let checkpoint = read(&path).unwrap();
    assert_eq!(checkpoint.meta, meta(7));
    assert_eq!(checkpoint.params, flat(7.0));
    assert_eq!(checkpoint.state, [flat(0.5), flat(-2.0)]);
    assert_eq!(checkpoint.state_names, ["m", "v"]);
}

#[test]
fn an_optimizer_without_state_and_an_infinite_loss_are_fine() {
    let folder = tempfile::tempdir().unwrap();
    let params = flat(f32::NAN);
    let meta = Meta { loss: Some(f64::INFINITY), ..meta(1) };
    let snapshot = Snapshot { params: &params, state: &[], names: &[] };
    let checkpoint = read(&write(folder.path(), &meta, snapshot, 1).unwrap()).unwrap();
    assert!(checkpoint.params[0].is_nan() && checkpoint.state.is_empty());
    assert_eq!(checkpoint.meta.loss, None);
}

#[test]
fn the_newest_are_kept_and_the_one_just_written() {
    let folder = tempfile::tempdir().unwrap();
    for step in [100, 200, 300] {
        write_step(folder.path(), step, 2);
    }
    assert_eq!(names(folder.path()), ["step-0000000200", "step-0000000300"]);
    // A run resumed from 200 because 300 was damaged: its next one must survive its own pruning.
    let path = write_step(folder.path(), 250, 0);
    assert_eq!(newest_valid(folder.path()).unwrap().path, Some(path));
}

#[test]
fn a_step_is_replaced_and_dead_writes_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".step-0000000003.tmp-1")).unwrap();
    fs::create_dir(folder.path().join("notes")).unwrap();
    write_step(folder.path(), 5, 3);
    let params = flat(9.0);
    let snapshot = Snapshot { params: &params, state: &[], names: &[] };
    let path = write(folder.path(), &meta(5), snapshot, 3).unwrap();
    assert_eq!(names(folder.path()), ["notes", "step-0000000005"]);
    assert_eq!(read(&path).unwrap().params, params);
}

#[test]
fn one_being_replaced_is_found_until_the_other_is_in_place() {
    let folder = tempfile::tempdir().unwrap();
    write_step(folder.path(), 4, 3);
    let path = write_step(folder.path(), 5, 3);
    fs::rename(&path, folder.path().join("step-0000000005.replaced")).unwrap();
    let found = newest_valid(folder.path()).unwrap();
    assert_eq!(found.checkpoint.unwrap().meta.step, 5);
    write_step(folder.path(), 5, 3);
    assert_eq!(names(folder.path()), ["step-0000000004", "step-0000000005"]);
}

#[test]
fn no_folder_is_no_checkpoint() {
    let found = newest_valid(Path::new("does/not/exist")).unwrap();
    assert!(found.checkpoint.is_none() && found.path.is_none() && found.skipped.is_empty());
}

#[test]
fn a_checkpoint_truncated_anywhere_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    write_step(folder.path(), 1, 3);
    let newest = write_step(folder.path(), 2, 3);
    for file in [MODEL, OPTIMIZER, MANIFEST] {
        let path = newest.join(file);
        let bytes = fs::read(&path).unwrap();
        for length in (0..bytes.len()).step_by(13).chain([bytes.len() - 1]) {
            fs::write(&path, &bytes[..length]).unwrap();
            let found = newest_valid(folder.path()).unwrap();
            assert_eq!(found.checkpoint.unwrap().meta.step, 1, "{file} cut to {length}");
            assert_eq!(found.skipped.len(), 1);
            assert_eq!(found.skipped[0].0, newest);
            assert!(found.skipped[0].1.to_string().contains(file));
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(newest_valid(folder.path()).unwrap().checkpoint.unwrap().meta.step, 1);
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(newest_valid(folder.path()).unwrap().checkpoint.unwrap().meta.step, 2);
}

#[test]
fn a_changed_byte_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    write_step(folder.path(), 1, 3);
    let newest = write_step(folder.path(), 2, 3);
    for file in [MODEL, OPTIMIZER, MANIFEST] {
        let path = newest.join(file);
        let bytes = fs::read(&path).unwrap();
        for at in (0..bytes.len()).step_by(7).chain(bytes.len() - 80..bytes.len()) {
            // A capital letter for a small one, another digit for a digit, another blank for a blank.
            for bit in [0x20, 0x01, 0x2a] {
                let mut bytes = bytes.clone();
                bytes[at] ^= bit;
                fs::write(&path, &bytes).unwrap();
                let found = newest_valid(folder.path()).unwrap();
                assert_eq!(found.checkpoint.unwrap().meta.step, 1, "{file} changed at {at}");
                let told = found.skipped[0].1.to_string();
                assert!(told.contains(file), "{told}");
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    assert_eq!(newest_valid(folder.path()).unwrap().checkpoint.unwrap().meta.step, 2);
}

#[test]
fn a_changed_count_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_step(folder.path(), 5, 1);
    let manifest = path.join(MANIFEST);
    let text = fs::read_to_string(&manifest).unwrap();
    let told = || read(&path).unwrap_err().to_string();
    for (old, new) in [
        ("\"cursor\": 1280", "\"cursor\": 9280"),
        ("\"step\": 5", "\"step\": 18446744073709551615"),
        ("\"step\": 5", "\"step\":  5"),
        ("\"state\"", "\"more\": 0,\n  \"state\""),
    ] {
        assert!(text.contains(old));
        fs::write(&manifest, text.replacen(old, new, 1)).unwrap();
        assert!(told().contains("its bytes have changed"), "{}", told());
    }
    fs::write(&manifest, text + "\n").unwrap();
    assert!(told().contains("its bytes have changed"), "{}", told());
}

#[test]
fn a_checkpoint_is_of_the_step_its_folder_is_named_after() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_step(folder.path(), 5, 1);
    let renamed = folder.path().join("step-0000000006");
    fs::rename(&path, &renamed).unwrap();
    let error = read(&renamed).unwrap_err().to_string();
    assert!(error.contains("it is of step 5, in the folder of step 6"), "{error}");
    // A name of a person's own says nothing of a step.
    let own = folder.path().join("the best one");
    fs::rename(&renamed, &own).unwrap();
    assert_eq!(read(&own).unwrap().meta.step, 5);
}

#[test]
fn those_set_aside_do_not_count_as_kept() {
    let folder = tempfile::tempdir().unwrap();
    for step in [10, 20, 30, 40] {
        write_step(folder.path(), step, 9);
    }
    for step in ["step-0000000030", "step-0000000040"] {
        fs::write(folder.path().join(step).join(MODEL), "").unwrap();
    }
    // Twice: a process may end before it has written anything.
    for _ in 0..2 {
        let found = newest_valid(folder.path()).unwrap();
        assert_eq!((found.checkpoint.unwrap().meta.step, found.skipped.len()), (20, 2));
        set_aside(&found.skipped).unwrap();
        let aside = ["step-0000000030.damaged", "step-0000000040.damaged"];
        assert_eq!(names(folder.path()), [&["step-0000000010", "step-0000000020"], &aside[..]].concat());
        let found = newest_valid(folder.path()).unwrap();
        assert_eq!((found.checkpoint.unwrap().meta.step, found.skipped.len()), (20, 0));
        for step in ["step-0000000030", "step-0000000040"] {
            fs::create_dir(folder.path().join(step)).unwrap();
        }
    }
    set_aside(&newest_valid(folder.path()).unwrap().skipped).unwrap();
    // Newer than all of them, as it is where checkpoints are due at other steps.
    write_step(folder.path(), 45, 3);
    assert_eq!(names(folder.path()), ["step-0000000010", "step-0000000020", "step-0000000045"]);
}

#[test]
fn a_newer_format_is_told_from_a_damaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_step(folder.path(), 1, 1);
    fs::write(path.join(MANIFEST), br#"{"meta":{"version":3,"other":0}}"#).unwrap();
    assert!(matches!(read(&path), Err(CheckpointError::Version { found: 3, .. })));
}

#[test]
fn absurd_manifests_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_step(folder.path(), 3, 1);
    let manifest = fs::read_to_string(path.join(MANIFEST)).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    value.as_object_mut().unwrap().remove("sha256").unwrap();
    value["meta"]["children"] = serde_json::json!([{ "steps": 3, "weight": 0.25 }]);
    fs::write(path.join(MANIFEST), sealed(&value).unwrap()).unwrap();
    assert_eq!(read(&path).unwrap().meta.children[0].weight, Some(0.25));
    let max = u64::MAX;
    for (pointer, new) in [
        ("/meta/layout/tensors/0/shape", serde_json::json!([max, max])),
        ("/meta/layout/tensors/0/shape", serde_json::json!([1u64 << 61])),
        ("/meta/layout/tensors/1/offset", max.into()),
        ("/meta/layout/tensors/1/name", "scale".into()),
        ("/meta/layout/len", max.into()),
        ("/meta/layout/len", 0.into()),
        ("/model/bytes", max.into()),
        ("/state", serde_json::json!(["m", "m"])),
        ("/state", serde_json::json!(["m"])),
        ("/meta/step", (-1).into()),
        ("/meta/step", 2.into()),
        ("/meta/step", max.into()),
        ("/meta/cursor", 0.into()),
        ("/meta/cursor", max.into()),
        ("/meta/children", serde_json::json!([{ "steps": 3, "weight": 0.0 }])),
        ("/meta/children", serde_json::json!([{ "steps": 3, "weight": -1.0 }])),
    ] {
        let mut value = value.clone();
        *value.pointer_mut(pointer).unwrap() = new.clone();
        fs::write(path.join(MANIFEST), sealed(&value).unwrap()).unwrap();
        let result = read(&path);
        // `m` twice is the one mutation that still describes the file's count of tensors.
        assert!(!result.as_ref().is_err_and(|e| e.to_string().contains("its bytes have changed")));
        assert!(result.is_err() || new == serde_json::json!(["m", "m"]), "{pointer} {new}");
    }
    // Consistent in itself, but not what the file holds.
    let large = Layout::new([
        ("encoder.0.weight".into(), vec![1 << 40]),
        ("encoder.0.bias".into(), vec![3]),
        ("scale".into(), vec![]),
    ]);
    let mut value = value.clone();
    value["meta"]["layout"] = serde_json::to_value(large).unwrap();
    fs::write(path.join(MANIFEST), sealed(&value).unwrap()).unwrap();
    assert!(matches!(read(&path), Err(CheckpointError::Tensors { .. })));
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (good, short) = (flat(0.0), vec![0.0; 3]);
    for snapshot in [
        Snapshot { params: &short, state: &[], names: &[] },
        Snapshot { params: &good, state: &[&short], names: &["m"] },
        Snapshot { params: &good, state: &[&good], names: &[] },
        Snapshot { params: &good, state: &[&good], names: &["a.b"] },
    ] {
        let error = write(folder.path(), &meta(1), snapshot, 1).unwrap_err();
        assert!(matches!(error, CheckpointError::Snapshot { .. }), "{error}");
    }
    let snapshot = Snapshot { params: &good, state: &[], names: &[] };
    let meta = Meta { cursor: 1, ..meta(3) };
    assert!(matches!(write(folder.path(), &meta, snapshot, 1), Err(CheckpointError::Snapshot { .. })));
    assert!(names(folder.path()).is_empty());
}

proptest! {
    #[test]
    fn no_manifest_makes_a_reader_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        digits in any::<bool>(),
        seal in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = write_step(folder.path(), 1, 1);
        let mut bytes = fs::read(path.join(MANIFEST)).unwrap();
        if seal {
            bytes.truncate(bytes.len() - ending(&[]).len());
        }
        let places: Vec<usize> = (0..bytes.len())
            .filter(|&i| !digits || bytes[i].is_ascii_digit())
            .collect();
        for (at, byte) in edits {
            // Digits become other digits, so that most of these texts still parse.
            bytes[*at.get(&places)] = if digits { b'0' + byte % 10 } else { byte };
        }
        if seal {
            bytes.extend(ending(&bytes).into_bytes());
        }
        fs::write(path.join(MANIFEST), &bytes).unwrap();
        let _ = newest_valid(folder.path()).unwrap();
    }
}
