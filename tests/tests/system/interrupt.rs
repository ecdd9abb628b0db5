//! A run that is interrupted, killed or damaged goes on to the very same bits.

use crate::program::{Process, checkpoints, outcome, run, steps, succeed, summary};
use std::fs;
use std::path::Path;

/// Step lines and parameters of a run nobody disturbed.
fn undisturbed(folder: &Path, settings: &[&str]) -> (Vec<String>, String) {
    succeed(run(folder, settings, &[]));
    (steps(folder), summary(folder)["parameters_sha256"].to_string())
}

const LONG: &[&str] = &["job.steps=3000", "checkpoint.every=100"];

#[test]
fn an_interrupted_run_goes_on_to_the_same_bits() {
    let folders = tempfile::tempdir().unwrap();
    let (whole, cut) = (folders.path().join("whole"), folders.path().join("cut"));
    let (lines, parameters) = undisturbed(&whole, LONG);
    assert_eq!(lines.len(), 3000);

    let mut process = Process::start(run(&cut, LONG, &[]));
    process.until("steps", || steps(&cut).len() > 150);
    process.signal(libc::SIGINT);
    assert_eq!(process.code(), 130);
    let done = steps(&cut).len();
    assert!((150..3000).contains(&done), "{done}");
    assert_eq!(summary(&cut)["status"], "stopped");
    // It finished its step and saved it: nothing is computed again.
    assert!(checkpoints(&cut).last().unwrap().ends_with(format!("step-{done:010}")));

    succeed(run(&cut, LONG, &["--resume"]));
    assert_eq!(steps(&cut), lines);
    assert_eq!(summary(&cut)["parameters_sha256"].to_string(), parameters);
    assert_eq!(summary(&cut)["status"], "finished");
}

#[test]
fn a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_bits() {
    let folders = tempfile::tempdir().unwrap();
    let (whole, cut) = (folders.path().join("whole"), folders.path().join("cut"));
    let (lines, parameters) = undisturbed(&whole, LONG);
    let mut process = Process::start(run(&cut, LONG, &[]));
    process.until("two checkpoints", || checkpoints(&cut).len() >= 2 && steps(&cut).len() > 250);
    process.signal(libc::SIGKILL);
    assert_eq!(process.code(), -libc::SIGKILL);
    succeed(run(&cut, LONG, &["--resume"]));
    assert_eq!(steps(&cut), lines);
    assert_eq!(summary(&cut)["parameters_sha256"].to_string(), parameters);
}

#[test]
fn twice_interrupted_leaves_at_once_and_tears_nothing() {
    let folders = tempfile::tempdir().unwrap();
    let cut = folders.path().join("cut");
    // A step of this one takes a while: half a second or more.
    let slow: &[&str] =
        &["model.layers=[784,4096,784]", "data.batch=1024", "data.limit=60000", "job.steps=50"];
    let mut process = Process::start(run(&cut, slow, &[]));
    process.until("a step", || !steps(&cut).is_empty());
    process.signal(libc::SIGINT);
    process.signal(libc::SIGTERM);
    assert_eq!(process.code(), 130);
    // What is there can be gone on from, or begun anew.
    let log = fs::read_to_string(cut.join("events.ndjson")).unwrap();
    assert!(log.lines().all(|l| serde_json::from_str::<serde_json::Value>(l).is_ok()), "{log}");
    // It left at once: it did not wait for the step, nor save it.
    assert!(!log.contains("\"type\":\"stopped\"") && checkpoints(&cut).is_empty(), "{log}");
    assert!(!cut.join("summary.json").exists());
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_told() {
    let folders = tempfile::tempdir().unwrap();
    let (whole, cut) = (folders.path().join("whole"), folders.path().join("cut"));
    let (lines, parameters) = undisturbed(&whole, &[]);
    // In two parts, for a checkpoint that falls due while the disk is busy is left out, and the last one never is.
    succeed(run(&cut, &["job.steps=80"], &[]));
    succeed(run(&cut, &["job.steps=100"], &["--resume"]));
    let newest = checkpoints(&cut).pop().unwrap().join("model.safetensors");
    let bytes = fs::read(&newest).unwrap();
    fs::write(&newest, &bytes[..bytes.len() / 2]).unwrap();

    let (code, _, stderr) = outcome(run(&cut, &[], &["--resume"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("passed over") && stderr.contains("step-0000000100"), "{stderr}");
    assert!(stderr.contains("resumes after step 80"), "{stderr}");
    assert_eq!(steps(&cut), lines);
    assert_eq!(summary(&cut)["parameters_sha256"].to_string(), parameters);
}
