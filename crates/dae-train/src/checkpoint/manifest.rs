//! `manifest.json`: the meta data, the length and hash of each file, and a hash of its own. It is written last and read
//! first.
//!
//! Its last line, `  "sha256": "..."`, holds the hash of all bytes before the comma that precedes it. The line and the
//! closing brace after it have but one spelling, so there is no byte in the file that can change unnoticed.

use super::folder::{self, MANIFEST};
use super::tensors::hex;
use super::{CheckpointError, Meta, VERSION};
use crate::layout::{ALIGN, Layout};
use crate::run_folder::DiskError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most a manifest may hold, in bytes: room for a hundred thousand tensors.
const MAX_BYTES: u64 = 16 << 20;

/// The most elements a buffer may have: its bytes, and sums of such, can still be counted.
const MAX_ELEMENTS: usize = isize::MAX as usize / (4 * size_of::<f32>());

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub meta: Meta,
    /// The names of the optimizer's state buffers, in order.
    pub state: Vec<String>,
    pub model: Seal,
    pub optimizer: Seal,
}

/// What the bytes of a file must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Seal {
    pub bytes: u64,
    /// SHA-256, in lower-case hexadecimal digits.
    pub sha256: String,
}

/// The one part that every version shares.
#[derive(Deserialize)]
struct Versioned {
    meta: Version,
}

#[derive(Deserialize)]
struct Version {
    version: u64,
}

impl Manifest {
    /// Reads the manifest of a checkpoint; what it returns is what was written, with a sound layout.
    pub fn read(checkpoint: &Path) -> Result<Self, CheckpointError> {
        let path = checkpoint.join(MANIFEST);
        let invalid = |cause: String| CheckpointError::Manifest { path: path.clone(), cause };
        let mut text = Vec::new();
        File::open(&path)
            .and_then(|f| f.take(MAX_BYTES + 1).read_to_end(&mut text))
            .map_err(DiskError::when("read", &path))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(invalid(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let Versioned { meta } = serde_json::from_slice(&text).map_err(|e| invalid(e.to_string()))?;
        if meta.version != u64::from(VERSION) {
            return Err(CheckpointError::Version { path, found: meta.version });
        }
        if !is_sealed(&text) {
            return Err(invalid("its bytes have changed: they do not match the SHA-256 at its end".into()));
        }
        let manifest: Self = serde_json::from_slice(&text).map_err(|e| invalid(e.to_string()))?;
        if let Some(step) = folder::step(checkpoint).filter(|s| *s != manifest.meta.step) {
            return Err(invalid(format!(
                "it is of step {}, in the folder of step {step}",
                manifest.meta.step
            )));
        }
        manifest.meta.check_counts().and_then(|()| check_layout(&manifest.meta.layout)).map_err(invalid)?;
        Ok(manifest)
    }

    /// The text of the file.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        sealed(self)
    }
}

/// The JSON of an object, its own hash added. No newline at the end: the closing brace is the last byte, so that no
/// shorter text is a manifest.
pub(super) fn sealed(object: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(object)?;
    text.truncate(text.len() - "\n}".len());
    let end = ending(&text);
    text.extend(end.into_bytes());
    Ok(text)
}

fn is_sealed(text: &[u8]) -> bool {
    let begins = text.len().checked_sub(ending(&[]).len());
    begins.map(|at| text.split_at(at)).is_some_and(|(body, end)| end == ending(body).as_bytes())
}

/// What follows the body of a manifest; always as long.
pub(super) fn ending(body: &[u8]) -> String {
    format!(",\n  \"sha256\": \"{}\"\n}}", hex(Sha256::new_with_prefix(body)))
}

/// Checks what [`Layout::new`] guarantees: a layout from a file may say anything. The sizes it states are bounded by
/// the length of the model's file, which `tensors` compares before it allocates.
fn check_layout(layout: &Layout) -> Result<(), String> {
    let mut next = 0usize;
    let mut names = HashSet::new();
    for tensor in layout.tensors() {
        if !names.insert(&tensor.name) {
            return Err(format!("there are two tensors {}", tensor.name));
        }
        if tensor.offset != next {
            return Err(format!("tensor {} starts at {} instead of {next}", tensor.name, tensor.offset));
        }
        next = tensor
            .shape
            .iter()
            .try_fold(1usize, |n, &d| n.checked_mul(d))
            .and_then(|n| next.checked_add(n))
            .and_then(|n| n.checked_next_multiple_of(ALIGN))
            .filter(|&n| n <= MAX_ELEMENTS)
            .ok_or_else(|| format!("tensor {} is too large to exist", tensor.name))?;
    }
    if layout.len() != next {
        return Err(format!("the layout is {} long, and its tensors {next}", layout.len()));
    }
    Ok(())
}
