//! Everybody to everybody: the fewest rounds, the most messages.

use super::{Parts, Round, Take};

/// Each rank receives its part from all others and sums it in the order of ranks.
pub(super) fn sum(parts: Parts, rank: usize) -> Vec<Round> {
    let others = (0..parts.world).filter(|other| *other != rank);
    let exchange = |round: Round, other: usize| {
        round.send(other, parts.one(other)).receive(other, parts.one(rank), Take::Add)
    };
    vec![others.fold(Round::default(), exchange)]
}

/// Each rank sends its part to all others.
pub(super) fn spread(parts: Parts, rank: usize) -> Vec<Round> {
    let others = (0..parts.world).filter(|other| *other != rank);
    let exchange = |round: Round, other: usize| {
        round.send(other, parts.one(rank)).receive(other, parts.one(other), Take::Copy)
    };
    vec![others.fold(Round::default(), exchange)]
}

/// The root sends all it has to all others.
pub(super) fn broadcast(parts: Parts, rank: usize, root: usize) -> Vec<Round> {
    let round = Round::default();
    vec![match rank == root {
        true => (0..parts.world).filter(|to| *to != root).fold(round, |r, to| r.send(to, parts.all())),
        false => round.receive(root, parts.all(), Take::Copy),
    }]
}
