//! The other nodes, as one local rank sees them.

use crate::{Broken, Element};

/// What an exchange is for. Two nodes that are at different ones have come apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// How long the facts are that will be compared before the first step.
    FactsLength = 1,
    /// Those facts.
    Facts = 2,
    /// The state that the first node begins with; the step counts its pieces.
    State = 3,
    /// The gradients of a step, summed over each node, and what all ranks contributed.
    Gradients = 4,
    /// The sums over all nodes.
    Sums = 5,
    /// Whose gradient was not finite.
    Blame = 6,
    /// All have done all their steps.
    Leave = 7,
    /// What the links can do; the step counts the trials.
    Probe = 8,
    /// What lossy links keep back: to the first node, for a checkpoint, and from it, in pieces, where a run goes on.
    Kept = 9,
    /// A number of each node, to be summed before a step is applied.
    Norm = 10,
    /// The parameters that each node has moved.
    Params = 11,
    /// The optimizer's state of the parameters that each node moves: to the first, for a checkpoint.
    Moments = 12,
}

impl Phase {
    const ALL: [Self; 12] = [
        Self::FactsLength,
        Self::Facts,
        Self::State,
        Self::Gradients,
        Self::Sums,
        Self::Blame,
        Self::Leave,
        Self::Probe,
        Self::Kept,
        Self::Norm,
        Self::Params,
        Self::Moments,
    ];
}

/// Where a node is. Both ends of an exchange must be at the same place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Which forming of the group it belongs to.
    pub generation: u64,
    /// The step, counted from 1 within the group; a running number where there is no step.
    pub step: u64,
    /// What is exchanged.
    pub phase: Phase,
    /// Which of a step's buckets.
    pub bucket: u32,
    /// Which round of an algorithm.
    pub round: u32,
}

impl Tag {
    /// The length of its encoding.
    pub const BYTES: usize = 25;

    /// The first round of the only bucket.
    pub fn new(generation: u64, step: u64, phase: Phase) -> Self {
        Self { generation, step, phase, bucket: 0, round: 0 }
    }

    /// For the wire: little-endian, in the order generation, step, bucket, round, phase.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.step.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.bucket.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.round.to_le_bytes());
        bytes[24] = self.phase as u8;
        bytes
    }

    /// What these bytes say, if they are an encoding.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let [generation, step] = [0, 8].map(|at| bytes[at..].first_chunk().map(|b| u64::from_le_bytes(*b)));
        let [bucket, round] = [16, 20].map(|at| bytes[at..].first_chunk().map(|b| u32::from_le_bytes(*b)));
        let phase = Phase::ALL.into_iter().find(|phase| *phase as u8 == bytes[24])?;
        Some(Self { generation: generation?, step: step?, phase, bucket: bucket?, round: round? })
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { generation, step, phase, bucket, round } = self;
        write!(f, "{phase:?} {step}, bucket {bucket}, round {round}, of group {generation}")
    }
}

/// What goes to one other node.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outgoing<'a> {
    /// A few bytes.
    pub head: &'a [u8],
    /// Many bytes.
    pub body: &'a [u8],
}

impl<'a> Outgoing<'a> {
    /// Numbers, as they lie in memory.
    pub fn numbers<T: Element>(numbers: &'a [T]) -> Self {
        Self { head: &[], body: bytemuck::cast_slice(numbers) }
    }
}

/// Where that of another node arrives: exactly as much as there is room.
#[derive(Debug, Default)]
pub struct Incoming<'a> {
    /// A few bytes.
    pub head: &'a mut [u8],
    /// Many bytes.
    pub body: &'a mut [u8],
}

impl<'a> Incoming<'a> {
    /// Room for numbers, as they lie in memory.
    pub fn numbers<T: Element>(numbers: &'a mut [T]) -> Self {
        Self { head: &mut [], body: bytemuck::cast_slice_mut(numbers) }
    }
}

/// One local rank's links to the ranks of the same number on all other nodes. Each local rank has links of its own, so
/// that their exchanges run side by side.
///
/// Every call blocks the rank's own thread, and none of its waits is longer than a bound of the implementation's own (a
/// run sets it to `job.stall_timeout_s`).
pub trait Peers: Send {
    /// The number of nodes, this one included.
    fn nodes(&self) -> usize;

    /// Which of them this is.
    fn node(&self) -> usize;

    /// What people call one of them.
    fn name(&self, node: usize) -> &str;

    /// Sends `out[k]` to node k and receives its part into `into[k]`, to and from all of them at once: no order of
    /// sending and receiving among nodes may make them wait for each other. Both lists have an entry for each node.
    /// `None` is nothing to that node, or nothing from it: no message at all, which both ends must know. This node's
    /// own entries are `None`.
    ///
    /// The other node's tag must equal this one, and the lengths of its head and body the room there is; both are
    /// checked before anything is read into that room.
    ///
    /// # Errors
    /// [`Broken::Node`] names the node that was lost, has gone with a cause ([`Peers::abort`]), did not answer in time,
    /// or is elsewhere. No exchange follows one that failed.
    fn exchange(
        &mut self,
        tag: Tag,
        out: &[Option<Outgoing<'_>>],
        into: &mut [Option<Incoming<'_>>],
    ) -> Result<(), Broken>;

    /// Tells every other node why this one leaves, as far as that goes without waiting for more than a moment; their
    /// exchange that is under way, or their next, fails with this cause. Nothing follows but the drop.
    fn abort(&mut self, cause: &str);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_one_encoding() {
        let tag = Tag { generation: 1, step: 0x0203, phase: Phase::Sums, bucket: 4, round: 0x0600 };
        let bytes = [1, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 6, 0, 0, 5];
        assert_eq!(tag.to_bytes(), bytes);
        assert_eq!(Tag::from_bytes(&bytes), Some(tag));
        assert_eq!(tag.to_string(), "Sums 515, bucket 4, round 1536, of group 1");
    }

    #[test]
    fn phases_are_told_by_their_byte() {
        for (n, phase) in Phase::ALL.into_iter().enumerate() {
            assert_eq!(phase as usize, n + 1);
            let tag = Tag::new(7, 8, phase);
            assert_eq!(Tag::from_bytes(&tag.to_bytes()), Some(tag));
        }
        let mut bytes = Tag::new(1, 1, Phase::Sums).to_bytes();
        for phase in [0, Phase::ALL.len() as u8 + 1, 255] {
            bytes[24] = phase;
            assert_eq!(Tag::from_bytes(&bytes), None);
        }
    }
}
