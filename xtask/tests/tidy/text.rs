//! Rules about one file: its path and its text.
use super::words;

/// Longer files have more than one subject.
const MOST_LINES: usize = 500;

/// Names that say nothing about what is inside.
const EMPTY_NAMES: [&str; 8] =
    ["util", "utils", "common", "commons", "manager", "managers", "helper", "helpers"];

/// Outside crates with the folders whose sources may use them.
const USED_IN: [(&str, &[&str]); 4] = [
    ("tch", &["crates/dae-torch/"]),
    ("actix", &["crates/dae-actor/"]),
    ("actix_rt", &["crates/dae-actor/"]),
    ("clap", &["crates/dae-node/", "crates/dae/", "xtask/"]),
];

// Put together here so that this file keeps its own rules.
const LEFT_OVER: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
const MACHINE_PATHS: [&str; 3] = [concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/wo", "rk/")];
const REGISTRIES: [&str; 5] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("npm", "js."),
    concat!("download.", "pytorch.org"),
];

/// Everything in this file that is against a rule, one line each.
pub fn findings(path: &str, text: &str) -> Vec<String> {
    let mut found = empty_names(path);
    if path.ends_with(".rs") {
        found.extend(opening(text));
        found.extend(length(text));
    }
    for (index, line) in text.lines().enumerate() {
        let mut on_line = left_over(line);
        on_line.extend(machine_path(line));
        on_line.extend(registry(line));
        if path.ends_with(".rs") {
            on_line.extend(borrowed(path, line));
            on_line.extend(empty_module(line));
        }
        found.extend(on_line.into_iter().map(|finding| format!("line {}: {finding}", index + 1)));
    }
    found.into_iter().map(|finding| format!("{path}: {finding}")).collect()
}

fn opening(text: &str) -> Option<String> {
    (!text.starts_with("//!")).then(|| "does not open with a `//!` line that says what it is".to_owned())
}

fn length(text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > MOST_LINES)
        .then(|| format!("has {lines} lines, at most {MOST_LINES} are allowed: split it by subject"))
}

fn empty_names(path: &str) -> Vec<String> {
    let parts = path.split(['/', '-', '_', '.']);
    parts
        .filter(|part| EMPTY_NAMES.contains(part))
        .map(|part| format!("`{part}` names nothing: say what it holds"))
        .collect()
}

/// A module within a file.
fn empty_module(line: &str) -> Option<String> {
    let line = line.trim_start();
    let name = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?;
    empty_names(name.trim_end_matches([' ', '{', '}', ';'])).pop()
}

fn borrowed(path: &str, line: &str) -> Option<String> {
    let (name, folders) = USED_IN.iter().find(|(name, folders)| {
        words::uses_crate(line, name) && !folders.iter().any(|folder| path.starts_with(folder))
    })?;
    Some(format!("uses {name}, which only {} may", folders.join(", ")))
}

fn left_over(line: &str) -> Vec<String> {
    let words = LEFT_OVER.iter().filter(|word| words::has(line, word));
    words.map(|word| format!("{word} left: do it, or write down where it is planned")).collect()
}

/// An absolute path of somebody's machine. In the middle of a longer path the same letters are innocent.
fn machine_path(line: &str) -> Option<String> {
    let before = |at: usize| line[..at].chars().next_back();
    let innocent = |c: char| c.is_alphanumeric() || "_-.~}>*".contains(c);
    let here = |path: &str| line.match_indices(path).any(|(at, _)| !before(at).is_some_and(innocent));
    MACHINE_PATHS.iter().find(|path| here(path)).map(|path| format!("{path} is a path of one machine"))
}

fn registry(line: &str) -> Option<String> {
    let host = REGISTRIES.iter().find(|host| line.contains(**host))?;
    Some(format!("{host} names a package registry's host: the user's own tools know theirs"))
}

/// The findings of one file, without its path.
#[cfg(test)]
fn found(path: &str, text: &str) -> Vec<String> {
    let prefix = format!("{path}: ");
    findings(path, text).iter().map(|finding| finding.trim_start_matches(&prefix).to_owned()).collect()
}

#[test]
fn a_good_file_passes() {
    let text = "//! A batch.\nuse std::fs;\nlet x = batch::of(dispatch::y);\n// on actix, by clap's rules\n";
    assert_eq!(found("crates/dae-train/src/batch.rs", text), [""; 0]);
}

#[test]
fn a_module_without_an_opening_line_fails() {
    assert!(found("a.rs", "use std::fs;\n")[0].contains("does not open"));
    assert!(found("a.rs", "// plain\n")[0].contains("does not open"));
    assert_eq!(found("a.md", "# Title\n"), [""; 0]);
}

#[test]
fn a_long_file_fails() {
    let text = |lines| "//! x\n".repeat(lines);
    assert_eq!(found("a.rs", &text(500)), [""; 0]);
    assert!(found("a.rs", &text(501))[0].contains("501 lines"));
}

#[test]
fn a_name_that_says_nothing_fails() {
    for path in ["crates/dae-util/src/lib.rs", "a/common/mod.rs", "a/job_manager.rs", "helpers.rs"] {
        assert!(found(path, "//! x\n")[0].contains("names nothing"), "{path}");
    }
    for line in ["mod util;", "    pub mod helpers {", "mod common {}"] {
        assert!(found("a.rs", &format!("//! x\n{line}\n"))[0].contains("names nothing"), "{line}");
    }
    assert_eq!(found("crates/utility.rs", "//! common words\nmod commonly;\n"), [""; 0]);
}

#[test]
fn an_outside_crate_used_elsewhere_fails() {
    // `@` stands for the crate's name, so that this file keeps its own rules.
    let findings = |path, name, line: &str| found(path, &format!("//! x\n{}\n", line.replace('@', name)));
    for (path, name, line) in [
        ("crates/dae-train/src/a.rs", "tch", "let t = @::Tensor::new();"),
        ("examples/my-trainer/src/main.rs", "tch", "use @::nn;"),
        ("crates/dae-train/src/a.rs", "actix", "use @::prelude::*;"),
        ("crates/dae-torch/src/a.rs", "clap", "#[derive(@::Parser)]"),
    ] {
        assert!(findings(path, name, line)[0].contains("which only"), "{line}");
    }
    for (path, name, line) in [
        ("crates/dae-torch/src/a.rs", "tch", "use @::Tensor;"),
        ("crates/dae-actor/src/a.rs", "actix", "use @::Actor;"),
        ("crates/dae/src/main.rs", "clap", "use @::Parser;"),
        ("examples/my-trainer/src/main.rs", "torch", "use dae::@::Tensor;"),
    ] {
        assert_eq!(findings(path, name, line), [""; 0], "{line}");
    }
}

#[test]
fn left_over_work_fails() {
    for word in LEFT_OVER {
        assert!(found("a.toml", &format!("# {word}: later\n"))[0].contains("left"), "{word}");
    }
    assert_eq!(found("a.toml", "todo = \"deny\"\n"), [""; 0]);
}

#[test]
fn a_machines_path_fails() {
    for path in MACHINE_PATHS {
        assert!(found("a.md", &format!("see {path}x\n"))[0].contains("one machine"), "{path}");
        assert!(found("a.md", &format!("x={path}x\n"))[0].contains("one machine"), "{path}");
        assert_eq!(found("a.md", &format!("net{path}x and ~{path}x\n")), [""; 0], "{path}");
    }
}

#[test]
fn a_registrys_host_fails() {
    for host in REGISTRIES {
        assert!(found("a.sh", &format!("curl https://{host}/x\n"))[0].contains("registry"), "{host}");
    }
}
