//! [`Process`]: a model process, and `every`, which repeats one.

use super::gossip::Peers;
use super::join::Around;
use super::leaf::Leaf;
use super::stream::Stream;
use super::tape::Tape;
use super::unsupported::Unsupported;
use super::world::World;
use crate::model::MItem;
use crate::step::Closing;
use crate::word::Word;

/// What a round leaves: where the parameters stand, or with `step raw` the gradient, summed over its samples.
#[derive(Clone, Debug)]
pub(super) enum Motion {
    Value(Vec<f32>),
    Raw(Vec<f32>),
}

/// A round of a process.
#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) motion: Motion,
    /// The samples that went into it.
    pub(super) weight: f64,
    /// The sum of their losses.
    pub(super) loss: f64,
    /// When it ended.
    pub(super) end: f64,
}

/// What stands left of some place in a word, from `step` on.
pub(super) enum Process {
    Leaf(Leaf),
    /// A round is so many inner rounds.
    Every(u32, Box<Self>),
    Join(Box<Around>),
    /// A join whose fragments are due one after the other.
    Stream(Box<Stream>),
    Gossip(Box<Peers>),
}

impl Process {
    /// The process of the first `depth` model items, of which this is instance `index`.
    pub(super) fn build(word: &Word, depth: usize, index: usize, x: &[f32]) -> Result<Self, Unsupported> {
        let Some(inner) = depth.checked_sub(1) else {
            return Leaf::new(word, index, x.len()).map(Self::Leaf);
        };
        let item = &word.model()[inner];
        let refuse = |reason| Err(Unsupported::item(inner, item, reason));
        let raw = word.step().closing == Closing::Raw
            && word.model()[..inner].iter().all(|item| matches!(item, MItem::Every(_)));
        Ok(match item {
            MItem::Every(h) => Self::Every(*h, Box::new(Self::build(word, inner, index, x)?)),
            MItem::Gossip(gossip) if raw && gossip.n == 1 => return Self::build(word, inner, index, x),
            MItem::Gossip(_) if raw => {
                return refuse("peers mix parameters, and `step raw` moves none; step with an optimizer");
            }
            MItem::Gossip(gossip) => {
                let peers = children(word, inner, index, gossip.n, x)?;
                Self::Gossip(Box::new(Peers::new(gossip.clone(), (inner, index), peers, x)))
            }
            MItem::Join(join) => {
                if let Some(reason) = super::join::refused(join, raw) {
                    return refuse(reason);
                }
                if !join.streams() {
                    let children = children(word, inner, index, join.n, x)?;
                    return Ok(Self::Join(Box::new(Around::new(*join, (inner, index), children, x))));
                }
                // All rounds between this centre and its children are those in which fragments take turns.
                let (mut below, mut period) = (inner, 1);
                while let Some(MItem::Every(h)) = below.checked_sub(1).map(|left| &word.model()[left]) {
                    (below, period) = (below - 1, period * h);
                }
                if let Some(reason) = super::stream::refused(join, period, raw) {
                    return refuse(reason);
                }
                let children = children(word, below, index, join.n, x)?;
                Self::Stream(Box::new(Stream::new(*join, period, children, x)))
            }
        })
    }

    /// A round from these parameters on, begun at this time.
    pub(super) fn round(&mut self, world: &mut World<'_>, x: &[f32], start: f64) -> Report {
        match self {
            Self::Leaf(leaf) => leaf.round(world, x, start),
            Self::Every(h, inner) => every(*h, inner, world, x, start),
            Self::Join(join) => join.round(world, x, start),
            Self::Stream(stream) => stream.round(world, x, start),
            Self::Gossip(peers) => peers.round(world, x, start),
        }
    }

    /// The parameters of the children of the outermost item that has any.
    pub(super) fn replicas(&self) -> Vec<Vec<f32>> {
        match self {
            Self::Leaf(_) => vec![],
            Self::Every(_, inner) => inner.replicas(),
            Self::Join(join) => join.replicas(),
            Self::Stream(stream) => stream.replicas(),
            Self::Gossip(peers) => peers.replicas(),
        }
    }

    /// Shows all leaves, in the order of their ranks.
    pub(super) fn leaves(&mut self, visit: &mut dyn FnMut(&mut Leaf)) {
        match self {
            Self::Leaf(leaf) => visit(leaf),
            Self::Every(_, inner) => inner.leaves(visit),
            Self::Join(join) => join.inner().for_each(|inner| inner.leaves(visit)),
            Self::Stream(stream) => stream.inner().for_each(|inner| inner.leaves(visit)),
            Self::Gossip(peers) => peers.inner().for_each(|inner| inner.leaves(visit)),
        }
    }

    /// Reads or writes the whole state.
    pub(super) fn tape(&mut self, tape: &mut Tape) {
        match self {
            Self::Leaf(leaf) => leaf.tape(tape),
            Self::Every(_, inner) => inner.tape(tape),
            Self::Join(join) => join.tape(tape),
            Self::Stream(stream) => stream.tape(tape),
            Self::Gossip(peers) => peers.tape(tape),
        }
    }
}

fn children(word: &Word, depth: usize, index: usize, n: u32, x: &[f32]) -> Result<Vec<Process>, Unsupported> {
    (0..n as usize).map(|child| Process::build(word, depth, index * n as usize + child, x)).collect()
}

/// `every h`: one round after the other, each from where the last one ended. Gradients that are handed on raw add up
/// where they stand.
fn every(h: u32, inner: &mut Process, world: &mut World<'_>, x: &[f32], start: f64) -> Report {
    let mut all = inner.round(world, x, start);
    let rounds = if mutated!(EveryOneShort) && h > 1 { h - 1 } else { h };
    for _ in 1..rounds {
        let from = if let Motion::Value(value) = &all.motion { value } else { x };
        let next = inner.round(world, from, all.end);
        match (&mut all.motion, next.motion) {
            (Motion::Raw(sum), Motion::Raw(more)) => sum.iter_mut().zip(more).for_each(|(sum, g)| *sum += g),
            (motion, next) => *motion = next,
        }
        (all.weight, all.loss, all.end) = (all.weight + next.weight, all.loss + next.loss, next.end);
    }
    all
}

impl Motion {
    pub(super) fn numbers(&self) -> &[f32] {
        match self {
            Self::Value(numbers) | Self::Raw(numbers) => numbers,
        }
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        let mut raw = matches!(self, Self::Raw(_));
        let (Self::Value(numbers) | Self::Raw(numbers)) = self;
        tape.flag(&mut raw);
        tape.floats(numbers);
        let numbers = std::mem::take(numbers);
        *self = if raw { Self::Raw(numbers) } else { Self::Value(numbers) };
    }
}

impl Report {
    pub(super) fn blank(parameters: usize) -> Self {
        Self { motion: Motion::Value(vec![0.0; parameters]), weight: 0.0, loss: 0.0, end: 0.0 }
    }

    pub(super) fn tape(&mut self, tape: &mut Tape) {
        self.motion.tape(tape);
        [&mut self.weight, &mut self.loss, &mut self.end].into_iter().for_each(|number| tape.float(number));
    }
}
