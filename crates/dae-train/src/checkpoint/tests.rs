//! Checkpoints written, damaged, and read back.

use super::folder::{MANIFEST, MODEL, OPTIMIZER};
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
        fingerprint: "abc".into(),
        topology: "name = \"t\"\n# comment".into(),
        word: "split 2 | step adam(1e-3)".into(),
        optimizer: "adam(1e-3)".into(),
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
    let path = write_step(folder.path(), 1, 1);
    let model = path.join(MODEL);
    let mut bytes = fs::read(&model).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&model, &bytes).unwrap();
    assert!(matches!(read(&path), Err(CheckpointError::Hash { path }) if path == model));
}

#[test]
fn a_newer_format_is_told_from_a_damaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_step(folder.path(), 1, 1);
    fs::write(path.join(MANIFEST), br#"{"meta":{"version":2,"other":0}}"#).unwrap();
    assert!(matches!(read(&path), Err(CheckpointError::Version { found: 2, .. })));
}

#[test]
fn absurd_layouts_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = write_step(folder.path(), 1, 1);
    let manifest = fs::read_to_string(path.join(MANIFEST)).unwrap();
    let value: serde_json::Value = serde_json::from_str(&manifest).unwrap();
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
    ] {
        let mut value = value.clone();
        *value.pointer_mut(pointer).unwrap() = new.clone();
        fs::write(path.join(MANIFEST), value.to_string()).unwrap();
        let result = read(&path);
        // `m` twice is the one mutation that still describes the file's count of tensors.
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
    fs::write(path.join(MANIFEST), value.to_string()).unwrap();
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
    assert!(names(folder.path()).is_empty());
}

proptest! {
    #[test]
    fn no_manifest_makes_a_reader_panic(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        digits in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = write_step(folder.path(), 1, 1);
        let mut bytes = fs::read(path.join(MANIFEST)).unwrap();
        let places: Vec<usize> = (0..bytes.len())
            .filter(|&i| !digits || bytes[i].is_ascii_digit())
            .collect();
        for (at, byte) in edits {
            // Digits become other digits, so that most of these texts still parse.
            bytes[*at.get(&places)] = if digits { b'0' + byte % 10 } else { byte };
        }
        fs::write(path.join(MANIFEST), &bytes).unwrap();
        let _ = newest_valid(folder.path()).unwrap();
    }
}
