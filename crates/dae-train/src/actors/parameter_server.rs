//! The parameter server: a shard of a join's centre.

use super::bulk::{bytes_of, numbers_of, only};
use super::seat::{Ear, Note, Part};
use crate::centre::{Contribution, Motion, Shard};
use dae_actor::{Accepts, Actor, Body, Context, Handler, Message, Remote, ReplyTo};
use dae_collective::Codec;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Holds a shard of the centre, on a thread of its own. It does what the join's coordinator orders, in that order, and
/// waits with an order until the pushes it is about are there: so all shards move alike, whoever comes first to which.
pub struct ParameterServer {
    index: usize,
    shard: Shard,
    /// How pushes are written that are not handed over as numbers.
    codec: Codec,
    /// Where each child hears of it.
    children: Vec<Ear>,
    /// What each child has pulled and not pushed back yet: the version, and what that was.
    pulled: Vec<Option<(u64, Arc<Vec<f32>>)>>,
    /// Pushes that nothing has been done about yet, and the round that each child is to push next.
    waiting: BTreeMap<usize, (f64, Motion)>,
    due: Vec<u64>,
    tasks: VecDeque<Task>,
}

/// What a parameter server is to do next.
#[derive(Debug)]
pub enum Task {
    /// Move to the next version by what these children have pushed.
    Fire {
        /// The outer learning rate is multiplied by this.
        rate: f32,
        /// The children.
        given: Vec<usize>,
    },
    /// Let go of what a child has pushed.
    Forget {
        /// The child.
        child: usize,
    },
    /// Know that a child has what the shard is now.
    Lend {
        /// The child.
        child: usize,
    },
    /// Hand the shard to a child that begins a round, or takes the fragment up.
    Serve {
        /// The child.
        child: usize,
        /// Its round.
        round: u64,
        /// Whether the child's state is to be copied first, for a checkpoint.
        copy: bool,
    },
    /// Say what it has come to.
    Show(ReplyTo<Shown>),
}

/// What a shard has come to, or a peer of a gossip.
#[derive(Debug)]
pub struct Shown {
    /// Its parameters.
    pub params: Vec<f32>,
    /// The outer optimizer's state.
    pub state: Vec<Vec<f32>>,
    /// Where each child stands, of an elastic centre; of a peer of a gossip, what it holds.
    pub own: Vec<Vec<f32>>,
    /// The weight of what a peer of a gossip holds.
    pub weight: Option<f64>,
    /// Whether all of it is finite.
    pub finite: bool,
}

impl Shown {
    /// Of no shard.
    pub(super) fn nothing() -> Self {
        Self { params: vec![], state: vec![], own: vec![], weight: None, finite: true }
    }
}

impl ParameterServer {
    /// Shard number `index`, whose children push in this codec and have done so many rounds.
    pub fn new(index: usize, shard: Shard, codec: Codec, children: Vec<Ear>, rounds: Vec<u64>) -> Self {
        let pulled = children.iter().map(|_| None).collect();
        let (waiting, tasks) = (BTreeMap::new(), VecDeque::new());
        Self { index, shard, codec, children, pulled, waiting, due: rounds, tasks }
    }

    fn ordered(&mut self, task: Task) {
        self.tasks.push_back(task);
        self.go_on();
    }

    fn pushed(&mut self, push: Push) {
        let (child, samples) = (push.child, push.samples);
        if self.due.get(child) != Some(&push.round) || self.waiting.contains_key(&child) {
            return;
        }
        let Some((_, from)) = &self.pulled[child] else { return };
        match push.motion(self.codec, from) {
            Ok(motion) => {
                self.waiting.insert(child, (samples, motion));
                self.go_on();
            }
            Err(why) => {
                let (shard, len) = (self.index, from.len());
                let cause =
                    format!("what it pushed to shard {shard} of the centre, which has {len} numbers: {why}");
                self.children[child].tell(Note::Over(cause));
            }
        }
    }

    fn go_on(&mut self) {
        while let Some(task) = self.tasks.pop_front() {
            let there = match &task {
                Task::Fire { given, .. } => given.iter().all(|child| self.waiting.contains_key(child)),
                Task::Forget { child } => self.waiting.contains_key(child),
                Task::Lend { .. } | Task::Serve { .. } | Task::Show(_) => true,
            };
            if !there {
                return self.tasks.push_front(task);
            }
            self.perform(task);
        }
    }

    fn perform(&mut self, task: Task) {
        match task {
            Task::Fire { rate, given } => {
                let given = given.into_iter().filter_map(|child| self.settled(child)).collect();
                self.shard.update(rate, given);
            }
            Task::Forget { child } => drop(self.settled(child)),
            Task::Lend { child } => self.lend(child),
            Task::Serve { child, round, copy } => self.serve(child, round, copy),
            Task::Show(to) => to.send(Shown {
                params: self.shard.x().to_vec(),
                state: self.shard.state().to_vec(),
                own: (0..self.children.len())
                    .filter_map(|child| self.shard.own(child))
                    .map(<[f32]>::to_vec)
                    .collect(),
                weight: None,
                finite: self.shard.finite(),
            }),
        }
    }

    /// Takes a child's push; what it pushes next is another round.
    fn settled(&mut self, child: usize) -> Option<Contribution> {
        self.due[child] += 1;
        let ((samples, motion), (read, from)) = self.waiting.remove(&child).zip(self.pulled[child].take())?;
        Some(Contribution { child, read, from, motion, samples })
    }

    fn lend(&mut self, child: usize) {
        self.pulled[child] = Some((self.shard.version(), self.shard.x().clone()));
    }

    fn serve(&mut self, child: usize, round: u64, copy: bool) {
        self.lend(child);
        let (x, version) = (self.shard.x(), self.shard.version());
        let numbers = self.shard.own(child).map_or_else(|| x.clone(), |own| Arc::new(own.to_vec()));
        let (shard, finite) = (self.index, self.shard.finite());
        self.children[child].tell(Note::Part(Part { shard, version, round, copy, finite, numbers }));
    }
}

impl Actor for ParameterServer {
    const KIND: &'static str = "parameter-server";
}

impl Message for Task {
    type Reply = ();
}

impl Handler<Task> for ParameterServer {
    fn handle(&mut self, task: Task, _: &mut Context<'_, Self>) {
        self.ordered(task);
    }
}

/// What a child has come to in this shard, at the end of a round. One that comes twice counts once. Where it began from, the
/// shard knows.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Push {
    /// Which child.
    pub child: usize,
    /// The child's round, counted from 0.
    pub round: u64,
    /// The samples that went into it, more than 0.
    pub samples: f64,
    /// Whether the numbers are a gradient, summed over the samples, and not where the parameters stand.
    pub raw: bool,
    /// What it is of the shard.
    #[serde(skip)]
    pub load: Load,
}

/// What is pushed to a shard.
#[derive(Debug)]
pub enum Load {
    /// One for each number of the shard.
    Numbers(Vec<f32>),
    /// As [`Residual::encode`](crate::centre::Residual::encode) writes it; or numbers as they are, from another node.
    Bytes(Vec<u8>),
}

impl Default for Load {
    fn default() -> Self {
        Self::Bytes(Vec::new())
    }
}

impl Push {
    /// What became of a shard that the child pulled as `from`.
    fn motion(self, codec: Codec, from: &[f32]) -> Result<Motion, String> {
        let numbers = match self.load {
            Load::Bytes(bytes) if codec.loses() => {
                return Motion::decode(codec, &bytes, self.raw, from).map_err(|e| e.to_string());
            }
            Load::Bytes(bytes) => numbers_of(&bytes)?,
            Load::Numbers(numbers) => numbers,
        };
        match numbers.len() {
            len if len != from.len() => Err(format!("{len} numbers")),
            _ if self.raw => Ok(Motion::Raw(numbers)),
            _ => Ok(Motion::Value(numbers)),
        }
    }
}

impl Body for Push {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        vec![match std::mem::take(&mut self.load) {
            Load::Numbers(numbers) => bytes_of(&numbers),
            Load::Bytes(bytes) => bytes,
        }]
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        self.load = Load::Bytes(only(parts)?);
        Ok(())
    }
}

impl Remote for ParameterServer {
    fn accepts(list: &mut Accepts<Self>) {
        list.message::<Push>("push");
    }
}

impl Message for Push {
    type Reply = ();
}

impl Handler<Push> for ParameterServer {
    fn handle(&mut self, push: Push, _: &mut Context<'_, Self>) {
        self.pushed(push);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use dae_schedule::{Join, Scale};
    use std::sync::mpsc::{Receiver, sync_channel};

    fn push(child: usize, round: u64, to: f32) -> Push {
        Push { child, round, samples: 1.0, raw: false, load: Load::Numbers(vec![to]) }
    }

    /// A shard that all children have pulled once.
    fn server(join: &Join, children: usize) -> (ParameterServer, Vec<Receiver<Note>>) {
        coded(join, children, Codec::F32)
    }

    /// The same, to which pushes come in this codec.
    fn coded(join: &Join, children: usize, codec: Codec) -> (ParameterServer, Vec<Receiver<Note>>) {
        let shard = Shard::new(join, 0, vec![0.0], vec![], vec![]);
        let (notes, heard_by): (Vec<_>, Vec<_>) = (0..children).map(|_| sync_channel(3)).unzip();
        let ears = notes.into_iter().map(Ear::Here).collect();
        let mut server = ParameterServer::new(0, shard, codec, ears, vec![0; children]);
        for (child, notes) in heard_by.iter().enumerate() {
            server.ordered(Task::Serve { child, round: 0, copy: false });
            assert_eq!(heard(notes), Some((0, vec![0.0])));
        }
        (server, heard_by)
    }

    fn heard(notes: &Receiver<Note>) -> Option<(u64, Vec<f32>)> {
        match notes.try_recv() {
            Ok(Note::Part(part)) => Some((part.version, part.numbers.to_vec())),
            _ => None,
        }
    }

    #[test]
    fn what_is_pushed_twice_counts_once() {
        let join = Join { scale: Scale::Sum, ..Join::new(2) };
        let (mut server, _heard) = server(&join, 2);
        for to in [1.0, 100.0] {
            server.pushed(push(0, 0, to));
        }
        server.ordered(Task::Fire { rate: 1.0, given: vec![0] });
        assert_eq!(**server.shard.x(), [1.0]);
        // Once more when it has been settled, and one that is not due yet.
        server.pushed(push(0, 0, 100.0));
        server.pushed(push(0, 2, 100.0));
        server.pushed(push(7, 0, 100.0));
        assert!(server.waiting.is_empty());
        server.ordered(Task::Serve { child: 0, round: 1, copy: false });
        server.ordered(Task::Forget { child: 0 });
        server.pushed(push(0, 1, 100.0));
        assert!(server.waiting.is_empty());
        assert_eq!(**server.shard.x(), [1.0]);
    }

    #[test]
    fn who_pushes_what_is_no_round_of_the_shard_is_told_and_changes_nothing() {
        let index = [0, 0, 0, 64, 9, 0, 0, 0].map(u8::from_le);
        for (codec, load, why) in [
            (Codec::F32, Load::Numbers(vec![1.0, 2.0]), "2 numbers"),
            (Codec::F32, Load::Bytes(vec![0; 3]), "3 bytes are no whole number of f32"),
            (Codec::F32, Load::Bytes(vec![]), "0 numbers"),
            (Codec::Bf16, Load::Bytes(vec![0; 4]), "4 bytes where 2 were due"),
            (Codec::TopK(1.0), Load::Bytes(index.to_vec()), "index 1073741824 of 1 numbers, after None"),
        ] {
            let (mut server, heard_by) = coded(&Join::new(1), 1, codec);
            server.pushed(Push { load, ..push(0, 0, 0.0) });
            let Ok(Note::Over(cause)) = heard_by[0].try_recv() else { panic!("nothing was told") };
            let whose = "what it pushed to shard 0 of the centre, which has 1 numbers: ";
            assert!(cause.strip_prefix(whose).unwrap().starts_with(why), "{cause}");
            assert!(server.waiting.is_empty());
        }
    }

    #[test]
    fn a_push_travels_as_fields_and_bytes() {
        let mut sent = Push { load: Load::Numbers(vec![1.0, -2.0]), raw: true, ..push(3, 7, 0.0) };
        let parts = sent.take_parts();
        assert_eq!((parts.len(), parts[0].len()), (1, 8));
        sent.give_parts(parts).unwrap();
        assert!(sent.give_parts(vec![]).is_err());
        let Motion::Raw(numbers) = sent.motion(Codec::F32, &[0.0; 2]).unwrap() else { panic!("a value") };
        assert_eq!(numbers, [1.0, -2.0]);
        // What is written in fewer bytes travels in these.
        let mut sent = Push { load: Load::Bytes(vec![0x80, 0x3f]), ..push(3, 7, 0.0) };
        assert_eq!(sent.take_parts(), [[0x80, 0x3f]]);
    }

    #[test]
    fn a_coded_push_is_the_way_from_what_was_pulled() {
        let (mut server, _heard) = coded(&Join { scale: Scale::Sum, ..Join::new(2) }, 2, Codec::Bf16);
        // 1 as bf16: the child went from 0 to -1.
        server.pushed(Push { load: Load::Bytes(vec![0x80, 0x3f]), ..push(0, 0, 0.0) });
        server.ordered(Task::Fire { rate: 1.0, given: vec![0] });
        assert_eq!(**server.shard.x(), [-1.0]);
    }

    #[test]
    fn orders_wait_for_the_pushes_they_are_about() {
        let (mut server, heard_by) = server(&Join::new(2), 2);
        server.ordered(Task::Fire { rate: 1.0, given: vec![0, 1] });
        server.ordered(Task::Serve { child: 0, round: 1, copy: false });
        server.pushed(push(1, 0, 4.0));
        assert_eq!(heard(&heard_by[0]), None);
        server.pushed(push(0, 0, 2.0));
        assert_eq!(heard(&heard_by[0]), Some((1, vec![3.0])));
        assert_eq!(heard(&heard_by[1]), None);
    }
}
