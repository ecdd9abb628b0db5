//! Where the workspace and its build outputs lie, and how cargo is called in it.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Outcome};

/// The workspace this program was started in.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// Asks cargo, which knows of `CARGO_TARGET_DIR` and of every configuration file.
    pub fn find() -> Outcome<Self> {
        let output = Command::new(cargo_program())
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()
            .map_err(|e| Failure::says(format!("cannot start cargo ({e}): install Rust with rustup")))?;
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let folder = |key: &str| metadata[key].as_str().map(PathBuf::from);
        match (folder("workspace_root"), folder("target_directory")) {
            (Some(root), Some(target)) => Ok(Self { root, target }),
            _ => {
                Err(Failure::says("this is not a cargo workspace: start `cargo xtask` inside a clone of dae"))
            }
        }
    }

    /// The folder of the root `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The link that torch-sys builds against; `.cargo/config.toml` names the same place.
    pub fn libtorch_link(&self) -> PathBuf {
        self.root.join(".libtorch")
    }

    /// A program built by `cargo build --release`.
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.target.join("release").join(name));
        command.current_dir(&self.root);
        command
    }

    /// A cargo command with the environment a person's own cargo would have. `cargo run` adds variables of the
    /// package it runs; build scripts that watch them would run again on every change between the two callers.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_program());
        command.current_dir(&self.root).args(arguments);
        for (name, _) in std::env::vars_os() {
            if added_by_cargo_run(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        // The value that comes from .cargo/config.toml, not from the user: cargo sets it again by itself.
        if std::env::var_os("LIBTORCH").is_some_and(|value| Path::new(&value) == self.libtorch_link()) {
            command.env_remove("LIBTORCH");
        }
        command
    }
}

fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn added_by_cargo_run(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_PRIMARY_PACKAGE"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_cargo_run_adds_is_taken_away() {
        for name in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH"] {
            assert!(added_by_cargo_run(name), "{name}");
        }
        for name in ["CARGO_TARGET_DIR", "CARGO_HOME", "CARGO_BUILD_JOBS", "PATH"] {
            assert!(!added_by_cargo_run(name), "{name}");
        }
    }

    #[test]
    fn the_workspace_is_found() {
        let workspace = Workspace::find().unwrap();
        assert!(workspace.root().join("clippy.toml").is_file());
    }
}
