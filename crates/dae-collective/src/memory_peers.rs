//! Nodes that are threads of one process: for tests, and to hold other implementations against.

use crate::{Broken, Incoming, Outgoing, Peers, Tag};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Parts that lie in a pipe unread, at most. As on a link, whoever sends more waits.
const ROOM: usize = 2;

/// What a node sent in one exchange.
struct Part {
    tag: Tag,
    head: Vec<u8>,
    body: Vec<u8>,
}

/// Why nothing came, or nothing could be sent.
enum Silence {
    Aborted(String),
    Gone,
    Late,
}

#[derive(Default)]
struct Contents {
    parts: VecDeque<Part>,
    farewell: Option<String>,
    /// One of its ends was dropped.
    closed: bool,
}

/// One way from a node to another.
#[derive(Default)]
struct Pipe {
    contents: Mutex<Contents>,
    changed: Condvar,
}

impl Pipe {
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Contents)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Looks until `look` finds something; `None` once `deadline` has passed.
    fn wait<R>(
        &self,
        deadline: Duration,
        mut look: impl FnMut(&mut Contents) -> Option<R>,
    ) -> Result<R, Silence> {
        let until = Instant::now() + deadline;
        let mut contents = self.lock();
        loop {
            if let Some(found) = look(&mut contents) {
                self.changed.notify_all();
                return Ok(found);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Silence::Late);
            }
            contents = self.changed.wait_timeout(contents, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn send(&self, part: Part, deadline: Duration) -> Result<(), Silence> {
        let mut part = Some(part);
        self.wait(deadline, |contents| match contents.parts.len() {
            _ if contents.closed => Some(Err(Silence::Gone)),
            ROOM.. => None,
            _ => {
                contents.parts.extend(part.take());
                Some(Ok(()))
            }
        })?
    }

    fn receive(&self, deadline: Duration) -> Result<Part, Silence> {
        self.wait(deadline, |contents| match (contents.parts.pop_front(), contents.farewell.take()) {
            (Some(part), farewell) => {
                contents.farewell = farewell;
                Some(Ok(part))
            }
            (None, Some(cause)) => Some(Err(Silence::Aborted(cause))),
            (None, None) => contents.closed.then_some(Err(Silence::Gone)),
        })?
    }
}

/// The pipes to and from another node.
struct Line {
    name: String,
    to: Arc<Pipe>,
    from: Arc<Pipe>,
    deadline: Duration,
}

impl Line {
    fn send(&self, tag: Tag, out: &Outgoing<'_>) -> Result<(), Broken> {
        let part = Part { tag, head: out.head.to_vec(), body: out.body.to_vec() };
        self.to.send(part, self.deadline).map_err(|silence| match silence {
            // Who has gone may have left word why.
            Silence::Gone => self.broken(self.from.lock().farewell.take().map_or(silence, Silence::Aborted)),
            _ => self.broken(silence),
        })
    }

    fn receive(&self, tag: Tag, into: &mut Incoming<'_>) -> Result<(), Broken> {
        let Part { tag: there, head, body } =
            self.from.receive(self.deadline).map_err(|silence| self.broken(silence))?;
        let (sent, room) = ((head.len(), body.len()), (into.head.len(), into.body.len()));
        if there != tag {
            return Err(self.lost(format!("it is at {there} where this node is at {tag}")));
        }
        if sent != room {
            return Err(self.lost(format!("it sent {sent:?} bytes of {tag} where {room:?} were due")));
        }
        into.head.copy_from_slice(&head);
        into.body.copy_from_slice(&body);
        Ok(())
    }

    fn broken(&self, silence: Silence) -> Broken {
        self.lost(match silence {
            Silence::Aborted(cause) => cause,
            Silence::Gone => "it has gone".into(),
            Silence::Late => format!("it did not answer within {:?} (job.stall_timeout_s)", self.deadline),
        })
    }

    fn lost(&self, cause: String) -> Broken {
        Broken::Node { node: self.name.clone(), cause }
    }
}

/// Links through memory between nodes that are threads of one process.
pub struct MemoryPeers {
    node: usize,
    names: Arc<[String]>,
    lines: Vec<Option<Line>>,
}

impl MemoryPeers {
    /// Links between nodes of these names, the first node's end first; for one local rank of each.
    pub fn mesh(names: &[String], deadline: Duration) -> Vec<Self> {
        let nodes = names.len();
        let pipes: Vec<Arc<Pipe>> = (0..nodes * nodes).map(|_| Arc::default()).collect();
        let pipe = |from: usize, to: usize| pipes[from * nodes + to].clone();
        let line = |node: usize, other: usize| {
            let (to, from) = (pipe(node, other), pipe(other, node));
            (node != other).then(|| Line { name: names[other].clone(), to, from, deadline })
        };
        let shared: Arc<[String]> = names.into();
        let lines = |node: usize| (0..nodes).map(|other| line(node, other)).collect();
        (0..nodes).map(|node| Self { node, names: shared.clone(), lines: lines(node) }).collect()
    }
}

impl Peers for MemoryPeers {
    fn nodes(&self) -> usize {
        self.lines.len()
    }

    fn node(&self) -> usize {
        self.node
    }

    fn name(&self, node: usize) -> &str {
        &self.names[node]
    }

    // All sends come before all receives: who waits to send waits for a node at an earlier exchange, and who waits to
    // receive for one that has not sent in this exchange yet. So nobody waits in a circle.
    fn exchange(
        &mut self,
        tag: Tag,
        out: &[Option<Outgoing<'_>>],
        into: &mut [Option<Incoming<'_>>],
    ) -> Result<(), Broken> {
        for (line, out) in self.lines.iter().zip(out) {
            if let (Some(line), Some(out)) = (line, out) {
                line.send(tag, out)?;
            }
        }
        for (line, into) in self.lines.iter().zip(into) {
            if let (Some(line), Some(into)) = (line, into) {
                line.receive(tag, into)?;
            }
        }
        Ok(())
    }

    fn abort(&mut self, cause: &str) {
        for line in self.lines.iter().flatten() {
            line.to.change(|contents| contents.farewell = Some(cause.into()));
        }
    }
}

impl Drop for MemoryPeers {
    fn drop(&mut self) {
        for line in self.lines.iter().flatten() {
            line.to.change(|contents| contents.closed = true);
            line.from.change(|contents| contents.closed = true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    const SOON: Duration = Duration::from_millis(20);
    const LATER: Duration = Duration::from_secs(20);

    fn tag() -> Tag {
        Tag::new(1, 1, Phase::Sums)
    }

    fn two(deadline: Duration) -> (MemoryPeers, MemoryPeers) {
        let mut ends = MemoryPeers::mesh(&["a".into(), "b".into()], deadline);
        let b = ends.pop().unwrap();
        (ends.pop().unwrap(), b)
    }

    /// Sends a number to the other of two nodes, and receives one, if told to.
    fn swap(end: &mut MemoryPeers, tag: Tag, send: Option<i32>, receive: bool) -> Result<i32, Broken> {
        let (mut got, body) = ([0; 4], send.unwrap_or_default().to_le_bytes());
        let (mut out, mut into) = ([None, None], [None, None]);
        out[1 - end.node] = send.map(|_| Outgoing { head: &[], body: &body });
        into[1 - end.node] = receive.then_some(Incoming { head: &mut [], body: &mut got });
        end.exchange(tag, &out, &mut into)?;
        Ok(i32::from_le_bytes(got))
    }

    fn both(end: &mut MemoryPeers, tag: Tag) -> Result<i32, Broken> {
        swap(end, tag, Some(1), true)
    }

    fn node_b(outcome: Result<i32, Broken>) -> String {
        let Err(Broken::Node { node, cause }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(node, "b");
        cause
    }

    #[test]
    fn both_ways_at_once() {
        let (mut a, mut b) = two(LATER);
        let other = std::thread::spawn(move || {
            (0..100).map(|i| swap(&mut b, tag(), Some(-i), true).unwrap()).sum::<i32>()
        });
        let sum: i32 = (0..100).map(|i| swap(&mut a, tag(), Some(i), true).unwrap()).sum();
        assert_eq!((sum, other.join().unwrap()), (-4950, 4950));
    }

    #[test]
    fn one_way_alone_and_nothing_at_all() {
        let (mut a, mut b) = two(LATER);
        let other = std::thread::spawn(move || {
            assert_eq!(swap(&mut b, tag(), None, false).unwrap(), 0);
            (0..100).map(|_| swap(&mut b, tag(), None, true).unwrap()).sum::<i32>()
        });
        // Far ahead of who receives.
        (0..100).for_each(|i| assert!(swap(&mut a, tag(), Some(i), false).is_ok()));
        assert_eq!(other.join().unwrap(), 4950);
    }

    #[test]
    fn who_is_late_gone_or_elsewhere_is_named() {
        let (mut a, _b) = two(SOON);
        assert!(node_b(both(&mut a, tag())).contains("did not answer within 20ms"));
        let (mut a, _b) = two(SOON);
        (0..ROOM).for_each(|_| assert!(swap(&mut a, tag(), Some(1), false).is_ok()));
        assert!(node_b(swap(&mut a, tag(), Some(1), false)).contains("did not answer within 20ms"));
        let (mut a, b) = two(SOON);
        drop(b);
        assert_eq!(node_b(both(&mut a, tag())), "it has gone");
        for receive in [false, true] {
            let (mut a, mut b) = two(SOON);
            b.abort("out of cheese");
            drop(b);
            assert_eq!(node_b(swap(&mut a, tag(), Some(1), receive)), "out of cheese");
        }
    }

    #[test]
    fn what_belongs_elsewhere_is_refused() {
        let here = tag();
        let others = [
            Tag { generation: 2, ..here },
            Tag { step: 2, ..here },
            Tag { phase: Phase::Gradients, ..here },
            Tag { bucket: 2, ..here },
            Tag { round: 2, ..here },
        ];
        for other in others {
            let (mut a, mut b) = two(SOON);
            assert!(both(&mut b, other).is_err());
            let mut got = [7; 4];
            let mut into = [None, Some(Incoming { head: &mut [], body: &mut got })];
            let refused = a.exchange(here, &[None, None], &mut into).map(|()| 0);
            assert_eq!(node_b(refused), format!("it is at {other} where this node is at {here}"));
            assert_eq!(got, [7; 4], "nothing of it was read into place");
        }
    }
}
