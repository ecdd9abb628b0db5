//! The workers of the same number on the other nodes, over links.

use super::line::{Line, Turn};
use dae_collective::{Broken, Incoming, Outgoing, Peers, Tag};
use dae_net::{Awake, Link, LinkError, Parts};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;
use std::time::{Duration, Instant};

/// How long a node that is told why this one leaves may take to hear it.
const HEARD_BY: Duration = Duration::from_secs(1);

/// One local worker's links to the workers of its number on all other nodes.
///
/// An exchange does on every link whatever can be done at the moment, both ways, and waits only when that is nothing on any
/// of them. So no nodes wait for each other in a circle, whatever sockets take in, it needs no threads, and no copies but the
/// cipher's; and both directions of a link are always busy.
pub(crate) struct LinkPeers {
    node: usize,
    names: Vec<String>,
    lines: Vec<Option<Line>>,
    deadline: Duration,
    awake: Awake,
}

impl LinkPeers {
    /// Those of node `node`, over a link to each of the others; `names` are all nodes'. `deadline` bounds each wait, `how` is how
    /// numbers travel.
    ///
    /// # Errors
    /// If a link is lost already.
    pub(crate) fn new(
        node: usize,
        names: &[String],
        links: Vec<Option<Link>>,
        (deadline, how): (Duration, Parts),
    ) -> Result<Self, LinkError> {
        let line = |(link, name): (Option<Link>, &String)| {
            link.map(|link| Ok(Line::new(name.clone(), link.into_bulk(deadline, how)?))).transpose()
        };
        let lines = links.into_iter().zip(names).map(line).collect::<Result<_, LinkError>>()?;
        Ok(Self { node, names: names.to_vec(), lines, deadline, awake: Awake::default() })
    }
}

impl Peers for LinkPeers {
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
        let Self { lines, deadline, awake, names, .. } = self;
        let wanted = |n: &usize| out[*n].is_some() || into[*n].is_some();
        if let Some(gone) = (0..lines.len()).filter(wanted).find(|n| lines[*n].is_none()) {
            return Err(Broken::Node { node: names[gone].clone(), cause: "this node has left it".into() });
        }
        let parts = lines.iter_mut().zip(out).zip(into);
        let linked = parts.filter_map(|((line, out), into)| Some((line.as_mut()?, *out, into.as_mut())));
        let mut turns: Vec<_> = linked.map(|(line, out, into)| Turn::new(line, tag, out, into)).collect();
        let mut stuck = None;
        loop {
            let mut moved = false;
            for turn in &mut turns {
                moved |= turn.go_on()?;
            }
            turns.retain(|turn| !turn.is_done());
            let Some(first) = turns.first() else { return Ok(()) };
            if moved {
                awake.moved();
                stuck = None;
                continue;
            }
            // A wait may end for nothing, and then again.
            let waited = stuck.get_or_insert_with(Instant::now).elapsed();
            let (to_send, to_receive) =
                (turns.iter().filter_map(Turn::to_send), turns.iter().filter_map(Turn::to_receive));
            match awake.wait(to_send, to_receive, deadline.saturating_sub(waited)) {
                Ok(true) if waited < *deadline => {}
                Ok(_) => return Err(first.late(*deadline)),
                Err(error) => return Err(first.lost(&error)),
            }
        }
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
                let _ = done.send(());
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
