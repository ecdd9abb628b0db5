//! Round a ring: everybody sends to the next, and receives from the one before.
//!
//! Patarasuk, Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.

use super::{Parts, Round, Take};

/// Part k starts at rank k + 1 and is complete once it has come round to rank k.
pub(super) fn sum(parts: Parts, rank: usize) -> Vec<Round> {
    turns(parts, rank, 1, Take::Add)
}

/// Part k starts at rank k.
pub(super) fn spread(parts: Parts, rank: usize) -> Vec<Round> {
    turns(parts, rank, 0, Take::Copy)
}

/// Part k starts at rank k + `ahead`.
fn turns(Parts { len, world }: Parts, rank: usize, ahead: usize, take: Take) -> Vec<Round> {
    let parts = Parts { len, world };
    let part = |back: usize| parts.one((rank + 2 * world - back) % world);
    let turn = |t: usize| {
        let round = Round::default().send((rank + 1) % world, part(ahead + t));
        round.receive((rank + world - 1) % world, part(ahead + t + 1), take)
    };
    (0..world - 1).map(turn).collect()
}

/// One part follows the other down the chain that begins at the root.
pub(super) fn broadcast(parts: Parts, rank: usize, root: usize) -> Vec<Round> {
    let world = parts.world;
    let depth = (rank + world - root) % world;
    let part = |behind: usize| (behind < world).then(|| parts.one(behind));
    let turn = |t: usize| {
        let mut round = Round::default();
        if let Some(range) = t.checked_sub(depth).and_then(part).filter(|_| depth + 1 < world) {
            round = round.send((rank + 1) % world, range);
        }
        let coming = depth.checked_sub(1).and_then(|before| t.checked_sub(before)).and_then(part);
        match coming {
            Some(range) => round.receive((rank + world - 1) % world, range, Take::Copy),
            None => round,
        }
    };
    // The last part leaves the root at turn p - 1, and the last rank is p - 2 hops on from there.
    (0..(2 * world).saturating_sub(2)).map(turn).collect()
}
