//! [`Link`]: a sealed connection to a peer that has proved who it is.

use std::fmt;
use std::time::Duration;

use crate::bulk_receiver::BulkReceiver;
use crate::bulk_sender::{BulkSender, Parts};
use crate::hello::PeerInfo;
use crate::limits::Limits;
use crate::link_error::LinkError;
use crate::link_receiver::LinkReceiver;
use crate::link_sender::LinkSender;
use crate::record::Cipher;
use crate::record_reader::RecordReader;
use crate::record_writer::RecordWriter;
use crate::socket::Socket;

/// A sealed connection to a peer. The halves are independent: two tasks may have one each.
pub struct Link {
    /// Who is at the other end.
    pub peer: PeerInfo,
    /// Frames to the peer.
    pub sender: LinkSender,
    /// Frames from the peer.
    pub receiver: LinkReceiver,
}

impl Link {
    pub(crate) fn new(peer: PeerInfo, socket: Socket, seal: Cipher, open: Cipher, limits: Limits) -> Self {
        Self {
            peer,
            sender: LinkSender::new(socket.write, RecordWriter::new(seal, limits)),
            receiver: LinkReceiver::new(socket.read, RecordReader::new(open), limits),
        }
    }

    /// Makes it a link for threads that may block. `deadline` bounds each wait for the peer's bytes, and for room to
    /// write ours, `how` says how parts travel, both ways and at both ends.
    ///
    /// Only for when both sides are between two frames: nothing fed and not flushed, nothing received in part.
    ///
    /// # Errors
    /// [`LinkError::NoSocket`] for a link in memory; whatever was wrong with the link before.
    pub fn into_bulk(self, deadline: Duration, how: Parts) -> Result<(BulkSender, BulkReceiver), LinkError> {
        let (write, writer) = self.sender.into_parts()?;
        let (read, reader, limits) = self.receiver.into_parts()?;
        let (from, to) = Socket { read, write }.into_std(deadline)?;
        let receiver = BulkReceiver::new(from, reader, limits, (deadline, how));
        Ok((BulkSender::new(to, writer, deadline, how), receiver))
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("peer", &self.peer).finish_non_exhaustive()
    }
}
