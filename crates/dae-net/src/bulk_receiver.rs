//! [`BulkReceiver`]: frames from a peer, into memory that lies ready, on a thread that may block.

use std::io;
use std::time::Duration;

use crate::awake::Awake;
use crate::head::Head;
use crate::limits::Limits;
use crate::link_error::LinkError;
use crate::record_reader::RecordReader;
use crate::socket::{StdSocket, blocked};

/// The half of a bulk link that receives. After an error every later call gives the same error.
pub struct BulkReceiver {
    socket: StdSocket,
    records: RecordReader,
    limits: Limits,
    deadline: Duration,
    awake: Awake,
    /// The parts of the frame that was begun.
    due: Vec<u64>,
    failed: Option<LinkError>,
}

impl BulkReceiver {
    pub(crate) fn new(socket: StdSocket, records: RecordReader, limits: Limits, deadline: Duration) -> Self {
        Self { socket, records, limits, deadline, awake: Awake::default(), due: Vec::new(), failed: None }
    }

    /// Waits for a frame whose parts are exactly as long as `parts`, and fills these; gives its kind and its header.
    ///
    /// # Errors
    /// A frame with other parts, before any of them is read; a connection that ended, was tampered with, or gave
    /// nothing for the deadline. `parts` may be filled in part then.
    pub fn recv(&mut self, parts: &mut [&mut [u8]]) -> Result<(u16, Vec<u8>), LinkError> {
        let begun = self.begin()?;
        self.finish(parts)?;
        Ok(begun)
    }

    /// Waits for a frame and gives its kind and its header; [`Self::finish`] or [`Self::pass_over`] follows.
    ///
    /// # Errors
    /// As [`Self::recv`].
    pub fn begin(&mut self) -> Result<(u16, Vec<u8>), LinkError> {
        self.unless_failed(Self::read_front)
    }

    /// Fills `parts` with those of the frame that was begun; they are exactly as long.
    ///
    /// # Errors
    /// As [`Self::recv`].
    pub fn finish(&mut self, parts: &mut [&mut [u8]]) -> Result<(), LinkError> {
        self.unless_failed(|this| {
            let found = std::mem::take(&mut this.due);
            if !found.iter().copied().eq(parts.iter().map(|part| part.len() as u64)) {
                let expected = parts.iter().map(|part| part.len() as u64).collect();
                return Err(LinkError::Parts { found, expected });
            }
            parts.iter_mut().try_for_each(|part| this.fill(part))
        })
    }

    /// Drops the parts of the frame that was begun.
    ///
    /// # Errors
    /// As [`Self::recv`].
    pub fn pass_over(&mut self) -> Result<(), LinkError> {
        self.unless_failed(|this| {
            let mut left =
                std::mem::take(&mut this.due).iter().fold(0_u64, |sum, part| sum.saturating_add(*part));
            let mut scratch = [0; 4096];
            while left > 0 {
                let some = left.min(scratch.len() as u64) as usize;
                this.fill(&mut scratch[..some])?;
                left -= some as u64;
            }
            Ok(())
        })
    }

    fn unless_failed<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, LinkError>,
    ) -> Result<T, LinkError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        act(self).inspect_err(|error| self.failed = Some(error.clone()))
    }

    fn read_front(&mut self) -> Result<(u16, Vec<u8>), LinkError> {
        let mut head = [0; Head::BYTES];
        self.fill(&mut head)?;
        let head = Head::read(head)?;
        self.limits.check_header(u64::from(head.header_bytes))?;
        self.limits.check_parts(u64::from(head.parts))?;
        let mut due = Vec::with_capacity(usize::from(head.parts));
        for _ in 0..head.parts {
            let mut length = [0; Head::LENGTH_BYTES];
            self.fill(&mut length)?;
            due.push(u64::from_le_bytes(length));
        }
        self.limits.check_bytes(u64::from(head.header_bytes), due.iter().copied())?;
        let mut header = vec![0; head.header_bytes as usize];
        self.fill(&mut header)?;
        self.due = due;
        Ok((head.kind, header))
    }

    fn fill(&mut self, mut into: &mut [u8]) -> Result<(), LinkError> {
        while !into.is_empty() {
            let plain = self.records.plain();
            let taken = plain.len().min(into.len());
            if taken > 0 {
                let (front, rest) = std::mem::take(&mut into).split_at_mut(taken);
                front.copy_from_slice(&plain[..taken]);
                self.records.consume(taken);
                into = rest;
                continue;
            }
            match self.records.next_bytes()? {
                Some(bytes) if bytes <= into.len() => {
                    let (front, rest) = std::mem::take(&mut into).split_at_mut(bytes);
                    self.records.open_into(front)?;
                    into = rest;
                }
                _ if self.records.open()? => {}
                _ => self.read()?,
            }
        }
        Ok(())
    }

    fn read(&mut self) -> Result<(), LinkError> {
        if self.records.ended() {
            return Err(LinkError::Lost { why: "the peer said goodbye".to_owned() });
        }
        match self.awake.read(&mut self.socket, self.records.room()) {
            Ok(0) => Err(self.records.cut_off()),
            Ok(bytes) => {
                self.records.arrived(bytes);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(blocked("waiting for the peer", self.deadline, &error)),
        }
    }
}
