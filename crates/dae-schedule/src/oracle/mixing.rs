//! Who mixes with whom, and how much.

use super::dice::dice;
use crate::gossip::Graph;

/// Whose numbers reach peer `peer` of `n` in round `round`, besides its own. As many reach each peer as it reaches, so
/// equal shares make rows and columns of the mixing matrix sum to 1.
pub(super) fn sources(graph: &Graph, n: usize, peer: usize, round: u64) -> Vec<usize> {
    let hops: Vec<usize> = match graph {
        Graph::Ring => vec![1, n - 1],
        Graph::Exp => vec![n - power(n, round) % n],
        Graph::Complete => (1..n).collect(),
        Graph::Hops(hops) => {
            hops.iter().map(|hop| *hop as usize % n).flat_map(|hop| [hop, n - hop]).collect()
        }
    };
    let mut sources: Vec<usize> =
        hops.into_iter().map(|hop| (peer + hop) % n).filter(|at| *at != peer).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}

/// Who an asynchronous peer turns to after its round: one of its neighbours, by chance; with `exp` the next in turn.
pub(super) fn partner(graph: &Graph, n: usize, peer: usize, round: u64, seed: u64) -> Option<usize> {
    if *graph == Graph::Exp {
        return Some((peer + power(n, round)) % n).filter(|partner| *partner != peer);
    }
    let neighbours = sources(graph, n, peer, round);
    let chosen = dice(seed, peer as u64, round).checked_rem(neighbours.len() as u64)?;
    neighbours.get(chosen as usize).copied()
}

/// 1, 2, 4 ... below n, in turn.
fn power(n: usize, round: u64) -> usize {
    let powers = u64::from(n.next_power_of_two().trailing_zeros().max(1));
    1 << (round % powers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_what_they_are_called() {
        assert_eq!(sources(&Graph::Ring, 5, 0, 7), [1, 4]);
        assert_eq!(sources(&Graph::Ring, 2, 0, 7), [1]);
        assert_eq!(sources(&Graph::Complete, 4, 2, 0), [0, 1, 3]);
        assert_eq!([0, 1, 2, 3].map(|round| sources(&Graph::Exp, 8, 0, round)), [[7], [6], [4], [7]]);
        assert_eq!(sources(&Graph::Hops(vec![2, 3]), 6, 0, 0), [2, 3, 4]);
        assert_eq!(sources(&Graph::Ring, 1, 0, 0), []);
        assert_eq!(partner(&Graph::Exp, 1, 0, 0, 0), None);
    }
}
