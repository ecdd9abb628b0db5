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
    let mut bytes = Vec::new();
    write_preface(frame.kind, &frame.header, &frame.parts, limits, &mut bytes)?;
    bytes.reserve_exact(frame.header.len() + frame.parts.iter().map(Vec::len).sum::<usize>());
    bytes.extend_from_slice(&frame.header);
    for part in &frame.parts {
        bytes.extend_from_slice(part);
    }
    Ok(bytes)
}

/// Appends what comes before a frame's header: the head and the lengths of the parts.
pub(crate) fn write_preface<P: AsRef<[u8]>>(
    kind: u16,
    header: &[u8],
    parts: &[P],
    limits: &Limits,
    out: &mut Vec<u8>,
) -> Result<(), FrameError> {
    let header_bytes = header.len() as u64;
    let lengths = parts.iter().map(|part| part.as_ref().len() as u64);
    limits.check_header(header_bytes)?;
    limits.check_parts(parts.len() as u64)?;
    limits.check_bytes(header_bytes, lengths.clone())?;
    // The limits are no wider than the fields, so after the checks nothing is cut off.
    let head = Head { kind, header_bytes: header.len() as u32, parts: parts.len() as u16 };
    out.extend_from_slice(&head.write());
    for length in lengths {
        out.extend_from_slice(&length.to_le_bytes());
    }
    Ok(())
}
