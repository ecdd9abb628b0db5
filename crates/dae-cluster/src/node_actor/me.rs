//! Who a daemon is.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Who a daemon is; it does not change while the daemon lives.
#[derive(Debug, Clone)]
pub struct Me {
    /// The cluster's name.
    pub cluster: String,
    /// The node's name.
    pub name: String,
    /// Its public key, 64 hex digits.
    pub id: String,
    /// Which start this is: nanoseconds since 1970.
    pub generation: u64,
    /// Where others reach it.
    pub addresses: Vec<SocketAddr>,
    /// Its Unix socket, for hosts and clients.
    pub socket: PathBuf,
    /// Whether it serves this machine only.
    pub loopback_only: bool,
    /// Since when it runs, in seconds since 1970.
    pub since: u64,
}
