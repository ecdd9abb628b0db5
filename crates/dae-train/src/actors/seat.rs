//! A worker's end of a join or a gossip, and what it hears there.

use super::bulk::{bytes_of, numbers_in};
use super::parameter_server::Push;
use super::{GossipPeer, JoinCoordinator, Outpost, ParameterServer};
use dae_actor::{ActorRef, Body, Message, Status};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

/// A worker's end of the join that its group is a child of.
pub enum Seat {
    /// The first of its group pulls and pushes.
    Lead(Lead),
    /// The others hear from it what there is to begin from.
    Follow(Receiver<Begun>),
}

/// What the first of a group holds.
pub struct Lead {
    /// Where it hears of the centre; there must be room for a part of each shard and two notes more.
    pub notes: Receiver<Note>,
    /// Who holds what it begins from, with the slices they hold, in order.
    pub holders: Vec<(Range<usize>, Holder)>,
    /// Who says when what happens.
    pub coordinator: ActorRef<JoinCoordinator>,
    /// The others of the group; each has room for one.
    pub followers: Vec<SyncSender<Begun>>,
}

/// Who holds what a child begins from, and takes what comes of it.
#[derive(Clone)]
pub enum Holder {
    /// A shard of a join's centre.
    Server(ActorRef<ParameterServer>),
    /// The child's own mailbox in a gossip.
    Peer(ActorRef<GossipPeer>),
}

impl Holder {
    pub(super) fn tell(&self, push: Push) -> Result<(), String> {
        match self {
            Self::Server(server) => server.tell(push).map_err(|e| e.to_string()),
            Self::Peer(peer) => peer.tell(push).map_err(|e| e.to_string()),
        }
    }

    pub(super) fn status(&self) -> &Status {
        match self {
            Self::Server(server) => server.status(),
            Self::Peer(peer) => peer.status(),
        }
    }

    /// What is wrong where a child is to begin from numbers that are not finite.
    pub(super) fn not_finite(&self, version: u64) -> String {
        match self {
            Self::Server(_) => format!(
                "the centre of the join has numbers that are not finite after update {version}; begin anew with a smaller                  outer learning rate, or take `scale=sum` out"
            ),
            Self::Peer(_) => format!(
                "what it holds is not finite after it has mixed with its neighbours in round {version}; begin anew with a                  smaller learning rate"
            ),
        }
    }
}

/// Where the shards, or its mailbox, reach a child: its first worker, which spares a hop, or its outpost on another node.
#[derive(Clone)]
pub enum Ear {
    /// On this node.
    Here(SyncSender<Note>),
    /// On another.
    There(ActorRef<Outpost>),
}

impl Ear {
    pub(super) fn tell(&self, note: Note) {
        match self {
            // There is room for a part of each shard; a child that has gone away wants no more.
            Self::Here(notes) => drop(notes.try_send(note)),
            Self::There(outpost) => {
                if let Err(e) = outpost.tell(note) {
                    tracing::error!(to = outpost.status().name(), cause = %e, "a child misses what it waits for");
                }
            }
        }
    }
}

/// What the centre has to say to a child.
#[derive(Debug, Serialize, Deserialize)]
pub enum Note {
    /// A shard to begin a round from, or a fragment to take up in its turn.
    Part(Part),
    /// Where fragments take turns: begin this round.
    Round {
        /// The round.
        round: u64,
        /// Whether the child's state is to be copied first.
        copy: bool,
    },
    /// There is no other round: leave in order.
    Leave,
    /// The run has failed elsewhere; the cause.
    Over(String),
}

/// A shard as a child pulls it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Which shard.
    pub shard: usize,
    /// Its version.
    pub version: u64,
    /// The child's round that it is for.
    pub round: u64,
    /// Whether the child's state is to be copied first.
    pub copy: bool,
    /// Whether all numbers of the shard are finite.
    pub finite: bool,
    /// What the child begins from: the centre, or where it stands itself.
    #[serde(skip)]
    pub numbers: Arc<Vec<f32>>,
}

impl Message for Note {
    type Reply = ();
}

impl Body for Note {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        match self {
            Self::Part(part) => vec![bytes_of(&std::mem::take(&mut part.numbers))],
            Self::Round { .. } | Self::Leave | Self::Over(_) => vec![],
        }
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        match self {
            Self::Part(part) => part.numbers = Arc::new(numbers_in(parts)?),
            Self::Round { .. } | Self::Leave | Self::Over(_) => ().give_parts(parts)?,
        }
        Ok(())
    }
}

/// What a round begins from; nothing where the group is to leave.
pub type Begun = Option<Arc<Pulled>>;

/// The centre as a child pulled it.
pub struct Pulled {
    pub(super) round: u64,
    pub(super) copy: bool,
    /// In the order of the shards, each with the place where it begins.
    pub(super) parts: Vec<(usize, Part)>,
}

impl Pulled {
    /// Takes up a slice of what came, in which a child keeps the share `mix` of its own.
    pub(super) fn fill(&self, slice: Range<usize>, mix: f32, into: &mut [f32]) {
        for (at, part) in &self.parts {
            let numbers = &part.numbers;
            let (start, end) = (slice.start.max(*at), slice.end.min(at + numbers.len()));
            if start < end {
                let (into, numbers) =
                    (&mut into[start - slice.start..end - slice.start], &numbers[start - at..end - at]);
                blend(mix, into, numbers);
            }
        }
    }
}

/// Keeps the share `mix` of what is there.
fn blend(mix: f32, own: &mut [f32], pulled: &[f32]) {
    if mix == 0.0 {
        return own.copy_from_slice(pulled);
    }
    let mix = f64::from(mix);
    for (own, x) in own.iter_mut().zip(pulled) {
        *own = (mix * f64::from(*own) + (1.0 - mix) * f64::from(*x)) as f32;
    }
}
