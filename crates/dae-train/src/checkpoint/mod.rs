//! Checkpoints: written whole or not at all, checked to the last byte before they are used.
//!
//! | module | what it holds |
//! |---|---|
//! | `meta` | [`Meta`], [`ChildMeta`], [`Checkpoint`], [`Snapshot`]: what a checkpoint says |
//! | `write` | [`write()`]: a temporary folder, synced, renamed once; pruning; [`set_aside`] |
//! | `read` | [`read()`], [`newest_valid`] |
//! | `manifest` | `manifest.json`: the meta data, and the length and hash of each file, its own hash |
//! | `tensors` | the two safetensors files, between flat buffers and named tensors |
//! | `folder` | the names of checkpoint folders |
//! | `error` | [`CheckpointError`] |
//!
//! On disk a checkpoint is `step-0000000400/` with `model.safetensors` (PyTorch's names and shapes, no padding),
//! `optimizer.safetensors` (the same names behind the name of a state buffer, `m.encoder.0.weight`) and, written
//! last, `manifest.json`.
mod error;
mod folder;
mod manifest;
mod meta;
mod read;
mod tensors;
mod write;

pub use error::CheckpointError;
pub use meta::{Checkpoint, ChildMeta, Meta, Snapshot, VERSION};
pub use read::{Found, newest_valid, read};
pub use write::{set_aside, write};

#[cfg(test)]
mod tests;
