//! The workers of the same number on the other nodes, over sealed links.

use super::Line;
use super::line::PIECE;
use dae_collective::{Broken, Incoming, Outgoing, Peers, Tag};
use dae_net::{Link, LinkError};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

/// How long a node that is told why this one leaves may take to hear it.
const HEARD_BY: Duration = Duration::from_secs(1);

/// One local worker's links to the workers of its number on all other nodes.
///
/// An exchange goes by pieces: one frame to every other node, then one from each, of those that have something to say.
/// Whoever cannot send waits for a node that has not read the frame before, so that one is at an earlier piece or an
/// earlier exchange; whoever waits to receive waits for a node that has not sent yet, so that one is at this piece, and
/// about to send, or at an earlier one. Hence no nodes wait for each other in a circle, as long as both ends of a link
/// know of the same frames, and it takes in one frame that nobody reads; sockets take in more. So it needs no threads,
/// and no copies but the cipher's.
pub(crate) struct SealedPeers {
    node: usize,
    names: Vec<String>,
    lines: Vec<Option<Line>>,
}

impl SealedPeers {
    /// Those of node `node`, over a link to each of the others; `names` are all nodes'. `deadline` bounds each wait.
    ///
    /// # Errors
    /// If a link is lost already.
    pub(crate) fn new(
        node: usize,
        names: &[String],
        links: Vec<Option<Link>>,
        deadline: Duration,
    ) -> Result<Self, LinkError> {
        let line = |(link, name): (Option<Link>, &String)| {
            link.map(|link| Ok(Line::new(name.clone(), link.into_bulk(deadline)?))).transpose()
        };
        let lines = links.into_iter().zip(names).map(line).collect::<Result<_, LinkError>>()?;
        Ok(Self { node, names: names.to_vec(), lines })
    }
}

impl Peers for SealedPeers {
    fn nodes(&self) -> usize {
        self.lines.len()
    }

    fn node(&self) -> usize {
        self.node
    }

    fn name(&self, node: usize) -> &str {
        &self.names[node]
    }

    fn exchange(
        &mut self,
        tag: Tag,
        out: &[Option<Outgoing<'_>>],
        into: &mut [Option<Incoming<'_>>],
    ) -> Result<(), Broken> {
        let lengths = out.iter().flatten().map(|o| o.body.len());
        let lengths = lengths.chain(into.iter().flatten().map(|i| i.body.len()));
        let pieces = lengths.max().unwrap_or(0).div_ceil(PIECE).max(1);
        for n in 0..pieces {
            for (line, out) in self.lines.iter_mut().zip(out) {
                if let (Some(line), Some(out)) = (line, out) {
                    line.send(tag, n, out)?;
                }
            }
            for (line, into) in self.lines.iter_mut().zip(&mut *into) {
                if let (Some(line), Some(into)) = (line, into) {
                    line.receive(tag, n, into)?;
                }
            }
        }
        Ok(())
    }

    fn abort(&mut self, cause: &str) {
        let cause: Arc<str> = cause.into();
        let lines: Vec<_> = self.lines.iter_mut().filter_map(Option::take).collect();
        let (done, all_done) = sync_channel(lines.len());
        for line in lines {
            let (cause, done) = (cause.clone(), done.clone());
            let farewell = move || {
                line.farewell(&cause);
                // Nobody waits any more for one that took too long.
                drop(done.send(()));
            };
            // One without a thread is dropped, which the other feels as a loss.
            drop(thread::Builder::new().name("farewell".into()).spawn(farewell));
        }
        drop(done);
        // The process may end right after this, and the threads with it.
        let by = Instant::now() + HEARD_BY;
        while all_done.recv_timeout(by.saturating_duration_since(Instant::now())).is_ok() {}
    }
}

#[cfg(test)]
mod tests;
