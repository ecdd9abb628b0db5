//! With ranks at distances that double or halve.
//!
//! Where their number is no power of two, so many pairs of neighbours (the first ranks) act as one that a power of two is
//! left: the first of a pair, its lead, acts, and the other lends it what it has first and is given the outcome at last.

use super::{Parts, Round, Take};
use std::ops::Range;

/// Those who act.
#[derive(Clone, Copy)]
struct Actors {
    parts: Parts,
    pairs: usize,
    /// A power of two.
    many: usize,
}

impl Actors {
    fn of(parts: Parts) -> Self {
        let many = 1 << parts.world.ilog2();
        Self { parts, pairs: parts.world - many, many }
    }

    /// Which of them a rank is, if it acts.
    fn actor(self, rank: usize) -> Option<usize> {
        match rank < 2 * self.pairs {
            true => rank.is_multiple_of(2).then_some(rank / 2),
            false => Some(rank - self.pairs),
        }
    }

    fn rank(self, actor: usize) -> usize {
        if actor < self.pairs { 2 * actor } else { actor + self.pairs }
    }

    /// The parts of the ranks that some actors stand for.
    fn parts(self, actors: Range<usize>) -> Range<usize> {
        let end = if actors.end == self.many { self.parts.world } else { self.rank(actors.end) };
        self.parts.some(self.rank(actors.start)..end)
    }

    /// The parts of the actors in this one's block of so many, and in the block beside it.
    fn blocks(self, actor: usize, many: usize) -> [Range<usize>; 2] {
        let block = |actor: usize| self.parts(actor / many * many..(actor / many + 1) * many);
        [block(actor), block(actor ^ many)]
    }

    /// 1, 2, 4, ... below the number of actors.
    fn distances(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.many.ilog2()).map(|k| 1 << k)
    }

    /// A round for each distance, of those who act.
    fn rounds(
        self,
        rank: usize,
        distances: impl Iterator<Item = usize>,
        round: impl Fn(usize, usize, usize) -> Round,
    ) -> Vec<Round> {
        let act = |distance: usize| match self.actor(rank) {
            Some(actor) => round(actor, distance, self.rank(actor ^ distance)),
            None => Round::default(),
        };
        distances.map(act).collect()
    }

    /// A round in which the others give something to their leads; none if all act.
    fn lend(self, rank: usize, what: impl Fn(usize) -> Range<usize>, take: Take) -> Vec<Round> {
        if self.pairs == 0 {
            return vec![];
        }
        let round = Round::default();
        vec![match rank {
            _ if rank >= 2 * self.pairs => round,
            lead if lead.is_multiple_of(2) => round.receive(lead + 1, what(lead + 1), take),
            other => round.send(other - 1, what(other)),
        }]
    }

    /// A round in which the leads give something to the others; none if all act.
    fn give(self, rank: usize, what: impl Fn(usize) -> Range<usize>) -> Vec<Round> {
        if self.pairs == 0 {
            return vec![];
        }
        let round = Round::default();
        vec![match rank {
            _ if rank >= 2 * self.pairs => round,
            lead if lead.is_multiple_of(2) => round.send(lead + 1, what(lead + 1)),
            other => round.receive(other - 1, what(other), Take::Copy),
        }]
    }
}

/// Who acts has the parts of those it stands for.
pub(super) fn held_by_halves(parts: Parts, rank: usize) -> Range<usize> {
    let actors = Actors::of(parts);
    actors.actor(rank).map_or(0..0, |actor| actors.parts(actor..actor + 1))
}

/// Who acts has it all.
pub(super) fn held_whole(parts: Parts, rank: usize) -> Range<usize> {
    Actors::of(parts).actor(rank).map_or(0..0, |_| parts.all())
}

/// The half that the other will hold goes there, and its half of this rank's comes: from afar to near.
pub(super) fn sum_by_halves(parts: Parts, rank: usize) -> Vec<Round> {
    let actors = Actors::of(parts);
    let mut rounds = actors.lend(rank, |_| parts.all(), Take::Add);
    rounds.extend(actors.rounds(rank, actors.distances().rev(), |actor, distance, other| {
        let [own, theirs] = actors.blocks(actor, distance);
        Round::default().send(other, theirs).receive(other, own, Take::Add)
    }));
    rounds
}

/// All of the sum so far goes, and all of another's comes: from near to afar.
pub(super) fn sum_whole(parts: Parts, rank: usize) -> Vec<Round> {
    let actors = Actors::of(parts);
    let mut rounds = actors.lend(rank, |_| parts.all(), Take::Add);
    rounds.extend(actors.rounds(rank, actors.distances(), |_, _, other| {
        Round::default().send(other, parts.all()).receive(other, parts.all(), Take::Add)
    }));
    rounds
}

/// Each block of parts is exchanged for the one beside it, and both make the next.
pub(super) fn spread_parts(parts: Parts, rank: usize) -> Vec<Round> {
    let actors = Actors::of(parts);
    let mut rounds = actors.rounds(rank, actors.distances(), |actor, distance, other| {
        let [own, theirs] = actors.blocks(actor, distance);
        Round::default().send(other, own).receive(other, theirs, Take::Copy)
    });
    rounds.extend(give_back(parts, rank));
    rounds
}

/// Who lent is given all.
pub(super) fn give_back(parts: Parts, rank: usize) -> Vec<Round> {
    Actors::of(parts).give(rank, |_| parts.all())
}

/// Who lent is given its own part.
pub(super) fn scatter(parts: Parts, rank: usize) -> Vec<Round> {
    Actors::of(parts).give(rank, |other| parts.one(other))
}

/// Who does not act gives its own part to its lead.
pub(super) fn collect(parts: Parts, rank: usize) -> Vec<Round> {
    Actors::of(parts).lend(rank, |other| parts.one(other), Take::Copy)
}
