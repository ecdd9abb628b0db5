//! [`RecordWriter`]: frames into sealed records, for a socket of any kind to write.

use crate::frame::write_preface;
use crate::head::Head;
use crate::limits::Limits;
use crate::link_error::LinkError;
use crate::record::{Cipher, PLAIN_BYTES, sealed_bytes};

/// The bytes of why somebody leaves, at most.
const LONGEST_WHY: usize = 4 << 10;

/// Gathers small frames in shared records; the bytes of big parts are sealed from where they lie.
pub(crate) struct RecordWriter {
    cipher: Cipher,
    limits: Limits,
    /// What waits for its record to be full.
    plain: Vec<u8>,
    /// Records that wait to be written: so many bytes of it.
    buffer: Vec<u8>,
    sealed: usize,
}

impl RecordWriter {
    /// Sealed bytes that are better written than added to.
    const FULL_BYTES: usize = 192 << 10;

    pub(crate) fn new(cipher: Cipher, limits: Limits) -> Self {
        Self { cipher, limits, plain: Vec::new(), buffer: Vec::new(), sealed: 0 }
    }

    /// What a frame begins with, before its header and its parts: to be put like these.
    pub(crate) fn preface<P: AsRef<[u8]>>(
        &self,
        kind: u16,
        header: &[u8],
        parts: &[P],
    ) -> Result<Vec<u8>, LinkError> {
        let mut preface = Vec::with_capacity(Head::BYTES + parts.len() * Head::LENGTH_BYTES);
        write_preface(kind, header, parts, &self.limits, &mut preface)?;
        Ok(preface)
    }

    /// Takes bytes off the front of `bytes`, all of them or until it is time to write.
    pub(crate) fn put(&mut self, bytes: &mut &[u8]) -> Result<(), LinkError> {
        while !bytes.is_empty() {
            let taken = bytes.len().min(PLAIN_BYTES - self.plain.len());
            let (front, rest) = bytes.split_at(taken);
            if self.plain.is_empty() && taken == PLAIN_BYTES {
                self.seal_record(front)?;
            } else {
                self.plain.extend_from_slice(front);
                if self.plain.len() == PLAIN_BYTES {
                    self.seal()?;
                }
            }
            *bytes = rest;
            if self.is_full() {
                break;
            }
        }
        Ok(())
    }

    /// Whether to write before more is put.
    pub(crate) fn is_full(&self) -> bool {
        self.sealed >= Self::FULL_BYTES
    }

    /// Seals what waits for its record to be full.
    pub(crate) fn seal(&mut self) -> Result<(), LinkError> {
        if !self.plain.is_empty() {
            let plain = std::mem::take(&mut self.plain);
            let sealed = self.seal_record(&plain);
            self.plain = plain;
            self.plain.clear();
            sealed?;
        }
        Ok(())
    }

    /// Seals the record that says that nothing follows: an empty one.
    pub(crate) fn end(&mut self) -> Result<(), LinkError> {
        self.seal()?;
        self.seal_record(&[])
    }

    /// The same, and a last record that says why.
    pub(crate) fn end_with(&mut self, why: &str) -> Result<(), LinkError> {
        self.end()?;
        let end = why.floor_char_boundary(LONGEST_WHY);
        self.seal_record(&why.as_bytes()[..end])
    }

    fn seal_record(&mut self, plain: &[u8]) -> Result<(), LinkError> {
        let place = self.sealed..self.sealed + sealed_bytes(plain.len());
        if self.buffer.len() < place.end {
            self.buffer.resize(place.end, 0);
        }
        self.cipher.seal_into(plain, &mut self.buffer[place.clone()])?;
        self.sealed = place.end;
        Ok(())
    }

    /// The records to write.
    pub(crate) fn sealed(&self) -> &[u8] {
        &self.buffer[..self.sealed]
    }

    /// Forgets the records, which are written.
    pub(crate) fn written(&mut self) {
        self.sealed = 0;
    }
}
