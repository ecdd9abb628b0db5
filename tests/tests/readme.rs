//! What the documents say is so: every command block of README.md is run, every topology in it is checked, every piece
//! of Rust in it is the example's, and every test that a promise names exists.
//!
//! A fenced block's language says what is done with it:
//!
//! | fence | what is done |
//! |---|---|
//! | `sh` | each line is run by bash in the repository, with the built programs first in its path, and must exit with 0 |
//! | `toml` | a whole topology: `check` must accept it, by the example's own host, which knows the stock kinds too |
//! | `rust` | must stand in `examples/my-trainer/src`, but for white space |
//! | `text` | output and pictures: nothing |
//!
//! Two things differ from what a reader would type. `runs/` and `target/release/` are put where this test keeps its
//! own: a reader's runs are left alone, and another target directory is honoured. And `cargo xtask NAME` is asked for
//! its `--help` only, which proves that it exists: `test` would run this test again, and `demo` and `bench` take long.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// No line takes nearly as long, one that compiles included, in seconds.
const PATIENCE_S: &str = "1200";

/// A fenced block.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    language: String,
    text: String,
}

/// The fenced blocks of a document, in order.
fn blocks(document: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in document.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => {
                blocks.push(Block { language: language.trim().to_owned(), text: String::new() });
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => blocks.last_mut().unwrap().text += &format!("{line}\n"),
            (None, false) => {}
        }
    }
    assert!(!inside, "the last block is not closed");
    blocks
}

fn of<'a>(blocks: &'a [Block], language: &'a str) -> impl Iterator<Item = &'a str> {
    blocks.iter().filter(move |block| block.language == language).map(|block| block.text.as_str())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is run for a line of the document.
fn command(line: &str, programs: &Path, runs: &Path) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    if let ["cargo", "xtask", task @ ..] = words.as_slice() {
        let named: Vec<&str> = task.iter().copied().take_while(|word| !word.starts_with('-')).collect();
        return format!("cargo xtask {} --help", named.join(" "));
    }
    let trains = words.contains(&"run") && line.contains(".toml");
    assert!(!trains || line.contains("--run-dir runs/"), "`{line}` would leave its run in the repository");
    line.replace("target/release/", &format!("{}/", programs.display()))
        .replace("runs/", &format!("{}/", runs.display()))
}

/// Runs a line as a person's shell would, and panics if it fails.
fn bash(line: &str, programs: &Path) {
    let mut command = Command::new("timeout");
    command.args([PATIENCE_S, "bash", "-eo", "pipefail", "-c", line]);
    command.current_dir(root()).stdin(Stdio::null()).env_remove("DAE_HOST");
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display()));
    // A person's shell has none of what `cargo test` adds; build scripts that watch such a variable would run anew.
    for (name, value) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let added = name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if added || (name == "LIBTORCH" && Path::new(&value) == root().join(".libtorch")) {
            command.env_remove(name);
        }
    }
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "`{line}`: {}\n{}", output.status, said.concat());
}

#[test]
fn every_command_of_the_readme_runs() {
    // `target/tmp`, made by cargo for tests like this one.
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readme");
    let programs = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("release");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).unwrap();
    }
    fs::create_dir_all(scratch.join("runs")).unwrap();
    bash("cargo build --release -p dae-node -p dae", &programs);

    let blocks = blocks(&read("README.md"));
    let lines = of(&blocks, "sh").flat_map(str::lines).map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(!lines.is_empty(), "README.md has no commands");
    for line in lines {
        bash(&command(line, &programs, &scratch.join("runs")), &programs);
    }

    // Last, for the commands have built the example's host.
    let topologies: Vec<&str> = of(&blocks, "toml").collect();
    assert!(!topologies.is_empty(), "README.md explains no topology");
    for (number, topology) in topologies.iter().enumerate() {
        let file = scratch.join(format!("{number}.toml"));
        fs::write(&file, topology).unwrap();
        let host = programs.join("my-trainer");
        bash(&format!("dae-node check '{}' --host '{}'", file.display(), host.display()), &programs);
    }
}

#[test]
fn every_fence_is_known() {
    let blocks = blocks(&read("README.md"));
    for block in &blocks {
        let known = ["sh", "toml", "rust", "text"].contains(&block.language.as_str());
        assert!(known, "nothing is done with a block of `{}`:\n{}", block.language, block.text);
    }
}

#[test]
fn the_rust_of_the_readme_is_the_examples() {
    let folder = root().join("examples/my-trainer/src");
    let sources: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| words(&fs::read_to_string(entry.unwrap().path()).unwrap()))
        .collect();
    let blocks = blocks(&read("README.md"));
    let code: Vec<&str> = of(&blocks, "rust").collect();
    assert!(code.iter().any(|code| code.contains("impl Model for")), "README.md shows no model");
    for code in code {
        let there = sources.iter().any(|source| source.contains(&words(code)));
        assert!(there, "this is not in examples/my-trainer/src any more:\n{code}");
    }
}

/// `path/to/file.rs: name_of_the_test`, in backticks.
fn named_tests(document: &str) -> Vec<(&str, &str)> {
    document.split('`').skip(1).step_by(2).filter_map(|code| code.split_once(".rs: ")).collect()
}

#[test]
fn every_test_that_a_promise_names_exists() {
    let document = read("docs/runtime-semantics.md");
    let tests = named_tests(&document);
    assert!(!tests.is_empty(), "no promise names a test");
    let missing = |(file, name): &&(&str, &str)| {
        let source = fs::read_to_string(root().join(format!("{file}.rs"))).unwrap_or_default();
        !source.contains(&format!("fn {name}("))
    };
    let missing: Vec<_> = tests.iter().filter(missing).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn blocks_are_found_with_their_language() {
    let found = blocks("a\n```sh\none\ntwo\n```\nb\n```\nthree\n```\n");
    let block = |language: &str, text: &str| Block { language: language.into(), text: text.into() };
    assert_eq!(found, [block("sh", "one\ntwo\n"), block("", "three\n")]);
    assert_eq!(of(&found, "sh").collect::<Vec<_>>(), ["one\ntwo\n"]);
}

#[test]
fn commands_are_kept_off_the_repository() {
    let (programs, runs) = (Path::new("t"), Path::new("r"));
    let ran = |line: &str| command(line, programs, runs);
    assert_eq!(ran("cargo xtask bench train --rounds 1"), "cargo xtask bench train --help");
    assert_eq!(ran("dae-node run a.toml --run-dir runs/x"), "dae-node run a.toml --run-dir r/x");
    assert_eq!(ran("dae-node eval x --host target/release/h"), "dae-node eval x --host t/h");
    assert!(std::panic::catch_unwind(|| ran("dae-node run a.toml")).is_err());
}

#[test]
fn tests_are_named_by_file_and_name() {
    assert_eq!(named_tests("so (`a/b.rs: c_d`), `e.rs`, and `f.rs: g`."), [("a/b", "c_d"), ("f", "g")]);
}
