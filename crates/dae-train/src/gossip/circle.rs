//! Who may begin and who mixes when, where a round is a round for all: a state machine over rounds that end.

use super::Mix;
use crate::centre::{Arrival, Order, Tally};
use dae_schedule::Gossip;
use std::collections::VecDeque;

/// The books of peers whose rounds are rounds for all: it knows clocks, and no numbers.
///
/// A peer mixes once its own round has ended and the same round of all that reach it, and then begins the next. So it waits
/// for its neighbours and not for all; how far two are apart is bounded by how long numbers take from one to the other. A
/// peer that is through with its data while others are not rests: it mixes, and does no round. Where all are to meet, for a
/// checkpoint or to stop, nobody begins a round beyond a limit until all have mixed before it.
///
/// One that is told again of a round it has booked does nothing.
#[derive(Debug, Clone)]
pub struct Circle {
    gossip: Gossip,
    /// Rounds that all have ended.
    version: u64,
    peers: Vec<Peer>,
    /// What has come of the rounds after those, in their order.
    open: VecDeque<Vec<Arrival>>,
    /// Rounds after which all come to rest, for a checkpoint; 0 for never.
    pause_every: u64,
    /// The round that nobody begins for now.
    limit: u64,
    stopping: bool,
    tally: Tally,
}

#[derive(Debug, Clone, Copy)]
struct Peer {
    /// Rounds it has ended, and those it has mixed after.
    ended: u64,
    mixed: u64,
    /// The first round that it has no data for.
    until: u64,
    running: bool,
    left: bool,
}

impl Circle {
    /// The books of peers that have all done so many rounds, and have so many left to do, each its own.
    pub fn new(gossip: Gossip, version: u64, left: impl IntoIterator<Item = u64>) -> Self {
        let peer = |left: u64| {
            let until = version.saturating_add(left);
            Peer { ended: version, mixed: version, until, running: false, left: left == 0 }
        };
        let peers: Vec<_> = left.into_iter().map(peer).collect();
        let tally = Tally::new(peers.len());
        let (open, limit) = (VecDeque::new(), u64::MAX);
        Self { gossip, version, peers, open, pause_every: 0, limit, stopping: false, tally }
    }

    /// Lets all come to rest after each so many rounds, 0 for never; [`Order::Quiet`] tells when they have, and
    /// [`Circle::release`] lets them go on.
    pub fn pause_every(mut self, rounds: u64) -> Self {
        self.pause_every = rounds;
        self.limit = self.next_pause();
        self
    }

    /// Rounds that all have ended.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Rounds that a peer has ended.
    pub fn clock(&self, peer: usize) -> u64 {
        self.peers[peer].ended
    }

    /// What has been counted on the way.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// As [`Circle::tally`], to add to it.
    pub fn tally_mut(&mut self) -> &mut Tally {
        &mut self.tally
    }

    /// Lets all begin.
    pub fn begin(&mut self) -> Vec<Order> {
        self.settle()
    }

    /// A peer's round has ended.
    pub fn arrive(&mut self, arrival: Arrival) -> Vec<Order> {
        let Some(peer) = self.peers.get_mut(arrival.child) else { return Vec::new() };
        if !peer.running || peer.ended != arrival.round {
            return Vec::new();
        }
        (peer.running, peer.ended) = (false, peer.ended + 1);
        if arrival.last {
            (peer.until, peer.left) = (peer.ended, true);
        }
        self.tally.applied(arrival.child, 0);
        let open = (arrival.round - self.version) as usize;
        while self.open.len() <= open {
            self.open.push_back(Vec::new());
        }
        self.open[open].push(arrival);
        self.settle()
    }

    /// Goes on after [`Order::Quiet`].
    pub fn release(&mut self) -> Vec<Order> {
        if !self.stopping {
            self.limit = self.next_pause();
        }
        self.settle()
    }

    /// Has all leave after the first round that nobody has begun to go beyond.
    pub fn stop(&mut self) -> Vec<Order> {
        if !self.stopping {
            self.stopping = true;
            let begun = self.peers.iter().map(|peer| peer.ended + u64::from(peer.running));
            self.limit = begun.max().unwrap_or(0);
        }
        self.settle()
    }

    /// Whether all are through, and all have mixed after the last round.
    pub fn through(&self) -> bool {
        let last = self.last();
        self.peers.iter().all(|peer| peer.left && !peer.running && peer.mixed == last)
    }

    fn next_pause(&self) -> u64 {
        match self.pause_every {
            0 => u64::MAX,
            every => (self.version / every).saturating_add(1).saturating_mul(every),
        }
    }

    /// How many rounds there are, as far as anybody has data; when all are to stop, no more than are under way.
    fn last(&self) -> u64 {
        let end = self.peers.iter().map(|peer| peer.until).max().unwrap_or(0);
        if self.stopping { end.min(self.limit) } else { end }
    }

    /// All that follows from how things stand.
    fn settle(&mut self) -> Vec<Order> {
        let mut orders = Vec::new();
        while self.mix(&mut orders) | self.rest() {}
        self.count(&mut orders);
        self.start(&mut orders);
        let (limit, last) = (self.limit, self.last());
        if !self.stopping && limit < last && self.peers.iter().all(|peer| peer.mixed == limit) {
            orders.push(Order::Quiet);
        }
        orders
    }

    /// Who has ended a round that all have ended who reach it mixes. Whether anybody does.
    fn mix(&mut self, orders: &mut Vec<Order>) -> bool {
        let mut any = false;
        for index in 0..self.peers.len() {
            let Peer { ended, mixed: round, until, .. } = self.peers[index];
            if ended == round {
                continue;
            }
            let mix = Mix::in_round(&self.gossip, index, round, round < until);
            if mix.from.iter().all(|source| self.peers[*source].ended > round) {
                self.peers[index].mixed += 1;
                orders.push(Order::Mix(mix));
                any = true;
            }
        }
        any
    }

    /// Who has no data for a round that others do has ended it. Whether anybody has.
    fn rest(&mut self) -> bool {
        let end = self.last().min(self.limit);
        let mut any = false;
        for peer in &mut self.peers {
            if peer.ended == peer.mixed && peer.ended >= peer.until && peer.ended < end {
                peer.ended += 1;
                any = true;
            }
        }
        any
    }

    /// Who has mixed begins the next round, or leaves where nobody does one any more.
    fn start(&mut self, orders: &mut Vec<Order>) {
        for (child, peer) in self.peers.iter_mut().enumerate() {
            if peer.running || peer.left || peer.ended > peer.mixed {
                continue;
            }
            if peer.mixed < self.limit {
                peer.running = true;
                orders.push(Order::Begin { child, round: peer.mixed });
            } else if self.stopping {
                peer.left = true;
                orders.push(Order::Leave { child });
            }
        }
    }

    /// The rounds that all have ended count.
    fn count(&mut self, orders: &mut Vec<Order>) {
        while self.peers.iter().all(|peer| peer.ended > self.version)
            && let Some(mut given) = self.open.pop_front()
        {
            given.sort_by_key(|each| each.child);
            self.version += 1;
            orders.push(Order::Fire { version: self.version, given });
        }
    }
}
