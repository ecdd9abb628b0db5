//! [`Member`] and [`MemberNews`]: what others see of a node.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use crate::NodeId;

/// How a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// Others speak of it, but no connection has proved its address: not a member yet.
    Known,
    /// A member.
    Joined,
    /// A member that may be gone.
    Suspected,
    /// A member no longer.
    Left,
}

/// What happened to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEvent {
    /// It became a member for the first time.
    Joined,
    /// It may be gone.
    Suspected {
        /// Why, for people.
        why: String,
    },
    /// It is a member no longer. What ran there is lost; connections to it should be closed.
    Left {
        /// Why, for people.
        why: String,
    },
    /// It is a member as before.
    Returned {
        /// [`MemberState::Suspected`] if it was one all along, [`MemberState::Left`] if what ran there is lost.
        after: MemberState,
    },
}

/// An event, and whom it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberNews {
    /// The node.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// Which start of the node.
    pub generation: u64,
    /// What happened.
    pub event: MemberEvent,
}

/// A node as it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The node's identity.
    pub id: NodeId,
    /// The node's name.
    pub name: String,
    /// Which start of the node.
    pub generation: u64,
    /// Where it says it can be reached; `None` before it has been heard of by gossip.
    pub address: Option<SocketAddr>,
    /// What it says of itself.
    pub facts: BTreeMap<String, String>,
    /// How it stands.
    pub state: MemberState,
    /// Why it stands so, if there is something to say.
    pub why: String,
    /// How suspicious its silence is: how many usual intervals it has lasted. `None` before its first heartbeat.
    pub phi: Option<f64>,
    /// How long ago it was last heard.
    pub silent_for: Duration,
    /// It is heard, has not said goodbye, and is no member: worth dialling.
    pub worth_dialling: bool,
}
