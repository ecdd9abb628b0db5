//! [`Decoder`]: frames out of bytes that arrive in any pieces.

use std::mem;

use crate::frame::Frame;
use crate::frame_error::FrameError;
use crate::head::Head;
use crate::limits::Limits;

/// Takes bytes in any pieces and gives whole frames.
///
/// Memory follows what has arrived, never what a peer promised, and stays within the limits: at most one unfinished
/// frame is held. The first error poisons the decoder: after it there is no telling where the next frame begins, so
/// every later call gives the same error again.
///
/// ```
/// use dae_net::{Decoder, Frame, Limits, encode};
/// let limits = Limits::default();
/// let frame = Frame { kind: 7, header: vec![0x80], parts: vec![vec![1, 2, 3]] };
/// let bytes = encode(&frame, &limits).unwrap().repeat(2);
///
/// let mut decoder = Decoder::new(limits);
/// let mut frames = Vec::new();
/// for mut piece in bytes.chunks(5) {
///     while let Some(frame) = decoder.decode(&mut piece).unwrap() {
///         frames.push(frame);
///     }
/// }
/// decoder.finish().unwrap();
/// assert_eq!(frames, [frame.clone(), frame]);
/// ```
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    stage: Stage,
    piece: Piece,
    poison: Option<FrameError>,
}

/// The piece of a frame that is arriving, with what is known from the pieces before it.
#[derive(Debug)]
enum Stage {
    Head,
    Lengths(Head),
    Header {
        kind: u16,
        part_bytes: Vec<usize>,
    },
    /// The parts of the frame are those that are complete.
    Part {
        frame: Frame,
        part_bytes: Vec<usize>,
    },
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new(limits: Limits) -> Self {
        Self { limits, stage: Stage::Head, piece: Piece::of(Head::BYTES), poison: None }
    }

    /// Takes bytes off the front of `input` up to the end of a frame, and gives the frame if it is complete.
    ///
    /// `None` means that all of `input` was taken and more is needed; call again until then, or bytes stay behind.
    ///
    /// # Errors
    /// The first thing wrong with the stream, on this call and every later one.
    pub fn decode(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        if let Some(poison) = &self.poison {
            return Err(poison.clone());
        }
        while self.piece.fill(input) {
            match self.advance() {
                Ok(None) => {}
                Ok(Some(frame)) => return Ok(Some(frame)),
                Err(error) => {
                    *self = Self { poison: Some(error.clone()), ..Self::new(self.limits) };
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    /// Room for the next `bytes` of the stream, where all of them belong to the part that is arriving and do not
    /// complete it: who can put them there spares a copy. They count as taken.
    pub(crate) fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        let within = matches!(self.stage, Stage::Part { .. }) && self.poison.is_none();
        (within && bytes < self.piece.missing()).then(|| self.piece.grow(bytes))
    }

    /// Says whether the stream may end here, between two frames.
    ///
    /// # Errors
    /// [`FrameError::Torn`] within a frame, or the error that poisoned the decoder.
    pub fn finish(&self) -> Result<(), FrameError> {
        let piece = match (&self.poison, &self.stage) {
            (Some(poison), _) => return Err(poison.clone()),
            (None, Stage::Head) if self.piece.bytes.is_empty() => return Ok(()),
            (None, Stage::Head) => "head",
            (None, Stage::Lengths(_)) => "part lengths",
            (None, Stage::Header { .. }) => "header",
            (None, Stage::Part { .. }) => "parts",
        };
        Err(FrameError::Torn { piece, have: self.piece.bytes.len(), wanted: self.piece.wanted })
    }

    /// Takes the piece that is complete, and says which comes next.
    fn advance(&mut self) -> Result<Option<Frame>, FrameError> {
        let bytes = mem::take(&mut self.piece.bytes);
        match mem::replace(&mut self.stage, Stage::Head) {
            Stage::Head => {
                let head = Head::read(fixed(&bytes))?;
                self.limits.check_header(u64::from(head.header_bytes))?;
                self.limits.check_parts(u64::from(head.parts))?;
                self.piece = Piece::of(usize::from(head.parts) * Head::LENGTH_BYTES);
                self.stage = Stage::Lengths(head);
            }
            Stage::Lengths(head) => {
                let lengths =
                    bytes.chunks_exact(Head::LENGTH_BYTES).map(|each| u64::from_le_bytes(fixed(each)));
                self.limits.check_bytes(u64::from(head.header_bytes), lengths.clone())?;
                let part_bytes = lengths.map(addressable).collect::<Result<_, _>>()?;
                self.piece = Piece::of(addressable(u64::from(head.header_bytes))?);
                self.stage = Stage::Header { kind: head.kind, part_bytes };
            }
            Stage::Header { kind, part_bytes } => {
                return Ok(self.next_part(Frame { kind, header: bytes, parts: Vec::new() }, part_bytes));
            }
            Stage::Part { mut frame, part_bytes } => {
                frame.parts.push(bytes);
                return Ok(self.next_part(frame, part_bytes));
            }
        }
        Ok(None)
    }

    fn next_part(&mut self, frame: Frame, part_bytes: Vec<usize>) -> Option<Frame> {
        match part_bytes.get(frame.parts.len()) {
            Some(bytes) => {
                self.piece = Piece::of(*bytes);
                self.stage = Stage::Part { frame, part_bytes };
                None
            }
            None => {
                self.piece = Piece::of(Head::BYTES);
                self.stage = Stage::Head;
                Some(frame)
            }
        }
    }
}

/// Bytes that are to become `wanted` many.
#[derive(Debug)]
struct Piece {
    bytes: Vec<u8>,
    wanted: usize,
}

impl Piece {
    /// Room made for a piece before any of it has arrived, at most.
    const FIRST_BYTES: usize = 64 << 10;

    fn of(wanted: usize) -> Self {
        Self { bytes: Vec::new(), wanted }
    }

    fn missing(&self) -> usize {
        self.wanted - self.bytes.len()
    }

    /// Takes what is missing off the front of `input`; true once nothing is.
    fn fill(&mut self, input: &mut &[u8]) -> bool {
        let taken = input.len().min(self.missing());
        let (front, rest) = input.split_at(taken);
        self.reserve(taken);
        self.bytes.extend_from_slice(front);
        *input = rest;
        self.missing() == 0
    }

    /// Adds so many bytes, which are not more than are missing, to be written to.
    fn grow(&mut self, bytes: usize) -> &mut [u8] {
        self.reserve(bytes);
        let before = self.bytes.len();
        self.bytes.resize(before + bytes, 0);
        &mut self.bytes[before..]
    }

    fn reserve(&mut self, more: usize) {
        let length = self.bytes.len() + more;
        if length > self.bytes.capacity() {
            // Twice what has arrived, so that a promised gigabyte costs its sender a gigabyte.
            let room = (2 * length).max(Self::FIRST_BYTES).min(self.wanted);
            self.bytes.reserve_exact(room - self.bytes.len());
        }
    }
}

/// The first `N` bytes; the callers hand in exactly so many.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut fixed = [0; N];
    for (to, from) in fixed.iter_mut().zip(bytes) {
        *to = *from;
    }
    fixed
}

/// A length as this machine counts memory: on a small one it may be more than there are addresses.
fn addressable(bytes: u64) -> Result<usize, FrameError> {
    let most = usize::MAX as u64;
    usize::try_from(bytes).map_err(|_| FrameError::OverLimit { limit: "part_bytes", asked: bytes, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_follows_what_has_arrived() {
        let limits = Limits { part_bytes: 1 << 40, total_bytes: 1 << 41, ..Limits::default() };
        let mut stream = Head { kind: 1, header_bytes: 0, parts: 1 }.write().to_vec();
        stream.extend((1_u64 << 40).to_le_bytes());
        stream.extend(vec![0; 200_000]);
        let mut decoder = Decoder::new(limits);
        for mut piece in stream.chunks(1000) {
            assert_eq!(decoder.decode(&mut piece), Ok(None));
            let piece = &decoder.piece;
            assert!(piece.bytes.capacity() <= (2 * piece.bytes.len()).max(Piece::FIRST_BYTES));
        }
        let torn = FrameError::Torn { piece: "parts", have: 200_000, wanted: 1 << 40 };
        assert_eq!(decoder.finish(), Err(torn));
    }
}
