//! What an all-reduce takes and sends: closed forms, and the cheapest.

use serde::Serialize;

use super::layout::Level;
use super::ledger::Ledger;
use super::link::Link;
use super::size::Vector;
use crate::gradient::Algo;
use crate::place::Place;
use crate::wire::Wire;

/// How an all-reduce is made (Thakur, Rabenseifner, Gropp 2005).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AllReduce {
    /// Each sends each other one its part, which sums it and sends the sum to all.
    Direct,
    /// Parts go round a ring twice.
    Ring,
    /// Recursive halving, then doubling.
    Halving,
    /// Whole sums are exchanged with ever farther ones.
    Doubling,
    /// Down a binomial tree, and up again.
    Tree,
}

/// An all-reduce of the word, and why it is made like this.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chosen {
    /// The item it belongs to.
    pub item: String,
    /// Between children that lie like this.
    pub place: &'static str,
    /// How many take part.
    pub over: u32,
    /// Bytes summed at a time.
    pub bytes: f64,
    /// How it is made.
    pub algorithm: AllReduce,
    /// Whether the word says so.
    pub said: bool,
    /// Seconds it takes.
    pub seconds: f64,
    /// What each of the ways would take, in seconds, the cheapest first.
    pub expected: Vec<(AllReduce, f64)>,
}

impl AllReduce {
    /// All of them; among equals the first is chosen.
    pub const ALL: [Self; 5] = [Self::Direct, Self::Ring, Self::Halving, Self::Doubling, Self::Tree];

    /// Its name in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Ring => "ring",
            Self::Halving => "halving",
            Self::Doubling => "doubling",
            Self::Tree => "tree",
        }
    }

    fn said(algo: Algo) -> Option<Self> {
        match algo {
            Algo::Auto => None,
            Algo::Ring => Some(Self::Ring),
            Algo::Halving => Some(Self::Halving),
            Algo::Doubling => Some(Self::Doubling),
            Algo::Direct => Some(Self::Direct),
        }
    }

    /// Seconds over p of them, at least 2. Where p is no power of two, so many lend their vector to a neighbour that one
    /// is left.
    pub(crate) fn seconds(self, p: u32, vector: Vector, link: Link) -> f64 {
        let Link { latency_s: a, bytes_per_s, message_s: m } = link;
        let (many, lg, q) = powers(p);
        let Vector { reduce, gather } = vector.part(bytes_per_s);
        let lent = if p.is_power_of_two() { 0.0 } else { 2.0 * a + reduce + gather };
        let share = |p: f64| (p - 1.0) / p * (reduce + gather);
        match self {
            Self::Direct => 2.0 * (a + (many - 2.0) * m) + share(many),
            Self::Ring => 2.0 * (many - 1.0) * a + share(many),
            Self::Halving => 2.0 * lg * a + share(q) + lent,
            Self::Doubling => lg * (a + reduce) + lent,
            Self::Tree => deep(p) * (2.0 * a + reduce + gather),
        }
    }

    /// Bytes that all p together send.
    pub(crate) fn sent(self, p: u32, vector: Vector) -> f64 {
        let (many, lg, q) = powers(p);
        match self {
            Self::Doubling => q * lg * vector.reduce + (many - q) * vector.sum(),
            _ => (many - 1.0) * vector.sum(),
        }
    }

    /// The most that one of them sends or receives.
    pub(crate) fn busiest(self, p: u32, vector: Vector) -> f64 {
        let (many, lg, q) = powers(p);
        let lent = if p.is_power_of_two() { 0.0 } else { vector.reduce.max(vector.gather) };
        match self {
            Self::Direct | Self::Ring => (many - 1.0) / many * vector.sum(),
            Self::Halving => (q - 1.0) / q * vector.sum() + lent,
            Self::Doubling => lg * vector.reduce + lent,
            Self::Tree => deep(p) * vector.reduce.max(vector.gather),
        }
    }

    /// Messages of all p together.
    pub(crate) fn messages(self, p: u32) -> f64 {
        let (many, lg, q) = powers(p);
        match self {
            Self::Direct | Self::Ring => 2.0 * many * (many - 1.0),
            Self::Halving => 2.0 * q * lg + 2.0 * (many - q),
            Self::Doubling => q * lg + 2.0 * (many - q),
            Self::Tree => 2.0 * (many - 1.0),
        }
    }
}

/// p, the logarithm of the largest power of two in it, and that power.
fn powers(p: u32) -> (f64, f64, f64) {
    let lg = p.max(1).ilog2();
    (f64::from(p), f64::from(lg), f64::from(1_u32 << lg))
}

/// Levels of a tree of p.
fn deep(p: u32) -> f64 {
    f64::from(p.next_power_of_two().ilog2())
}

/// A sum over the children of an item.
pub(crate) struct Sum<'a> {
    pub(crate) item: &'a str,
    pub(crate) level: &'a Level,
    pub(crate) vector: Vector,
    pub(crate) algo: Algo,
    pub(crate) wire: Wire,
    /// Pieces it is made in, one after another.
    pub(crate) pieces: f64,
    /// How often it is made in a step.
    pub(crate) per_step: f64,
}

impl Sum<'_> {
    /// Seconds that it takes, links and the passes over memory that add; enters what it sends.
    pub(crate) fn enter(&self, ledger: &mut Ledger<'_>) -> f64 {
        self.level.stages().map(|(place, p)| self.stage(place, p, ledger)).sum()
    }

    fn stage(&self, place: Place, p: u32, ledger: &mut Ledger<'_>) -> f64 {
        let (level, figures) = (self.level, ledger.figures);
        let slices = level.slices(place);
        let slice = self.vector.part(slices);
        let piece = slice.part(self.pieces);
        let link = figures.links.of(place);
        let mut expected: Vec<_> =
            AllReduce::ALL.iter().map(|way| (*way, way.seconds(p, piece, link))).collect();
        // Stable: equals stay in order.
        expected.sort_by(|a, b| a.1.total_cmp(&b.1));
        let said = AllReduce::said(self.algo);
        // What is packed is added by the owner of each part, who unpacks it; low rank is numbers as any others.
        let packed = self.wire.loses() && !matches!(self.wire, Wire::PowerSgd(_));
        let only = said.or(packed.then_some(AllReduce::Direct));
        let algorithm = only.or(expected.first().map(|(way, _)| *way)).unwrap_or(AllReduce::Direct);
        let seconds = self.pieces * algorithm.seconds(p, piece, link);
        // One such sum on each machine of a child; where some share a machine, one for each machine's group.
        let groups = match place {
            Place::Node if level.share > 1 => f64::from(level.n / level.share),
            _ => 1.0,
        };
        let sums = f64::from(level.instances) * slices * groups * self.per_step;
        ledger.traffic(
            place,
            sums * algorithm.sent(p, slice),
            self.per_step * algorithm.sent(p, slice) / f64::from(p),
            self.per_step * algorithm.busiest(p, slice),
            sums * self.pieces * algorithm.messages(p),
        );
        let name = crate::print::name(Place::NAMES, place);
        let (item, bytes) = (self.item.to_owned(), piece.reduce);
        let said = said.is_some();
        ledger.chosen.push(Chosen { item, place: name, over: p, bytes, algorithm, said, seconds, expected });
        // Two terms are read and a sum is written for each number received.
        let added = 3.0 * slice.reduce * f64::from(p - 1) / f64::from(p);
        seconds + added / figures.memory_bytes_per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK: Link = Link { latency_s: 50e-6, bytes_per_s: 1e9, message_s: 10e-6 };

    #[test]
    fn the_forms_of_the_literature() {
        let n = 1e6;
        let of = |way: AllReduce, p| way.seconds(p, Vector::plain(n), NETWORK);
        let near = |x: f64, y: f64| assert!((x - y).abs() < 1e-12, "{x} {y}");
        near(of(AllReduce::Ring, 8), 14.0 * 50e-6 + 2.0 * 7.0 / 8.0 * 1e-3);
        near(of(AllReduce::Halving, 8), 6.0 * 50e-6 + 2.0 * 7.0 / 8.0 * 1e-3);
        near(of(AllReduce::Doubling, 8), 3.0 * (50e-6 + 1e-3));
        near(of(AllReduce::Tree, 8), 6.0 * (50e-6 + 1e-3));
        near(of(AllReduce::Direct, 8), 2.0 * (50e-6 + 6.0 * 10e-6) + 2.0 * 7.0 / 8.0 * 1e-3);
        near(of(AllReduce::Doubling, 6), 2.0 * (50e-6 + 1e-3) + 2.0 * (50e-6 + 1e-3));
    }

    #[test]
    fn a_ring_loses_beyond_some_workers() {
        for bytes in [0.1e6, 1e6, 11e6] {
            let ratio = |p| {
                let of = |way: AllReduce| way.seconds(p, Vector::plain(bytes), NETWORK);
                of(AllReduce::Ring) / of(AllReduce::Halving)
            };
            assert!(ratio(32) > 1.1 && ratio(256) > 1.9, "{bytes}: {} {}", ratio(32), ratio(256));
        }
        let of = |way: AllReduce| way.seconds(2, Vector::plain(11e6), NETWORK);
        assert_eq!(of(AllReduce::Ring), of(AllReduce::Halving));
    }
}
