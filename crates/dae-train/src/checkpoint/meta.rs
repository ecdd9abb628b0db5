//! What a checkpoint says.

use crate::layout::Layout;
use serde::{Deserialize, Serialize};

/// The format version this program writes, and the newest it reads.
pub const VERSION: u32 = 1;

/// Everything about a run that is not a tensor: with the parameters and the optimizer's state, all it takes to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Committed steps.
    pub step: u64,
    /// Samples consumed since the run began: the whole state of the data.
    pub cursor: u64,
    /// The seed of order, corruption and initial parameters.
    pub seed: u64,
    /// The fingerprint of what decides the bits of the run; a resume compares it.
    pub fingerprint: String,
    /// The complete text of the topology, TOML.
    pub topology: String,
    /// The schedule word.
    pub word: String,
    /// The optimizer, as the schedule writes it.
    pub optimizer: String,
    /// The training loss of the last committed step, where one is known.
    pub loss: Option<f64>,
    /// Where each tensor lies in the flat buffers.
    pub layout: Layout,
    /// The format version, [`VERSION`].
    pub version: u32,
}

/// A checkpoint, read and checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// What is not a tensor.
    pub meta: Meta,
    /// The parameters, flat as `meta.layout` says, the padding zero.
    pub params: Vec<f32>,
    /// The optimizer's state buffers, flat like the parameters: none, momentum, or `m` and `v`.
    pub state: Vec<Vec<f32>>,
    /// Their names, in the same order.
    pub state_names: Vec<String>,
}

/// The buffers to be written, borrowed from the arena.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    /// The parameters, `layout.len()` elements.
    pub params: &'a [f32],
    /// The optimizer's state buffers, each as long as the parameters.
    pub state: &'a [&'a [f32]],
    /// Their names, such as `m` and `v`; no dots.
    pub names: &'a [&'a str],
}
