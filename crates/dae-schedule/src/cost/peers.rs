//! The simulation of gossip: peers that wait for their neighbours, round by round.

use super::pace::{KEPT, Pace, share};
use super::random::Random;
use crate::gossip::{Gossip, Graph};

/// Messages that a peer sends in a round.
pub(crate) fn degree(gossip: &Gossip) -> f64 {
    let most = f64::from(gossip.n.saturating_sub(1));
    match &gossip.graph {
        _ if gossip.asynchronous && gossip.push => 1.0,
        // Two that mix without waiting for others exchange what they have.
        _ if gossip.asynchronous => 2.0,
        Graph::Exp => 1.0,
        Graph::Complete => most,
        Graph::Ring if gossip.push => 1.0,
        Graph::Ring => 2.0_f64.min(most),
        Graph::Hops(_) => neighbours(gossip, 0).len() as f64,
    }
}

/// How many places on those lie whom a peer hears in a round, each once.
fn neighbours(gossip: &Gossip, round: u32) -> Vec<u32> {
    let n = gossip.n;
    let mut places: Vec<u32> = match &gossip.graph {
        Graph::Ring if gossip.push => vec![n - 1],
        Graph::Ring => vec![1, n - 1],
        Graph::Exp => {
            let distances = n.next_power_of_two().ilog2().max(1);
            vec![n - (1 << (round % distances)) % n]
        }
        Graph::Complete => Vec::new(),
        Graph::Hops(hops) => hops.iter().flat_map(|hop| [hop % n, n - hop % n]).collect(),
    };
    places.iter_mut().for_each(|place| *place %= n);
    places.sort_unstable();
    places.dedup();
    places.retain(|place| *place != 0);
    places
}

/// A round of gossip in which `mix_s` follows each peer's own round; and the draws it took.
pub(crate) fn round(
    gossip: &Gossip,
    child: &Pace,
    marked: Option<&Pace>,
    mix_s: f64,
    random: &mut Random,
) -> (Pace, u64) {
    let (n, own) = (f64::from(gossip.n), marked.unwrap_or(child));
    if gossip.asynchronous {
        // Each at its own pace: the rates add.
        let (other, own_s) = (child.mean() + mix_s, own.mean() + mix_s);
        let mean = match other > 0.0 && own_s > 0.0 {
            true => n / ((n - 1.0) / other + 1.0 / own_s),
            false => 0.0,
        };
        let worked =
            (n - 1.0) * share(child.busy * child.mean(), other) + share(own.busy * own.mean(), own_s);
        return (Pace::seen(vec![mean], worked / n), 0);
    }
    if gossip.graph == Graph::Complete || child.is_constant() && own.is_constant() {
        // All wait for all; or in the long run for the slowest, whom all hear of in the end.
        return (child.slowest_of(gossip.n, marked, mix_s, random), 0);
    }
    waves(gossip, child, own, mix_s, random)
}

/// Follows the peers for a while.
fn waves(gossip: &Gossip, child: &Pace, own: &Pace, mix_s: f64, random: &mut Random) -> (Pace, u64) {
    const DRAWS: usize = 100_000;
    let n = gossip.n as usize;
    let rounds = (DRAWS / n).clamp(8, 2 * KEPT);
    let (other_draw, own_draw) = (child.drawer(), own.drawer());
    let mut done = vec![0.0_f64; n];
    let (mut worked, mut means) = (0.0, vec![0.0]);
    for round in 0..rounds {
        let ends: Vec<f64> = (0..n)
            .map(|peer| {
                let (took, busy) =
                    if peer == 0 { (own_draw(random), own.busy) } else { (other_draw(random), child.busy) };
                worked += took * busy;
                done[peer] + took
            })
            .collect();
        let places = neighbours(gossip, u32::try_from(round).unwrap_or(0));
        for (peer, end) in done.iter_mut().enumerate() {
            let heard = places.iter().map(|place| ends[(peer + *place as usize) % n]);
            *end = heard.fold(ends[peer], f64::max) + mix_s;
        }
        means.push(done.iter().sum::<f64>() / n as f64);
    }
    let last = means.last().copied().unwrap_or(0.0);
    // The first rounds are too fast: nobody is behind yet.
    let paces = means.windows(2).skip(rounds / 4).map(|pair| pair[1] - pair[0]).collect();
    (Pace::seen(paces, share(worked, last * n as f64)), (rounds * n) as u64)
}
