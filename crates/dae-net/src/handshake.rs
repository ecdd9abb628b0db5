//! The handshake of a link, and what both sides of it share.
//!
//! | from | bytes | what |
//! |---|---|---|
//! | both at once | 40 | the preamble, in the clear: magic, versions, tags, a salt; compared, never interpreted |
//! | dialler | 48 | first message of Noise: an ephemeral key. Made with the cluster's key and bound to both preambles, so it proves the key, here and now |
//! | acceptor | 1 | verdict: go on, or why not |
//! | acceptor | 96 | second message: its ephemeral and its static key, which is its identity |
//! | dialler | 1 | verdict |
//! | dialler | 2 + n | third message: its static key and, sealed, its [`Hello`] |
//! | acceptor | 2 + n | first record of the link: its [`Hello`], or the reason why it does not want this peer |
//!
//! Until a peer has proved the key, all that is read of it has a fixed size and lies on the stack.

use serde::{Deserialize, Serialize};
use snow::{Builder, HandshakeState};

use crate::cluster::Cluster;
use crate::hello::Hello;
use crate::identity::Identity;
use crate::link_error::LinkError;
use crate::node_id::NodeId;
use crate::preamble::Preamble;
use crate::record::Cipher;
use crate::socket::Socket;

const PATTERN: &str = "Noise_XXpsk0_25519_AESGCM_SHA256";

/// An ephemeral key and a tag.
pub(crate) const FIRST_BYTES: usize = 32 + 16;
/// An ephemeral key, a sealed static key, and a tag.
pub(crate) const SECOND_BYTES: usize = 32 + 48 + 16;
/// A sealed static key, and a sealed hello of any length.
pub(crate) const THIRD_MOST_BYTES: usize = 48 + Hello::MAX_BYTES + 16;
/// A sealed answer: a hello with its name before it, or a sentence.
pub(crate) const ANSWER_MOST_BYTES: usize = Hello::MAX_BYTES + 64;

/// The most characters of a refusal's sentence that are told.
const WHY_CHARACTERS: usize = 500;

/// What one byte in the clear says, before there is a seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    GoOn,
    WrongKey,
    WrongNode,
}

impl Verdict {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::GoOn => 0,
            Self::WrongKey => 1,
            Self::WrongNode => 2,
        }
    }

    /// What the peer's verdict means.
    pub(crate) fn heed(byte: u8) -> Result<(), LinkError> {
        let why = match byte {
            0 => return Ok(()),
            1 => "this side did not prove the cluster's key; give both the same key file".to_owned(),
            2 => "it was looking for another node at this address".to_owned(),
            _ => format!("for a reason that this version does not know (number {byte})"),
        };
        Err(LinkError::refused_by_peer(why))
    }
}

/// What the acceptor says to a hello, under seal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Answer {
    Welcome(Hello),
    Refused(String),
}

/// A sentence of a peer, or for one: short, and nothing that a terminal obeys.
pub(crate) fn sentence(why: &str) -> String {
    why.chars().map(|each| if each.is_control() { ' ' } else { each }).take(WHY_CHARACTERS).collect()
}

/// Noise with the ciphers of this protocol.
pub(crate) fn builder<'a>() -> Result<Builder<'a>, snow::Error> {
    Ok(Builder::new(PATTERN.parse()?))
}

/// Which end of the handshake one is.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    Dialler,
    Acceptor,
}

/// Exchanges the preambles and, if they agree, begins Noise.
pub(crate) async fn begin(
    socket: &mut Socket,
    role: Role,
    identity: &Identity,
    cluster: &Cluster,
) -> Result<Box<HandshakeState>, LinkError> {
    let ours = Preamble::of(cluster)?;
    socket.write.write_all(&ours.write()).await?;
    let theirs = socket.read.exactly::<{ Preamble::BYTES }>().await?;
    ours.compare(&theirs, cluster.name())?;
    let prologue = match role {
        Role::Dialler => [ours.write(), theirs].concat(),
        Role::Acceptor => [theirs, ours.write()].concat(),
    };
    let psk = cluster.psk();
    let noise = builder()?.psk(0, &psk)?.local_private_key(identity.private())?.prologue(&prologue)?;
    Ok(Box::new(match role {
        Role::Dialler => noise.build_initiator()?,
        Role::Acceptor => noise.build_responder()?,
    }))
}

/// The ciphers of both directions, to seal and to open, once the handshake is done.
pub(crate) fn ciphers(noise: &mut HandshakeState, role: Role) -> Result<(Cipher, Cipher), LinkError> {
    let (from_dialler, from_acceptor) = noise.dangerously_get_raw_split();
    let (seal, open) = match role {
        Role::Dialler => (from_dialler, from_acceptor),
        Role::Acceptor => (from_acceptor, from_dialler),
    };
    Ok((Cipher::new(seal)?, Cipher::new(open)?))
}

/// The identity that the peer has proved.
pub(crate) fn peer_id(noise: &HandshakeState) -> Result<NodeId, LinkError> {
    let id = noise.get_remote_static().and_then(|key| key.try_into().ok());
    id.map(NodeId).ok_or_else(|| LinkError::Crypto { why: "the handshake names no peer".to_owned() })
}

/// Reads a length (big-endian) and that many bytes, if they are not more than `most`.
pub(crate) async fn read_counted(socket: &mut Socket, most: usize) -> Result<Vec<u8>, LinkError> {
    let length = usize::from(u16::from_be_bytes(socket.read.exactly().await?));
    if length > most {
        return Err(LinkError::refused_by_us(format!("the peer's message of {length} bytes is over {most}")));
    }
    let mut bytes = vec![0; length];
    socket.read.fill(&mut bytes).await?;
    Ok(bytes)
}
