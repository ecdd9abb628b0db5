//! A topology that was checked: what every worker goes by, and what cannot be invalid.

use crate::layout::{Layout, TensorSpec};
use dae_collective::{Algorithm, Codec, Matrix, Means};
use dae_schedule::{Algo, GItem, Gossip, Join, MItem, Optimizer, Order, Outer, Place, Split, Wire, Word};

use std::ops::Range;
use std::sync::Arc;

use super::document::Topology;
use super::learning_rate::LearningRate;
use super::marks::Marks;
use crate::centre::{Shard, Turns};
use crate::optimizer::Rule;

/// What a checkpoint calls the thin matrices of low rank.
pub(crate) const THIN: &str = "thin";

/// A checked topology. Only [`Topology::compile`] and [`Loaded::compile`](super::Loaded::compile) make one.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) name: String,
    pub(super) topology: Topology,
    pub(super) word: Word,
    pub(super) marks: Marks,
    learning_rate: LearningRate,
}

impl Plan {
    pub(super) fn new(name: String, topology: Topology, word: Word, marks: Marks) -> Self {
        let learning_rate = LearningRate::new(&topology.schedule);
        Self { name, topology, word, marks, learning_rate }
    }

    /// The topology the plan was made of.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The schedule.
    pub fn word(&self) -> &Word {
        &self.word
    }

    /// The number of workers, on all nodes together.
    pub fn workers(&self) -> usize {
        self.word.workers() as usize
    }

    /// The number of nodes they are spread over; mostly one.
    pub fn nodes(&self) -> usize {
        self.word.nodes() as usize
    }

    /// The workers on each of these.
    pub fn workers_per_node(&self) -> usize {
        self.word.workers_per_node() as usize
    }

    /// The threads each worker computes with.
    pub fn threads_per_worker(&self) -> usize {
        self.topology.placement.threads as usize
    }

    /// Micro-batches each worker accumulates into one gradient.
    pub fn accum(&self) -> usize {
        self.word.accum() as usize
    }

    /// Whether gradients are added in a way that does not depend on who computed them: `order=exact`.
    pub fn exact(&self) -> bool {
        exact(&self.word)
    }

    /// How sums over nodes of a model of this layout are made; nothing where that is left to the run.
    pub fn means(&self, layout: &Layout) -> Option<Means> {
        means(over_nodes(&self.word)?, layout)
    }

    /// Samples per worker and micro-batch.
    pub fn batch(&self) -> usize {
        self.topology.data.batch as usize
    }

    /// Samples that one optimizer step takes from all workers together.
    pub fn global_batch(&self) -> usize {
        self.workers() * self.accum() * self.batch()
    }

    /// The samples a run uses of a dataset of so many: `data.limit`, where there are more.
    pub fn samples(&self, in_dataset: usize) -> usize {
        let limit = self.topology.data.limit.and_then(|n| usize::try_from(n).ok());
        limit.map_or(in_dataset, |limit| limit.min(in_dataset))
    }

    /// The optimizer steps of the whole run on a dataset of so many samples, the short last one included.
    pub fn steps(&self, in_dataset: usize) -> u64 {
        match self.topology.job.epochs {
            Some(_) => self.total_samples(in_dataset).div_ceil(self.global_batch() as u64).max(1),
            None => self.topology.job.steps,
        }
    }

    /// The samples the whole run draws from a dataset of so many: `epochs` times those used, rounded to the
    /// nearest, or every step's whole batch.
    pub fn total_samples(&self, in_dataset: usize) -> u64 {
        match self.topology.job.epochs {
            Some(epochs) => (epochs * self.samples(in_dataset) as f64).round() as u64,
            None => self.topology.job.steps.saturating_mul(self.global_batch() as u64),
        }
    }

    /// How the optimizer's rate is scaled from step to step.
    pub fn learning_rate(&self) -> &LearningRate {
        &self.learning_rate
    }

    /// The optimizer that closes the gradient, and its settings; none with `step raw`.
    pub fn optimizer(&self) -> Option<&Optimizer> {
        self.word.optimizer()
    }

    /// The join or the gossip, if there is one.
    pub fn hub(&self) -> Option<&MItem> {
        self.word.model().iter().find(|item| !matches!(item, MItem::Every(_)))
    }

    /// The join, if there is one.
    pub fn join(&self) -> Option<&Join> {
        if let Some(MItem::Join(join)) = self.hub() { Some(join) } else { None }
    }

    /// The gossip, if there is one.
    pub fn gossip(&self) -> Option<&Gossip> {
        if let Some(MItem::Gossip(gossip)) = self.hub() { Some(gossip) } else { None }
    }

    /// The groups of workers that step by themselves: the children of the join or the gossip, or 1.
    pub fn children(&self) -> usize {
        self.hub().map_or(1, |hub| hub.children() as usize)
    }

    /// Whether the children of the join lie on nodes of their own, one on each.
    pub fn apart(&self) -> bool {
        self.join().is_some() && self.nodes() > 1
    }

    /// The rounds that go into one update of a join's centre; of a gossip, that end with what is written down as a step.
    pub fn quorum(&self) -> u64 {
        match self.hub() {
            Some(MItem::Join(join)) => join.terms().k.into(),
            Some(MItem::Gossip(gossip)) if !gossip.asynchronous => gossip.n.into(),
            _ => 1,
        }
    }

    /// The workers of each node that have links of their own to the other nodes: all where gradients are summed over nodes;
    /// one, for what the nodes compare before they begin, where children of a join lie apart.
    pub fn linked_workers(&self) -> usize {
        if self.apart() { 1 } else { self.workers_per_node() }
    }

    /// Optimizer steps in a round of the join or the gossip.
    pub fn period(&self) -> u64 {
        let inside = self.word.model().iter().take_while(|item| matches!(item, MItem::Every(_)));
        inside.map(|item| if let MItem::Every(h) = item { u64::from(*h) } else { 1 }).product()
    }

    /// What is written down as a step, in the whole run on a dataset of so many samples: an optimizer step, an update
    /// of the join's centre, or a round of a gossip: all peers', or one's where they do not wait for each other. Where not
    /// all wait for all it is at most that many.
    pub fn updates(&self, in_dataset: usize) -> u64 {
        let steps = self.steps(in_dataset);
        let Some(hub) = self.hub() else { return steps };
        let (n, k) = (u64::from(hub.children()), self.quorum());
        steps.div_ceil(self.period()).saturating_mul(n).div_ceil(k)
    }

    /// How the children of a join push.
    pub fn push_codec(&self) -> Codec {
        self.join().map_or(Codec::F32, |join| codec(join.wire))
    }

    /// When the fragments of a join are due, where they travel by themselves.
    pub fn turns(&self) -> Option<Turns> {
        let join = self.join().filter(|join| join.streams())?;
        let fragments = u64::from(join.frag);
        Some(Turns { fragments, apart: self.period() / fragments, delay: join.delay.into() })
    }

    /// Whether the children of a join begin rounds elsewhere than where the centre is, and know that themselves.
    pub fn stands_apart(&self) -> bool {
        self.join().is_some_and(|join| join.streams() || join.mix != 0.0)
    }

    /// The names of the flat buffers that a checkpoint holds besides the parameters: those of the state, and what the nodes
    /// keep back.
    pub fn buffers(&self) -> Vec<String> {
        let mut names = self.state_buffers();
        names.extend(self.kept_buffers());
        names
    }

    /// What lossy links keep back, a buffer for each node, and one for the thin matrices of low rank.
    pub fn kept_buffers(&self) -> Vec<String> {
        let Some(split) = over_nodes(&self.word).filter(|split| split.n > 1 && split.wire.loses()) else {
            return Vec::new();
        };
        let thin = matches!(split.wire, Wire::PowerSgd(_)).then(|| THIN.into());
        (0..split.n).map(|node| format!("kept{node}")).chain(thin).collect()
    }

    /// The buffers of the optimizer's state. A join has those of the outer optimizer; it and a gossip then for each child
    /// those of its own, what a lossy wire has kept back of its pushes, and what the child holds or where it stands if that is
    /// not the centre.
    pub fn state_buffers(&self) -> Vec<String> {
        let inner = self.optimizer().map(Rule::new).map_or(&[][..], |rule| rule.state_names());
        let Some(hub) = self.hub() else { return inner.iter().map(|&name| name.into()).collect() };
        let elastic = self.join().is_some_and(|join| matches!(join.outer, Outer::Elastic(_)));
        let kept = self.push_codec().loses().then_some("kept");
        let own = (elastic || self.stands_apart() || self.gossip().is_some()).then_some("own");
        let outer = self.outer_buffers().iter().map(|name| format!("outer_{name}"));
        let names = || inner.iter().copied().chain(kept).chain(own);
        let child = |child| names().map(move |name| format!("child{child}_{name}"));
        outer.chain((0..hub.children()).flat_map(child)).collect()
    }

    /// The state of a join's outer optimizer.
    fn outer_buffers(&self) -> &'static [&'static str] {
        self.join().map_or(&[], |join| Shard::rule(join).state_names())
    }

    /// The places among [`Plan::buffers`] of those of one child of the join or the gossip.
    pub fn buffers_of(&self, child: usize) -> Range<usize> {
        let (all, children) = (self.buffers().len(), self.children());
        let outer = self.outer_buffers().len();
        let each = (all - outer) / children;
        outer + child * each..outer + (child + 1) * each
    }

    /// Whether each node does its own part of the optimizer's work, and has the state of that part alone.
    pub fn parted(&self) -> bool {
        self.word.step().zero > 0 && self.optimizer().is_some()
    }

    /// The largest norm a gradient may have before it is scaled down to it, if there is one.
    pub fn clip(&self) -> Option<f32> {
        self.word.clip()
    }

    /// The seed of everything random.
    pub fn seed(&self) -> u64 {
        self.topology.job.seed
    }
}

/// Whether gradients are added in a way that does not depend on who computed them.
pub(super) fn exact(word: &Word) -> bool {
    splits(word).any(|split| split.order == Order::Exact)
}

/// The split over nodes, if there is one.
pub(super) fn over_nodes(word: &Word) -> Option<&Split> {
    splits(word).find(|split| split.place == Some(Place::Cluster))
}

fn splits(word: &Word) -> impl Iterator<Item = &Split> {
    word.gradient().iter().filter_map(|item| if let GItem::Split(split) = item { Some(split) } else { None })
}

fn means(split: &Split, layout: &Layout) -> Option<Means> {
    if let Wire::PowerSgd(rank) = split.wire {
        let algorithm = algorithm(split.algo).unwrap_or_default();
        return Some(Means::LowRank { rank: rank as usize, matrices: matrices(layout), algorithm });
    }
    match codec(split.wire) {
        Codec::F32 => algorithm(split.algo).map(Means::Plain),
        codec => Some(Means::Coded(codec)),
    }
}

fn codec(wire: Wire) -> Codec {
    match wire {
        Wire::Bf16 => Codec::Bf16,
        Wire::F16 => Codec::F16,
        Wire::Int8 => Codec::Int8,
        Wire::TopK(fraction) => Codec::TopK(fraction),
        // Of what is lossy these do not run yet, or are no codecs.
        Wire::F32 | Wire::Int4 | Wire::PowerSgd(_) => Codec::F32,
    }
}

fn algorithm(algo: Algo) -> Option<Algorithm> {
    Some(match algo {
        Algo::Auto => return None,
        Algo::Ring => Algorithm::Ring,
        Algo::Halving => Algorithm::HalvingDoubling,
        Algo::Doubling => Algorithm::RecursiveDoubling,
        Algo::Direct => Algorithm::Direct,
    })
}

/// Each tensor of two dimensions or more as a matrix: the first against all others.
fn matrices(layout: &Layout) -> Arc<[Matrix]> {
    let tensors = layout.tensors().iter().filter(|tensor| tensor.shape.len() > 1);
    let matrix = |tensor: &TensorSpec| Matrix {
        start: tensor.offset,
        rows: tensor.shape[0],
        cols: tensor.shape[1..].iter().product(),
    };
    tensors.map(matrix).collect()
}
