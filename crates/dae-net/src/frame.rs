//! [`Frame`]: one message on the wire, and its encoding.

use crate::frame_error::FrameError;
use crate::head::Head;
use crate::limits::Limits;

/// One message: what kind it is, a small typed header, and raw parts beside it.
///
/// Tensor bytes lie in the parts, little-endian, and never pass through serde.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Says how to read the header.
    pub kind: u16,
    /// MessagePack, as [`crate::header_of`] writes it.
    pub header: Vec<u8>,
    /// Raw bytes, each part one piece of memory.
    pub parts: Vec<Vec<u8>>,
}

/// The bytes of a frame.
///
/// # Errors
/// [`FrameError::OverLimit`] where the frame holds more than `limits` allows, so that no peer is sent what it refuses.
pub fn encode(frame: &Frame, limits: &Limits) -> Result<Vec<u8>, FrameError> {
    let header_bytes = frame.header.len() as u64;
    limits.check_header(header_bytes)?;
    limits.check_parts(frame.parts.len() as u64)?;
    limits.check_bytes(header_bytes, frame.parts.iter().map(|part| part.len() as u64))?;
    // The limits are no wider than the fields, so after the checks nothing is cut off.
    let head = Head {
        kind: frame.kind,
        header_bytes: frame.header.len() as u32,
        parts: frame.parts.len() as u16,
    };
    let part_bytes: usize = frame
        .parts
        .iter()
        .map(|part| Head::LENGTH_BYTES + part.len())
        .sum();
    let mut bytes = Vec::with_capacity(Head::BYTES + frame.header.len() + part_bytes);
    bytes.extend_from_slice(&head.write());
    for part in &frame.parts {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
    }
    bytes.extend_from_slice(&frame.header);
    for part in &frame.parts {
        bytes.extend_from_slice(part);
    }
    Ok(bytes)
}
