//! The files and packages of this workspace.
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::edges::{Package, packages_in};

/// Path and text of every file that git has or would take, except the lock file, which cargo writes.
pub fn files() -> Vec<(String, String)> {
    // A clone that belongs to another user is still read: continuous integration often runs as root.
    let listed =
        output("git", &["-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard"]);
    let paths = listed.lines().filter(|path| !path.ends_with("Cargo.lock"));
    // A file that is not text has no rule; one that was just deleted is still listed.
    paths
        .filter_map(|path| Some((path.to_owned(), std::fs::read_to_string(root().join(path)).ok()?)))
        .collect()
}

/// Every package of the workspace with what it depends on.
pub fn packages() -> Vec<Package> {
    let metadata = output(env!("CARGO"), &["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata prints JSON");
    packages_in(&metadata)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root()).output();
    let output = output.unwrap_or_else(|e| panic!("cannot start {program}: {e}"));
    assert!(output.status.success(), "{program} failed: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("paths and names are UTF-8")
}
