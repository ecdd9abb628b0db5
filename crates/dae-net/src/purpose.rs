//! [`Purpose`]: what a link is for.

use serde::{Deserialize, Serialize};

/// What a link is for; the side that is dialled decides by it what it admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Between two daemons.
    Node,
    /// From a host to its daemon.
    Host,
    /// From a command line or another program that asks.
    Client,
    /// Between two hosts of a job, for its numbers.
    Bulk,
}
