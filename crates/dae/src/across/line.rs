//! The link to one worker on another node.

use dae_collective::{Broken, Incoming, Outgoing, Tag};
use dae_net::{BulkReceiver, BulkSender, LinkError};
use std::ops::Range;

/// The first frame of a part: where its sender is, the head, and the beginning of the body.
const FIRST: u16 = 1;
/// The next piece of a body.
const MORE: u16 = 2;
/// The last frame of a link: why its sender leaves.
const ABORT: u16 = 3;

/// Bytes of a body in one frame, which a bulk socket takes in whether anybody reads or not. Shorter ones cost more wakes.
pub(super) const PIECE: usize = 256 << 10;
/// The bytes of why somebody leaves, at most.
const LONGEST_CAUSE: usize = 4 << 10;
/// Frames that are passed over to find why somebody left; sockets hold no more.
const PASSED_OVER: usize = 1 << 10;

/// The link to one worker on another node.
pub(super) struct Line {
    name: String,
    sender: BulkSender,
    receiver: BulkReceiver,
}

impl Line {
    /// Over a link to the node of this name.
    pub(super) fn new(name: String, (sender, receiver): (BulkSender, BulkReceiver)) -> Self {
        Self { name, sender, receiver }
    }

    /// Sends the n-th piece of a part.
    pub(super) fn send(&mut self, tag: Tag, n: usize, out: &Outgoing<'_>) -> Result<(), Broken> {
        let piece = &out.body[piece(out.body.len(), n)];
        let sent = match n {
            0 => self.sender.send(FIRST, &opening(tag, out.body.len()), &[out.head, piece]),
            _ if piece.is_empty() => Ok(()),
            _ => self.sender.send(MORE, &[], &[piece]),
        };
        sent.map_err(|e| self.last_word(&e))
    }

    /// Receives the n-th piece of a part.
    pub(super) fn receive(&mut self, tag: Tag, n: usize, into: &mut Incoming<'_>) -> Result<(), Broken> {
        let (length, range) = (into.body.len(), piece(into.body.len(), n));
        if n > 0 && range.is_empty() {
            return Ok(());
        }
        let (kind, header) = self.receiver.begin().map_err(|e| self.lost(e.to_string()))?;
        match kind {
            ABORT => return Err(self.lost(words(&header))),
            FIRST if n == 0 && header == opening(tag, length) => {}
            MORE if n > 0 => {}
            _ => return Err(self.lost(elsewhere(kind, &header, tag, length))),
        }
        let body = &mut into.body[range];
        let received = match n {
            0 => self.receiver.finish(&mut [&mut *into.head, body]),
            _ => self.receiver.finish(&mut [body]),
        };
        received.map_err(|e| self.lost(e.to_string()))
    }

    /// Tells why this side leaves, and leaves. To close while something is unread would take back what the other has not
    /// read yet, so this reads until the other leaves, too.
    pub(super) fn farewell(mut self, cause: &str) {
        let end = cause.floor_char_boundary(LONGEST_CAUSE);
        // Who has gone needs no word.
        let mut on = self.sender.send(ABORT, &cause.as_bytes()[..end], &[]).is_ok();
        while on {
            on = self.receiver.begin().is_ok_and(|(kind, _)| kind != ABORT)
                && self.receiver.pass_over().is_ok();
        }
    }

    /// Why nothing can be sent: who has gone may have left word why.
    fn last_word(&mut self, error: &LinkError) -> Broken {
        for _ in 0..PASSED_OVER {
            match self.receiver.begin() {
                Ok((ABORT, header)) => return self.lost(words(&header)),
                Ok(_) if self.receiver.pass_over().is_ok() => {}
                _ => break,
            }
        }
        self.lost(error.to_string())
    }

    fn lost(&self, cause: String) -> Broken {
        Broken::Node { node: self.name.clone(), cause }
    }
}

/// The place in a body of its n-th piece; empty once all is done.
fn piece(length: usize, n: usize) -> Range<usize> {
    let at = |n: usize| n.saturating_mul(PIECE).min(length);
    at(n)..at(n + 1)
}

/// The header of a part: where its sender is, and how many bytes its body has.
fn opening(tag: Tag, length: usize) -> [u8; Tag::BYTES + 8] {
    let mut bytes = [0; Tag::BYTES + 8];
    bytes[..Tag::BYTES].copy_from_slice(&tag.to_bytes());
    bytes[Tag::BYTES..].copy_from_slice(&(length as u64).to_le_bytes());
    bytes
}

/// What a peer has sent instead of what this side waits for.
fn elsewhere(kind: u16, header: &[u8], tag: Tag, length: usize) -> String {
    let here = format!("where this node waits for {length} bytes of {tag}");
    let sent = header.split_first_chunk().and_then(|(there, length)| {
        Some((Tag::from_bytes(there)?, u64::from_le_bytes(length.try_into().ok()?)))
    });
    match sent.filter(|_| kind == FIRST) {
        Some((there, bytes)) => format!("it sent {bytes} bytes of {there}, {here}"),
        None => format!("it sent a frame of kind {kind}, {here}"),
    }
}

fn words(header: &[u8]) -> String {
    String::from_utf8_lossy(header).into_owned()
}
