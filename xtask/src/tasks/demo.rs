//! The shortest way to see it work: MNIST, a small autoencoder, pictures.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::build;
use crate::failure::{Failure, Outcome};
use crate::step;
use crate::workspace::Workspace;

const RUN: &str = "runs/demo";

/// Builds, trains for a minute, and says where the pictures are. A run that fails passes its exit status on.
pub fn demo(workspace: &Workspace) -> Outcome {
    build(workspace)?;
    let run = workspace.root().join(RUN);
    match fs::remove_dir_all(&run) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => {
            return Err(Failure::file("remove the old run in", &run, e));
        }
        _ => {}
    }
    let topology = "examples/mnist-mlp/topology.toml";
    step::run(node(workspace, &["data", "fetch", "mnist"]))?;
    step::run(node(workspace, &["run", topology, "--set", "job.steps=600", "--run-dir", RUN]))?;
    step::run(node(workspace, &["eval", RUN]))?;
    let pictures = pictures_below(&run);
    eprintln!("\n{} in {RUN}:", if pictures.is_empty() { "no pictures" } else { "pictures" });
    for picture in pictures {
        println!("{}", picture.display());
    }
    Ok(())
}

fn node(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.program("dae-node");
    command.args(arguments);
    command
}

fn pictures_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(pictures_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "png") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_at_any_depth() {
        let run = tempfile::tempdir().unwrap();
        fs::create_dir(run.path().join("eval")).unwrap();
        for file in ["loss.png", "eval/digits.png", "summary.json"] {
            fs::write(run.path().join(file), "").unwrap();
        }
        assert_eq!(
            pictures_below(run.path()),
            ["eval/digits.png", "loss.png"].map(|file| run.path().join(file))
        );
        assert!(pictures_below(Path::new("absent")).is_empty());
    }
}
