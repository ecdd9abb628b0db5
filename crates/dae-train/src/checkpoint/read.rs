//! Reading a checkpoint, and finding the newest that is whole.

use super::folder::{self, MODEL, OPTIMIZER};
use super::manifest::Manifest;
use super::{Checkpoint, CheckpointError, tensors};
use std::path::{Path, PathBuf};

/// What [`newest_valid`] found.
#[derive(Debug)]
pub struct Found {
    /// The newest valid checkpoint, if there is one.
    pub checkpoint: Option<Checkpoint>,
    /// The folder it lies in.
    pub path: Option<PathBuf>,
    /// Newer ones that could not be used, the newest first, and why; a user should be told.
    pub skipped: Vec<(PathBuf, CheckpointError)>,
}

/// Reads one checkpoint, `step-...`, and checks every byte of it.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn read(path: &Path) -> Result<Checkpoint, CheckpointError> {
    let Manifest {
        meta,
        state: state_names,
        model,
        optimizer,
    } = Manifest::read(path)?;
    let mut params = tensors::read(&path.join(MODEL), &model, &meta.layout, &[String::new()])?;
    let prefixes: Vec<String> = state_names.iter().map(|name| format!("{name}.")).collect();
    let state = tensors::read(&path.join(OPTIMIZER), &optimizer, &meta.layout, &prefixes)?;
    Ok(Checkpoint {
        meta,
        params: params.swap_remove(0),
        state,
        state_names,
    })
}

/// Finds the newest valid checkpoint in a folder, going back past any that are torn or damaged.
///
/// # Errors
/// If the folder cannot be listed. One that does not exist holds no checkpoint, which is not an error.
pub fn newest_valid(folder: &Path) -> Result<Found, CheckpointError> {
    let mut skipped = Vec::new();
    for entry in folder::list(folder)?.checkpoints {
        match read(&entry.path) {
            Ok(checkpoint) => {
                return Ok(Found {
                    checkpoint: Some(checkpoint),
                    path: Some(entry.path),
                    skipped,
                });
            }
            Err(error) => skipped.push((entry.path, error)),
        }
    }
    Ok(Found {
        checkpoint: None,
        path: None,
        skipped,
    })
}
