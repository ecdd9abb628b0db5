//! Why a checkpoint could not be written or read.

use crate::run_folder::DiskError;
use std::path::PathBuf;

/// Why a checkpoint could not be written or read. Each prints the file, the cause, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The disk refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file is shorter or longer than its manifest says: a torn copy, most often.
    #[error("{} holds {found} bytes where its manifest says {expected}; use another checkpoint", .path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes, by the manifest.
        expected: u64,
        /// Bytes, on disk.
        found: u64,
    },
    /// The bytes of a file have changed since it was written.
    #[error("{} does not match the SHA-256 in its manifest: its bytes have changed; use another checkpoint", .path.display())]
    Hash {
        /// The file.
        path: PathBuf,
    },
    /// The manifest is not one, or contradicts itself.
    #[error("{} is not a valid manifest: {cause}; use another checkpoint", .path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        cause: String,
    },
    /// Another version of this program wrote it.
    #[error("{} is of format version {found}, and this program reads version {}; use the program that wrote it", .path.display(), super::VERSION)]
    Version {
        /// The manifest.
        path: PathBuf,
        /// The format version it states.
        found: u64,
    },
    /// A safetensors file does not hold the tensors the layout names.
    #[error("{} does not hold the tensors of its manifest: {cause}; use another checkpoint", .path.display())]
    Tensors {
        /// The file.
        path: PathBuf,
        /// Which tensor, and what is wrong with it.
        cause: String,
    },
    /// What was to be written does not fit its layout. A mistake in the program, not in the files.
    #[error("a checkpoint of step {step} cannot be written: {cause}; report this as a bug")]
    Snapshot {
        /// The step.
        step: u64,
        /// What does not fit.
        cause: String,
    },
}
