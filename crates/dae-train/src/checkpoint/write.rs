//! Writing a checkpoint.

use super::folder::{self, MANIFEST, MODEL, OPTIMIZER};
use super::manifest::Manifest;
use super::{CheckpointError, Meta, Snapshot, tensors};
use crate::run_folder::{DiskError, create_folder, sync_folder, sync_parent, write_atomic};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes a checkpoint into `folder` (created if need be) and returns its path; then removes all but the `keep` newest,
/// of which the one just written always is one, and those [`set_aside`].
///
/// Files and folders are synced before a single rename makes the checkpoint visible, so whatever has its name is
/// whole. One of the same step is replaced. At most one process writes to a folder at a time (the run folder's lock
/// sees to it), so temporary folders found there are of writes that died, and are removed.
///
/// # Errors
/// What the disk refused, or buffers that do not fit the layout; older checkpoints are as they were.
pub fn write(
    folder: &Path,
    meta: &Meta,
    snapshot: Snapshot,
    keep: usize,
) -> Result<PathBuf, CheckpointError> {
    check(meta, snapshot)?;
    create_folder(folder)?;
    for dead in folder::list(folder)?.temporaries {
        remove(&dead)?;
    }
    let temporary = folder::temporary(folder, meta.step);
    if let Err(error) = fill(&temporary, meta, snapshot) {
        // The first error is the one to tell; the next write removes what stays.
        let _ = fs::remove_dir_all(&temporary);
        return Err(error);
    }
    let path = publish(folder, &temporary, meta.step)?;
    prune(folder, &path, keep)?;
    Ok(path)
}

/// Renames checkpoints that [`newest_valid`](super::newest_valid) passed over for an older one, to `step-....damaged`.
/// Left among the others, they would count as kept, at the cost of the valid ones. The next [`write()`] removes them.
///
/// # Errors
/// What the disk refused.
pub fn set_aside(skipped: &[(PathBuf, CheckpointError)]) -> Result<(), DiskError> {
    for (path, _) in skipped {
        let aside = folder::damaged(path);
        if aside.exists() {
            remove(&aside)?;
        }
        fs::rename(path, &aside).map_err(DiskError::when("set aside", path))?;
        sync_parent(path)?;
    }
    Ok(())
}

fn check(meta: &Meta, snapshot: Snapshot) -> Result<(), CheckpointError> {
    let wrong = |cause: String| Err(CheckpointError::Snapshot { step: meta.step, cause });
    if let Err(cause) = meta.check_counts() {
        return wrong(cause);
    }
    let expected = meta.layout.len();
    if snapshot.names.len() != snapshot.state.len() {
        let (names, state) = (snapshot.names.len(), snapshot.state.len());
        return wrong(format!("{names} names for {state} state buffers"));
    }
    if let Some(name) = snapshot.names.iter().find(|n| n.is_empty() || n.contains('.')) {
        return wrong(format!("{name:?} cannot name a state buffer"));
    }
    for buffer in [snapshot.params].iter().chain(snapshot.state) {
        if buffer.len() != expected {
            return wrong(format!("a buffer of {} where the layout has {expected}", buffer.len()));
        }
    }
    Ok(())
}

fn fill(temporary: &Path, meta: &Meta, snapshot: Snapshot) -> Result<(), CheckpointError> {
    fs::create_dir(temporary).map_err(DiskError::when("create the folder", temporary))?;
    let params = [(String::new(), snapshot.params)];
    let state: Vec<_> =
        snapshot.names.iter().zip(snapshot.state).map(|(name, &flat)| (format!("{name}."), flat)).collect();
    let manifest = Manifest {
        model: tensors::write(&temporary.join(MODEL), &meta.layout, &params)?,
        optimizer: tensors::write(&temporary.join(OPTIMIZER), &meta.layout, &state)?,
        meta: meta.clone(),
        state: snapshot.names.iter().map(|&n| n.to_owned()).collect(),
    };
    let json = manifest
        .to_json()
        .map_err(|e| CheckpointError::Snapshot { step: meta.step, cause: e.to_string() })?;
    // This syncs the folder too, with all three names in it.
    write_atomic(&temporary.join(MANIFEST), &json)?;
    Ok(())
}

/// Gives the folder its name. Another of that name first steps aside, to one that a reader still finds.
fn publish(folder: &Path, temporary: &Path, step: u64) -> Result<PathBuf, CheckpointError> {
    let path = folder::path(folder, step);
    let aside = folder::replaced(folder, step);
    if path.exists() {
        if aside.exists() {
            remove(&aside)?;
        }
        fs::rename(&path, &aside).map_err(DiskError::when("move aside", &path))?;
    }
    fs::rename(temporary, &path).map_err(DiskError::when("move into place", &path))?;
    sync_folder(folder)?;
    Ok(path)
}

fn prune(folder: &Path, written: &Path, keep: usize) -> Result<(), CheckpointError> {
    let folder::Listing { checkpoints: entries, damaged, .. } = folder::list(folder)?;
    for path in damaged {
        remove(&path)?;
    }
    let steps: HashSet<u64> = entries.iter().filter(|e| !e.replaced).map(|e| e.step).collect();
    let (superseded, kept): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|e| e.replaced && steps.contains(&e.step));
    for entry in superseded {
        remove(&entry.path)?;
    }
    for entry in kept.into_iter().skip(keep).filter(|e| e.path != written) {
        remove(&entry.path)?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), DiskError> {
    fs::remove_dir_all(path).map_err(DiskError::when("remove", path))
}
