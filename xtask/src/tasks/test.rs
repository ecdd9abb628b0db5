//! All tests: those without libtorch first, then the rest against one release build of it.
use std::process::{Command, Stdio};

use super::build;
use crate::failure::Outcome;
use crate::workspace::Workspace;
use crate::{libtorch, step};

/// Sets everything up, then runs every test of the workspace.
pub fn test(workspace: &Workspace) -> Outcome {
    libtorch::ensure(workspace)?;
    // The default members in the dev profile. They must not need libtorch, so they are not told where it is.
    let mut without_libtorch = workspace.cargo(&["test"]);
    without_libtorch.env_remove("LIBTORCH").env_remove("LIBTORCH_USE_PYTORCH");
    step::run(without_libtorch)?;
    // libtorch's bindings take minutes to compile: once, in release.
    build(workspace)?;
    let mut fetch = workspace.program("dae-node");
    fetch.args(["data", "fetch", "mnist"]);
    step::run(fetch)?;
    step::run(workspace.cargo(&[
        "test",
        "--release",
        "-p",
        "dae-torch",
        "-p",
        "dae",
        "-p",
        "dae-tests",
        "-p",
        "my-trainer",
    ]))?;
    if !has_namespaces() {
        eprintln!(
            "left out: all that takes network namespaces and mounts (root and iproute2); `sudo -E cargo xtask test` runs it too"
        );
    }
    Ok(())
}

/// Whether the tests that need them could make network namespaces. They pass without, and cargo hides what they say.
fn has_namespaces() -> bool {
    let mut ip = Command::new("ip");
    ip.arg("-V").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    rustix::process::geteuid().is_root() && ip.status().is_ok_and(|status| status.success())
}
