//! The two programs, built for release.
use crate::failure::Outcome;
use crate::workspace::Workspace;
use crate::{libtorch, step};

/// Builds `dae-node` and `dae-host` into `target/release`.
pub fn build(workspace: &Workspace) -> Outcome {
    libtorch::ensure(workspace)?;
    step::run(workspace.cargo(&["build", "--release", "-p", "dae-node", "-p", "dae"]))
}
