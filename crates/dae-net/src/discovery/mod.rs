//! [`Discovery`]: finds addresses where a node of this cluster may listen, and nothing more.
//!
//! What is found is never trusted: who is there proves itself with the cluster's key. And what is no longer found is
//! not gone: records outlive a pulled cable by minutes, so who is alive is for the membership to say.

#[cfg(feature = "avahi")]
mod avahi;
mod mdns;
mod record;
mod seeds;

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use tokio::sync::mpsc;

use crate::NodeId;

#[cfg(feature = "avahi")]
pub use avahi::Avahi;
pub use mdns::Mdns;
pub use seeds::Seeds;

/// Candidates that wait for the one who dials; more are dropped, and come again.
pub const CANDIDATES: usize = 64;

/// What a node says of itself to whoever listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The node's name, for people.
    pub name: String,
    /// The node's identity; eight digits of it keep two nodes of one name apart.
    pub id: NodeId,
    /// The cluster's tag.
    pub tag: [u8; 16],
    /// The port at which it listens.
    pub port: u16,
    /// The addresses at which it listens, best first.
    pub addresses: Vec<IpAddr>,
    /// The lowest and the highest version of the protocol it speaks.
    pub versions: (u16, u16),
}

/// Addresses at which a node of this cluster may listen; one node can be found many times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The name of the discovery that found it.
    pub source: &'static str,
    /// The addresses to try.
    pub addresses: Vec<SocketAddr>,
    /// How to call it before its name is proved.
    pub label: String,
}

/// A way to find nodes, and to be found.
pub trait Discovery: Send {
    /// The name by which a user chooses it.
    fn name(&self) -> &'static str;

    /// Announces `me` and sends what it finds into `found`, until what it gives back is dropped. Candidates of another
    /// cluster and the node itself are left out. Needs a tokio runtime around it.
    ///
    /// # Errors
    /// If this machine cannot do it: says what to do instead.
    fn start(
        self: Box<Self>,
        me: Announcement,
        found: mpsc::Sender<Candidate>,
    ) -> Result<Running, DiscoveryError>;
}

/// A discovery at work; it stops when this is dropped.
pub struct Running {
    name: &'static str,
    stop: Option<Box<dyn FnOnce() + Send>>,
}

impl Running {
    /// `stop` is called once, and should come back within a fraction of a second.
    pub fn new(name: &'static str, stop: impl FnOnce() + Send + 'static) -> Self {
        Self { name, stop: Some(Box::new(stop)) }
    }

    /// The name of the discovery.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop();
        }
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a discovery did not start.
#[derive(Debug, thiserror::Error)]
pub enum DiscoveryError {
    /// No multicast on this machine.
    #[error("mdns: {why}; give the addresses of other nodes with --seed instead")]
    Multicast {
        /// What the system says.
        why: String,
    },
    /// The daemon that owns multicast on some machines is not there.
    #[error("avahi: {why}; start avahi-daemon and its D-Bus, or choose --discovery mdns")]
    Avahi {
        /// What its library says.
        why: String,
    },
    /// Not an address.
    #[error(
        "the seed {seed:?} is no address: {why}; write host:port, like 10.0.0.1:7946, [2001:db8::1]:7946 or node1.lan:7946"
    )]
    Seed {
        /// What was given.
        seed: String,
        /// What is wrong with it.
        why: &'static str,
    },
}
