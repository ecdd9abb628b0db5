//! What a frame may hold at most.

use crate::frame_error::FrameError;
use crate::head::Head;

/// The most a frame may hold; both ends check it, before anything is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the header.
    pub header_bytes: u32,
    /// Number of parts.
    pub parts: u16,
    /// Bytes of any one part.
    pub part_bytes: u64,
    /// Bytes of the whole frame: head, lengths, header and parts.
    pub total_bytes: u64,
}

impl Default for Limits {
    /// 64 KiB of header and 1,024 parts, 1 GiB in all.
    fn default() -> Self {
        let gib = 1 << 30;
        Self {
            header_bytes: 64 << 10,
            parts: 1024,
            part_bytes: gib,
            total_bytes: gib,
        }
    }
}

impl Limits {
    pub(crate) fn check_header(&self, bytes: u64) -> Result<(), FrameError> {
        check("header_bytes", bytes, u64::from(self.header_bytes))
    }

    pub(crate) fn check_parts(&self, parts: u64) -> Result<(), FrameError> {
        check("parts", parts, u64::from(self.parts))
    }

    /// Checks each part and the whole frame; the lengths come from a peer and may be anything.
    pub(crate) fn check_bytes(
        &self,
        header_bytes: u64,
        part_bytes: impl Iterator<Item = u64>,
    ) -> Result<(), FrameError> {
        let mut total = Head::BYTES as u64 + header_bytes;
        for bytes in part_bytes {
            check("part_bytes", bytes, self.part_bytes)?;
            total = total
                .saturating_add(Head::LENGTH_BYTES as u64)
                .saturating_add(bytes);
        }
        check("total_bytes", total, self.total_bytes)
    }
}

fn check(limit: &'static str, asked: u64, most: u64) -> Result<(), FrameError> {
    if asked > most {
        Err(FrameError::OverLimit { limit, asked, most })
    } else {
        Ok(())
    }
}
