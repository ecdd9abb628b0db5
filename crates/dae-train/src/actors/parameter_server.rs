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
    /// Pushes that nothing has been ordered about yet, and the round that each child is to push next.
    pushed: BTreeMap<usize, Contribution>,
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
        Self { index, shard, children, pushed: BTreeMap::new(), due: rounds, tasks: VecDeque::new() }
    }

    fn go_on(&mut self) {
        while let Some(task) = self.tasks.pop_front() {
            let there = match &task {
                Task::Fire { given, .. } => given.iter().all(|child| self.pushed.contains_key(child)),
                Task::Forget { child } => self.pushed.contains_key(child),
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
        self.pushed.remove(&child)
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
        self.tasks.push_back(task);
        self.go_on();
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
    fn handle(&mut self, Push { round, contribution }: Push, _: &mut Context<'_, Self>) {
        if self.due.get(contribution.child) == Some(&round) {
            self.pushed.entry(contribution.child).or_insert(contribution);
            self.go_on();
        }
    }
}
