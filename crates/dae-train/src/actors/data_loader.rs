//! The data loader: fills batches ahead of its worker.

use super::Group;
use crate::data::{Batch, Feeder};
use dae_actor::{Actor, Context, Handler, Message};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Fills one rank's micro-batches in the order of the steps, as many ahead as there are buffers: a buffer is the
/// credit, so no queue can grow.
pub struct DataLoader {
    rank: usize,
    feeder: Feeder,
    group: Arc<Group>,
    out: Option<Output>,
}

struct Output {
    to: SyncSender<Batch>,
    lease: u64,
    step: u64,
    micro: usize,
}

impl DataLoader {
    /// The loader of the share of `rank`, among all nodes' workers.
    pub fn new(rank: usize, feeder: Feeder, group: Arc<Group>) -> Self {
        Self { rank, feeder, group, out: None }
    }

    fn fill(&mut self, mut batch: Batch) {
        let Some(out) = &mut self.out else { return };
        self.feeder.fill(self.group.grain(out.step, self.rank, out.micro), &mut batch);
        out.micro += 1;
        if out.micro == self.group.shares.accum {
            (out.step, out.micro) = (out.step + 1, 0);
        }
        // There is room for every buffer that exists; a worker that has gone away wants no more.
        if out.to.try_send(batch).is_err() {
            self.out = None;
        }
    }
}

impl Actor for DataLoader {
    const KIND: &'static str = "data-loader";
}

/// Begins a feed: from `first` committed steps on, one filled buffer for each spare one, here or in a [`Refill`].
pub struct Feed {
    /// The number of steps committed before.
    pub first: u64,
    /// Names this feed; refills of an earlier one are dropped.
    pub lease: u64,
    /// Where filled batches go; its capacity is the number of buffers.
    pub to: SyncSender<Batch>,
    /// The buffers.
    pub spare: Vec<Batch>,
}

impl Message for Feed {
    type Reply = ();
}

impl Handler<Feed> for DataLoader {
    fn handle(&mut self, feed: Feed, _: &mut Context<'_, Self>) {
        self.out = Some(Output { to: feed.to, lease: feed.lease, step: feed.first, micro: 0 });
        for batch in feed.spare {
            self.fill(batch);
        }
    }
}

/// Hands a used buffer back.
pub struct Refill {
    /// The feed it belongs to.
    pub lease: u64,
    /// The buffer.
    pub batch: Batch,
}

impl Message for Refill {
    type Reply = ();
}

impl Handler<Refill> for DataLoader {
    fn handle(&mut self, refill: Refill, _: &mut Context<'_, Self>) {
        if self.out.as_ref().is_some_and(|out| out.lease == refill.lease) {
            self.fill(refill.batch);
        }
    }
}
