//! A full disk and a read-only folder, on file systems made for the test where that is allowed (as root).

use crate::program::{outcome, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A memory file system with these options, unmounted when the test is over.
struct Mount(PathBuf);

impl Mount {
    fn new(at: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        let done = mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        if done.is_ok_and(|o| o.status.success()) {
            return Some(Self(at.to_owned()));
        }
        eprintln!("not tested: file systems cannot be mounted here, which takes root");
        None
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // A folder that stays mounted is seen by the removal of the temporary folder.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_found_before_step_0() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(&folder.path().join("small"), "size=256k") else { return };
    let (code, _, stderr) = outcome(run(&mount.0.join("run"), &[], &[]));
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("full") && stderr.contains("small"), "{stderr}");
    assert!(!mount.0.join("run/events.ndjson").exists(), "nothing is begun");
}

#[test]
fn a_read_only_folder_is_found_before_step_0() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mount) = Mount::new(&folder.path().join("fixed"), "ro,size=1m") else { return };
    let (code, _, stderr) = outcome(run(&mount.0.join("run"), &[], &[]));
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("read-only") && stderr.contains("fixed"), "{stderr}");
}

/// A disk that fills up while a run is on costs checkpoints, not steps; the end of the run says so.
#[test]
fn a_disk_that_fills_up_is_told() {
    let folder = tempfile::tempdir().unwrap();
    // Room for the log and three checkpoints of this model, of about 1 MB each, and not for a fourth.
    let Some(mount) = Mount::new(&folder.path().join("filling"), "size=5m") else { return };
    let settings = ["checkpoint.keep=100", "checkpoint.every=5", "job.steps=2000"];
    let (code, _, stderr) = outcome(run(&mount.0.join("run"), &settings, &[]));
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("full") && stderr.contains("training goes on"), "{stderr}");
    assert!(!stderr.contains('\u{1b}'), "no colours where there is no terminal: {stderr:?}");
    // Nothing half-written is left behind as a checkpoint.
    for checkpoint in crate::program::checkpoints(&mount.0.join("run")) {
        let name = checkpoint.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with('.') || checkpoint.join("manifest.json").exists(), "{name}");
    }
}
