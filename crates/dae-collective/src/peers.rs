//! The other nodes, as one local rank sees them.

use crate::Broken;

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
}

impl Tag {
    /// The length of its encoding.
    pub const BYTES: usize = 17;

    /// For the wire: little-endian, the phase last.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.generation.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.step.to_le_bytes());
        bytes[16] = self.phase as u8;
        bytes
    }
}

impl std::fmt::Display for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} of group {}", self.phase, self.step, self.generation)
    }
}

/// What goes to one other node.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outgoing<'a> {
    /// A few bytes.
    pub head: &'a [u8],
    /// Many numbers.
    pub body: &'a [f32],
}

/// Where that of another node arrives: exactly as much as there is room.
#[derive(Debug, Default)]
pub struct Incoming<'a> {
    /// A few bytes.
    pub head: &'a mut [u8],
    /// Many numbers.
    pub body: &'a mut [f32],
}

/// One local rank's links to the ranks of the same number on all other nodes. Each local rank has links of its own, so
/// that their exchanges run side by side.
///
/// Every call blocks the rank's own thread, and none of them longer than a bound of the implementation's own (a run sets
/// it to `job.stall_timeout_s`).
pub trait Peers: Send {
    /// The number of nodes, this one included.
    fn nodes(&self) -> usize;

    /// Which of them this is.
    fn node(&self) -> usize;

    /// Sends `out[k]` to node k and receives its part into `into[k]`, to and from every other node at once: no order of
    /// sending and receiving among nodes may make them wait for each other. Both lists have an entry for each node;
    /// this node's own is empty and stays untouched.
    ///
    /// The other node's tag must equal this one, and the lengths of its head and body the room there is; both are
    /// checked before anything is read into that room.
    ///
    /// # Errors
    /// [`Broken::Node`] names the node that was lost, has gone with a cause ([`Peers::abort`]), did not answer in time,
    /// or is elsewhere. No exchange follows one that failed.
    fn exchange(&mut self, tag: Tag, out: &[Outgoing<'_>], into: &mut [Incoming<'_>]) -> Result<(), Broken>;

    /// Tells every other node why this one leaves, as far as that goes without waiting; their exchange that is under
    /// way, or their next, fails with this cause. Nothing follows but the drop.
    fn abort(&mut self, cause: &str);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_one_encoding() {
        let tag = Tag { generation: 1, step: 0x0203, phase: Phase::Sums };
        assert_eq!(tag.to_bytes(), [1, 0, 0, 0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0, 0, 5]);
        assert_eq!(tag.to_string(), "Sums 515 of group 1");
    }
}
