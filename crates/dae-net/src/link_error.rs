//! [`LinkError`]: why there is no link to a peer, or no longer.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crate::frame_error::FrameError;
use crate::node_id::NodeId;

/// Why a link was not made, or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Nothing answers at an address.
    #[error("cannot connect to {to}: {why}")]
    Connect {
        /// The address.
        to: String,
        /// What the system says.
        why: String,
    },
    /// An address cannot be listened at.
    #[error("cannot listen at {at}: {why}")]
    Listen {
        /// The address.
        at: String,
        /// What the system says.
        why: String,
    },
    /// The peer took too long.
    #[error("{doing} took longer than {after:?}")]
    Deadline {
        /// What was going on.
        doing: String,
        /// The time it had.
        after: Duration,
    },
    /// The other end does not speak this protocol at all.
    #[error("the other end is no dae node: it began with the bytes {began:02x?}")]
    Stranger {
        /// Its first bytes.
        began: [u8; 4],
    },
    /// One side does not want the other.
    #[error("refused by {by}: {why}")]
    Refused {
        /// Who refused.
        by: Side,
        /// One sentence.
        why: String,
    },
    /// Another node than the one looked for.
    #[error("node {found} answers there, and node {expected} was looked for")]
    WrongNode {
        /// Who was looked for.
        expected: NodeId,
        /// Who answered.
        found: NodeId,
    },
    /// No address led to the peer.
    #[error("none of {} addresses led to the peer: {}", tried.len(), Causes(tried))]
    NoneReached {
        /// Each address with what was wrong there.
        tried: Vec<(SocketAddr, LinkError)>,
    },
    /// A cluster without a key keeps to this machine.
    #[error(
        "cluster `{cluster}` has no key, so it serves this machine only, and {address} is beyond it; \
         make a key with `dae-node key new FILE` and give each node `--key-file FILE`"
    )]
    NoKey {
        /// The cluster.
        cluster: String,
        /// The address.
        address: SocketAddr,
    },
    /// The connection ended without a word.
    #[error("the connection was lost: {why}")]
    Lost {
        /// How that was seen.
        why: String,
    },
    /// The peer has gone, and said why.
    #[error("the peer left: {why}")]
    Left {
        /// Its words.
        why: String,
    },
    /// What arrived was not sealed by the peer, or was changed on its way.
    #[error(
        "a record of {bytes} bytes is not what the peer sealed; it was damaged or tampered with on its way"
    )]
    Forged {
        /// The length of the record.
        bytes: usize,
    },
    /// The peer's bytes are no frames, or a frame is over the limits.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// A bulk frame does not have the parts that its receiver has room for.
    #[error("the frame has parts of {found:?} bytes, and the receiver waits for {expected:?}")]
    Parts {
        /// The lengths in the frame.
        found: Vec<u64>,
        /// The lengths of the receiver's buffers.
        expected: Vec<u64>,
    },
    /// A sender that was interrupted within a frame cannot go on.
    #[error("an earlier send was given up within a frame, so nothing more can be sent on this link")]
    Interrupted,
    /// A link over memory has no socket.
    #[error("a link over {over} cannot become a blocking one; use TCP or a Unix socket")]
    NoSocket {
        /// The transport.
        over: &'static str,
    },
    /// The cipher or the system's random numbers do not work.
    #[error("the cryptography of this machine fails: {why}")]
    Crypto {
        /// What it says.
        why: String,
    },
}

/// Which side refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// This one.
    Us,
    /// The other one.
    Peer,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Us => "this side",
            Self::Peer => "the peer",
        })
    }
}

impl LinkError {
    pub(crate) fn refused_by_us(why: impl Into<String>) -> Self {
        Self::Refused { by: Side::Us, why: why.into() }
    }

    pub(crate) fn refused_by_peer(why: impl Into<String>) -> Self {
        Self::Refused { by: Side::Peer, why: why.into() }
    }

    pub(crate) fn lost(error: &std::io::Error) -> Self {
        Self::Lost { why: error.to_string() }
    }
}

impl From<snow::Error> for LinkError {
    fn from(error: snow::Error) -> Self {
        Self::Crypto { why: error.to_string() }
    }
}

struct Causes<'a>(&'a [(SocketAddr, LinkError)]);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (address, cause)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "; " };
            write!(f, "{comma}{address}: {cause}")?;
        }
        Ok(())
    }
}
