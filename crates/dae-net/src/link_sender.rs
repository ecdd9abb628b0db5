//! [`LinkSender`]: frames to a peer.

use crate::frame::Frame;
use crate::link_error::LinkError;
use crate::record_writer::RecordWriter;
use crate::socket::WriteHalf;

/// The half of a link that sends.
///
/// A future that is dropped within a frame leaves the link useless, and every later call says so.
pub struct LinkSender {
    socket: WriteHalf,
    records: RecordWriter,
    /// Set while something is half done.
    torn: bool,
}

impl LinkSender {
    pub(crate) fn new(socket: WriteHalf, records: RecordWriter) -> Self {
        Self { socket, records, torn: false }
    }

    /// Sends a frame now.
    ///
    /// # Errors
    /// A frame over the limits, after which the link goes on; a link that is lost.
    pub async fn send(&mut self, frame: &Frame) -> Result<(), LinkError> {
        self.feed(frame).await?;
        self.flush().await
    }

    /// Takes a frame, to be sent with others: small frames share records and wait for [`Self::flush`]; of big ones
    /// most is written at once.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn feed(&mut self, frame: &Frame) -> Result<(), LinkError> {
        self.feed_parts(frame.kind, &frame.header, &frame.parts).await
    }

    /// [`Self::feed`] with parts that lie anywhere.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub async fn feed_parts<P: AsRef<[u8]>>(
        &mut self,
        kind: u16,
        header: &[u8],
        parts: &[P],
    ) -> Result<(), LinkError> {
        self.whole()?;
        let preface = self.records.preface(kind, header, parts)?;
        self.torn = true;
        self.put(&preface).await?;
        self.put(header).await?;
        for part in parts {
            self.put(part.as_ref()).await?;
        }
        self.torn = false;
        Ok(())
    }

    /// Writes what was fed.
    ///
    /// # Errors
    /// A link that is lost.
    pub async fn flush(&mut self) -> Result<(), LinkError> {
        self.whole()?;
        self.torn = true;
        self.records.seal()?;
        self.write().await?;
        self.torn = false;
        Ok(())
    }

    /// Sends what was fed and says goodbye: the peer receives all of it, and then the end.
    ///
    /// # Errors
    /// A link that is lost.
    pub async fn close(mut self) -> Result<(), LinkError> {
        self.whole()?;
        self.records.end()?;
        self.write().await?;
        self.socket.shutdown().await;
        Ok(())
    }

    pub(crate) fn into_parts(self) -> Result<(WriteHalf, RecordWriter), LinkError> {
        self.whole()?;
        Ok((self.socket, self.records))
    }

    async fn put(&mut self, mut bytes: &[u8]) -> Result<(), LinkError> {
        while !bytes.is_empty() {
            self.records.put(&mut bytes)?;
            if self.records.is_full() {
                self.write().await?;
            }
        }
        Ok(())
    }

    async fn write(&mut self) -> Result<(), LinkError> {
        self.socket.write_all(self.records.sealed()).await?;
        self.records.written();
        Ok(())
    }

    fn whole(&self) -> Result<(), LinkError> {
        if self.torn { Err(LinkError::Interrupted) } else { Ok(()) }
    }
}
