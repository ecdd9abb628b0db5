//! The promises of docs/runtime-semantics.md about actors on other nodes, on sealed links in memory. Two nodes stand
//! in each test, each with a registry of its own.

#![allow(clippy::unwrap_used)]

mod asks;
mod bounds;
mod cast;
mod ends;
mod hostile;
mod tells;

use cast::Log;
use dae_actor::{ActorRef, Peer, PeerLimits, Registry, Spawn, System};
use dae_net::{Cluster, Endpoint, Hello, Identity, Link, Listener, Purpose};
use std::sync::Arc;
use std::time::Duration;

pub(crate) const SOON: Duration = Duration::from_secs(10);

/// Both ends of a link between the nodes `anna` and `bert`.
pub(crate) async fn links() -> (Link, Link) {
    let end = |name| {
        let endpoint = Endpoint::new(Arc::new(Identity::generate().unwrap()), Cluster::loopback("test"));
        (endpoint, Hello::new(name, 1, Purpose::Node))
    };
    let ((anna, hello_anna), (bert, hello_bert)) = (end("anna"), end("bert"));
    let mut listener = Listener::memory();
    let address = listener.address().clone();
    let accept = async { bert.accept(listener.accept().await.unwrap(), |_| Ok(hello_bert), SOON).await };
    let (dialled, accepted) = tokio::join!(anna.dial(&address, hello_anna, SOON), accept);
    (dialled.unwrap(), accepted.unwrap())
}

/// What `anna` sees of `bert`, and `bert` of `anna`; the registry is that of `bert`.
pub(crate) struct Pair {
    pub bert: Peer,
    pub anna: Peer,
    pub registry: Registry,
}

pub(crate) async fn pair_within(limits: PeerLimits) -> Pair {
    let (to_bert, to_anna) = links().await;
    let registry = Registry::new();
    let bert = Peer::with_limits(to_bert, Registry::new(), limits);
    Pair { bert, anna: Peer::with_limits(to_anna, registry.clone(), limits), registry }
}

pub(crate) async fn pair() -> Pair {
    pair_within(PeerLimits::default()).await
}

impl Pair {
    /// Starts a log on `bert` and gives both references to it: that of `bert`, and that of `anna`.
    pub fn log(&self, system: &mut System, spawn: Spawn) -> (ActorRef<Log>, ActorRef<Log>) {
        let here = system.start(spawn, Log::default);
        self.registry.publish(&here).unwrap();
        let there = self.bert.actor(here.status().name());
        (here, there)
    }
}
