//! [`Figures`]: what machines and links do, measured or supposed.

use super::link::Link;
use super::refused::{Refused, within};
use super::straggler::Straggler;
use crate::place::Place;

/// What machines and links do, measured or supposed.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Seconds a worker computes on one micro-batch, forward and backward, when nothing slows it; 0 to 1e6.
    pub compute_s: f64,
    /// Bytes a machine reads or writes in a second in passes over its memory, 1 to 1e18.
    pub memory_bytes_per_s: f64,
    /// What links do, by kind.
    pub links: Links,
    /// Who is slow, when, and how much.
    pub straggler: Straggler,
    /// The seed of the simulation: the same figures give the same prediction.
    pub seed: u64,
}

/// What links do, by where the children of an item lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Links {
    /// Between devices of a machine.
    pub device: Link,
    /// Between workers of a machine, through its memory.
    pub node: Link,
    /// Between machines of a rack.
    pub rack: Link,
    /// Between machines anywhere.
    pub cluster: Link,
}

impl Links {
    /// That between children which lie like this.
    pub fn of(&self, place: Place) -> Link {
        match place {
            Place::Device => self.device,
            Place::Node => self.node,
            Place::Rack => self.rack,
            Place::Cluster => self.cluster,
        }
    }
}

/// A machine of today with 10-gigabit Ethernet and a step of 10 ms.
impl Default for Figures {
    fn default() -> Self {
        let links = Links {
            device: Link { latency_s: 10e-6, bytes_per_s: 12e9, message_s: 2e-6 },
            node: Link { latency_s: 2e-6, bytes_per_s: 10e9, message_s: 0.2e-6 },
            rack: TEN_GIGABIT,
            cluster: TEN_GIGABIT,
        };
        Self { compute_s: 10e-3, memory_bytes_per_s: 10e9, links, straggler: Straggler::None, seed: 0 }
    }
}

const TEN_GIGABIT: Link = Link { latency_s: 50e-6, bytes_per_s: 1.17e9, message_s: 5e-6 };

impl Figures {
    /// The same with this link between machines.
    #[must_use]
    pub fn over(mut self, link: Link) -> Self {
        (self.links.rack, self.links.cluster) = (link, link);
        self
    }

    /// All that is wrong with them, for a word of so many workers.
    pub(crate) fn check(&self, workers: u32, refused: &mut Vec<Refused>) {
        within("compute time", self.compute_s, (0.0, 1e6), refused);
        within("memory bandwidth", self.memory_bytes_per_s, (1.0, 1e18), refused);
        let Links { device, node, rack, cluster } = self.links;
        for (what, link) in
            [("device link", device), ("node link", node), ("rack link", rack), ("cluster link", cluster)]
        {
            link.check(what, refused);
        }
        self.straggler.check(workers, refused);
    }
}
