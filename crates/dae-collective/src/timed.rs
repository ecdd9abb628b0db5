//! How long sums over nodes take, and what the link of each two can do, measured between the very nodes.

use crate::probe::median;
use crate::worst::worst;
use crate::{Algorithm, Broken, Collective, Cost, Incoming, Outgoing, Peers, Phase, Plan, Tag, perform};
use std::time::Instant;

/// Exchanges of next to nothing between two nodes, after those that wake threads and caches.
const SMALL: usize = 30;
const WARM: usize = 5;
/// Exchanges between two nodes that take a while, and the bytes of one.
const LARGE: usize = 4;
const LARGE_BYTES: usize = 4 << 20;
/// Tells what is measured here from what came before over the same links, such as a probe of group 1.
const GENERATION: u64 = 2;

/// How long something took that was done some times over, in seconds; by each figure the slowest node counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Times {
    /// The time in the middle.
    pub median_s: f64,
    /// The shortest.
    pub fastest_s: f64,
}

/// The links of a node, to be measured. All nodes call the same methods in the same order, with the same arguments.
pub struct Timed<'a> {
    peers: &'a mut dyn Peers,
    step: u64,
}

impl<'a> Timed<'a> {
    /// Over these links.
    pub fn new(peers: &'a mut dyn Peers) -> Self {
        Self { peers, step: 0 }
    }

    /// What the link between two nodes can do while no other is used; the same on all nodes, `message_s` is 0. Both ends
    /// send and receive at once, so bytes go at the rate that each direction has while the other is busy.
    ///
    /// # Errors
    /// If a node is lost meanwhile.
    pub fn link(&mut self, ends: [usize; 2]) -> Result<Cost, Broken> {
        let node = self.peers.node();
        let mut found = [0.0; 2];
        if let Some(mine) = ends.iter().position(|end| *end == node) {
            let other = ends[1 - mine];
            let small = self.exchanges(other, WARM + SMALL, 1)?;
            let latency_s = median(small[WARM..].to_vec());
            let large = self.exchanges(other, LARGE, LARGE_BYTES)?.into_iter().fold(f64::INFINITY, f64::min);
            found = [latency_s, (large - latency_s).max(0.0) / LARGE_BYTES as f64];
        }
        let [latency_s, seconds_per_byte] = self.agree(found)?;
        Ok(Cost { latency_s, message_s: 0.0, seconds_per_byte })
    }

    /// How long an all-reduce of so many bytes of f32 over all nodes takes by this algorithm, tried so often; the same on all
    /// nodes. All begin together, and who has its sum last counts.
    ///
    /// # Errors
    /// If a node is lost meanwhile.
    pub fn all_reduce(&mut self, algorithm: Algorithm, bytes: usize, rounds: usize) -> Result<Times, Broken> {
        let (nodes, node, len) = (self.peers.nodes(), self.peers.node(), bytes / 4);
        let plan = Plan::new(algorithm, Collective::AllReduce, nodes, node, len);
        // Zeros stay zeros, however often they are summed.
        let (mut numbers, mut room) = (vec![0.0_f32; len], vec![]);
        let warm = rounds.div_ceil(10);
        let mut times = Vec::with_capacity(warm + rounds);
        for _ in 0..warm + rounds {
            self.agree([])?;
            let [adding, copying] = [self.tag(Phase::Gradients), self.tag(Phase::Sums)];
            let began = Instant::now();
            perform(self.peers, adding, plan.adding(), &mut numbers, &mut room)?;
            perform(self.peers, copying, plan.copying(), &mut numbers, &mut room)?;
            times.push(began.elapsed().as_secs_f64());
        }
        let times = times.split_off(warm);
        let fastest_s = times.iter().copied().fold(f64::INFINITY, f64::min);
        let [median_s, fastest_s] = self.agree([median(times), fastest_s])?;
        Ok(Times { median_s, fastest_s })
    }

    /// How long each of so many exchanges with one other node takes, of so many bytes both ways.
    fn exchanges(&mut self, other: usize, many: usize, bytes: usize) -> Result<Vec<f64>, Broken> {
        let nodes = self.peers.nodes();
        let (body, mut came) = (vec![0; bytes], vec![0; bytes]);
        let mut exchange = |n: usize| {
            let tag = Tag { round: u32::try_from(n).unwrap_or(u32::MAX), ..self.tag(Phase::Probe) };
            let (mut out, mut into) = (vec![None; nodes], Vec::new());
            into.resize_with(nodes, || None);
            out[other] = Some(Outgoing { head: &[], body: &body });
            into[other] = Some(Incoming { head: &mut [], body: &mut came });
            let began = Instant::now();
            self.peers.exchange(tag, &out, &mut into)?;
            Ok(began.elapsed().as_secs_f64())
        };
        (0..many).map(&mut exchange).collect()
    }

    /// The worst of each figure over all nodes, once all have come.
    fn agree<const N: usize>(&mut self, mine: [f64; N]) -> Result<[f64; N], Broken> {
        self.step += 1;
        let tag = self.tag(Phase::Probe);
        worst(self.peers, tag, mine)
    }

    fn tag(&self, phase: Phase) -> Tag {
        Tag::new(GENERATION, self.step, phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryPeers;
    use std::thread;
    use std::time::Duration;

    fn on_all<T: Send + 'static>(nodes: usize, what: fn(&mut Timed<'_>) -> T) -> Vec<T> {
        let names: Vec<_> = (0..nodes).map(|n| format!("node {n}")).collect();
        let mesh = MemoryPeers::mesh(&names, Duration::from_secs(20)).into_iter();
        let threads: Vec<_> =
            mesh.map(|mut peers| thread::spawn(move || what(&mut Timed::new(&mut peers)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    }

    #[test]
    fn all_nodes_know_what_the_link_of_two_can_do() {
        let found = on_all(3, |timed| [[0, 1], [0, 2], [1, 2]].map(|ends| timed.link(ends).unwrap()));
        assert!(found.iter().all(|costs| *costs == found[0]), "{found:?}");
        let sound =
            |cost: &Cost| cost.latency_s > 0.0 && cost.seconds_per_byte.is_finite() && cost.message_s == 0.0;
        assert!(found[0].iter().all(sound), "{found:?}");
    }

    #[test]
    fn every_algorithm_is_timed_on_any_number_of_nodes() {
        for nodes in 2..6 {
            let found = on_all(nodes, |timed| {
                Algorithm::ALL.map(|algorithm| timed.all_reduce(algorithm, 4 << 10, 3).unwrap())
            });
            assert!(found.iter().all(|times| *times == found[0]), "{found:?}");
            assert!(found[0].iter().all(|t| 0.0 < t.fastest_s && t.fastest_s <= t.median_s), "{found:?}");
        }
    }

    #[test]
    fn a_lost_node_is_told() {
        let mut ends = MemoryPeers::mesh(&["a".into(), "b".into()], Duration::from_secs(20));
        drop(ends.pop());
        let lost = Timed::new(&mut ends[0]).all_reduce(Algorithm::Ring, 4 << 10, 3).unwrap_err();
        assert_eq!(lost.to_string(), "node b: it has gone");
    }
}
