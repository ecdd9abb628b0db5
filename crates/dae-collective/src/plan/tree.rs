//! A binomial tree: rank r, a multiple of 2^k, has the child r + 2^k in round k, and with it the ranks up to r + 2^(k+1).

use super::{Parts, Round, Take};
use std::ops::Range;

/// The first rank has it all.
pub(super) fn held(parts: Parts, rank: usize) -> Range<usize> {
    if rank == 0 { parts.all() } else { 0..0 }
}

/// Sums flow down to the first rank.
pub(super) fn sum(parts: Parts, rank: usize) -> Vec<Round> {
    distances(parts.world).map(|distance| down(parts, rank, distance, |_| parts.all(), Take::Add)).collect()
}

/// All parts flow down to the first rank.
pub(super) fn collect(parts: Parts, rank: usize) -> Vec<Round> {
    let below = |child: usize, distance: usize| parts.some(child..parts.world.min(child + distance));
    let round = |distance: usize| down(parts, rank, distance, |child| below(child, distance), Take::Copy);
    distances(parts.world).map(round).collect()
}

/// All parts flow up from the first rank.
pub(super) fn scatter(parts: Parts, rank: usize) -> Vec<Round> {
    collect(parts, rank).into_iter().rev().map(turned).collect()
}

/// All that the root has flows up from it.
pub(super) fn broadcast(parts: Parts, rank: usize, root: usize) -> Vec<Round> {
    let world = parts.world;
    let rooted = |rank: usize| (rank + root) % world;
    let from_root = sum(parts, (rank + world - root) % world);
    let moved = |mut round: Round| {
        round.sends.iter_mut().for_each(|send| send.to = rooted(send.to));
        round.receives.iter_mut().for_each(|receive| receive.from = rooted(receive.from));
        turned(round)
    };
    from_root.into_iter().rev().map(moved).collect()
}

/// 1, 2, 4, ... below the number of ranks.
fn distances(world: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |d| Some(d * 2)).take_while(move |d| *d < world)
}

/// A round in which children at a distance send to their parents.
fn down(
    parts: Parts,
    rank: usize,
    distance: usize,
    what: impl Fn(usize) -> Range<usize>,
    take: Take,
) -> Round {
    let (round, child) = (Round::default(), rank + distance);
    match rank % (2 * distance) {
        0 if child < parts.world => round.receive(child, what(child), take),
        at if at == distance => round.send(rank - distance, what(rank)),
        _ => round,
    }
}

/// The same round the other way.
fn turned(round: Round) -> Round {
    let there = round.receives.into_iter().fold(Round::default(), |r, back| r.send(back.from, back.range));
    round.sends.into_iter().fold(there, |r, back| r.receive(back.to, back.range, Take::Copy))
}
