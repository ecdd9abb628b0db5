//! A worker's end of a join, and what it hears there.

use super::{JoinCoordinator, ParameterServer};
use dae_actor::ActorRef;
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
    /// The shards, with the slices they hold, in order.
    pub servers: Vec<(Range<usize>, ActorRef<ParameterServer>)>,
    /// Who says when what happens.
    pub coordinator: ActorRef<JoinCoordinator>,
    /// The others of the group; each has room for one.
    pub followers: Vec<SyncSender<Begun>>,
}

/// What the centre has to say to a child.
#[derive(Debug)]
pub enum Note {
    /// A shard to begin a round from.
    Part(Part),
    /// There is no other round: leave in order.
    Leave,
    /// The run has failed elsewhere; the cause.
    Over(String),
}

/// A shard as a child pulls it.
#[derive(Debug)]
pub struct Part {
    /// Which shard.
    pub shard: usize,
    /// Its version.
    pub version: u64,
    /// The child's round that it is for.
    pub round: u64,
    /// The centre.
    pub x: Arc<Vec<f32>>,
    /// What the child begins from, where that is not the centre.
    pub begins: Option<Vec<f32>>,
    /// Whether the child's state is to be copied first.
    pub copy: bool,
    /// Whether all numbers of the shard are finite.
    pub finite: bool,
}

/// What a round begins from; nothing where the group is to leave.
pub type Begun = Option<Arc<Pulled>>;

/// The centre as a child pulled it.
pub struct Pulled {
    pub(super) version: u64,
    pub(super) round: u64,
    pub(super) copy: bool,
    /// In the order of the shards, each with the place where it begins.
    pub(super) parts: Vec<(usize, Part)>,
}

impl Pulled {
    /// Copies a slice of what a child begins from.
    pub(super) fn fill(&self, slice: Range<usize>, into: &mut [f32]) {
        for (at, part) in &self.parts {
            let numbers = part.begins.as_deref().unwrap_or(&part.x);
            let (start, end) = (slice.start.max(*at), slice.end.min(at + numbers.len()));
            if start < end {
                into[start - slice.start..end - slice.start].copy_from_slice(&numbers[start - at..end - at]);
            }
        }
    }
}
