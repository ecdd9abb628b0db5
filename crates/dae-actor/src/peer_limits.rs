//! What a peer may ask for, and what may wait for it.

use dae_net::Limits;

/// The bounds of one link between actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerLimits {
    /// Asks of this side that are without an answer. Of the far side's asks twice as many are in service; beyond that
    /// nothing more is read from the link.
    pub in_flight: usize,
    /// Messages of this side that wait to be written.
    pub queued: usize,
    /// Bytes that wait to be written, and as many bytes of the far side's messages that wait to be handled.
    pub held_bytes: usize,
    /// What one message may hold; the link's own limits, or less.
    pub frame: Limits,
}

impl Default for PeerLimits {
    /// 4,096 asks, 8,192 messages, 256 MiB.
    fn default() -> Self {
        Self { in_flight: 4096, queued: 8192, held_bytes: 256 << 20, frame: Limits::default() }
    }
}
