//! What daemons, clients and hosts say to a daemon. All of it is bounded, closed, and versioned by the links.
//!
//! | module | what it holds |
//! |---|---|
//! | `bulk` | [`BulkPlace`]: where a host listens for the other hosts of its job |
//! | `hosts` | a daemon and the hosts it started |
//! | `jobs` | jobs: clients and daemons, and daemons among themselves |
//! | `nodes` | who is in the cluster, how a node is, leaving |
//! | `work` | [`Work`]: what the hosts of a job do |
mod bulk;
pub mod hosts;
pub mod jobs;
mod nodes;
mod work;

pub use bulk::BulkPlace;
pub use nodes::{
    Event, Farewell, HostRow, Leave, ListNodes, NodeInfo, NodeState, NodeStatus, Nodes, NotReached, ShowNode,
    ShowStatus,
};
pub use work::{Bench, Finding, Work};
