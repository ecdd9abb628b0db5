//! The topologies of `examples/`: each is sound, those marked as not yet run are exactly those that are refused as such,
//! and the table in `examples/README.md` shows them as they are.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a topology says in its comment that it does not run yet.
const MARK: &str = "# Not yet run: ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schedules() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("examples/schedules")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    assert!(files.len() > 10, "{files:?}");
    files
}

/// The exit code of a command about the file, and what it said.
fn asked(of: &[&str], file: &Path) -> (Option<i32>, String) {
    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dae-node"));
    // Whether the data are on this machine must not matter.
    command.env("NO_COLOR", "1").env("HOME", empty.path()).env("XDG_CACHE_HOME", empty.path());
    let output = command.args(of).arg(file).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn each_is_sound_and_says_when_to_use_it() {
    for file in schedules() {
        let (code, said) = asked(&["schedule", "check"], &file);
        assert!(code == Some(0) && said.ends_with("ok\n"), "{}: {said}", file.display());
        let text = fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("# ") && text.lines().nth(1).unwrap().starts_with("# "),
            "{}",
            file.display()
        );
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert!(text.contains(&format!("name = \"{name}\"")), "{}", file.display());
    }
}

#[test]
fn those_marked_as_not_yet_run_are_those_that_are_refused() {
    for file in schedules() {
        let marked = fs::read_to_string(&file).unwrap().lines().any(|line| line.starts_with(MARK));
        let (code, said) = asked(&["check"], &file);
        let refused = code == Some(4) && said.contains("S03") && said.contains("not yet run");
        assert!(refused || code == Some(0), "{}: {said}", file.display());
        assert_eq!(marked, refused, "{}: the mark or the runtime is behind: {said}", file.display());
    }
}

#[test]
fn the_table_shows_each_as_it_is() {
    let table = fs::read_to_string(root().join("examples/README.md")).unwrap();
    for file in schedules() {
        let text = fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let link = format!("](schedules/{name})");
        let row =
            table.lines().find(|line| line.contains(&link)).unwrap_or_else(|| panic!("no row for {name}"));
        let word =
            text.lines().find_map(|line| line.strip_prefix("word = \"")).unwrap().trim_end_matches('"');
        assert!(row.contains(&format!("`{}`", word.replace('|', "\\|"))), "{row}\n{word}");
        let marked = text.lines().any(|line| line.starts_with(MARK));
        assert_eq!(row.contains("not yet"), marked, "{row}");
    }
}
