//! What a checkpoint says.

use crate::layout::Layout;
use serde::{Deserialize, Serialize};

/// The format version this program writes and reads. Version 1 had no hash of the manifest, and did not say what data a
/// run is on.
pub const VERSION: u32 = 2;

/// More steps or samples than any run has; their sums and products with small numbers can still be counted.
const MOST: u64 = 1 << 53;

/// Everything about a run that is not a tensor: with the parameters and the optimizer's state, all it takes to go on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Committed steps.
    pub step: u64,
    /// Samples consumed since the run began: the whole state of the data.
    pub cursor: u64,
    /// The seed of order, corruption and initial parameters.
    pub seed: u64,
    /// The number of samples in use: an epoch.
    pub samples: u64,
    /// The dimensions of one sample.
    pub shape: Vec<usize>,
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
    /// The scale of the next order-free sum ([`dae_collective::Scale`]), where the run's sums are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<i32>,
    /// How far each child of a join or a gossip is; empty without one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildMeta>,
    /// Where each tensor lies in the flat buffers.
    pub layout: Layout,
    /// The format version, [`VERSION`].
    pub version: u32,
}

/// How far a child of a join, or a peer of a gossip, is. Nobody was under way when the checkpoint was made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChildMeta {
    /// Optimizer steps it has done.
    pub steps: u64,
    /// The scale of its next order-free sum, where its sums are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<i32>,
    /// The weight of what a peer of a gossip holds, more than 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

impl Meta {
    /// Whether its counts can be those of a run: each step consumes a sample at least, but for the one step of a run over
    /// nothing; what a peer holds weighs something.
    pub(super) fn check_counts(&self) -> Result<(), String> {
        let weighs = |child: &ChildMeta| child.weight.is_none_or(|weight| weight > 0.0 && weight.is_finite());
        if let Some(peer) = self.children.iter().position(|child| !weighs(child)) {
            return Err(format!("what peer {peer} holds has the weight {:?}", self.children[peer].weight));
        }
        match self {
            Self { step, cursor, .. } if cursor.saturating_add(1) < *step => {
                Err(format!("{step} steps of {cursor} samples"))
            }
            Self { cursor: MOST.., .. } => Err(format!("{} samples are more than any run has", self.cursor)),
            _ => Ok(()),
        }
    }
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
