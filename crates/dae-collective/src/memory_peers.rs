//! Nodes that are threads of one process: for tests, and to hold other implementations against.

use crate::{Broken, Incoming, Outgoing, Peers, Tag};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// A node is at most one exchange ahead of another, so two parts and a farewell are all there can be.
const ROOM: usize = 3;

enum Note {
    Part { tag: Tag, head: Vec<u8>, body: Vec<f32> },
    Aborted(String),
}

/// Links through memory between nodes that are threads of one process.
pub struct MemoryPeers {
    node: usize,
    names: Arc<[String]>,
    to: Vec<Option<SyncSender<Note>>>,
    from: Vec<Option<Receiver<Note>>>,
    deadline: Duration,
}

impl MemoryPeers {
    /// Links between nodes of these names, the first node's end first; for one local rank of each.
    pub fn mesh(names: &[String], deadline: Duration) -> Vec<Self> {
        let shared: Arc<[String]> = names.into();
        let none = |_| (0..names.len()).map(|_| None).collect();
        let mut ends: Vec<Self> = (0..names.len())
            .map(|node| Self { node, names: shared.clone(), to: none(()), from: vec![], deadline })
            .collect();
        for receiver in 0..names.len() {
            let mut from = Vec::new();
            for (sender, end) in ends.iter_mut().enumerate() {
                let pair = (sender != receiver).then(|| sync_channel(ROOM));
                let (to, other) = pair.unzip();
                end.to[receiver] = to;
                from.push(other);
            }
            ends[receiver].from = from;
        }
        ends
    }

    fn lost(&self, node: usize, cause: impl Into<String>) -> Broken {
        Broken::Node { node: self.names[node].clone(), cause: cause.into() }
    }

    fn receive(
        &self,
        node: usize,
        from: &Receiver<Note>,
        tag: Tag,
        into: &mut Incoming<'_>,
    ) -> Result<(), Broken> {
        let note = from.recv_timeout(self.deadline).map_err(|e| match e {
            RecvTimeoutError::Timeout => {
                self.lost(node, format!("it did not answer within {:?} (job.stall_timeout_s)", self.deadline))
            }
            RecvTimeoutError::Disconnected => self.lost(node, "it has gone"),
        })?;
        match note {
            Note::Aborted(cause) => Err(self.lost(node, cause)),
            Note::Part { tag: there, .. } if there != tag => {
                Err(self.lost(node, format!("it is at {there} where this node is at {tag}")))
            }
            Note::Part { head, body, .. }
                if (head.len(), body.len()) != (into.head.len(), into.body.len()) =>
            {
                let (head, body, room) = (head.len(), body.len(), (into.head.len(), into.body.len()));
                Err(self
                    .lost(node, format!("it sent {head} bytes and {body} numbers where {room:?} were due")))
            }
            Note::Part { head, body, .. } => {
                into.head.copy_from_slice(&head);
                into.body.copy_from_slice(&body);
                Ok(())
            }
        }
    }
}

impl Peers for MemoryPeers {
    fn nodes(&self) -> usize {
        self.to.len()
    }

    fn node(&self) -> usize {
        self.node
    }

    fn exchange(&mut self, tag: Tag, out: &[Outgoing<'_>], into: &mut [Incoming<'_>]) -> Result<(), Broken> {
        for (to, part) in self.to.iter().zip(out) {
            let Some(to) = to else { continue };
            // Who has gone may have left word why; that is found where it is read.
            let _ = to.try_send(Note::Part { tag, head: part.head.to_vec(), body: part.body.to_vec() });
        }
        for (node, (from, into)) in self.from.iter().zip(into).enumerate() {
            let Some(from) = from else { continue };
            self.receive(node, from, tag, into)?;
        }
        Ok(())
    }

    fn abort(&mut self, cause: &str) {
        for to in self.to.iter().flatten() {
            let _ = to.try_send(Note::Aborted(cause.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phase;

    const SOON: Duration = Duration::from_millis(20);
    const TAG: Tag = Tag { generation: 1, step: 1, phase: Phase::Sums };

    fn two() -> (MemoryPeers, MemoryPeers) {
        let mut ends = MemoryPeers::mesh(&["a".into(), "b".into()], SOON);
        let b = ends.pop().unwrap();
        (ends.pop().unwrap(), b)
    }

    /// Sends two numbers from node 0 to node 1 or the other way.
    fn swap(end: &mut MemoryPeers, tag: Tag, number: f32) -> Result<f32, Broken> {
        let mut got = [0.0];
        let body = [number];
        let (mut out, mut into) = ([Outgoing::default(); 2], [Incoming::default(), Incoming::default()]);
        out[1 - end.node] = Outgoing { head: &[], body: &body };
        into[1 - end.node].body = &mut got;
        end.exchange(tag, &out, &mut into)?;
        Ok(got[0])
    }

    fn node_b(outcome: Result<f32, Broken>) -> String {
        let Err(Broken::Node { node, cause }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(node, "b");
        cause
    }

    #[test]
    fn both_ways_at_once() {
        let (mut a, mut b) = two();
        let other =
            std::thread::spawn(move || (0..100).map(|i| swap(&mut b, TAG, -i as f32).unwrap()).sum::<f32>());
        let sum: f32 = (0..100).map(|i| swap(&mut a, TAG, i as f32).unwrap()).sum();
        assert_eq!((sum, other.join().unwrap()), (-4950.0, 4950.0));
    }

    #[test]
    fn who_is_late_gone_or_elsewhere_is_named() {
        let (mut a, _b) = two();
        assert!(node_b(swap(&mut a, TAG, 1.0)).contains("did not answer within 20ms"));
        let (mut a, b) = two();
        drop(b);
        assert_eq!(node_b(swap(&mut a, TAG, 1.0)), "it has gone");
        let (mut a, mut b) = two();
        b.abort("out of cheese");
        drop(b);
        assert_eq!(node_b(swap(&mut a, TAG, 1.0)), "out of cheese");
        let (mut a, mut b) = two();
        assert!(swap(&mut b, Tag { step: 2, ..TAG }, 1.0).is_err());
        assert_eq!(
            node_b(swap(&mut a, TAG, 1.0)),
            "it is at Sums 2 of group 1 where this node is at Sums 1 of group 1"
        );
    }
}
