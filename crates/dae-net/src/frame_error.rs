//! What is wrong with a frame.

/// Why a frame was not encoded or not decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes are not a frame of this protocol.
    #[error("a frame begins with the bytes {expected:02x?} (`DAE1`), and these begin with {found:02x?}")]
    Magic {
        /// The first four bytes.
        found: [u8; 4],
        /// What they should be.
        expected: [u8; 4],
    },
    /// The peer speaks another version of the protocol.
    #[error("the frame is of protocol version {found}, and this node speaks version {expected}")]
    Version {
        /// The version in the frame.
        found: u16,
        /// The version spoken here.
        expected: u16,
    },
    /// The reserved bytes of the head are in use.
    #[error("the reserved bytes of a frame's head are 0 in this version, and these are {found:#06x}")]
    Reserved {
        /// What they hold.
        found: u16,
    },
    /// The frame holds more than [`crate::Limits`] allows.
    #[error("the frame asks for {asked} {limit}, and the limit `{limit}` is {most}")]
    OverLimit {
        /// The field of [`crate::Limits`] that was exceeded.
        limit: &'static str,
        /// What the frame asked for.
        asked: u64,
        /// What is allowed.
        most: u64,
    },
    /// The bytes ended within a frame.
    #[error("the bytes end within a frame: of its {piece}, {have} of {wanted} bytes are there")]
    Torn {
        /// The piece of the frame that is incomplete.
        piece: &'static str,
        /// Bytes of it that arrived.
        have: usize,
        /// Bytes it has.
        wanted: usize,
    },
}
