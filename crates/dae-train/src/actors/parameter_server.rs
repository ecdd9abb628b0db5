//! The parameter server: a shard of a join's centre.

use super::seat::{Note, Part};
use crate::centre::{Contribution, Shard};
use dae_actor::{Actor, Context, Handler, Message, ReplyTo};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::SyncSender;

/// Holds a shard of the centre, on a thread of its own. It does what the join's coordinator orders, in that order, and
/// waits with an order until the pushes it is about are there: so all shards move alike, whoever comes first to which.
pub struct ParameterServer {
    index: usize,
    shard: Shard,
    /// Where each child's first worker hears of it.
    children: Vec<SyncSender<Note>>,
    /// Pushes that nothing has been done about yet, and the round that each child is to push next.
    waiting: BTreeMap<usize, Contribution>,
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
    /// Hand the shard to a child that begins a round.
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

/// What a shard has come to.
#[derive(Debug)]
pub struct Shown {
    /// Its parameters.
    pub params: Vec<f32>,
    /// The outer optimizer's state.
    pub state: Vec<Vec<f32>>,
    /// Where each child stands, of an elastic centre.
    pub own: Vec<Vec<f32>>,
    /// Whether all of it is finite.
    pub finite: bool,
}

impl Shown {
    /// Of no shard.
    pub(super) fn nothing() -> Self {
        Self { params: vec![], state: vec![], own: vec![], finite: true }
    }
}

impl ParameterServer {
    /// Shard number `index`, whose children have done so many rounds.
    pub fn new(index: usize, shard: Shard, children: Vec<SyncSender<Note>>, rounds: Vec<u64>) -> Self {
        Self { index, shard, children, waiting: BTreeMap::new(), due: rounds, tasks: VecDeque::new() }
    }

    fn ordered(&mut self, task: Task) {
        self.tasks.push_back(task);
        self.go_on();
    }

    fn pushed(&mut self, Push { round, contribution }: Push) {
        if self.due.get(contribution.child) == Some(&round) {
            self.waiting.entry(contribution.child).or_insert(contribution);
            self.go_on();
        }
    }

    fn go_on(&mut self) {
        while let Some(task) = self.tasks.pop_front() {
            let there = match &task {
                Task::Fire { given, .. } => given.iter().all(|child| self.waiting.contains_key(child)),
                Task::Forget { child } => self.waiting.contains_key(child),
                Task::Serve { .. } | Task::Show(_) => true,
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
            Task::Serve { child, round, copy } => self.serve(child, round, copy),
            Task::Show(to) => to.send(Shown {
                params: self.shard.x().to_vec(),
                state: self.shard.state().to_vec(),
                own: (0..self.children.len())
                    .filter_map(|child| self.shard.own(child))
                    .map(<[f32]>::to_vec)
                    .collect(),
                finite: self.shard.finite(),
            }),
        }
    }

    /// Takes a child's push; what it pushes next is another round.
    fn settled(&mut self, child: usize) -> Option<Contribution> {
        self.due[child] += 1;
        self.waiting.remove(&child)
    }

    fn serve(&self, child: usize, round: u64, copy: bool) {
        let x = self.shard.x().clone();
        let begins = self.shard.own(child).map(<[f32]>::to_vec);
        let (shard, version, finite) = (self.index, self.shard.version(), self.shard.finite());
        let part = Part { shard, version, round, x, begins, copy, finite };
        // There is room for a part of each shard; a child that has gone away wants no more.
        let _ = self.children[child].try_send(Note::Part(part));
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

/// What a child has come to in this shard, at the end of a round. One that comes twice counts once.
#[derive(Debug)]
pub struct Push {
    /// The child's round, counted from 0.
    pub round: u64,
    /// What it hands over.
    pub contribution: Contribution,
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
    use crate::centre::Motion;
    use dae_schedule::{Join, Scale};
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

    fn push(child: usize, round: u64, to: f32) -> Push {
        let (from, motion) = (Arc::new(vec![0.0]), Motion::Value(vec![to]));
        Push { round, contribution: Contribution { child, read: 0, from, motion, samples: 1.0 } }
    }

    fn server(join: &Join, children: usize) -> (ParameterServer, Vec<std::sync::mpsc::Receiver<Note>>) {
        let shard = Shard::new(join, 0, vec![0.0], vec![], vec![]);
        let (notes, heard) = (0..children).map(|_| sync_channel(2)).unzip();
        (ParameterServer::new(0, shard, notes, vec![0; children]), heard)
    }

    fn heard(notes: &std::sync::mpsc::Receiver<Note>) -> Option<(u64, Vec<f32>)> {
        match notes.try_recv() {
            Ok(Note::Part(part)) => Some((part.version, part.x.to_vec())),
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
        server.ordered(Task::Forget { child: 0 });
        server.pushed(push(0, 1, 100.0));
        assert!(server.waiting.is_empty());
        assert_eq!(**server.shard.x(), [1.0]);
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
