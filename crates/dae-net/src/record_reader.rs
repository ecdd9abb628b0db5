//! [`RecordReader`]: plain bytes out of sealed records, as a socket of any kind gives them.

use std::ops::Range;

use crate::link_error::LinkError;
use crate::record::{Cipher, LENGTH_BYTES, TAG_BYTES};

/// Holds what was read of a link, and opens it record by record, in place.
pub(crate) struct RecordReader {
    cipher: Cipher,
    bytes: Vec<u8>,
    /// What was read and not yet opened.
    sealed: Range<usize>,
    /// What was opened and not yet consumed; lies before `sealed`.
    plain: Range<usize>,
    ended: bool,
}

impl RecordReader {
    /// Room for a quiet link.
    const FIRST_BYTES: usize = 8 << 10;
    /// Room for a link that carries much; holds several of the longest records.
    const MOST_BYTES: usize = 256 << 10;

    pub(crate) fn new(cipher: Cipher) -> Self {
        Self { cipher, bytes: Vec::new(), sealed: 0..0, plain: 0..0, ended: false }
    }

    /// Where to read to; never empty. Only for when all that was opened is consumed.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.plain.is_empty());
        // A full buffer says that the peer sends faster than it is read in pieces of this size.
        let filled = self.sealed.end == self.bytes.len();
        if self.sealed.start > 0 {
            self.bytes.copy_within(self.sealed.clone(), 0);
            self.sealed = 0..self.sealed.len();
            self.plain = 0..0;
        }
        if filled {
            let wanted = (2 * self.bytes.len()).clamp(Self::FIRST_BYTES, Self::MOST_BYTES);
            self.bytes.resize(wanted, 0);
        }
        &mut self.bytes[self.sealed.end..]
    }

    /// So many bytes were read into the room.
    pub(crate) fn arrived(&mut self, bytes: usize) {
        self.sealed.end = self.bytes.len().min(self.sealed.end + bytes);
    }

    /// Plain bytes that wait to be consumed.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.bytes[self.plain.clone()]
    }

    /// So many of the plain bytes are done with.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.plain.start = self.plain.end.min(self.plain.start + bytes);
    }

    /// Opens the next record if all of it was read. Only for when the one before is consumed.
    pub(crate) fn open(&mut self) -> Result<bool, LinkError> {
        debug_assert!(self.plain.is_empty());
        let &[high, low, ref rest @ ..] = &self.bytes[self.sealed.clone()] else { return Ok(false) };
        let bytes = usize::from(u16::from_be_bytes([high, low]));
        if self.ended || bytes < TAG_BYTES {
            return Err(LinkError::Forged { bytes });
        }
        if rest.len() < bytes {
            return Ok(false);
        }
        let start = self.sealed.start + LENGTH_BYTES;
        let end = start + bytes;
        let plain = self.cipher.open(&mut self.bytes[start..end])?;
        self.plain = start..start + plain;
        self.sealed.start = end;
        self.ended = plain == 0;
        Ok(true)
    }

    /// Whether the peer said that nothing follows.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// What it means that the connection ended here.
    pub(crate) fn cut_off(&self) -> LinkError {
        let why = if self.sealed.is_empty() {
            "the peer is gone and did not say goodbye".to_owned()
        } else {
            format!("it ended within a record, {} bytes of which had arrived", self.sealed.len())
        };
        LinkError::Lost { why }
    }
}
