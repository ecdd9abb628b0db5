//! [`BulkReceiver`]: frames from a peer, into memory that lies ready, on a thread that may block.

use std::collections::VecDeque;
use std::time::Duration;
use std::{io, iter, mem};

use crate::awake::Awake;
use crate::bulk_sender::{PLAIN_AT_ONCE, Parts, Progress};
use crate::head::Head;
use crate::limits::Limits;
use crate::link_error::LinkError;
use crate::record_reader::RecordReader;
use crate::socket::StdSocket;

/// The half of a bulk link that receives. After an error every later call gives the same error.
///
/// Either [`Self::recv`] waits until a frame is there, or [`Self::begun`] and [`Self::go_on`] receive it without ever
/// waiting, so that one thread may drive many links both ways.
pub struct BulkReceiver {
    socket: StdSocket,
    records: RecordReader,
    limits: Limits,
    deadline: Duration,
    how: Parts,
    awake: Awake,
    /// What there is of the next frame's head, lengths and header.
    front: Vec<u8>,
    /// Of the frame that was begun: the parts to come.
    due: Vec<u64>,
    failed: Option<LinkError>,
}

/// Where the parts of a frame that was begun arrive.
pub struct Receiving<'a> {
    parts: VecDeque<&'a mut [u8]>,
}

impl BulkReceiver {
    pub(crate) fn new(
        socket: StdSocket,
        records: RecordReader,
        limits: Limits,
        (deadline, how): (Duration, Parts),
    ) -> Self {
        let (awake, front, due) = Default::default();
        Self { socket, records, limits, deadline, how, awake, front, due, failed: None }
    }

    pub(crate) fn socket(&self) -> &StdSocket {
        &self.socket
    }

    /// Waits for a frame whose parts are exactly as long as `parts`, and fills these; gives its kind and its header.
    ///
    /// # Errors
    /// A frame with other parts, before any of them is read; a connection that ended, was tampered with, or gave
    /// nothing for the deadline. `parts` may be filled in part then.
    pub fn recv(&mut self, parts: &mut [&mut [u8]]) -> Result<(u16, Vec<u8>), LinkError> {
        self.unless_failed(|this| {
            let begun = loop {
                match this.take_front()? {
                    Some(begun) => break begun,
                    None => this.read()?,
                }
            };
            let mut receiving = this.expect(parts.iter_mut().map(|part| &mut **part))?;
            loop {
                match this.advance(&mut receiving)? {
                    Progress::Done => return Ok(begun),
                    Progress::Moved => this.awake.moved(),
                    Progress::Stuck => this.wait()?,
                }
            }
        })
    }

    /// The kind and the header of the next frame, once they have arrived; [`Self::parts`] and [`Self::go_on`] follow.
    ///
    /// # Errors
    /// As [`Self::recv`], but for the deadline.
    pub fn begun(&mut self) -> Result<Option<(u16, Vec<u8>)>, LinkError> {
        self.unless_failed(|this| {
            loop {
                let begun = this.take_front()?;
                if begun.is_some() || !this.read_now()? {
                    return Ok(begun);
                }
            }
        })
    }

    /// Where the parts of the frame that was begun are to arrive; they are exactly as long.
    ///
    /// # Errors
    /// As [`Self::recv`].
    pub fn parts<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a mut [u8]>,
    ) -> Result<Receiving<'a>, LinkError> {
        self.unless_failed(|this| this.expect(parts))
    }

    /// Receives what has arrived, but no more than a buffer full, so that others come to turn.
    ///
    /// # Errors
    /// As [`Self::recv`], but for the deadline.
    pub fn go_on(&mut self, receiving: &mut Receiving<'_>) -> Result<Progress, LinkError> {
        self.unless_failed(|this| this.advance(receiving))
    }

    /// Waits for the peer's end, whatever comes before it, and gives its last words, if it had any. Takes no longer than
    /// the deadline.
    pub fn last_words(&mut self) -> Option<String> {
        let by = std::time::Instant::now() + self.deadline;
        let past = |this: &mut Self| -> Result<(), LinkError> {
            this.records.consume(this.records.plain().len());
            if this.records.open()? { Ok(()) } else { this.read() }
        };
        while self.failed.is_none() && std::time::Instant::now() < by {
            self.failed = past(self).err();
        }
        match &self.failed {
            Some(LinkError::Left { why }) => Some(why.clone()),
            _ => None,
        }
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

    /// The kind and the header of a frame, once all before its parts has been read.
    fn take_front(&mut self) -> Result<Option<(u16, Vec<u8>)>, LinkError> {
        loop {
            let mut needed = Head::BYTES;
            if let Some(head) = self.front.first_chunk() {
                let head = Head::read(*head)?;
                self.limits.check_header(u64::from(head.header_bytes))?;
                self.limits.check_parts(u64::from(head.parts))?;
                needed += usize::from(head.parts) * Head::LENGTH_BYTES;
                if self.front.len() >= needed {
                    let lengths = self.front[Head::BYTES..needed].as_chunks().0;
                    let lengths = lengths.iter().map(|length| u64::from_le_bytes(*length));
                    self.limits.check_bytes(u64::from(head.header_bytes), lengths.clone())?;
                    let whole = needed + head.header_bytes as usize;
                    if self.front.len() == whole {
                        self.due = lengths.collect();
                        let header = self.front.split_off(needed);
                        self.front.clear();
                        return Ok(Some((head.kind, header)));
                    }
                    needed = whole;
                }
            }
            let plain = self.records.plain();
            let taken = plain.len().min(needed - self.front.len());
            self.front.extend_from_slice(&plain[..taken]);
            self.records.consume(taken);
            if taken == 0 && !self.records.open()? {
                return Ok(None);
            }
        }
    }

    fn expect<'a>(&mut self, parts: impl Iterator<Item = &'a mut [u8]>) -> Result<Receiving<'a>, LinkError> {
        let parts: VecDeque<_> = parts.collect();
        let found = std::mem::take(&mut self.due);
        if !found.iter().copied().eq(parts.iter().map(|part| part.len() as u64)) {
            let expected = parts.iter().map(|part| part.len() as u64).collect();
            return Err(LinkError::Parts { found, expected });
        }
        Ok(Receiving { parts })
    }

    fn advance(&mut self, receiving: &mut Receiving<'_>) -> Result<Progress, LinkError> {
        if self.how == Parts::Plain {
            return self.advance_plain(receiving);
        }
        if self.fill(receiving)? {
            return Ok(Progress::Done);
        }
        let moved = self.read_now()?;
        Ok(match self.fill(receiving)? {
            true => Progress::Done,
            false if moved => Progress::Moved,
            false => Progress::Stuck,
        })
    }

    /// The same where parts are in no records: they are read to where they belong.
    fn advance_plain(&mut self, receiving: &mut Receiving<'_>) -> Result<Progress, LinkError> {
        let mut moved = false;
        while let Some(part) = receiving.parts.front_mut() {
            let mut taken = self.records.take(part);
            if taken == 0 && !part.is_empty() {
                if moved {
                    return Ok(Progress::Moved);
                }
                let most = part.len().min(PLAIN_AT_ONCE);
                taken = match self.socket.read_now(&mut part[..most]) {
                    Ok(0) => return Err(self.records.cut_off()),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::Stuck),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                    read => read.map_err(|error| LinkError::lost(&error))?,
                };
                moved = true;
            }
            *part = &mut mem::take(part)[taken..];
            if part.is_empty() {
                receiving.parts.pop_front();
            }
        }
        Ok(Progress::Done)
    }

    /// Opens what was read to where it belongs; whether that was all of it.
    fn fill(&mut self, receiving: &mut Receiving<'_>) -> Result<bool, LinkError> {
        while let Some(part) = receiving.parts.front_mut() {
            if part.is_empty() {
                receiving.parts.pop_front();
                continue;
            }
            let plain = self.records.plain();
            let taken = plain.len().min(part.len());
            if taken > 0 {
                part.split_off_mut(..taken).unwrap_or_default().copy_from_slice(&plain[..taken]);
                self.records.consume(taken);
                continue;
            }
            match self.records.next_bytes()? {
                Some(bytes) if bytes <= part.len() => {
                    self.records.open_into(part.split_off_mut(..bytes).unwrap_or_default())?;
                }
                _ if self.records.open()? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Reads what has arrived, if anything has.
    fn read_now(&mut self) -> Result<bool, LinkError> {
        self.unless_ended()?;
        match self.socket.read_now(self.records.room()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            read => self.arrived(read).map(|()| true),
        }
    }

    /// Waits for something to read, and reads it.
    fn read(&mut self) -> Result<(), LinkError> {
        while !self.read_now()? {
            self.wait()?;
        }
        self.awake.moved();
        Ok(())
    }

    /// Waits for something to read.
    fn wait(&mut self) -> Result<(), LinkError> {
        let mut awake = mem::take(&mut self.awake);
        let come = awake.wait(iter::empty(), iter::once(&*self), self.deadline);
        self.awake = awake;
        let late = || LinkError::Deadline { doing: "waiting for the peer".to_owned(), after: self.deadline };
        if come? { Ok(()) } else { Err(late()) }
    }

    fn arrived(&mut self, read: io::Result<usize>) -> Result<(), LinkError> {
        match read {
            Ok(0) if self.records.ended() => Err(LinkError::Lost { why: "the peer said goodbye".to_owned() }),
            Ok(0) => Err(self.records.cut_off()),
            Ok(bytes) => {
                self.records.arrived(bytes);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(LinkError::lost(&error)),
        }
    }

    /// Once the peer has said that nothing follows, the only thing to come is why.
    fn unless_ended(&mut self) -> Result<(), LinkError> {
        match self.records.ended().then(|| self.records.why()).transpose()?.flatten() {
            Some(why) => Err(LinkError::Left { why }),
            None => Ok(()),
        }
    }
}
