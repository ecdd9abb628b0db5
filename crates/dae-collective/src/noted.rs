//! Links to other nodes that say which of them are waited for.

use crate::{Barrier, Broken, Doing, Incoming, Outgoing, Peers, Tag};
use std::sync::Arc;

/// The links of a rank, which notes at the barrier of its node what it is at.
pub(crate) struct Noted {
    peers: Box<dyn Peers>,
    barrier: Arc<Barrier>,
    /// Of this node.
    rank: usize,
}

impl Noted {
    pub(crate) fn new(peers: Box<dyn Peers>, barrier: Arc<Barrier>, rank: usize) -> Self {
        barrier.name_nodes((0..peers.nodes()).map(|n| peers.name(n).to_owned()).collect());
        Self { peers, barrier, rank }
    }
}

impl Peers for Noted {
    fn nodes(&self) -> usize {
        self.peers.nodes()
    }

    fn node(&self) -> usize {
        self.peers.node()
    }

    fn name(&self, node: usize) -> &str {
        self.peers.name(node)
    }

    fn exchange(
        &mut self,
        tag: Tag,
        out: &[Option<Outgoing<'_>>],
        into: &mut [Option<Incoming<'_>>],
    ) -> Result<(), Broken> {
        let awaited = (0..into.len()).filter(|n| into[*n].is_some() || out[*n].is_some());
        self.barrier.note(self.rank, Doing::exchange(awaited));
        self.peers.exchange(tag, out, into)?;
        self.barrier.note(self.rank, Doing::Applying);
        Ok(())
    }

    fn abort(&mut self, cause: &str) {
        self.peers.abort(cause);
    }
}
