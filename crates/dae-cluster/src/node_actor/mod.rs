//! A daemon's one actor: other daemons, clients and hosts speak to it.
//!
//! | module | what it holds |
//! |---|---|
//! | `me` | [`Me`]: who this daemon is |
mod me;

pub use me::Me;

use std::sync::Arc;

use dae_actor::{Actor, ActorRef};

use crate::protocol::{NodeInfo, NodeState};
use crate::{Jobs, Resources};

/// The state of a daemon. Handlers for nodes lie in this module, those for jobs and hosts in `jobs`.
pub struct NodeActor {
    /// Who this daemon is.
    pub(crate) me: Arc<Me>,
    /// The jobs and hosts it looks after.
    pub(crate) jobs: Jobs,
}

impl Actor for NodeActor {
    const KIND: &'static str = "node";
}

impl NodeActor {
    /// The name it is published by.
    pub const NAME: &'static str = "node";

    /// This node as it describes itself.
    pub(crate) fn own_info(&self) -> NodeInfo {
        let Resources { cores, memory, memory_free, gpus } = Resources::read();
        let hosts = self.jobs.rows();
        let busy = hosts.iter().fold(0u32, |sum, host| sum.saturating_add(host.threads));
        NodeInfo {
            name: self.me.name.clone(),
            id: self.me.id.clone(),
            generation: self.me.generation,
            addresses: self.me.addresses.clone(),
            cores,
            cores_free: cores.saturating_sub(busy),
            memory,
            memory_free,
            gpus,
            state: NodeState::Alive,
            phi: None,
            reason: "this daemon".into(),
            since: self.me.since,
            hosts,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// The node actor of the node `name`, over this daemon's own connection; `None` if it is not joined.
    /// This daemon's own name gives `None`, too: a message to oneself is a method call.
    pub(crate) fn node(&self, _name: &str) -> Option<ActorRef<NodeActor>> {
        None
    }

    /// All nodes that are alive, this one first, each asked to describe itself, for half a second at most.
    pub(crate) fn survey(&self) -> impl Future<Output = Vec<NodeInfo>> + 'static {
        std::future::ready(vec![self.own_info()])
    }
}
