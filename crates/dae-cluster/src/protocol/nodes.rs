//! Who is in the cluster, how a node is, and leaving.

use std::net::SocketAddr;

use dae_actor::{Message, Reply};
use serde::{Deserialize, Serialize};

/// How the members judge a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// It answers.
    Alive,
    /// It is silent, or its connection was lost; it may come back.
    Suspected,
    /// It said goodbye, or was silent for too long.
    Left,
}

/// One host process of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostRow {
    /// The job it works for.
    pub job: String,
    /// Its process number.
    pub pid: u32,
    /// The threads it computes with.
    pub threads: u32,
}

/// One node, as it describes itself and as the others judge it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeInfo {
    /// Its name.
    pub name: String,
    /// Its public key, 64 hex digits.
    pub id: String,
    /// Which start of the daemon this is: later starts have greater numbers.
    pub generation: u64,
    /// Where it was reached; the first is in use.
    pub addresses: Vec<SocketAddr>,
    /// Its cores.
    pub cores: u32,
    /// Cores that no host computes with.
    pub cores_free: u32,
    /// Its memory in bytes.
    pub memory: u64,
    /// The free part of it.
    pub memory_free: u64,
    /// The models of its GPUs.
    pub gpus: Vec<String>,
    /// How it is judged.
    pub state: NodeState,
    /// The failure detector's suspicion; absent for the node that answers, which does not judge itself.
    pub phi: Option<f64>,
    /// Why it is judged so.
    pub reason: String,
    /// Since when, in seconds since 1970, by the clock of the node that answers.
    pub since: u64,
    /// Its host processes.
    pub hosts: Vec<HostRow>,
    /// The version of its daemon.
    pub version: String,
}

/// Something that happened, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What.
    pub what: String,
}

/// Asks for all nodes. What others say of themselves is asked of them, for half a second at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListNodes {}

/// All nodes of the cluster, by name; those that left stay for a while.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// The cluster's name.
    pub cluster: String,
    /// The name of the node that answers.
    pub answered_by: String,
    /// The nodes.
    pub nodes: Vec<NodeInfo>,
}

impl Message for ListNodes {
    type Reply = Reply<Nodes>;
}

/// Asks a node to describe itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowNode {}

impl Message for ShowNode {
    type Reply = NodeInfo;
}

/// Asks a daemon how it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowStatus {}

/// How a daemon is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeStatus {
    /// The cluster's name.
    pub cluster: String,
    /// The node.
    pub node: NodeInfo,
    /// The daemon's process number.
    pub pid: u32,
    /// Where it listens.
    pub listens: SocketAddr,
    /// Whether it serves this machine only.
    pub loopback_only: bool,
    /// How others are looked for.
    pub discovery: Vec<String>,
    /// The number of other nodes it is joined with.
    pub joined: u32,
    /// Addresses where somebody was looked for and nobody could be joined, each with the reason.
    pub declined: Vec<NotReached>,
    /// What happened last, oldest first.
    pub events: Vec<Event>,
}

impl Message for ShowStatus {
    type Reply = NodeStatus;
}

/// Tells a daemon to leave the cluster and end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leave {}

impl Message for Leave {
    type Reply = ();
}

/// A node tells another that it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Farewell {
    /// The public key of the node that goes, 64 hex digits.
    pub id: String,
}

impl Message for Farewell {
    type Reply = ();
}

/// A place where somebody could not be reached, and why. Told to a node that cannot be dialled back, too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotReached {
    /// The name of the node that tried.
    pub by: String,
    /// The addresses tried, or the seed.
    pub place: String,
    /// Why it failed.
    pub why: String,
}

impl Message for NotReached {
    type Reply = ();
}
