//! One rank's part in the sum over all nodes.

use crate::arena::cut;
use crate::{Broken, Contribution, Incoming, Outgoing, Peers, Phase, Tag};

/// Elements summed at a time: they stay in the first-level cache.
const BLOCK: usize = 2048;

/// The sums over nodes of one rank's slice.
///
/// The slice is cut into a part for each node. Every node sends each other one the other's part of its own sum over its
/// ranks, sums its own part over all nodes in their order, and sends the total to all. So each number is summed once, in
/// one place, and all nodes have the same bits.
pub(crate) struct Across {
    peers: Box<dyn Peers>,
    /// The sum over this node's ranks, where there are several; one rank's gradient is sent from where it lies.
    of_node: Vec<f32>,
    /// This node's part, as each node sent it; its own stays empty.
    inbox: Vec<Vec<f32>>,
    /// The gradient over all nodes.
    reduced: Vec<f32>,
}

impl Across {
    /// For a slice of `len`, of one of `ranks` on this node.
    pub(crate) fn new(peers: Box<dyn Peers>, len: usize, ranks: usize) -> Self {
        let (nodes, node) = (peers.nodes(), peers.node());
        let own = cut(len, nodes, node).len();
        Self {
            peers,
            of_node: vec![0.0; if ranks > 1 { len } else { 0 }],
            inbox: (0..nodes).map(|n| vec![0.0; if n == node { 0 } else { own }]).collect(),
            reduced: vec![0.0; len],
        }
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
        let Self { peers, of_node, inbox, reduced } = self;
        let (nodes, node, len) = (peers.nodes(), peers.node(), reduced.len());
        let part = |n: usize| cut(len, nodes, n);
        let mine: Vec<u8> = mine.iter().flat_map(|c| c.to_bytes()).collect();
        let of_node: &[f32] = match slots {
            [one] => one,
            many => {
                sum(many, of_node);
                of_node
            }
        };
        let mut heads: Vec<_> = (0..nodes).map(|_| mine.clone()).collect();
        let mut into: Vec<_> =
            heads.iter_mut().zip(inbox.iter_mut()).map(|(head, body)| Incoming { head, body }).collect();
        into[node] = Incoming::default();
        let mut out: Vec<_> = (0..nodes).map(|n| Outgoing { head: &mine, body: &of_node[part(n)] }).collect();
        out[node] = Outgoing::default();
        peers.exchange(tag(step, Phase::Gradients), &out, &mut into)?;

        let mut terms: Vec<&[f32]> = inbox.iter().map(Vec::as_slice).collect();
        terms[node] = &of_node[part(node)];
        sum(&terms, &mut reduced[part(node)]);

        let (before, rest) = reduced.split_at_mut(part(node).start);
        let (own, after) = rest.split_at_mut(part(node).len());
        let mut out = vec![Outgoing { head: &[], body: own }; nodes];
        out[node] = Outgoing::default();
        let mut into = Vec::new();
        let (mut before, mut after) = (before, after);
        for n in 0..nodes {
            let from = if n < node { &mut before } else { &mut after };
            let room = if n == node { 0 } else { part(n).len() };
            let (body, more) = std::mem::take(from).split_at_mut(room);
            *from = more;
            into.push(Incoming { head: &mut [], body });
        }
        peers.exchange(tag(step, Phase::Sums), &out, &mut into)?;
        Ok(heads.iter().flat_map(|head| head.as_chunks().0).map(Contribution::from_bytes).collect())
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
        let mut out = vec![Outgoing { head: &head, body: &[] }; nodes];
        out[node] = Outgoing::default();
        let mut into: Vec<_> = bytes.chunks_mut(1).map(|head| Incoming { head, body: &mut [] }).collect();
        into[node] = Incoming::default();
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
    Tag { generation: 1, step, phase }
}

/// Sums the terms in their order.
fn sum(terms: &[&[f32]], into: &mut [f32]) {
    for start in (0..into.len()).step_by(BLOCK) {
        let range = start..into.len().min(start + BLOCK);
        let total = &mut into[range.clone()];
        for (n, term) in terms.iter().enumerate() {
            match n {
                0 => total.copy_from_slice(&term[range.clone()]),
                _ => total.iter_mut().zip(&term[range.clone()]).for_each(|(t, x)| *t += x),
            }
        }
    }
}

#[cfg(test)]
mod tests;
