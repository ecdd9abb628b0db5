//! Everything that judges the sources without running them; nothing here writes to a source file.
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use crate::{libtorch, step};

/// The version that continuous integration installs.
const DENY: &str = "cargo install cargo-deny --locked --version 0.20.2";

/// Runs every check, then names those that failed. Clippy and rustdoc use the release profile, so that they share the
/// compiled bindings of libtorch with the release build.
pub fn lint(workspace: &Workspace) -> Outcome {
    libtorch::ensure(workspace)?;
    let clippy = ["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"];
    let mut doc = workspace.cargo(&["doc", "--release", "--workspace", "--no-deps"]);
    doc.env("RUSTDOCFLAGS", "-D warnings");
    let checks = [
        ("format (`cargo fmt` mends it)", step::run(workspace.cargo(&["fmt", "--all", "--check"]))),
        ("dependencies", dependencies(workspace)),
        ("clippy", step::run(workspace.cargo(&clippy))),
        ("documentation", step::run(doc)),
    ];
    verdict(checks)
}

fn dependencies(workspace: &Workspace) -> Outcome {
    let quiet = |mut command: Command| command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !quiet(workspace.cargo(&["deny", "--version"])).is_ok_and(|status| status.success()) {
        return Err(Failure::says(format!("cargo-deny is not installed: run `{DENY}`")));
    }
    step::run(workspace.cargo(&["deny", "check", "bans", "licenses", "sources"]))
}

fn verdict<const N: usize>(checks: [(&str, Outcome); N]) -> Outcome {
    let failed: Vec<String> = checks
        .into_iter()
        .filter_map(|(name, outcome)| match outcome {
            Ok(()) => None,
            Err(Failure::Status { .. }) => Some(name.to_owned()), // the check has said why
            Err(failure) => Some(format!("{name} ({failure})")),
        })
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::says(format!("lint failed: {}", failed.join(", ")))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failed_check_is_named() {
        let status = || Failure::Status { line: "x".into(), status: 2 };
        let checks = [("a", Err(status())), ("b", Ok(())), ("c", Err(Failure::says("not installed")))];
        assert_eq!(verdict(checks).unwrap_err().to_string(), "lint failed: a, c (not installed)");
        verdict([("a", Ok(()))]).unwrap();
    }
}
