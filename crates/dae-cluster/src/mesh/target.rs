//! One place where somebody may be, and how dialling it stands.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dae_net::NodeId;

/// The pause after the first failure; it doubles with each one.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// So many failures in a row, some minutes, and a place is given up until it is heard of again.
const MOST_FAILURES: u32 = 60;

/// Who told of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A backend of discovery, by its name.
    Discovery(&'static str),
    /// The node itself, which dialled this daemon.
    Itself,
}

/// A dial to begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dial {
    /// Its target's number.
    pub number: u64,
    /// Who must be there, if that is known.
    pub expect: Option<NodeId>,
    /// Where, side by side.
    pub addresses: Vec<SocketAddr>,
}

/// A node that could not be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missed {
    /// Who.
    pub id: NodeId,
    /// Whether the reason is another than the last time.
    pub news: bool,
    /// Where it was looked for.
    pub addresses: Vec<SocketAddr>,
}

/// What a connection that was made is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The node is joined over it.
    Joined,
    /// There is one to this node already.
    Double,
    /// This daemon has dialled itself.
    Myself,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Wait { until: Instant },
    Dialling,
    Connected,
}

#[derive(Debug)]
pub(super) struct Target {
    pub(super) number: u64,
    pub(super) id: Option<NodeId>,
    pub(super) label: String,
    pub(super) addresses: Vec<SocketAddr>,
    source: Source,
    state: State,
    failures: u32,
    why: String,
    /// Heard of while a dial was under way: if that fails, the next one follows at once.
    again: bool,
}

impl Target {
    pub(super) fn new(
        source: Source,
        label: &str,
        addresses: Vec<SocketAddr>,
        id: Option<NodeId>,
        now: Instant,
    ) -> Self {
        Self {
            number: 0,
            id,
            label: label.to_owned(),
            addresses,
            source,
            state: State::Wait { until: now },
            failures: 0,
            why: String::new(),
            again: false,
        }
    }

    /// Discovery tells of it again. Addresses that are new are dialled soon; the same ones shorten no pause.
    pub(super) fn found_again(&mut self, addresses: Vec<SocketAddr>, now: Instant) {
        let news = addresses.iter().any(|a| !self.addresses.contains(a));
        if news && self.id.is_none() {
            self.addresses = addresses;
            self.again = self.is_dialling();
            if let State::Wait { until } = &mut self.state {
                *until = now;
            }
        }
    }

    /// It dialled this daemon, so it is alive: dial back at once.
    pub(super) fn greeted(&mut self, name: &str, addresses: Vec<SocketAddr>, now: Instant) {
        self.label = name.to_owned();
        if !self.is_connected() && !addresses.is_empty() {
            self.addresses = addresses;
        }
        match &mut self.state {
            State::Wait { until } => *until = now,
            State::Dialling => self.again = true,
            State::Connected => {}
        }
    }

    pub(super) fn more(&mut self, addresses: Vec<SocketAddr>, most: usize) {
        for address in addresses {
            if !self.addresses.contains(&address) && self.addresses.len() < most {
                self.addresses.push(address);
            }
        }
    }

    pub(super) fn dial(&mut self, now: Instant) -> Option<Dial> {
        let State::Wait { until } = self.state else { return None };
        if until > now || self.addresses.is_empty() {
            return None;
        }
        self.state = State::Dialling;
        Some(Dial { number: self.number, expect: self.id, addresses: self.addresses.clone() })
    }

    #[cfg(test)]
    pub(super) fn next(&self) -> Option<Instant> {
        match self.state {
            State::Wait { until } if !self.addresses.is_empty() => Some(until),
            _ => None,
        }
    }

    /// The address that proved good comes first from now on.
    pub(super) fn connect(&mut self, id: NodeId, name: &str, address: SocketAddr) {
        self.id = Some(id);
        self.label = name.to_owned();
        self.addresses.retain(|a| *a != address);
        self.addresses.insert(0, address);
        self.state = State::Connected;
        self.failures = 0;
        self.why.clear();
        self.again = false;
    }

    /// Whether the reason is another than the last time.
    pub(super) fn fail(&mut self, why: String, now: Instant) -> bool {
        let news = self.why != why;
        self.failures += 1;
        self.why = why;
        let pause = FIRST_PAUSE.saturating_mul(1 << (self.failures - 1).min(16)).min(LONGEST_PAUSE);
        let pause = if std::mem::take(&mut self.again) { Duration::ZERO } else { pause };
        self.state = State::Wait { until: now + pause };
        news
    }

    /// Whether it is not worth another try.
    pub(super) fn is_hopeless(&self) -> bool {
        self.failures >= MOST_FAILURES
    }

    pub(super) fn lost(&mut self, now: Instant) {
        if self.state == State::Connected {
            self.state = State::Wait { until: now };
        }
    }

    pub(super) fn declined(&self) -> Option<(String, String)> {
        if self.failures == 0 || self.state == State::Connected {
            return None;
        }
        let addresses: Vec<_> = self.addresses.iter().map(ToString::to_string).collect();
        let by = match self.source {
            Source::Discovery(backend) => backend,
            Source::Itself => "its own word",
        };
        Some((format!("{} at {} (by {by})", self.label, addresses.join(", ")), self.why.clone()))
    }

    pub(super) fn failures(&self) -> u32 {
        if self.is_connected() { 0 } else { self.failures }
    }

    pub(super) fn is_connected(&self) -> bool {
        self.state == State::Connected
    }

    pub(super) fn is_dialling(&self) -> bool {
        self.state == State::Dialling
    }
}
