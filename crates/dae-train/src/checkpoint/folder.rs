//! The names of checkpoint folders.

use crate::run_folder::DiskError;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(super) const MODEL: &str = "model.safetensors";
pub(super) const OPTIMIZER: &str = "optimizer.safetensors";
pub(super) const MANIFEST: &str = "manifest.json";

/// A checkpoint that a new one of the same step is about to replace. It stays readable until the new one is in place.
const REPLACED: &str = ".replaced";

/// One that was passed over since it is damaged. It is no checkpoint any more, and goes once a new one is in place.
const DAMAGED: &str = ".damaged";

/// What is found in a folder of checkpoints.
#[derive(Default)]
pub(super) struct Listing {
    /// Checkpoints by name, not yet checked; the newest first, one being replaced after the one replacing it.
    pub checkpoints: Vec<Entry>,
    /// Temporary folders, of writes that never ended.
    pub temporaries: Vec<PathBuf>,
    /// Those set aside as damaged.
    pub damaged: Vec<PathBuf>,
}

pub(super) struct Entry {
    pub step: u64,
    pub replaced: bool,
    pub path: PathBuf,
}

pub(super) fn path(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:010}"))
}

pub(super) fn replaced(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:010}{REPLACED}"))
}

/// Where a damaged checkpoint is set aside.
pub(super) fn damaged(checkpoint: &Path) -> PathBuf {
    let mut name = checkpoint.as_os_str().to_owned();
    name.push(DAMAGED);
    name.into()
}

/// The step that the name of a checkpoint's folder states; none if it has a name of another kind.
pub(super) fn step(checkpoint: &Path) -> Option<u64> {
    parse(checkpoint.file_name()?.to_str()?).map(|(step, _)| step)
}

/// The step of a checkpoint's name, and whether it is being replaced.
fn parse(name: &str) -> Option<(u64, bool)> {
    let rest = name.strip_prefix("step-")?;
    let digits = rest.strip_suffix(REPLACED).unwrap_or(rest);
    let sound = digits.len() >= 10 && digits.bytes().all(|b| b.is_ascii_digit());
    Some((digits.parse().ok().filter(|_| sound)?, digits.len() < rest.len()))
}

pub(super) fn temporary(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!(".step-{step:010}.tmp-{}", std::process::id()))
}

/// Lists a folder; one that does not exist holds nothing. Names of other kinds are left alone.
pub(super) fn list(folder: &Path) -> Result<Listing, DiskError> {
    let mut listing = Listing::default();
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(listing),
        entries => entries.map_err(DiskError::when("list", folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(DiskError::when("list", folder))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        if name.starts_with(".step-") && name.contains(".tmp-") {
            listing.temporaries.push(entry.path());
        } else if name.strip_suffix(DAMAGED).and_then(parse).is_some() {
            listing.damaged.push(entry.path());
        } else if let Some((step, replaced)) = parse(name) {
            listing.checkpoints.push(Entry { step, replaced, path: entry.path() });
        }
    }
    listing.checkpoints.sort_by_key(|e| (std::cmp::Reverse(e.step), e.replaced));
    Ok(listing)
}
