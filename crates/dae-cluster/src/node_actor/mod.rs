//! A daemon's one actor: other daemons, clients and hosts speak to it.
//!
//! | module | what it holds |
//! |---|---|
//! | `me` | [`Me`]: who this daemon is |
//! | `diary` | what happened, bounded |
//! | `links` | dialling others, being dialled, losing them |
//! | `news` | what discovery and membership tell; the clock |
//! | `answers` | what it answers to others |
//! | `leave` | saying goodbye |
mod answers;
mod diary;
mod leave;
mod links;
mod me;
mod news;

pub use me::Me;

pub(crate) use links::{Arrived, TurnedAway, plainly};
pub(crate) use me::addresses;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dae_actor::{Actor, ActorRef, Context, Peer, Registry};
use dae_net::{Candidate, Endpoint, Hello, Member, MemberState, Membership, NodeId, Purpose};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::mesh::Mesh;
use crate::protocol::{NodeInfo, NodeState, ShowNode};
use crate::{Jobs, Resources, Stderr};
use diary::Diary;
use links::Joined;

/// How long a node has to describe itself.
const DESCRIBE: Duration = Duration::from_millis(500);

/// What a node actor is made of.
pub(crate) struct Setup {
    pub(crate) me: Arc<Me>,
    /// Links to other daemons.
    pub(crate) endpoint: Endpoint,
    pub(crate) registry: Registry,
    pub(crate) membership: Membership,
    /// What discovery finds.
    pub(crate) found: mpsc::Receiver<Candidate>,
    /// Where people are told what happens.
    pub(crate) stderr: Option<Stderr>,
}

/// The state of a daemon. Handlers for nodes lie in this module, those for jobs and hosts in `jobs`.
pub struct NodeActor {
    /// Who this daemon is.
    pub(crate) me: Arc<Me>,
    /// The jobs and hosts it looks after.
    pub(crate) jobs: Jobs,
    endpoint: Endpoint,
    registry: Registry,
    membership: Membership,
    /// Taken by the first turn.
    found: Option<mpsc::Receiver<Candidate>>,
    mesh: Mesh,
    /// Nodes over this daemon's own connections.
    joined: BTreeMap<NodeId, Joined>,
    /// The latest connection that each node made to this daemon.
    arrived: BTreeMap<NodeId, Peer>,
    /// What nodes said of themselves last.
    described: BTreeMap<NodeId, NodeInfo>,
    /// Since when each node is in its state, in seconds since 1970.
    since: BTreeMap<NodeId, u64>,
    diary: Diary,
    leaving: bool,
}

impl Actor for NodeActor {
    const KIND: &'static str = "node";

    fn started(&mut self, context: &mut Context<'_, Self>) {
        self.listen_to_discovery(context);
        self.listen_to_membership(context);
        self.tick(context);
    }
}

impl Drop for NodeActor {
    fn drop(&mut self) {
        // However it ended: whoever asks it something is told at once.
        self.joined.values().for_each(|joined| joined.peer.close("the daemon has ended"));
    }
}

impl NodeActor {
    /// The name it is published by.
    pub const NAME: &'static str = "node";

    pub(crate) fn new(setup: Setup) -> Self {
        let Setup { me, endpoint, registry, membership, found, stderr } = setup;
        Self {
            jobs: Jobs::default(),
            mesh: Mesh::new(endpoint.identity.id()),
            endpoint,
            registry,
            membership,
            found: Some(found),
            joined: BTreeMap::new(),
            arrived: BTreeMap::new(),
            described: BTreeMap::new(),
            since: BTreeMap::new(),
            diary: Diary::new(stderr, Instant::now()),
            leaving: false,
            me,
        }
    }

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
            reason: String::new(),
            since: self.me.since,
            hosts,
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// The node actor of the node `name`, over this daemon's own connection; `None` if it is not joined.
    /// This daemon's own name gives `None`, too: a message to oneself is a method call.
    pub(crate) fn node(&self, name: &str) -> Option<ActorRef<NodeActor>> {
        self.joined.values().find(|joined| joined.name == name).map(|joined| joined.node.clone())
    }

    /// All nodes that are alive, this one first, each asked to describe itself, for half a second at most.
    pub(crate) fn survey(&self) -> impl Future<Output = Vec<NodeInfo>> + use<> {
        let mut asking = JoinSet::new();
        for joined in self.joined.values() {
            let (node, address) = (joined.node.clone(), joined.address);
            asking.spawn(async move {
                let mut info = node.ask(ShowNode {}, DESCRIBE).await.ok()?;
                // Where it was reached comes first.
                info.addresses.retain(|other| *other != address);
                info.addresses.insert(0, address);
                Some(info)
            });
        }
        let own = self.own_info();
        async move {
            let mut all = vec![own];
            while let Some(described) = asking.join_next().await {
                all.extend(described.ok().flatten());
            }
            // Not by who was quickest.
            all[1..].sort_by(|a, b| a.name.cmp(&b.name));
            all
        }
    }

    /// Something happened: one plain sentence, for stderr and for `dae-node status`.
    pub(crate) fn tell_people(&mut self, what: impl Into<String>) {
        self.diary.write(what.into());
    }

    /// The introduction of this daemon to another.
    fn hello(&self) -> Hello {
        self.me.hello(Purpose::Node)
    }

    fn member(&self, id: NodeId) -> Option<Member> {
        self.membership.members().borrow().iter().find(|member| member.id == id).cloned()
    }

    /// All nodes as this daemon judges them, with what they said of themselves, by name.
    fn table(&self) -> Vec<NodeInfo> {
        let members = self.membership.members();
        let rows = members.borrow();
        let known = rows.iter().filter_map(|member| self.judged(member));
        let mut all: Vec<_> = known.chain([self.own_info()]).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn judged(&self, member: &Member) -> Option<NodeInfo> {
        let (state, plain) = match member.state {
            MemberState::Known => return None,
            MemberState::Joined => (NodeState::Alive, "joined"),
            MemberState::Suspected => (NodeState::Suspected, "silent"),
            MemberState::Left => (NodeState::Left, "has left"),
        };
        let reason = if member.why.is_empty() { plain.to_owned() } else { member.why.clone() };
        let since = self.since.get(&member.id).copied().unwrap_or(self.me.since);
        let unknown = || NodeInfo {
            name: member.name.clone(),
            id: member.id.to_hex(),
            generation: member.generation,
            addresses: member.address.into_iter().collect(),
            cores: 0,
            cores_free: 0,
            memory: 0,
            memory_free: 0,
            gpus: Vec::new(),
            state,
            phi: None,
            reason: String::new(),
            since,
            hosts: Vec::new(),
            version: String::new(),
        };
        let described = self.described.get(&member.id).cloned().unwrap_or_else(unknown);
        let hosts = if state == NodeState::Left { Vec::new() } else { described.hosts };
        Some(NodeInfo { state, phi: member.phi, reason, since, hosts, ..described })
    }
}
