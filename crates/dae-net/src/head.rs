//! The fixed head of a frame: 16 bytes, little-endian.

use crate::frame_error::FrameError;

/// The protocol version written into every frame, and the only one accepted.
pub const PROTOCOL_VERSION: u16 = 1;

const MAGIC: [u8; 4] = *b"DAE1";

/// What the fixed head says; magic and version are known once there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: u16,
    pub(crate) header_bytes: u32,
    pub(crate) parts: u16,
}

impl Head {
    /// Bytes of the head itself.
    pub(crate) const BYTES: usize = 16;

    /// Bytes of each part's length, which follow the head.
    pub(crate) const LENGTH_BYTES: usize = size_of::<u64>();

    pub(crate) fn write(self) -> [u8; Self::BYTES] {
        let [m0, m1, m2, m3] = MAGIC;
        let [v0, v1] = PROTOCOL_VERSION.to_le_bytes();
        let [k0, k1] = self.kind.to_le_bytes();
        let [h0, h1, h2, h3] = self.header_bytes.to_le_bytes();
        let [p0, p1] = self.parts.to_le_bytes();
        [m0, m1, m2, m3, v0, v1, k0, k1, h0, h1, h2, h3, p0, p1, 0, 0]
    }

    pub(crate) fn read(bytes: [u8; Self::BYTES]) -> Result<Self, FrameError> {
        let [m0, m1, m2, m3, v0, v1, k0, k1, h0, h1, h2, h3, p0, p1, r0, r1] = bytes;
        let magic = [m0, m1, m2, m3];
        let version = u16::from_le_bytes([v0, v1]);
        let reserved = u16::from_le_bytes([r0, r1]);
        // In this order: of a stranger's bytes, the version means nothing.
        if magic != MAGIC {
            return Err(FrameError::Magic {
                found: magic,
                expected: MAGIC,
            });
        }
        if version != PROTOCOL_VERSION {
            return Err(FrameError::Version {
                found: version,
                expected: PROTOCOL_VERSION,
            });
        }
        if reserved != 0 {
            return Err(FrameError::Reserved { found: reserved });
        }
        Ok(Self {
            kind: u16::from_le_bytes([k0, k1]),
            header_bytes: u32::from_le_bytes([h0, h1, h2, h3]),
            parts: u16::from_le_bytes([p0, p1]),
        })
    }
}
