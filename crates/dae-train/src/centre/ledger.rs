//! Who may begin, which update fires when, who is late: a state machine over the order of arrivals.

use super::Tally;
use crate::gossip::Mix;
use dae_schedule::{Join, Late, Stale, SyncTerms};
use serde::{Deserialize, Serialize};

/// A child has ended a round and pushed what came of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// Which child.
    pub child: usize,
    /// Its round, counted from 0.
    pub round: u64,
    /// The samples that went into it.
    pub samples: u64,
    /// The sum of their losses.
    pub loss: f64,
    /// Whether the child has no round left to do.
    pub last: bool,
}

/// A push as the books have it: what went into which update, which is all that was left to chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Which child.
    pub child: usize,
    /// Its round, counted from 0.
    pub round: u64,
    /// The version it had pulled.
    pub read: u64,
    /// The version it made, with others perhaps; nothing if it was dropped.
    pub applied: Option<u64>,
}

/// What follows, to be done in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// The child pulls the centre as it is now, and begins this round.
    Begin {
        /// Which child.
        child: usize,
        /// Its round, counted from 0.
        round: u64,
    },
    /// The centre moves to this version by these contributions, the order of the children.
    Fire {
        /// The version it then has.
        version: u64,
        /// The contributions.
        given: Vec<Arrival>,
    },
    /// A peer mixes: of a gossip, where a round is a round for all.
    Mix(Mix),
    /// A contribution came too late, and counts for nothing.
    Drop {
        /// Which child.
        child: usize,
        /// Its round.
        round: u64,
    },
    /// The child begins no other round, since all were asked to stop.
    Leave {
        /// Which child.
        child: usize,
    },
    /// Nobody is under way, and no contribution is left over, as was asked.
    Quiet,
}

/// The books of a join: it knows versions and clocks, and no numbers.
///
/// An update fires at k contributions, or at as many as there are children that can still bring one: those that are
/// through with their data are not waited for. A child waits for the update that its push goes into, and then pulls.
/// One that is told again of a push it has booked does nothing.
#[derive(Debug, Clone)]
pub struct Ledger {
    terms: SyncTerms,
    /// The age above which a contribution is dropped.
    oldest: Option<u32>,
    version: u64,
    children: Vec<Child>,
    pending: Vec<Arrival>,
    /// Updates after which all come to rest, for a checkpoint; 0 for never.
    pause_every: u64,
    /// Nobody begins a round for now; whether that has come to rest.
    held: Option<bool>,
    stopping: bool,
    tally: Tally,
    /// What was taken up since somebody asked; nothing is kept where all wait for all.
    taken: Vec<Taken>,
}

#[derive(Debug, Clone, Copy)]
struct Child {
    /// Rounds done.
    clock: u64,
    /// The version it pulled last.
    read: u64,
    state: State,
    last: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It may pull.
    Idle,
    /// It will push.
    Running,
    /// It has pushed, and waits for the update that its push goes into.
    Waiting,
    /// It is through.
    Done,
}

impl Ledger {
    /// The books of a centre of this version, whose children have done so many rounds; who has none left is through.
    pub fn new(join: &Join, version: u64, children: impl IntoIterator<Item = (u64, bool)>) -> Self {
        let child = |(clock, through)| {
            let state = if through { State::Done } else { State::Idle };
            Child { clock, read: version, state, last: through }
        };
        let children: Vec<_> = children.into_iter().map(child).collect();
        let oldest = if let Stale::Drop(tau) = join.stale { Some(tau) } else { None };
        let tally = Tally::new(children.len());
        let (pending, held, stopping, pause_every) = (vec![], None, false, 0);
        let mut terms = join.terms();
        if terms.k == join.n {
            // Who waits for all is never ahead; a run made longer may begin with children of unequal clocks.
            terms.slack = None;
        }
        Self { terms, oldest, version, children, pending, pause_every, held, stopping, tally, taken: vec![] }
    }

    /// Lets all come to rest after each so many updates, 0 for never: nobody begins a round until [`Ledger::release`],
    /// and [`Order::Quiet`] tells when nobody is under way any more.
    pub fn pause_every(mut self, updates: u64) -> Self {
        self.pause_every = updates;
        self
    }

    /// Updates so far.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Rounds that a child has done.
    pub fn clock(&self, child: usize) -> u64 {
        self.children[child].clock
    }

    /// What has been counted on the way.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// As [`Ledger::tally`], to add to it.
    pub fn tally_mut(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// The pushes that were taken up since this was asked last, in order; of a join that waits for all, none.
    pub fn taken(&mut self) -> Vec<Taken> {
        std::mem::take(&mut self.taken)
    }

    /// Lets all begin.
    pub fn begin(&mut self) -> Vec<Order> {
        self.settle(Vec::new())
    }

    /// A push has come. One that is not expected, since it was booked before, changes nothing.
    pub fn arrive(&mut self, arrival: Arrival) -> Vec<Order> {
        let version = self.version;
        let Some(child) = self.children.get_mut(arrival.child) else { return Vec::new() };
        if child.state != State::Running || child.clock != arrival.round {
            return Vec::new();
        }
        child.clock += 1;
        child.last = arrival.last;
        let age = version - child.read;
        let late = self.terms.late == Late::Drop && age > 0;
        let mut orders = Vec::new();
        if late || self.oldest.is_some_and(|oldest| age > u64::from(oldest)) {
            child.state = if child.last { State::Done } else { State::Idle };
            self.tally.dropped(arrival.child);
            self.book(arrival.child, arrival.round, None);
            orders.push(Order::Drop { child: arrival.child, round: arrival.round });
        } else {
            child.state = State::Waiting;
            self.pending.push(arrival);
        }
        self.settle(orders)
    }

    /// Goes on after [`Order::Quiet`].
    pub fn release(&mut self) -> Vec<Order> {
        self.held = None;
        self.settle(Vec::new())
    }

    /// Has every child leave after the round it is in.
    pub fn stop(&mut self) -> Vec<Order> {
        self.stopping = true;
        self.held = None;
        self.settle(Vec::new())
    }

    /// Whether all children are through.
    pub fn through(&self) -> bool {
        self.children.iter().all(|child| child.state == State::Done)
    }

    fn count(&self, states: &[State]) -> usize {
        self.children.iter().filter(|child| states.contains(&child.state)).count()
    }

    /// All that follows from how things stand.
    fn settle(&mut self, mut orders: Vec<Order>) -> Vec<Order> {
        loop {
            let fired = self.fire();
            let begun = self.start();
            if fired.is_none() && begun.is_empty() {
                break;
            }
            orders.extend(fired);
            orders.extend(begun);
        }
        let quiet = self.pending.is_empty() && self.count(&[State::Running]) == 0;
        if self.held == Some(false) && quiet {
            self.held = Some(true);
            orders.push(Order::Quiet);
        }
        orders
    }

    /// The update that is due, if one is.
    fn fire(&mut self) -> Option<Order> {
        let coming = match self.held.is_some() || self.stopping {
            true => self.count(&[State::Running, State::Waiting]),
            false => self.count(&[State::Idle, State::Running, State::Waiting]),
        };
        if self.pending.is_empty() || self.pending.len() < coming.min(self.terms.k as usize) {
            return None;
        }
        let mut given = std::mem::take(&mut self.pending);
        given.sort_by_key(|each| each.child);
        for each in &given {
            let child = &mut self.children[each.child];
            child.state = if child.last { State::Done } else { State::Idle };
            self.tally.applied(each.child, self.version - child.read);
            self.book(each.child, each.round, Some(self.version + 1));
        }
        self.version += 1;
        if self.pause_every > 0 && self.version.is_multiple_of(self.pause_every) && !self.stopping {
            self.held.get_or_insert(false);
        }
        Some(Order::Fire { version: self.version, given })
    }

    fn book(&mut self, child: usize, round: u64, applied: Option<u64>) {
        if (self.terms.k as usize) < self.children.len() {
            self.taken.push(Taken { child, round, read: self.children[child].read, applied });
        }
    }

    /// Who is idle begins, unless it is too far ahead of the slowest, or nobody may.
    fn start(&mut self) -> Vec<Order> {
        let under_way = self.children.iter().filter(|child| child.state != State::Done);
        let slowest = under_way.map(|child| child.clock).min().unwrap_or(0);
        let mut orders = Vec::new();
        for (index, child) in self.children.iter_mut().enumerate() {
            let ahead = self.terms.slack.is_some_and(|slack| child.clock > slowest + u64::from(slack));
            if child.state != State::Idle {
                continue;
            }
            if self.stopping {
                child.state = State::Done;
                orders.push(Order::Leave { child: index });
            } else if self.held.is_none() && !ahead {
                (child.state, child.read) = (State::Running, self.version);
                orders.push(Order::Begin { child: index, round: child.clock });
            }
        }
        orders
    }
}

#[cfg(test)]
mod tests;
