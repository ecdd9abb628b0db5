//! The frames of a link between actors: their kinds and headers.

use crate::Stopped;
use crate::body::Letter;
use dae_net::{Frame, Limits, header_of, read_header};
use serde::de::{DeserializeOwned, Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// The kinds of frames.
pub(crate) mod kind {
    pub(crate) const TELL: u16 = 16;
    pub(crate) const ASK: u16 = 17;
    pub(crate) const ANSWER: u16 = 18;
    pub(crate) const FAILURE: u16 = 19;
    pub(crate) const WATCH: u16 = 20;
    pub(crate) const STOPPED: u16 = 21;
    pub(crate) const FORGET: u16 = 22;
    pub(crate) const GOODBYE: u16 = 23;
}

/// The longest cause that is sent, in bytes; what is longer is cut.
const CAUSE_BYTES: usize = 8 << 10;

/// A message nobody waits for an answer to.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tell<'a> {
    pub(crate) to: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    pub(crate) body: Bytes<'a>,
}

/// A message that is answered by an [`Answer`] or a [`Failure`] of the same number.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ask<'a> {
    pub(crate) id: u64,
    pub(crate) to: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
    /// What is left of it: clocks of nodes are never compared.
    pub(crate) deadline_ms: u64,
    pub(crate) body: Bytes<'a>,
}

/// The answer to an [`Ask`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer<'a> {
    pub(crate) id: u64,
    pub(crate) body: Bytes<'a>,
}

/// Why there is no answer to an [`Ask`], or to a [`Watch`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Failure {
    pub(crate) id: u64,
    pub(crate) why: Why,
}

/// The reasons of a [`Failure`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Why {
    /// The mailbox is at its bound, which this is.
    Full(u64),
    Panicked(String),
    Stopped(Stopped),
    Dropped,
    Refused(String),
}

/// Asks to be told when an actor stops for good; answered by [`HasStopped`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch<'a> {
    pub(crate) id: u64,
    pub(crate) to: Cow<'a, str>,
}

/// Answers a [`Watch`].
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HasStopped {
    pub(crate) id: u64,
    pub(crate) why: Stopped,
}

/// Nobody waits for this answer any more.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forget {
    pub(crate) id: u64,
}

/// The last frame of a link that is closed knowingly.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Goodbye<'a> {
    pub(crate) why: Cow<'a, str>,
}

/// Bytes that MessagePack holds as such, not as an array of numbers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bytes<'a>(pub(crate) Cow<'a, [u8]>);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Owned;
        impl Visitor<'_> for Owned {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }

            fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
                Ok(bytes)
            }
        }
        deserializer.deserialize_byte_buf(Owned).map(|bytes| Self(Cow::Owned(bytes)))
    }
}

/// What a frame says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Incoming {
    Tell { to: String, kind: String, letter: Letter },
    Ask { id: u64, to: String, kind: String, deadline: Duration, letter: Letter },
    Answer { id: u64, letter: Letter },
    Failure { id: u64, why: Why },
    Watch { id: u64, to: String },
    Stopped { id: u64, why: Stopped },
    Forget { id: u64 },
    Goodbye { why: String },
}

/// Reads a frame; the error is for whoever asks why the link was closed.
pub(crate) fn read(frame: Frame) -> Result<Incoming, String> {
    let Frame { kind, header, parts } = frame;
    let letter = |body: Bytes<'_>, parts| Letter { body: body.0.into_owned(), parts };
    Ok(match kind {
        kind::TELL => {
            let Tell { to, kind, body } = whole(&header)?;
            Incoming::Tell { to: to.into_owned(), kind: kind.into_owned(), letter: letter(body, parts) }
        }
        kind::ASK => {
            let Ask { id, to, kind, deadline_ms, body } = whole(&header)?;
            let deadline = Duration::from_millis(deadline_ms);
            Incoming::Ask {
                id,
                to: to.into_owned(),
                kind: kind.into_owned(),
                deadline,
                letter: letter(body, parts),
            }
        }
        kind::ANSWER => {
            let Answer { id, body } = whole(&header)?;
            Incoming::Answer { id, letter: letter(body, parts) }
        }
        _ if !parts.is_empty() => {
            return Err(format!("a frame of kind {kind} came with {} parts", parts.len()));
        }
        kind::FAILURE => {
            let Failure { id, why } = whole(&header)?;
            Incoming::Failure { id, why }
        }
        kind::WATCH => {
            let Watch { id, to } = whole(&header)?;
            Incoming::Watch { id, to: to.into_owned() }
        }
        kind::STOPPED => {
            let HasStopped { id, why } = whole(&header)?;
            Incoming::Stopped { id, why }
        }
        kind::FORGET => Incoming::Forget { id: whole::<Forget>(&header)?.id },
        kind::GOODBYE => Incoming::Goodbye { why: whole::<Goodbye<'_>>(&header)?.why.into_owned() },
        _ => return Err(format!("a frame of kind {kind} means nothing between actors")),
    })
}

fn whole<T: DeserializeOwned>(header: &[u8]) -> Result<T, String> {
    read_header(header).map_err(|error| error.to_string())
}

fn frame(kind: u16, header: &impl Serialize, parts: Vec<Vec<u8>>) -> Frame {
    // Numbers, strings and bytes can always be written; an empty header would make the far side say so.
    Frame { kind, header: header_of(header).unwrap_or_default(), parts }
}

pub(crate) fn tell(to: &str, kind: &str, letter: Letter) -> Frame {
    let header = Tell { to: to.into(), kind: kind.into(), body: Bytes(letter.body.into()) };
    frame(kind::TELL, &header, letter.parts)
}

pub(crate) fn ask(id: u64, to: &str, kind: &str, deadline: Duration, letter: Letter) -> Frame {
    // Rounded up: the far side never gives up first.
    let deadline_ms = u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
    let header = Ask { id, to: to.into(), kind: kind.into(), deadline_ms, body: Bytes(letter.body.into()) };
    frame(kind::ASK, &header, letter.parts)
}

pub(crate) fn answer(id: u64, letter: Letter) -> Frame {
    frame(kind::ANSWER, &Answer { id, body: Bytes(letter.body.into()) }, letter.parts)
}

pub(crate) fn failure(id: u64, why: Why) -> Frame {
    let why = match why {
        Why::Panicked(cause) => Why::Panicked(cut(cause)),
        Why::Refused(cause) => Why::Refused(cut(cause)),
        Why::Stopped(why) => Why::Stopped(short(why)),
        Why::Full(_) | Why::Dropped => why,
    };
    frame(kind::FAILURE, &Failure { id, why }, Vec::new())
}

pub(crate) fn watch(id: u64, to: &str) -> Frame {
    frame(kind::WATCH, &Watch { id, to: to.into() }, Vec::new())
}

pub(crate) fn stopped(id: u64, why: Stopped) -> Frame {
    frame(kind::STOPPED, &HasStopped { id, why: short(why) }, Vec::new())
}

pub(crate) fn forget(id: u64) -> Frame {
    frame(kind::FORGET, &Forget { id }, Vec::new())
}

pub(crate) fn goodbye(why: &str) -> Frame {
    frame(kind::GOODBYE, &Goodbye { why: cut(why.into()).into() }, Vec::new())
}

fn short(why: Stopped) -> Stopped {
    match why {
        Stopped::InOrder => Stopped::InOrder,
        Stopped::Panicked(cause) => Stopped::Panicked(cut(cause)),
        Stopped::Unreachable(cause) => Stopped::Unreachable(cut(cause)),
    }
}

fn cut(mut cause: String) -> String {
    cause.truncate(cause.floor_char_boundary(CAUSE_BYTES));
    cause
}

/// Whether a frame may be sent; one that may not would end the link.
pub(crate) fn fits(frame: &Frame, limits: &Limits) -> Result<(), String> {
    let over = |what: &str, asked: u64, limit: &str, most: u64| {
        Err(format!("it has {asked} {what}, and at most {most} may travel (`Limits::{limit}`)"))
    };
    let header = frame.header.len() as u64;
    if header > u64::from(limits.header_bytes) {
        return over("bytes besides its parts", header, "header_bytes", limits.header_bytes.into());
    }
    if frame.parts.len() > usize::from(limits.parts) {
        return over("parts", frame.parts.len() as u64, "parts", limits.parts.into());
    }
    let longest = frame.parts.iter().map(Vec::len).max().unwrap_or(0) as u64;
    if longest > limits.part_bytes {
        return over("bytes in one part", longest, "part_bytes", limits.part_bytes);
    }
    // The head and each part's length count as well.
    let total = 16 + header + frame.parts.iter().map(|part| 8 + part.len() as u64).sum::<u64>();
    if total > limits.total_bytes {
        return over("bytes in all", total, "total_bytes", limits.total_bytes);
    }
    Ok(())
}

/// The bytes of a frame that count against bounds.
pub(crate) fn weight(frame: &Frame) -> usize {
    frame.header.len() + frame.parts.iter().map(Vec::len).sum::<usize>()
}

#[cfg(test)]
mod tests;
