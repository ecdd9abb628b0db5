//! The actors of a join or a gossip: those of its children on this node, and on the first node those between them.

use super::JobError;
use super::handle::Head;
use super::join::{Away, Between, CentreParts, JoinParts, Local};
use super::start::start_group;
use crate::actors::{
    Acquaint, AllReduceCoordinator, Centre, Committed, Ear, GossipPeer, Group, Holder, JoinChild,
    JoinCoordinator, Lead, Listener, Middle, Note, Outpost, ParameterServer, Recorder, Seat, Skipped,
};
use crate::centre::Shard;
use crate::data::Feeder;
use crate::gossip::Mailbox;
use dae_actor::{ActorRef, Peer, Registry, Spawn, System, TellError};
use dae_collective::Codec;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Committed steps that another node is told of in one message, at most: its fields have to fit a frame's header.
const TOLD_AT_ONCE: usize = 256;
/// The join's coordinator is called so.
const COORDINATOR: &str = "join";

/// A child on this node whose actors are there, and where its first worker hears of the centre.
struct Begun {
    local: Local,
    coordinator: ActorRef<AllReduceCoordinator>,
    notes: SyncSender<Note>,
    heard: Receiver<Note>,
}

impl JoinParts {
    /// Starts all actors of the join or gossip that are on this node, and gives who decides over it, and who wants to be told of
    /// committed steps. Other nodes may speak to them once this returns: what comes from there is read on this thread.
    ///
    /// # Errors
    /// If there is no link for actors to another node, or two actors of one name are to be published.
    pub(super) fn start(
        self,
        system: &mut System,
        feeder: &Feeder,
        recorder: &ActorRef<Recorder>,
    ) -> Result<(Head, Vec<Listener>), JobError> {
        let Self { here, centre, first_ranks, slices, away } = self;
        let registry = Registry::new();
        let (names, peers) = match away {
            None => (vec![], vec![]),
            Some(Away { names, connect, limits }) => (names, connect(registry.clone(), limits)),
        };
        let begun: Vec<_> = here
            .into_iter()
            .map(|local| {
                // A part of each shard, and whether to leave, or why all is over.
                let (notes, heard) = sync_channel(slices.len() + 2);
                let coordinator = start_group(system, &local.group, feeder, recorder, None, 0);
                Begun { local, coordinator, notes, heard }
            })
            .collect();
        let nodes = Nodes { registry, names, peers, first_ranks, slices };
        match centre {
            Some(centre) => around(system, &nodes, centre, begun, recorder),
            None => apart(system, &nodes, begun, recorder),
        }
    }
}

/// Where everybody of a join is.
struct Nodes {
    /// Who of this node may be spoken to from others.
    registry: Registry,
    names: Vec<String>,
    peers: Vec<Option<Peer>>,
    first_ranks: Vec<usize>,
    slices: Vec<Range<usize>>,
}

impl Nodes {
    fn peer(&self, node: usize) -> Result<(&str, &Peer), JobError> {
        let name = self.names.get(node).map_or("", String::as_str);
        let peer = self.peers.get(node).and_then(Option::as_ref);
        Ok((name, peer.ok_or_else(|| JobError::Unlinked(name.into()))?))
    }
}

/// On the first node: the centre or the mailboxes, and an outpost for each child here.
fn around(
    system: &mut System,
    nodes: &Nodes,
    centre: CentreParts,
    begun: Vec<Begun>,
    recorder: &ActorRef<Recorder>,
) -> Result<(Head, Vec<Listener>), JobError> {
    let CentreParts { facts, ledger, between } = centre;
    let (mut children, mut ears, mut listeners) = (vec![], vec![], vec![]);
    for (index, first_rank) in nodes.first_ranks.iter().copied().enumerate() {
        let (outpost, ear, node) = match begun.iter().find(|begun| begun.local.index == index) {
            Some(here) => {
                (outpost(system, here, nodes.slices.len(), None), Ear::Here(here.notes.clone()), None)
            }
            None => {
                let (node, peer) = nodes.peer(index)?;
                let there: ActorRef<Outpost> = peer.actor(outpost_name(index));
                listeners.push(teller(there.clone()));
                (there.clone(), Ear::There(there), Some(node.to_owned()))
            }
        };
        ears.push(ear);
        children.push(JoinChild { outpost, node, first_rank });
    }
    let count = children.len();
    let rounds: Vec<u64> = (0..count).map(|child| ledger.clock(child)).collect();
    let middle = match between {
        Between::Shards(shards, codec) => {
            Middle::Centre(start_servers(system, nodes, (shards, codec), &ears, &rounds)?)
        }
        Between::Mailboxes(mailboxes, pairs) => Middle::Peers(start_peers(system, mailboxes, ears), pairs),
    };
    let coordinator = {
        let (middle, recorder) = (middle.clone(), recorder.clone());
        let spawn = Spawn::named(COORDINATOR).own_thread().mailbox(4 * count + 16);
        system.start(spawn, move || {
            let (facts, ledger, children) = (facts.clone(), ledger.clone(), children.clone());
            JoinCoordinator::new(facts, ledger, children, middle.clone(), recorder.clone())
        })
    };
    nodes.registry.publish(&coordinator)?;
    for Begun { local, heard, .. } in begun {
        let holders: Vec<_> = match &middle {
            Middle::Centre(servers) => servers.iter().cloned().map(Holder::Server).collect(),
            Middle::Peers(peers, _) => {
                peers.get(local.index).cloned().map(Holder::Peer).into_iter().collect()
            }
        };
        let holders = nodes.slices.iter().cloned().zip(holders).collect();
        seat(
            &local.group,
            Lead { notes: heard, holders, coordinator: coordinator.clone(), followers: vec![] },
        );
    }
    Ok((Head::Join(coordinator), listeners))
}

/// The parameter servers, whom other nodes may speak to.
fn start_servers(
    system: &mut System,
    nodes: &Nodes,
    (shards, codec): (Vec<Shard>, Codec),
    ears: &[Ear],
    rounds: &[u64],
) -> Result<Vec<ActorRef<ParameterServer>>, JobError> {
    let mut servers = vec![];
    for (index, shard) in shards.into_iter().enumerate() {
        let (mut shard, ears, rounds) = (Some(shard), ears.to_vec(), rounds.to_vec());
        // For each child a push and two tasks, of two rounds, and a few tasks of its own.
        let spawn = Spawn::named(server_name(index)).own_thread().mailbox(6 * ears.len() + 16);
        let server = system.start(spawn, move || {
            // No restart: what it held is gone with it.
            let shard = shard.take().expect("a parameter server is made once");
            ParameterServer::new(index, shard, codec, ears.clone(), rounds.clone())
        });
        nodes.registry.publish(&server)?;
        servers.push(server);
    }
    Ok(servers)
}

/// The peers of a gossip, who know each other.
fn start_peers(system: &mut System, mailboxes: Vec<Mailbox>, ears: Vec<Ear>) -> Vec<ActorRef<GossipPeer>> {
    // From each peer a few letters, from the child a push, and a few turns of its own.
    let bound = 4 * ears.len() + 16;
    let start = |(index, (mailbox, ear)): (usize, (Mailbox, Ear))| {
        let mut made = Some((mailbox, ear));
        let spawn = Spawn::named(format!("peer {index}")).own_thread().mailbox(bound);
        system.start(spawn, move || {
            // No restart: what it held is gone with it.
            let (mailbox, ear) = made.take().expect("a peer is made once");
            GossipPeer::new(index, mailbox, ear)
        })
    };
    let peers: Vec<_> = mailboxes.into_iter().zip(ears).enumerate().map(start).collect();
    for peer in &peers {
        // Nothing was sent to it before, so it has room; one that has gone is missed by the coordinator.
        drop(peer.tell(Acquaint(peers.clone())));
    }
    peers
}

/// On another node: its child, with an outpost that the centre speaks to.
fn apart(
    system: &mut System,
    nodes: &Nodes,
    begun: Vec<Begun>,
    recorder: &ActorRef<Recorder>,
) -> Result<(Head, Vec<Listener>), JobError> {
    let (node, peer) = nodes.peer(0)?;
    let here = begun.into_iter().next().ok_or_else(|| JobError::Unlinked(node.into()))?;
    let coordinator: ActorRef<JoinCoordinator> = peer.actor(COORDINATOR);
    let centre = Centre {
        node: node.to_owned(),
        peer: peer.clone(),
        coordinator: coordinator.clone(),
        recorder: recorder.clone(),
    };
    let outpost = outpost(system, &here, nodes.slices.len(), Some(centre));
    nodes.registry.publish(&outpost)?;
    let servers = nodes
        .slices
        .iter()
        .cloned()
        .enumerate()
        .map(|(index, slice)| (slice, Holder::Server(peer.actor(server_name(index)))));
    let lead = Lead { notes: here.heard, holders: servers.collect(), coordinator, followers: vec![] };
    seat(&here.local.group, lead);
    Ok((Head::Outpost(outpost), vec![]))
}

fn outpost(system: &mut System, here: &Begun, shards: usize, centre: Option<Centre>) -> ActorRef<Outpost> {
    let (group, coordinator, notes) =
        (here.local.group.clone(), here.coordinator.clone(), here.notes.clone());
    let steps = here.local.steps;
    // All parts of a pull at once, twice, and what ends it.
    let spawn = Spawn::named(outpost_name(here.local.index)).mailbox(2 * shards + 64);
    system.start(spawn, move || {
        Outpost::new(group.clone(), coordinator.clone(), notes.clone(), steps, centre.clone())
    })
}

fn outpost_name(child: usize) -> String {
    format!("child {child}")
}

fn server_name(shard: usize) -> String {
    format!("server {shard}")
}

/// Tells another node of committed steps. One that cannot keep up misses some.
fn teller(outpost: ActorRef<Outpost>) -> Listener {
    Box::new(move |committed: &Committed| {
        committed.steps.chunks(TOLD_AT_ONCE).enumerate().all(|(lot, steps)| {
            // How often who was slowest counts once.
            let slowest = if lot == 0 { committed.slowest.clone() } else { vec![0; committed.slowest.len()] };
            let of_these = |s: &&Skipped| steps.iter().any(|step| step.step == s.step);
            let skipped = committed.skipped.iter().filter(of_these).cloned().collect();
            // What was taken up is for the log, which is here.
            let told = outpost.tell(Committed { steps: steps.to_vec(), slowest, skipped, taken: vec![] });
            !matches!(told, Err(TellError::Stopped(..) | TellError::Unreachable(..)))
        })
    })
}

/// Gives all ranks of a child their ends of the join.
fn seat(group: &Group, mut lead: Lead) {
    let Some(child) = &group.child else { return };
    for local in 1..group.arena.world() {
        let (follower, begun) = sync_channel(1);
        lead.followers.push(follower);
        child.seat(local, Seat::Follow(begun));
    }
    child.seat(0, Seat::Lead(lead));
}
