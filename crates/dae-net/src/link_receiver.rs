//! [`LinkReceiver`]: frames from a peer.

use crate::decoder::Decoder;
use crate::frame::Frame;
use crate::limits::Limits;
use crate::link_error::LinkError;
use crate::record_reader::RecordReader;
use crate::socket::ReadHalf;

/// The half of a link that receives. After an error every later call gives the same error.
pub struct LinkReceiver {
    socket: ReadHalf,
    records: RecordReader,
    decoder: Decoder,
    limits: Limits,
    failed: Option<LinkError>,
}

impl LinkReceiver {
    pub(crate) fn new(socket: ReadHalf, records: RecordReader, limits: Limits) -> Self {
        Self { socket, records, decoder: Decoder::new(limits), limits, failed: None }
    }

    /// Waits for the next frame; `None` after the peer's goodbye. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// A connection that ended without a goodbye, that was tampered with, or that carries no frames.
    pub async fn recv(&mut self) -> Result<Option<Frame>, LinkError> {
        loop {
            if let Some(frame) = self.try_next()? {
                return Ok(Some(frame));
            }
            if self.records.ended() {
                return self.noted(|this| Ok(this.decoder.finish()?)).map(|()| None);
            }
            let read = self.socket.read(self.records.room()).await;
            self.noted(|this| match read {
                Ok(0) => Err(this.records.cut_off()),
                Ok(bytes) => {
                    this.records.arrived(bytes);
                    Ok(())
                }
                Err(error) => Err(LinkError::lost(&error)),
            })?;
        }
    }

    /// A frame that is in memory already, without waiting for the peer.
    ///
    /// # Errors
    /// As [`Self::recv`].
    pub fn try_next(&mut self) -> Result<Option<Frame>, LinkError> {
        self.noted(|this| {
            loop {
                let mut plain = this.records.plain();
                let before = plain.len();
                let decoded = this.decoder.decode(&mut plain);
                let consumed = before - plain.len();
                this.records.consume(consumed);
                if let Some(frame) = decoded? {
                    return Ok(Some(frame));
                }
                if let Some(bytes) = this.records.next_bytes()?
                    && let Some(room) = this.decoder.room(bytes)
                {
                    this.records.open_into(room)?;
                } else if !this.records.open()? {
                    return Ok(None);
                }
            }
        })
    }

    pub(crate) fn into_parts(mut self) -> Result<(ReadHalf, RecordReader, Limits), LinkError> {
        self.noted(|this| Ok(this.decoder.finish()?))?;
        Ok((self.socket, self.records, self.limits))
    }

    /// Remembers the first error and gives it ever after.
    fn noted<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, LinkError>) -> Result<T, LinkError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        act(self).inspect_err(|error| self.failed = Some(error.clone()))
    }
}
