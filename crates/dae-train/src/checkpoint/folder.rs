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

/// What is found in a folder of checkpoints.
#[derive(Default)]
pub(super) struct Listing {
    /// Checkpoints by name, not yet checked; the newest first, one being replaced after the one replacing it.
    pub checkpoints: Vec<Entry>,
    /// Temporary folders, of writes that never ended.
    pub temporaries: Vec<PathBuf>,
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
        } else if let Some(rest) = name.strip_prefix("step-") {
            let digits = rest.strip_suffix(REPLACED).unwrap_or(rest);
            if digits.len() >= 10
                && digits.bytes().all(|b| b.is_ascii_digit())
                && let Ok(step) = digits.parse()
            {
                let replaced = digits.len() < rest.len();
                listing.checkpoints.push(Entry {
                    step,
                    replaced,
                    path: entry.path(),
                });
            }
        }
    }
    listing
        .checkpoints
        .sort_by_key(|e| (std::cmp::Reverse(e.step), e.replaced));
    Ok(listing)
}
