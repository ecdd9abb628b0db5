//! Bad input gets a clear error with the right exit code, and loses nothing.

use crate::program::{checkpoints, node, outcome, root, run, succeed};
use std::fs;

/// Runs and expects a failure that says all of this; nobody wants to see a panic.
fn refuse(command: std::process::Command, code: i32, says: &[&str]) {
    let shown = format!("{command:?}");
    let (got, _, stderr) = outcome(command);
    // The report wraps lines and draws a frame.
    let words: Vec<&str> =
        stderr.split_whitespace().filter(|w| !["│", "×", "╰─▶", "├─▶"].contains(w)).collect();
    let flat = words.join(" ");
    assert_eq!(got, code, "{shown}\n{stderr}");
    for part in says {
        assert!(flat.contains(part), "{shown}\ndoes not say `{part}`:\n{stderr}");
    }
    assert!(!stderr.contains("panicked at"), "{stderr}");
}

#[test]
fn a_typo_in_every_section_is_pointed_at() {
    let typos = [
        ("job.stpes=3", "steps"),
        ("data.bach=3", "batch"),
        ("data.corruption.levle=0.1", "level"),
        ("model.activatoin=relu", "activation"),
        ("schedule.wrod=x", "word"),
        ("checkpoint.evry=3", "every"),
        ("placement.threds=2", "threads"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (set, nearest) in typos {
        let path = folder.path().join("run");
        refuse(run(&path, &[set], &[]), 4, &[nearest]);
        assert!(!path.exists(), "nothing is begun");
    }
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cases: [(&str, &[&str]); 9] = [
        ("data.batch=0", &["batch"]),
        ("schedule.word=split 0 | step adam", &["split"]),
        ("schedule.word=split 2 | accum 2", &["E01"]),
        ("schedule.word=step adam | accum 4", &["E01", "every"]),
        ("schedule.word=split 2 | step adam | gossip 2 @cluster", &["not yet run"]),
        ("model.layers=[784,32,100]", &["layers"]),
        ("model.layers=[100,32,100]", &["784"]),
        ("data.limit=1", &["2 workers", "1 sample"]),
        ("job.steps=-4", &["steps"]),
    ];
    for (set, says) in cases {
        refuse(run(&folder.path().join("run"), &[set], &[]), 4, says);
    }
}

#[test]
fn files_that_are_missing_or_lie_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let idx = |bytes: &[u8], name: &str| {
        fs::write(path(name), bytes).unwrap();
        format!("data.path={}", path(name).display())
    };
    let head =
        |n: u32| [&[0, 0, 8, 3][..], &n.to_be_bytes(), &28u32.to_be_bytes(), &28u32.to_be_bytes()].concat();
    let kind = "data.kind=idx";
    let limit = "data.limit=2";
    let mut whole = head(2);
    whole.resize(16 + 2 * 784, 7);
    let run = |set: &str| run(&path("run"), &[kind, limit, set], &[]);
    refuse(run(&idx(&[], "empty")), 1, &["empty"]);
    refuse(run(&idx(&whole[..1000], "short")), 1, &["short"]);
    refuse(run(&idx(&head(u32::MAX), "lie")), 1, &["lie"]);
    refuse(run(&idx(&[&[0, 0, 8, 3][..], &[0xff; 12]].concat(), "overflow")), 1, &["overflow"]);
    refuse(run(&idx(b"hello, world, this is no idx file", "text")), 1, &["text"]);
    refuse(run(&format!("data.path={}", path("absent").display())), 1, &["absent"]);
    refuse(run(&format!("data.path={}", folder.path().display())), 1, &["not a regular file"]);
    assert!(!path("run").exists(), "nothing is begun");
    succeed(run(&idx(&whole, "good")));
}

#[test]
fn wrong_usage_and_missing_files_have_their_codes() {
    refuse(node(&["run"]), 2, &["FILE"]);
    refuse(node(&["train", "x"]), 2, &["train"]);
    refuse(node(&["run", "absent.toml"]), 4, &["absent.toml"]);
    refuse(node(&["check", "examples"]), 4, &["examples"]);
    let empty = tempfile::tempdir().unwrap();
    refuse(node(&["eval", empty.path().to_str().unwrap()]), 1, &["no checkpoint"]);
    refuse(node(&["run", "examples/mnist-mlp/topology.toml", "--host", "absent"]), 1, &["absent"]);
    let help = succeed(node(&["--help"]));
    assert!(help.contains("130") && help.contains("interrupted"), "{help}");
    succeed(node(&["check", "examples/mnist-mlp/topology.toml"]));
    succeed(node(&["check", "examples/mnist-conv/topology.toml"]));
}

/// All files of a folder, with their bytes.
fn everything(folder: &std::path::Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut all = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(everything(&path));
        } else {
            all.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn a_folder_is_not_overwritten_and_a_resume_says_what_differs() {
    let folders = tempfile::tempdir().unwrap();
    let folder = folders.path().join("run");
    succeed(run(&folder, &["job.steps=40"], &[]));
    refuse(run(&folder, &["job.steps=40"], &[]), 1, &["--resume", "--run-dir"]);
    let other = ["data.batch=16", "schedule.word=split 2 | step adam(1e-2)"];
    let says = ["data.batch: 16 here, 32 in the checkpoint", "schedule.word", "--run-dir"];
    let before = everything(&folder);
    refuse(run(&folder, &other, &["--resume"]), 1, &says);
    assert!(everything(&folder) == before, "a refused resume changes nothing");
    // More steps, and another place for the data, are no other run.
    succeed(run(&folder, &["job.steps=60"], &["--resume"]));
    // A resume with nothing left to do is fine.
    succeed(run(&folder, &["job.steps=60"], &["--resume"]));
}

#[test]
fn a_loss_that_is_no_number_stops_all_and_keeps_the_last_good_checkpoint() {
    let folders = tempfile::tempdir().unwrap();
    // A rate that rises from nothing to what no model survives: good steps first, then one that is not.
    let wild = folders.path().join("wild");
    let settings = [
        "schedule.word=split 2 | step sgd(1e30)",
        "schedule.warmup_steps=100",
        "model.loss=mse",
        "model.output=linear",
        "checkpoint.every=1",
        "checkpoint.keep=1",
    ];
    refuse(
        run(&wild, &settings, &[]),
        1,
        &["not a finite number in step", "all workers stopped", "learning rate"],
    );
    let log = fs::read_to_string(wild.join("events.ndjson")).unwrap();
    assert!(log.lines().last().unwrap().contains("\"type\":\"failed\""), "{log}");
    for step in crate::program::losses(&wild) {
        assert!(step.is_finite());
    }
    // What is kept gives a finite loss: the state whose next step failed is not kept.
    if let Some(kept) = checkpoints(&wild).pop() {
        let (code, _, stderr) = outcome(node(&["eval", wild.to_str().unwrap()]));
        assert_eq!(code, 0, "{} is kept: {stderr}", kept.display());
    }
}

#[test]
fn a_model_that_has_diverged_is_not_measured() {
    let folders = tempfile::tempdir().unwrap();
    let folder = folders.path().join("run");
    // One step, whose loss is that of the parameters before it.
    succeed(run(&folder, &["schedule.word=split 2 | step sgd(1e38)", "job.steps=1"], &[]));
    refuse(node(&["eval", folder.to_str().unwrap()]), 1, &["not finite", "diverged"]);
}

#[test]
fn a_run_that_does_not_fit_is_refused_with_the_sum() {
    let folders = tempfile::tempdir().unwrap();
    let path = folders.path().join("run");
    let large: [(&[&str], &[&str]); 3] = [
        (&["data.batch=1048576", "data.prefetch=64", "data.limit=60000"], &["GiB of memory", "data.batch"]),
        (&["model.layers=[784,1000000,1000,1000000,784]"], &["GiB of memory", "model"]),
        (&["schedule.word=split 3000 | step adam", "data.batch=1"], &["3000 workers", "at most 1024"]),
    ];
    for (settings, says) in large {
        refuse(run(&path, settings, &[]), 1, says);
        assert!(!path.exists(), "nothing is begun");
    }
}

#[test]
fn output_that_is_no_terminal_is_plain() {
    let folders = tempfile::tempdir().unwrap();
    let (code, stdout, stderr) = outcome(run(&folders.path().join("run"), &[], &[]));
    assert_eq!(code, 0);
    assert!(stdout.is_empty(), "data on stdout, messages on stderr: {stdout}");
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
    assert!(stderr.contains("finished at step 120"), "{stderr}");
}

#[test]
fn every_example_is_checked() {
    for entry in fs::read_dir(root().join("examples")).unwrap() {
        let file = entry.unwrap().path().join("topology.toml");
        if file.exists() && !file.starts_with(root().join("examples/my-trainer")) {
            succeed(node(&["check", file.to_str().unwrap()]));
        }
    }
}
