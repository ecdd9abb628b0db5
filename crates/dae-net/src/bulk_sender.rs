//! [`BulkSender`]: frames to a peer, from a thread that may block.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::time::Duration;

use crate::link_error::LinkError;
use crate::record_writer::RecordWriter;
use crate::socket::{StdSocket, blocked};

/// Bytes of a plain part that are written or read at a time.
pub(crate) const PLAIN_AT_ONCE: usize = 256 << 10;

/// How the parts of bulk frames travel. Both ends must know; handshake, heads and headers are sealed in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// Nobody can read or change them on their way.
    #[default]
    Sealed,
    /// As they are: for networks in which everybody is trusted.
    Plain,
}

/// The half of a bulk link that sends. After an error the link is of no more use.
///
/// Either [`Self::send`] waits until a frame is with the system, or [`Self::begin`] and [`Self::go_on`] send it without
/// ever waiting, so that one thread may drive many links both ways.
pub struct BulkSender {
    socket: StdSocket,
    records: RecordWriter,
    deadline: Duration,
    how: Parts,
    /// So many of the sealed bytes are written.
    written: usize,
    torn: bool,
}

/// A frame that was begun and not sent yet.
pub struct Sending<'a> {
    /// What comes before the parts, and how much of it is sealed.
    front: Vec<u8>,
    sealed: usize,
    parts: VecDeque<&'a [u8]>,
}

/// What became of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// All is done.
    Done,
    /// Something was done, and something is left.
    Moved,
    /// Nothing can be done for now.
    Stuck,
}

impl BulkSender {
    pub(crate) fn new(socket: StdSocket, records: RecordWriter, deadline: Duration, how: Parts) -> Self {
        Self { socket, records, deadline, how, written: 0, torn: false }
    }

    pub(crate) fn socket(&self) -> &StdSocket {
        &self.socket
    }

    /// Sends a frame; the parts are sealed from where they lie.
    ///
    /// # Errors
    /// A frame over the limits, after which the link goes on; a link that is lost, or a peer that took nothing for
    /// the deadline.
    pub fn send(&mut self, kind: u16, header: &[u8], parts: &[&[u8]]) -> Result<(), LinkError> {
        let mut sending = self.begin(kind, header, parts)?;
        while !sending.is_taken() {
            self.seal(&mut sending)?;
            self.write()?;
            if self.how == Parts::Plain {
                for part in sending.parts.drain(..) {
                    self.write_all(part)?;
                }
            }
        }
        self.torn = false;
        Ok(())
    }

    /// Begins a frame; [`Self::go_on`] sends it, and nothing else may be sent before that is done.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn begin<'a>(
        &mut self,
        kind: u16,
        header: &[u8],
        parts: &[&'a [u8]],
    ) -> Result<Sending<'a>, LinkError> {
        if self.torn {
            return Err(LinkError::Interrupted);
        }
        let mut front = self.records.preface(kind, header, parts)?;
        front.extend_from_slice(header);
        self.torn = true;
        Ok(Sending {
            front,
            sealed: 0,
            parts: parts.iter().copied().filter(|part| !part.is_empty()).collect(),
        })
    }

    /// Sends as much of a frame as the system takes at once, but no more than a buffer full, so that others come to turn.
    ///
    /// # Errors
    /// A link that is lost.
    pub fn go_on(&mut self, sending: &mut Sending<'_>) -> Result<Progress, LinkError> {
        if self.records.sealed().is_empty() {
            self.seal(sending)?;
        }
        let mut moved = false;
        while self.written < self.records.sealed().len() {
            match written_now(self.socket.write_now(&self.records.sealed()[self.written..]))? {
                Some(bytes) => (self.written, moved) = (self.written + bytes, true),
                None => return Ok(if moved { Progress::Moved } else { Progress::Stuck }),
            }
        }
        self.records.written();
        self.written = 0;
        if let (Parts::Plain, Some(part)) = (self.how, sending.parts.front_mut()) {
            match written_now(self.socket.write_now(&part[..part.len().min(PLAIN_AT_ONCE)]))? {
                Some(bytes) => *part = &part[bytes..],
                None if moved => {}
                None => return Ok(Progress::Stuck),
            }
            if part.is_empty() {
                sending.parts.pop_front();
            }
        }
        self.torn = !sending.is_taken();
        Ok(if self.torn { Progress::Moved } else { Progress::Done })
    }

    /// Says goodbye: the peer receives all that was sent, and then the end.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn close(mut self) -> Result<(), LinkError> {
        if self.torn {
            return Err(LinkError::Interrupted);
        }
        self.records.end()?;
        self.write()?;
        self.socket.end();
        Ok(())
    }

    /// Says goodbye and why, be it within a frame: what is left of that never comes. Within plain parts nothing can be said.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn farewell(mut self, why: &str) -> Result<(), LinkError> {
        if self.how == Parts::Sealed || !self.torn {
            self.records.end_with(why)?;
            self.write()?;
        }
        self.socket.end();
        Ok(())
    }

    /// Seals what there is room for, and the end of a frame in any case.
    fn seal(&mut self, sending: &mut Sending<'_>) -> Result<(), LinkError> {
        let mut front = &sending.front[sending.sealed..];
        self.records.put(&mut front)?;
        sending.sealed = sending.front.len() - front.len();
        let sealed = self.how == Parts::Sealed;
        while let Some(part) = sending.parts.front_mut().filter(|_| sealed && !self.records.is_full()) {
            self.records.put(part)?;
            if part.is_empty() {
                sending.parts.pop_front();
            }
        }
        if sending.is_taken() || !sealed { self.records.seal() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), LinkError> {
        let written = self.socket.write_all(&self.records.sealed()[self.written..]);
        written.map_err(|error| blocked("writing to the peer", self.deadline, &error))?;
        self.records.written();
        self.written = 0;
        Ok(())
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let written = self.socket.write_all(bytes);
        written.map_err(|error| blocked("writing to the peer", self.deadline, &error))
    }
}

/// How many bytes the system took, if it took any.
fn written_now(written: io::Result<usize>) -> Result<Option<usize>, LinkError> {
    match written {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Some(0)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(LinkError::lost(&error)),
    }
}

impl Sending<'_> {
    /// Whether all of it is with the records, or written.
    fn is_taken(&self) -> bool {
        self.sealed == self.front.len() && self.parts.is_empty()
    }
}
