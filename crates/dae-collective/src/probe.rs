//! What the links between these very nodes can do, found out by trying.

use crate::worst::worst;
use crate::{Algorithm, Broken, Choice, Cost, Incoming, Outgoing, Peers, Phase, Tag};
use std::time::Instant;

/// Exchanges of next to nothing.
const SMALL: usize = 15;
/// Those before the first that counts: threads and caches wake.
const WARM: usize = 3;
/// Exchanges that take a while.
const LARGE: usize = 2;
/// The bytes of one.
const LARGE_BYTES: usize = 1 << 20;
/// The bytes of one of next to nothing.
const SMALL_BYTES: usize = 24;

/// What was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probed {
    /// On this node.
    pub here: Cost,
    /// The worst of all nodes, figure by figure; the same on all of them.
    pub agreed: Cost,
    /// The number of nodes.
    pub nodes: usize,
}

impl Probed {
    /// Tries the links of all nodes at once; all of them do it or none, at the same place of a run. It takes some dozen
    /// messages and two exchanges of 1 MiB.
    ///
    /// # Errors
    /// If a node is lost meanwhile.
    pub fn probe(peers: &mut dyn Peers, generation: u64) -> Result<Self, Broken> {
        let nodes = peers.nodes();
        let mut trials = Trials { peers, tag: Tag::new(generation, 0, Phase::Probe) };
        if nodes < 2 {
            return Ok(Self { here: Cost::default(), agreed: Cost::default(), nodes });
        }
        let latency_s = median(trials.small(1)?);
        let side_by_side = median(trials.small(nodes - 1)?);
        let whole = trials.large()?.into_iter().fold(f64::INFINITY, f64::min);
        let here = Cost {
            latency_s,
            message_s: (side_by_side - latency_s).max(0.0) / (nodes - 2).max(1) as f64,
            seconds_per_byte: (whole - latency_s).max(0.0) / LARGE_BYTES as f64,
        };
        Ok(Self { here, agreed: trials.agree(here)?, nodes })
    }

    /// The algorithm that all nodes choose for an all-reduce of so many bytes.
    pub fn choose(&self, bytes: usize) -> Choice {
        Algorithm::cheapest(bytes, self.nodes, self.agreed)
    }
}

/// One after the other.
struct Trials<'a> {
    peers: &'a mut dyn Peers,
    tag: Tag,
}

impl Trials<'_> {
    /// How long one of these takes with so many of the nodes after this one, and as many before it.
    fn exchange(&mut self, out: Outgoing<'_>, into: &mut [Vec<u8>], many: usize) -> Result<f64, Broken> {
        let (nodes, node) = (self.peers.nodes(), self.peers.node());
        let ahead = |n: usize| (1..=many).contains(&((n + nodes - node) % nodes));
        let behind = |n: usize| (1..=many).contains(&((node + nodes - n) % nodes));
        let out: Vec<_> = (0..nodes).map(|n| ahead(n).then_some(out)).collect();
        let room = |(n, body): (usize, _)| behind(n).then_some(Incoming { head: &mut [], body });
        let mut into: Vec<_> = into.iter_mut().map(Vec::as_mut_slice).enumerate().map(room).collect();
        self.tag.step += 1;
        let before = Instant::now();
        self.peers.exchange(self.tag, &out, &mut into)?;
        Ok(before.elapsed().as_secs_f64())
    }

    fn small(&mut self, many: usize) -> Result<Vec<f64>, Broken> {
        let body = [0; SMALL_BYTES];
        let mut into = vec![body.to_vec(); self.peers.nodes()];
        let trial = |_| self.exchange(Outgoing { head: &[], body: &body }, &mut into, many);
        let all: Vec<_> = (0..WARM + SMALL).map(trial).collect::<Result<_, _>>()?;
        Ok(all[WARM..].to_vec())
    }

    fn large(&mut self) -> Result<Vec<f64>, Broken> {
        let (nodes, node) = (self.peers.nodes(), self.peers.node());
        let body = vec![0; LARGE_BYTES];
        let mut into = vec![vec![]; nodes];
        into[(node + nodes - 1) % nodes] = vec![0; LARGE_BYTES];
        let trial = |_| self.exchange(Outgoing { head: &[], body: &body }, &mut into, 1);
        (0..LARGE).map(trial).collect()
    }

    /// The worst of what all nodes found.
    fn agree(&mut self, here: Cost) -> Result<Cost, Broken> {
        self.tag.step += 1;
        let mine = [here.latency_s, here.message_s, here.seconds_per_byte];
        let [latency_s, message_s, seconds_per_byte] = worst(self.peers, self.tag, mine)?;
        Ok(Cost { latency_s, message_s, seconds_per_byte })
    }
}

/// The time in the middle.
pub(crate) fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryPeers;
    use std::time::Duration;

    fn worse(a: Cost, b: Cost) -> Cost {
        Cost {
            latency_s: a.latency_s.max(b.latency_s),
            message_s: a.message_s.max(b.message_s),
            seconds_per_byte: a.seconds_per_byte.max(b.seconds_per_byte),
        }
    }

    #[test]
    fn all_nodes_agree_and_choose_alike() {
        for nodes in 1..6 {
            let names: Vec<_> = (0..nodes).map(|n| format!("node {n}")).collect();
            let threads: Vec<_> = MemoryPeers::mesh(&names, Duration::from_secs(20))
                .into_iter()
                .map(|mut peers| std::thread::spawn(move || Probed::probe(&mut peers, 1).unwrap()))
                .collect();
            let probed: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            let worst = probed.iter().map(|p| p.here).fold(Cost::default(), worse);
            assert!(probed.iter().all(|p| p.agreed == worst && p.nodes == nodes), "{probed:?}");
            assert!(probed.iter().all(|p| p.choose(4 << 20) == probed[0].choose(4 << 20)));
            assert!(nodes == 1 || worst.latency_s > 0.0 && worst.seconds_per_byte > 0.0, "{worst:?}");
        }
    }

    #[test]
    fn a_lost_node_is_told() {
        let mut ends = MemoryPeers::mesh(&["a".into(), "b".into()], Duration::from_secs(20));
        drop(ends.pop());
        let told = Probed::probe(&mut ends[0], 1).unwrap_err();
        assert_eq!(told.to_string(), "node b: it has gone");
    }
}
