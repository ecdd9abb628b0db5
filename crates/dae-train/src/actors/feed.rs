//! A worker's end of its data loader.

use super::{DataLoader, Feed, Group, Refill};
use crate::data::Batch;
use dae_actor::ActorRef;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

/// The batches of one lease, in order.
pub(super) struct Batches<'a> {
    loader: &'a ActorRef<DataLoader>,
    from: Receiver<Batch>,
    lease: u64,
    group: &'a Group,
}

impl<'a> Batches<'a> {
    /// Asks the loader to begin, with the buffers that the worker has in hand and `prefetch` that are kept ready.
    pub(super) fn begin(
        loader: &'a ActorRef<DataLoader>,
        group: &'a Group,
        lease: u64,
        first: u64,
    ) -> Result<Self, String> {
        let buffers = group.prefetch + group.in_hand();
        let (to, from) = sync_channel(buffers);
        let spare =
            (0..buffers).map(|_| Batch::new(group.shares.batch, group.features, group.with_mask)).collect();
        let batches = Self { loader, from, lease, group };
        loader.tell(Feed { first, lease, to, spare }).map_err(|e| batches.cause(&e.to_string()))?;
        Ok(batches)
    }

    /// The next batch.
    pub(super) fn next(&self) -> Result<Batch, String> {
        self.from.recv_timeout(self.group.stall).map_err(|e| match e {
            RecvTimeoutError::Timeout => self.cause(&format!("no batch within {:?}", self.group.stall)),
            RecvTimeoutError::Disconnected => self.cause("it ended"),
        })
    }

    /// Hands a used batch back to be filled.
    pub(super) fn recycle(&self, batch: Batch) -> Result<(), String> {
        match self.loader.tell(Refill { lease: self.lease, batch }) {
            Ok(()) => Ok(()),
            // Cannot be full: a mailbox has room for every buffer there is.
            Err(e) => Err(self.cause(&e.to_string())),
        }
    }

    /// What went wrong, preferring the loader's own account of it.
    fn cause(&self, seen: &str) -> String {
        let status = self.loader.status();
        format!("{}: {}", status.name(), status.latest_cause().as_deref().unwrap_or(seen))
    }
}
