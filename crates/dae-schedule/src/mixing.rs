//! Who mixes with whom: the neighbours that a [`Graph`] gives, round by round.

use crate::gossip::Graph;
use crate::oracle::dice::dice;

impl Graph {
    /// Whose numbers reach peer `peer` of `n` in round `round`, besides its own, in rising order. As many reach each peer
    /// as it reaches, so equal shares make rows and columns of the mixing matrix sum to 1.
    ///
    /// # Panics
    /// If there are no peers.
    pub fn sources(&self, n: usize, peer: usize, round: u64) -> Vec<usize> {
        let hops: Vec<usize> = match self {
            Self::Ring => vec![1, n - 1],
            Self::Exp => vec![n - power(n, round) % n],
            Self::Complete => (1..n).collect(),
            Self::Hops(hops) => {
                hops.iter().map(|hop| *hop as usize % n).flat_map(|hop| [hop, n - hop]).collect()
            }
        };
        let mut sources: Vec<usize> =
            hops.into_iter().map(|hop| (peer + hop) % n).filter(|at| *at != peer).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// Who hears of peer `peer` of `n` in round `round`, in rising order: those it is a source of.
    ///
    /// # Panics
    /// If there are no peers.
    pub fn targets(&self, n: usize, peer: usize, round: u64) -> Vec<usize> {
        if *self != Self::Exp {
            return self.sources(n, peer, round);
        }
        let target = (peer + power(n, round)) % n;
        if target == peer { vec![] } else { vec![target] }
    }

    /// Who an asynchronous peer turns to after its round: one of its neighbours, by chance; with `exp` the next in turn.
    ///
    /// # Panics
    /// If there are no peers.
    pub fn partner(&self, n: usize, peer: usize, round: u64, seed: u64) -> Option<usize> {
        let neighbours = self.targets(n, peer, round);
        let chosen = if *self == Self::Exp { 0 } else { dice(seed, peer as u64, round) };
        neighbours.get(chosen.checked_rem(neighbours.len() as u64)? as usize).copied()
    }
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
        assert_eq!(Graph::Ring.sources(5, 0, 7), [1, 4]);
        assert_eq!(Graph::Ring.sources(2, 0, 7), [1]);
        assert_eq!(Graph::Complete.sources(4, 2, 0), [0, 1, 3]);
        assert_eq!([0, 1, 2, 3].map(|round| Graph::Exp.sources(8, 0, round)), [[7], [6], [4], [7]]);
        assert_eq!(Graph::Hops(vec![2, 3]).sources(6, 0, 0), [2, 3, 4]);
        assert_eq!(Graph::Ring.sources(1, 0, 0), []);
        assert_eq!(Graph::Exp.partner(1, 0, 0, 0), None);
        assert_eq!(Graph::Exp.partner(8, 7, 1, 0), Some(1));
    }

    #[test]
    fn targets_are_those_one_is_a_source_of() {
        for graph in [Graph::Ring, Graph::Exp, Graph::Complete, Graph::Hops(vec![2, 3])] {
            for (n, peer, round) in
                (1..9).flat_map(|n| (0..n).flat_map(move |p| (0..4).map(move |r| (n, p, r))))
            {
                let hear = |other: &usize| graph.sources(n, *other, round).contains(&peer);
                let targets: Vec<_> = (0..n).filter(hear).collect();
                assert_eq!(graph.targets(n, peer, round), targets, "{graph} of {n}");
            }
        }
    }
}
