//! Whom to dial, and when: every daemon dials every other, for only a connection of its own proves that an address
//! works. A plain state machine: time comes in as an argument.

mod target;

pub use target::{Dial, Missed, Outcome, Source};

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Instant;

use dae_net::NodeId;
use target::Target;

/// More places are not looked at: discovery hears whoever sends, keys are proved only later.
const MOST_TARGETS: usize = 512;
/// More addresses of one place are not tried.
const MOST_ADDRESSES: usize = 16;
/// More are not dialled at a time.
const MOST_AT_ONCE: usize = 32;

/// The places a daemon knows of, and how each stands.
#[derive(Debug)]
pub struct Mesh {
    me: NodeId,
    targets: Vec<Target>,
    next_number: u64,
    /// Where this daemon found itself.
    own: BTreeSet<SocketAddr>,
}

impl Mesh {
    /// Of the daemon with this public key, which knows of nobody yet.
    pub fn new(me: NodeId) -> Self {
        Self { me, targets: Vec::new(), next_number: 0, own: BTreeSet::new() }
    }

    /// Discovery says that somebody may be at `addresses`; it says so again and again.
    pub fn found(&mut self, source: Source, label: &str, addresses: &[SocketAddr], now: Instant) {
        let addresses = self.sensible(addresses);
        if addresses.is_empty() {
            return;
        }
        let known = self.targets.iter_mut().find(|t| t.addresses.iter().any(|a| addresses.contains(a)));
        match known {
            Some(target) => target.found_again(addresses, now),
            None => self.add(Target::new(source, label, addresses, None, now)),
        }
    }

    /// A peer that has proved the key dialled this daemon and said where it is reached.
    pub fn greeted(&mut self, id: NodeId, name: &str, addresses: &[SocketAddr], now: Instant) {
        if id == self.me {
            return;
        }
        let addresses = self.sensible(addresses);
        match self.targets.iter_mut().find(|t| t.id == Some(id)) {
            Some(target) => target.greeted(name, addresses, now),
            None => {
                // Whoever was looked for at these addresses is this peer, or has gone.
                self.targets.retain(|t| t.id.is_some() || !t.addresses.iter().any(|a| addresses.contains(a)));
                self.add(Target::new(Source::Itself, name, addresses, Some(id), now));
            }
        }
    }

    /// Other members speak of `id`, who is alive and may be at `address`.
    pub fn heard_of(&mut self, id: NodeId, name: &str, address: SocketAddr, now: Instant) {
        let addresses = self.sensible(&[address]);
        if id == self.me || addresses.is_empty() {
            return;
        }
        match self.targets.iter_mut().find(|t| t.id == Some(id)) {
            Some(target) => target.more(addresses, MOST_ADDRESSES),
            None => self.add(Target::new(Source::Discovery("gossip"), name, addresses, Some(id), now)),
        }
    }

    /// The dials to begin now; each must be answered by [`Mesh::reached`] or [`Mesh::failed`].
    pub fn due(&mut self, now: Instant) -> Vec<Dial> {
        let busy = self.targets.iter().filter(|t| t.is_dialling()).count();
        let free = MOST_AT_ONCE.saturating_sub(busy);
        self.targets.iter_mut().filter_map(|target| target.dial(now)).take(free).collect()
    }

    /// When [`Mesh::due`] has something to do next, if nothing happens before.
    #[cfg(test)]
    pub fn next(&self) -> Option<Instant> {
        self.targets.iter().filter_map(Target::next).min()
    }

    /// Dial `number` reached `id` at `address`, and its key is proved.
    pub fn reached(&mut self, number: u64, id: NodeId, name: &str, address: SocketAddr) -> Outcome {
        if id == self.me {
            self.targets.retain(|t| t.number != number);
            if self.own.len() < MOST_ADDRESSES {
                self.own.insert(address);
            }
            return Outcome::Myself;
        }
        if self.targets.iter().any(|t| t.id == Some(id) && t.is_connected()) {
            // Its other addresses come to the same node; whoever finds them again is told so by their target.
            let double =
                self.targets.iter().position(|t| t.number == number).map(|at| self.targets.remove(at));
            if let (Some(double), Some(target)) = (double, self.targets.iter_mut().find(|t| t.id == Some(id)))
            {
                target.more(double.addresses, MOST_ADDRESSES);
            }
            return Outcome::Double;
        }
        if !self.targets.iter().any(|t| t.number == number) {
            // Its target was given up meanwhile, for a better one.
            return Outcome::Double;
        }
        // A dial that was begun for the same node elsewhere is overtaken; its end finds no target.
        self.targets.retain(|t| t.number == number || t.id != Some(id));
        match self.targets.iter_mut().find(|t| t.number == number) {
            Some(target) => {
                target.connect(id, name, address);
                Outcome::Joined
            }
            None => Outcome::Double,
        }
    }

    /// Dial `number` failed. Says who was missed, if it is known who had to be there.
    pub fn failed(&mut self, number: u64, why: String, now: Instant) -> Option<Missed> {
        let at = self.targets.iter().position(|t| t.number == number)?;
        let target = &mut self.targets[at];
        let news = target.fail(why, now);
        let missed = target.id.map(|id| Missed { id, news, addresses: target.addresses.clone() });
        if target.is_hopeless() {
            self.targets.remove(at);
        }
        missed
    }

    /// This daemon's own connection to `id` ended: it is dialled again at once.
    pub fn lost(&mut self, id: NodeId, now: Instant) {
        for target in self.targets.iter_mut().filter(|t| t.id == Some(id)) {
            target.lost(now);
        }
    }

    /// `id` said goodbye: it is dialled no more, unless it is heard of again.
    pub fn forget(&mut self, id: NodeId) {
        self.targets.retain(|t| t.id != Some(id));
    }

    /// The places where somebody was looked for in vain: who told of it and the addresses, and the reason.
    pub fn declined(&self) -> Vec<(String, String)> {
        self.targets.iter().filter_map(Target::declined).collect()
    }

    /// Addresses to dial: no own ones, none that cannot be, each once.
    fn sensible(&self, addresses: &[SocketAddr]) -> Vec<SocketAddr> {
        let mut kept: Vec<SocketAddr> = Vec::new();
        for address in addresses {
            let usable =
                address.port() != 0 && !address.ip().is_unspecified() && !address.ip().is_multicast();
            if usable && !self.own.contains(address) && !kept.contains(address) && kept.len() < MOST_ADDRESSES
            {
                kept.push(*address);
            }
        }
        kept
    }

    fn add(&mut self, mut target: Target) {
        if self.targets.len() >= MOST_TARGETS {
            // Whoever failed most makes room; those that are connected stay.
            let worst = (0..self.targets.len()).max_by_key(|&at| self.targets[at].failures());
            match worst.filter(|&at| self.targets[at].failures() > 0) {
                Some(at) => drop(self.targets.remove(at)),
                None => return,
            }
        }
        target.number = self.next_number;
        self.next_number += 1;
        self.targets.push(target);
    }
}

#[cfg(test)]
mod tests;
