//! The link to one worker on another node.

use dae_collective::{Broken, Incoming, Outgoing, Tag};
use dae_net::{BulkReceiver, BulkSender, LinkError, Progress, Receiving, Sending};
use std::time::Duration;

/// The first frame of a part: where its sender is, the head, and the beginning of the body.
const FIRST: u16 = 1;
/// The next piece of a body.
const MORE: u16 = 2;

/// Bytes of a body in one frame: far below what a frame may hold.
pub(super) const PIECE: usize = 4 << 20;

/// The link to one worker on another node.
pub(super) struct Line {
    name: String,
    pub(super) sender: BulkSender,
    pub(super) receiver: BulkReceiver,
}

/// One exchange on a line: what goes, and what comes.
pub(super) struct Turn<'a> {
    line: &'a mut Line,
    tag: Tag,
    going: Option<Going<'a>>,
    coming: Option<Coming<'a>>,
}

/// A part on its way to the other node.
struct Going<'a> {
    part: Outgoing<'a>,
    /// What is not begun yet.
    rest: &'a [u8],
    /// The frame that is under way.
    frame: Option<Sending<'a>>,
    begun: bool,
}

/// A part on its way from it.
struct Coming<'a> {
    head: &'a mut [u8],
    length: usize,
    rest: &'a mut [u8],
    frame: Option<Receiving<'a>>,
    begun: bool,
}

impl Line {
    /// Over a link to the node of this name.
    pub(super) fn new(name: String, (sender, receiver): (BulkSender, BulkReceiver)) -> Self {
        Self { name, sender, receiver }
    }

    /// Tells why this side leaves, and leaves. To close while something is unread would take back what the other has not
    /// read yet, so this reads until the other leaves, too.
    pub(super) fn farewell(mut self, cause: &str) {
        // Who has gone needs no word.
        if self.sender.farewell(cause).is_ok() {
            self.receiver.last_words();
        }
    }

    /// Why nothing can be sent: who has gone may have left word why.
    fn cannot_send(&mut self, error: &LinkError) -> Broken {
        let cause = self.receiver.last_words().unwrap_or_else(|| error.to_string());
        self.lost(cause)
    }

    /// Why nothing can be received.
    fn cannot_receive(&self, error: LinkError) -> Broken {
        self.lost(match error {
            LinkError::Left { why } => why,
            error => error.to_string(),
        })
    }

    fn lost(&self, cause: String) -> Broken {
        Broken::Node { node: self.name.clone(), cause }
    }
}

impl<'a> Turn<'a> {
    /// Sends and receives this on a line.
    pub(super) fn new(
        line: &'a mut Line,
        tag: Tag,
        out: Option<Outgoing<'a>>,
        into: Option<&'a mut Incoming<'_>>,
    ) -> Self {
        let going = |part: Outgoing<'a>| Going { part, rest: part.body, frame: None, begun: false };
        let coming = |into: &'a mut Incoming<'_>| Coming {
            length: into.body.len(),
            head: &mut *into.head,
            rest: &mut *into.body,
            frame: None,
            begun: false,
        };
        Self { line, tag, going: out.map(going), coming: into.map(coming) }
    }

    /// Does what can be done without waiting; whether that was anything.
    pub(super) fn go_on(&mut self) -> Result<bool, Broken> {
        let Self { line, tag, going, coming } = self;
        let mut moved = false;
        if let Some(part) = going {
            let progress = part.go_on(&mut line.sender, *tag).map_err(|e| line.cannot_send(&e))?;
            moved |= progress != Progress::Stuck;
            if progress == Progress::Done {
                *going = None;
            }
        }
        if let Some(part) = coming {
            let progress = part.go_on(line, *tag)?;
            moved |= progress != Progress::Stuck;
            if progress == Progress::Done {
                *coming = None;
            }
        }
        Ok(moved)
    }

    /// Whether all has gone and come.
    pub(super) fn is_done(&self) -> bool {
        self.going.is_none() && self.coming.is_none()
    }

    /// The half that this waits for to send.
    pub(super) fn to_send(&self) -> Option<&BulkSender> {
        self.going.as_ref().map(|_| &self.line.sender)
    }

    /// The half that this waits for to receive.
    pub(super) fn to_receive(&self) -> Option<&BulkReceiver> {
        self.coming.as_ref().map(|_| &self.line.receiver)
    }

    /// What it means that the system cannot wait.
    pub(super) fn lost(&self, error: &LinkError) -> Broken {
        self.line.lost(error.to_string())
    }

    /// What it means that nothing happened for so long.
    pub(super) fn late(&self, after: Duration) -> Broken {
        let doing = if self.coming.is_some() { "waiting for the peer" } else { "writing to the peer" };
        self.line.lost(LinkError::Deadline { doing: doing.into(), after }.to_string())
    }
}

impl<'a> Going<'a> {
    fn go_on(&mut self, sender: &mut BulkSender, tag: Tag) -> Result<Progress, LinkError> {
        if self.frame.is_none() {
            let piece = self.rest.split_off(..PIECE.min(self.rest.len())).unwrap_or_default();
            self.frame = Some(match self.begun {
                false => {
                    let Outgoing { head, body } = self.part;
                    sender.begin(FIRST, &opening(tag, body.len()), &[head, piece])?
                }
                true => sender.begin(MORE, &[], &[piece])?,
            });
            self.begun = true;
        }
        let Some(frame) = &mut self.frame else { return Ok(Progress::Stuck) };
        let progress = sender.go_on(frame)?;
        if progress != Progress::Done {
            return Ok(progress);
        }
        self.frame = None;
        Ok(if self.rest.is_empty() { Progress::Done } else { Progress::Moved })
    }
}

impl Coming<'_> {
    fn go_on(&mut self, line: &mut Line, tag: Tag) -> Result<Progress, Broken> {
        if self.frame.is_none() && !self.begin(line, tag)? {
            return Ok(Progress::Stuck);
        }
        let Some(frame) = &mut self.frame else { return Ok(Progress::Stuck) };
        let progress = line.receiver.go_on(frame).map_err(|e| line.cannot_receive(e))?;
        if progress != Progress::Done {
            return Ok(progress);
        }
        self.frame = None;
        Ok(if self.rest.is_empty() { Progress::Done } else { Progress::Moved })
    }

    /// Begins to receive the next frame, if it has come.
    fn begin(&mut self, line: &mut Line, tag: Tag) -> Result<bool, Broken> {
        let begun = line.receiver.begun().map_err(|e| line.cannot_receive(e))?;
        let Some((kind, header)) = begun else { return Ok(false) };
        match kind {
            FIRST if !self.begun && header == opening(tag, self.length) => {}
            MORE if self.begun => {}
            _ => return Err(line.lost(elsewhere(kind, &header, tag, self.length))),
        }
        let piece = self.rest.split_off_mut(..PIECE.min(self.rest.len())).unwrap_or_default();
        let head = (!self.begun).then(|| std::mem::take(&mut self.head));
        let parts = head.into_iter().chain([piece]);
        self.frame = Some(line.receiver.parts(parts).map_err(|e| line.cannot_receive(e))?);
        self.begun = true;
        Ok(true)
    }
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
