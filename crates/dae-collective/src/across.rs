//! One rank's part in the sum over all nodes.

use crate::coded::Coded;
use crate::low_rank::LowRank;
use crate::perform::{Heads, Terms, perform, perform_exact, perform_with};
use crate::plan::Collective;
use crate::{Broken, Contribution, Incoming, Means, Outgoing, Peers, Phase, Plan, Scale, Tag, sum};
use std::ops::Range;

/// The sums over nodes of one rank's slice.
///
/// By whatever means, each number is summed in one order, and all nodes come to have the same bits. By default it is the
/// order of nodes.
pub(crate) struct Across {
    peers: Box<dyn Peers>,
    way: Way,
    /// The gradient over this node's ranks, and once it is reduced, over all nodes.
    reduced: Vec<f32>,
    /// The same as integers, where sums are free of order, and room for those of other nodes.
    integers: [Vec<i64>; 2],
    /// The residuals before the latest sum, where that may be taken back.
    before: Option<[Vec<f32>; 2]>,
}

enum Way {
    Plain {
        plan: Plan,
        /// How the parameters spread, where each node moves its own part of them.
        spread: Option<Plan>,
        /// What other nodes sent and is not added yet.
        room: Vec<f32>,
    },
    Coded(Coded),
    LowRank(LowRank),
}

impl Across {
    /// For this slice of the flat vector.
    pub(crate) fn new(peers: Box<dyn Peers>, slice: Range<usize>, means: Means) -> Self {
        let (nodes, node, len) = (peers.nodes(), peers.node(), slice.len());
        let plan = |algorithm, len| Plan::new(algorithm, Collective::AllReduce, nodes, node, len);
        let way = match means {
            Means::Plain(algorithm) => Way::Plain { plan: plan(algorithm, len), spread: None, room: vec![] },
            Means::Coded(codec) => Way::Coded(Coded::new(codec, nodes, node, len)),
            Means::LowRank { rank, matrices, algorithm } => {
                Way::LowRank(LowRank::new(rank, &matrices, slice, |len| plan(algorithm, len)))
            }
        };
        Self { peers, way, reduced: vec![0.0; len], integers: [vec![], vec![]], before: None }
    }

    /// What a codec has lost so far and not sent yet: of this node's sums, and of its part of the totals. In low rank, the
    /// second are the thin matrices to go on with.
    pub(crate) fn residuals(&mut self) -> Option<[&mut [f32]; 2]> {
        match &mut self.way {
            Way::Plain { .. } => None,
            Way::Coded(coded) => Some(coded.residuals()),
            Way::LowRank(low_rank) => Some(low_rank.residuals()),
        }
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.peers.nodes()
    }

    /// Which of the slice's numbers this node has the gradient of, once [`Across::reduce`] is done: all of them, unless each
    /// node moves its own part of the parameters.
    pub(crate) fn part(&self) -> Range<usize> {
        match &self.way {
            Way::Plain { spread: Some(_), .. } => self.part_of(self.peers.node()),
            _ => 0..self.reduced.len(),
        }
    }

    /// That gradient, over all nodes; and the links, where nodes have different parts.
    pub(crate) fn reduced(&mut self) -> (&[f32], Option<&mut dyn Peers>) {
        let part = self.part();
        let Self { peers, way, reduced, .. } = self;
        let apart = matches!(way, Way::Plain { spread: Some(_), .. });
        (&reduced[part], apart.then_some(&mut **peers))
    }

    /// Sums the slots over all ranks of all nodes; `mine` is what this node's ranks contributed. Returns what all ranks
    /// of all nodes did, in their order.
    pub(crate) fn reduce(
        &mut self,
        step: u64,
        slots: &[&[f32]],
        mine: &[Contribution],
    ) -> Result<Vec<Contribution>, Broken> {
        self.remember();
        let Self { peers, way, reduced, .. } = self;
        let mine: Vec<u8> = mine.iter().flat_map(|c| c.to_bytes()).collect();
        let mut all = vec![mine.clone(); peers.nodes()];
        let heads = Heads { mine: &mine, all: &mut all };
        let [first, then] = [tag(step, Phase::Gradients), tag(step, Phase::Sums)];
        match way {
            Way::Plain { plan, room, .. } => {
                let (into, mut terms) = ((&mut reduced[..], &mut *room), Terms::new(slots));
                perform_with(&mut **peers, first, plan.adding(), into, Some(&mut terms), Some(heads))?;
                terms.begin(&plan.held(), reduced);
                perform(&mut **peers, then, plan.copying(), reduced, room)?;
            }
            Way::Coded(coded) => {
                sum(slots, reduced);
                coded.reduce(&mut **peers, [first, then], reduced, heads)?;
            }
            Way::LowRank(low_rank) => {
                sum(slots, reduced);
                low_rank.reduce(&mut **peers, [first, then], reduced, heads)?;
            }
        }
        Ok(contributions(&all))
    }

    /// As [`Across::reduce`], of integers, whose sum is free of order: they travel where sums grow, and numbers where these
    /// spread.
    ///
    /// # Panics
    /// If numbers travel in a codec: what is lost in it depends on who sends what.
    pub(crate) fn reduce_exact(
        &mut self,
        step: u64,
        slots: &[&[i64]],
        scale: Scale,
        mine: &[Contribution],
    ) -> Result<Vec<Contribution>, Broken> {
        let Self { peers, way: Way::Plain { plan, .. }, reduced, integers: [sums, terms], .. } = self else {
            panic!("order-free sums do not travel in a codec");
        };
        let mine: Vec<u8> = mine.iter().flat_map(|c| c.to_bytes()).collect();
        let mut all = vec![mine.clone(); peers.nodes()];
        sums.resize(reduced.len(), 0);
        let with = (Some(Terms::new(slots)), Some(Heads { mine: &mine, all: &mut all }));
        let [first, then] = [tag(step, Phase::Gradients), tag(step, Phase::Sums)];
        let finish = |sums: &[i64], total: &mut [f32]| scale.total(&[sums], total);
        perform_exact(&mut **peers, [first, then], plan, (sums, terms), (reduced, finish), with)?;
        Ok(contributions(&all))
    }

    /// The first node of those that say so.
    pub(crate) fn first(&mut self, step: u64, mine: bool) -> Result<Option<usize>, Broken> {
        let said = self.bytes(tag(step, Phase::Blame), u8::from(mine))?;
        Ok(said.iter().position(|byte| *byte != 0))
    }

    /// Comes back when all nodes have come.
    pub(crate) fn meet(&mut self, step: u64) -> Result<(), Broken> {
        self.bytes(tag(step, Phase::Leave), 0).map(drop)
    }

    /// A byte of each node.
    fn bytes(&mut self, tag: Tag, mine: u8) -> Result<Vec<u8>, Broken> {
        let (nodes, node) = (self.peers.nodes(), self.peers.node());
        let mut bytes = vec![mine; nodes];
        let head = [mine];
        let mut out = vec![Some(Outgoing { head: &head, body: &[] }); nodes];
        let mut into: Vec<_> =
            bytes.chunks_mut(1).map(|head| Some(Incoming { head, body: &mut [] })).collect();
        (out[node], into[node]) = (None, None);
        self.peers.exchange(tag, &out, &mut into)?;
        Ok(bytes)
    }

    /// Tells the other nodes why this one leaves.
    pub(crate) fn abort(&mut self, cause: &str) {
        self.peers.abort(cause);
    }
}

fn contributions(heads: &[Vec<u8>]) -> Vec<Contribution> {
    heads.iter().flat_map(|head| head.as_chunks().0).map(Contribution::from_bytes).collect()
}

fn tag(step: u64, phase: Phase) -> Tag {
    // A group over several nodes is formed once.
    Tag::new(1, step, phase)
}

mod kept;
mod parted;
pub(crate) use parted::of_each;
#[cfg(test)]
mod tests;
