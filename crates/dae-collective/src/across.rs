//! One rank's part in the sum over all nodes.

use crate::perform::{Heads, perform, perform_with};
use crate::plan::Collective;
use crate::{Algorithm, Broken, Contribution, Incoming, Outgoing, Peers, Phase, Plan, Tag, sum};

/// The sums over nodes of one rank's slice.
///
/// By whatever algorithm, each number is summed in one order, and all nodes come to have the same bits. With
/// [`Algorithm::Direct`] it is the order of nodes.
pub(crate) struct Across {
    peers: Box<dyn Peers>,
    plan: Plan,
    /// What other nodes sent and is not added yet.
    room: Vec<f32>,
    /// The gradient over this node's ranks, and once it is reduced, over all nodes.
    reduced: Vec<f32>,
}

impl Across {
    /// For a slice of `len`.
    pub(crate) fn new(peers: Box<dyn Peers>, len: usize, algorithm: Algorithm) -> Self {
        let plan = Plan::new(algorithm, Collective::AllReduce, peers.nodes(), peers.node(), len);
        Self { peers, plan, room: vec![], reduced: vec![0.0; len] }
    }

    /// The number of nodes.
    pub(crate) fn nodes(&self) -> usize {
        self.peers.nodes()
    }

    /// The gradient over all nodes, once [`Across::reduce`] is done.
    pub(crate) fn reduced(&self) -> &[f32] {
        &self.reduced
    }

    /// Sums the slots over all ranks of all nodes; `mine` is what this node's ranks contributed. Returns what all ranks
    /// of all nodes did, in their order.
    pub(crate) fn reduce(
        &mut self,
        step: u64,
        slots: &[&[f32]],
        mine: &[Contribution],
    ) -> Result<Vec<Contribution>, Broken> {
        let Self { peers, plan, room, reduced } = self;
        let mine: Vec<u8> = mine.iter().flat_map(|c| c.to_bytes()).collect();
        let mut all = vec![mine.clone(); peers.nodes()];
        sum(slots, reduced);
        let heads = Heads { mine: &mine, all: &mut all };
        perform_with(&mut **peers, tag(step, Phase::Gradients), plan.adding(), reduced, room, Some(heads))?;
        perform(&mut **peers, tag(step, Phase::Sums), plan.copying(), reduced, room)?;
        Ok(all.iter().flat_map(|head| head.as_chunks().0).map(Contribution::from_bytes).collect())
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

fn tag(step: u64, phase: Phase) -> Tag {
    // A group over several nodes is formed once.
    Tag::new(1, step, phase)
}

#[cfg(test)]
mod tests;
