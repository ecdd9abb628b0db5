//! [`BulkSender`]: frames to a peer, from a thread that may block.

use std::io::Write as _;
use std::time::Duration;

use crate::link_error::LinkError;
use crate::record_writer::RecordWriter;
use crate::socket::{StdSocket, blocked};

/// The half of a bulk link that sends. After an error the link is of no more use.
pub struct BulkSender {
    socket: StdSocket,
    records: RecordWriter,
    deadline: Duration,
    torn: bool,
}

impl BulkSender {
    pub(crate) fn new(socket: StdSocket, records: RecordWriter, deadline: Duration) -> Self {
        Self { socket, records, deadline, torn: false }
    }

    /// Sends a frame; the parts are sealed from where they lie.
    ///
    /// # Errors
    /// A frame over the limits, after which the link goes on; a link that is lost, or a peer that took nothing for
    /// the deadline.
    pub fn send(&mut self, kind: u16, header: &[u8], parts: &[&[u8]]) -> Result<(), LinkError> {
        if self.torn {
            return Err(LinkError::Interrupted);
        }
        let preface = self.records.preface(kind, header, parts)?;
        self.torn = true;
        for mut bytes in [preface.as_slice(), header].into_iter().chain(parts.iter().copied()) {
            while !bytes.is_empty() {
                self.records.put(&mut bytes)?;
                if self.records.is_full() {
                    self.write()?;
                }
            }
        }
        self.records.seal()?;
        self.write()?;
        self.torn = false;
        Ok(())
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
        self.write()
    }

    fn write(&mut self) -> Result<(), LinkError> {
        let written = self.socket.write_all(self.records.sealed());
        written.map_err(|error| blocked("writing to the peer", self.deadline, &error))?;
        self.records.written();
        Ok(())
    }
}
