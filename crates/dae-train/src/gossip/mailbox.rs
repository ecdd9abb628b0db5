//! A peer's numbers, and those its neighbours send.

use super::{Holding, Mix};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What a peer holds at a turn, as its neighbours are sent it.
#[derive(Debug, Clone)]
pub struct Letter {
    /// The turn.
    pub turn: u64,
    /// Who sends it.
    pub from: usize,
    /// The mass.
    pub mass: Arc<Vec<f32>>,
    /// The weight.
    pub weight: f64,
}

/// What a mailbox is to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Mix.
    Mix(Mix),
    /// Hand the peer what it begins a round from.
    Serve {
        /// Its round.
        round: u64,
        /// Whether the peer's state is to be copied first, for a checkpoint.
        copy: bool,
    },
    /// Show what is held.
    Show,
}

/// What follows from what a mailbox was told, to be done in order.
#[derive(Debug, Clone)]
pub enum Act {
    /// A letter to another.
    Send {
        /// To whom.
        to: usize,
        /// The letter.
        letter: Letter,
    },
    /// The peer begins a round.
    Serve {
        /// Its round.
        round: u64,
        /// Whether its state is to be copied first.
        copy: bool,
        /// What it begins from.
        params: Arc<Vec<f32>>,
    },
    /// What is held now is to be shown.
    Show,
}

/// What a peer holds, what its round has come to, and what its neighbours have sent, until it is mixed. It does what it is
/// told in that order, and waits with a task until what it is about is there; letters and pushes may come before it.
#[derive(Debug)]
pub struct Mailbox {
    index: usize,
    holding: Holding,
    /// What the peer has begun from and not pushed back yet.
    pulled: Option<Arc<Vec<f32>>>,
    /// The round that the peer is to push next, and what it has pushed.
    due: u64,
    push: Option<Vec<f32>>,
    /// By turn and sender.
    letters: BTreeMap<(u64, usize), Letter>,
    tasks: VecDeque<Task>,
}

impl Mailbox {
    /// Of a peer that holds this and has done so many rounds.
    pub fn new(index: usize, holding: Holding, rounds: u64) -> Self {
        let (letters, tasks) = (BTreeMap::new(), VecDeque::new());
        Self { index, holding, pulled: None, due: rounds, push: None, letters, tasks }
    }

    /// What is held.
    pub fn holding(&self) -> &Holding {
        &self.holding
    }

    /// There is something to do.
    pub fn told(&mut self, task: Task) -> Vec<Act> {
        self.tasks.push_back(task);
        self.go_on()
    }

    /// The peer's round has come to these parameters. One that comes twice counts once.
    ///
    /// # Errors
    /// A sentence where they are not as many as there are.
    pub fn pushed(&mut self, round: u64, params: Vec<f32>) -> Result<Vec<Act>, String> {
        if round != self.due || self.pulled.is_none() {
            return Ok(Vec::new());
        }
        let (came, len) = (params.len(), self.holding.mass().len());
        if came != len {
            return Err(format!("peer {} pushed {came} numbers where it has {len}", self.index));
        }
        self.push.get_or_insert(params);
        Ok(self.go_on())
    }

    /// A neighbour has sent what it holds.
    ///
    /// # Errors
    /// A sentence where it is not as long as what is held here.
    pub fn received(&mut self, letter: Letter) -> Result<Vec<Act>, String> {
        let (from, came, len) = (letter.from, letter.mass.len(), self.holding.mass().len());
        if came != len {
            return Err(format!("peer {from} sent peer {} {came} numbers where it has {len}", self.index));
        }
        self.letters.insert((letter.turn, from), letter);
        Ok(self.go_on())
    }

    fn go_on(&mut self) -> Vec<Act> {
        let mut acts = Vec::new();
        while let Some(task) = self.tasks.pop_front() {
            match task {
                Task::Mix(mut mix) => {
                    if !self.mix(&mut mix, &mut acts) {
                        self.tasks.push_front(Task::Mix(mix));
                        break;
                    }
                }
                Task::Serve { round, copy } => {
                    let params = self.holding.parameters();
                    self.pulled = Some(params.clone());
                    acts.push(Act::Serve { round, copy, params });
                }
                Task::Show => acts.push(Act::Show),
            }
        }
        acts
    }

    /// Does what can be done of it, and takes that out; whether all is done.
    fn mix(&mut self, mix: &mut Mix, acts: &mut Vec<Act>) -> bool {
        if mix.own.is_some() {
            // What was pushed was pulled before.
            let Some(to) = self.push.take() else { return false };
            let from = self.pulled.take().unwrap_or_default();
            self.holding.arrive(&from, &to);
            (mix.own, self.due) = (None, self.due + 1);
        }
        for to in std::mem::take(&mut mix.to) {
            let (mass, weight) = (self.holding.mass().clone(), self.holding.weight());
            acts.push(Act::Send { to, letter: Letter { turn: mix.turn, from: self.index, mass, weight } });
        }
        if !mix.from.iter().all(|from| self.letters.contains_key(&(mix.turn, *from))) {
            return false;
        }
        let others = mix.from.iter().filter_map(|from| self.letters.remove(&(mix.turn, *from)));
        let mut others: Vec<_> = others.map(|letter| (letter.mass, letter.weight)).collect();
        if mix.theirs == 0.0 {
            others.clear();
        }
        self.holding.mix(&others, mix.theirs, mix.share);
        true
    }
}
