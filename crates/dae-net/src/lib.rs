//! Moves sealed frames between named nodes.
//!
//! | module | holds |
//! |---|---|
//! | `endpoint` | [`Endpoint`]: makes links as one node of one cluster: dials, accepts |
//! | `address`, `socket` | [`Address`]: TCP, a Unix socket or memory; the connections behind them |
//! | `listener`, `gate` | [`Listener`]: takes connections, and bounds those that have not proved the key |
//! | `link`, `link_sender`, `link_receiver` | [`Link`]: a sealed connection to a proved peer; its two halves |
//! | `awake` | [`Awake`]: looks for what arrives for a moment before the thread sleeps |
//! | `bulk_sender`, `bulk_receiver` | [`BulkSender`], [`BulkReceiver`]: the same for threads that may block |
//! | `link_error` | [`LinkError`]: why there is no link, or no longer |
//! | `cluster`, `key` | [`Cluster`] and [`ClusterKey`]: what nodes have in common, and the keys that follow from it |
//! | `identity`, `node_id` | [`Identity`]: a node's key pair; [`NodeId`]: its public half |
//! | `hello`, `purpose` | [`Hello`], [`PeerInfo`], [`Purpose`]: what a peer says about itself |
//! | `preamble`, `handshake`, `handshake_dial`, `handshake_accept` | from a bare connection to a link |
//! | `record`, `record_writer`, `record_reader` | the sealed records of a link |
//! | `interfaces` | [`Interface`], [`advertised`]: the addresses of this machine that a peer may use |
//! | `discovery` | [`Discovery`]: finds addresses where nodes may listen: [`Mdns`], [`Seeds`], and `Avahi` with the feature of that name |
//! | `membership` | [`Membership`], [`Roster`]: who is in the cluster, and who is alive |
//! | `secret_file`, `hex` | files with 32 secret bytes, for their owner alone |
//! | `frame` | [`Frame`]: a kind, a MessagePack header and raw parts; [`encode`] |
//! | `decoder` | [`Decoder`]: frames out of bytes that arrive in any pieces |
//! | `limits` | [`Limits`]: what a frame may hold, checked before anything is allocated |
//! | `head` | the fixed head of a frame: 16 bytes, little-endian |
//! | `frame_error` | [`FrameError`]: what is wrong with a frame |
//! | `header` | [`header_of`] and [`read_header`]: typed headers as named MessagePack maps |
//! | `nesting` | bounds how deep a MessagePack value nests, before it is read |
//!
//! A frame on the wire, all numbers little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 4 | magic, `DAE1` |
//! | 2 | protocol version |
//! | 2 | kind |
//! | 4 | length of the header in bytes |
//! | 2 | number of parts |
//! | 2 | reserved, 0 |
//! | 8 each | length of each part in bytes |
//! | | the header, then the parts |

mod address;
mod awake;
mod bulk_receiver;
mod bulk_sender;
mod cluster;
mod decoder;
mod discovery;
mod endpoint;
mod frame;
mod frame_error;
mod gate;
mod handshake;
mod handshake_accept;
mod handshake_dial;
mod head;
mod header;
mod hello;
mod hex;
mod identity;
mod interfaces;
mod key;
mod limits;
mod link;
mod link_error;
mod link_receiver;
mod link_sender;
mod listener;
mod membership;
mod nesting;
mod node_id;
mod preamble;
mod purpose;
mod record;
mod record_reader;
mod record_writer;
mod secret_file;
mod socket;

pub use address::{Address, MemoryPort};
pub use awake::Awake;
pub use bulk_receiver::{BulkReceiver, Receiving};
pub use bulk_sender::{BulkSender, Parts, Progress, Sending};
pub use cluster::Cluster;
pub use decoder::Decoder;
#[cfg(feature = "avahi")]
pub use discovery::Avahi;
pub use discovery::{Announcement, CANDIDATES, Candidate, Discovery, DiscoveryError, Mdns, Running, Seeds};
pub use endpoint::Endpoint;
pub use frame::{Frame, encode};
pub use frame_error::FrameError;
pub use head::PROTOCOL_VERSION;
pub use header::{HeaderError, MAX_HEADER_DEPTH, header_of, read_header};
pub use hello::{Hello, PeerInfo};
pub use hex::of as to_hex;
pub use identity::Identity;
pub use interfaces::{Interface, InterfaceError, advertised};
pub use key::ClusterKey;
pub use limits::Limits;
pub use link::Link;
pub use link_error::{LinkError, Side};
pub use link_receiver::LinkReceiver;
pub use link_sender::LinkSender;
pub use listener::{Incoming, Listener};
pub use membership::{
    Member, MemberEvent, MemberNews, MemberState, Membership, MembershipError, Myself, Roster, Sighting,
};
pub use node_id::{NodeId, NotANodeId};
pub use preamble::LINK_VERSIONS;
pub use purpose::Purpose;
pub use secret_file::KeyError;
pub use socket::Socket;
