//! What a sum over nodes costs, and which algorithm costs least.

use crate::Algorithm;

/// What links between nodes can do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// How long a message takes that holds next to nothing, in seconds.
    pub latency_s: f64,
    /// How much longer it takes if one more goes to another node at the same time, in seconds.
    pub message_s: f64,
    /// How much longer a byte makes it, in seconds.
    pub seconds_per_byte: f64,
}

/// What a byte costs that is to be added rather than to lie where it comes, in seconds: it takes room, and what is received,
/// what is there and what becomes of them pass through the processor. Found on loopback, where 256 KiB over two nodes take
/// 150 us longer in one round (all of it added) than in two (half). Between slow links it decides nothing.
const ADDING_S: f64 = 1e-9;

impl Cost {
    /// How long an all-reduce of so many bytes takes, in seconds: the closed forms, in which nodes go round by round.
    ///
    /// With a the latency, b the seconds a byte, c those of adding one, and q the largest power of two in p: direct 2 a +
    /// 2 (p - 2) m + n (p - 1) / p (2 b + c), where m is what a further message costs; ring 2 (p - 1) a + n (p - 1) / p
    /// (2 b + c); halving-doubling 2 lg q a + n (q - 1) / q (2 b + c), recursive doubling lg q (a + n (b + c)), both with
    /// 2 (a + n b) + n c more if q < p; tree lg p (2 (a + n b) + n c), the logarithm rounded up.
    pub fn all_reduce_s(self, algorithm: Algorithm, world: usize, bytes: usize) -> f64 {
        let Self { latency_s: a, message_s: m, seconds_per_byte: b } = self;
        if world < 2 {
            return 0.0;
        }
        let (p, n, lg) = (world as f64, bytes as f64, f64::from(world.ilog2()));
        let q = lg.exp2();
        let whole = a + n * b;
        let add = n * ADDING_S;
        let lent = if world.is_power_of_two() { 0.0 } else { 2.0 * whole + add };
        // Each part goes twice, and is added to once.
        let parts = |p: f64| (p - 1.0) / p * (2.0 * n * b + add);
        match algorithm {
            Algorithm::Direct => 2.0 * (a + (p - 2.0) * m) + parts(p),
            Algorithm::Ring => 2.0 * (p - 1.0) * a + parts(p),
            Algorithm::HalvingDoubling => 2.0 * lg * a + parts(q) + lent,
            Algorithm::RecursiveDoubling => lg * (whole + add) + lent,
            Algorithm::Tree => f64::from(world.next_power_of_two().ilog2()) * (2.0 * whole + add),
        }
    }
}

/// Why an algorithm was chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The one that costs least.
    pub algorithm: Algorithm,
    /// A sentence for people: what was expected of each.
    pub reason: String,
}

impl Algorithm {
    /// The algorithm that costs least for an all-reduce of so many bytes over so many nodes. Who has the same figures
    /// chooses the same; among equals it is the first of [`Algorithm::ALL`].
    ///
    /// Figures that were measured differ from run to run, and with the algorithm the last digits of a sum do: a run that
    /// is to repeat itself to the bit keeps its choice.
    pub fn cheapest(bytes: usize, world: usize, cost: Cost) -> Choice {
        let mut expected = Self::ALL.map(|a| (cost.all_reduce_s(a, world, bytes), a));
        // Stable: equals stay in order.
        expected.sort_by(|x, y| x.0.total_cmp(&y.0));
        let [(least, algorithm), others @ ..] = expected;
        let others: Vec<_> = others.iter().map(|(s, a)| format!("{a} {}", seconds(*s))).collect();
        let Cost { latency_s, message_s, seconds_per_byte } = cost;
        let rate = if seconds_per_byte > 0.0 { 1e-6 / seconds_per_byte } else { f64::INFINITY };
        let reason = format!(
            "{algorithm} for {bytes} bytes over {world} nodes: {} expected ({}), at {} a message, {} each further one, {rate:.0} MB/s",
            seconds(least),
            others.join(", "),
            seconds(latency_s),
            seconds(message_s),
        );
        Choice { algorithm, reason }
    }
}

/// For people.
fn seconds(s: f64) -> String {
    match s {
        ..1e-3 => format!("{:.1} us", s * 1e6),
        ..1.0 => format!("{:.1} ms", s * 1e3),
        _ => format!("{s:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Take;
    use crate::{Collective, Plan, Round};
    use proptest::prelude::*;

    /// 50 us a message, 1 GB/s.
    const NETWORK: Cost = Cost { latency_s: 50e-6, message_s: 10e-6, seconds_per_byte: 1e-9 };

    /// What the plans of all ranks cost if each round is as long as its longest message is.
    fn followed(cost: Cost, algorithm: Algorithm, world: usize, len: usize) -> f64 {
        let plan = |rank| Plan::new(algorithm, Collective::AllReduce, world, rank, len);
        let plans: Vec<_> = (0..world).map(plan).collect();
        let of_rank = |round: &Round| {
            let [sent, received] = [
                round.sends.iter().map(|s| s.range.len()).collect::<Vec<_>>(),
                round.receives.iter().map(|r| r.range.len()).collect(),
            ];
            let messages = sent.len().max(received.len());
            let bytes = 4 * sent.iter().sum::<usize>().max(received.iter().sum());
            let terms = round.receives.iter().filter(|receive| receive.take == Take::Add);
            let added = 4 * terms.map(|receive| receive.range.len()).sum::<usize>();
            match messages {
                0 => 0.0,
                _ => {
                    cost.latency_s
                        + (messages - 1) as f64 * cost.message_s
                        + bytes as f64 * cost.seconds_per_byte
                        + added as f64 * ADDING_S
                }
            }
        };
        let rounds =
            |plan: &Plan| plan.adding().iter().chain(plan.copying()).map(of_rank).collect::<Vec<_>>();
        let all: Vec<_> = plans.iter().map(rounds).collect();
        (0..all[0].len()).map(|n| all.iter().map(|rounds| rounds[n]).fold(0.0, f64::max)).sum()
    }

    proptest! {
        #[test]
        fn the_closed_forms_are_what_the_plans_cost(world in 2usize..=64, len in 300_000usize..1_000_000) {
            for algorithm in Algorithm::ALL {
                let (form, plans) =
                    (NETWORK.all_reduce_s(algorithm, world, 4 * len), followed(NETWORK, algorithm, world, len));
                // Where neighbours act as one, parts are not of one size.
                let slack = if algorithm == Algorithm::HalvingDoubling && !world.is_power_of_two() { 0.3 } else { 0.03 };
                prop_assert!((form - plans).abs() <= slack * plans, "{} {}: {} {}", algorithm, world, form, plans);
            }
        }
    }

    fn chosen(bytes: usize, world: usize, cost: Cost) -> Algorithm {
        Algorithm::cheapest(bytes, world, cost).algorithm
    }

    #[test]
    fn what_is_short_goes_in_few_rounds_and_what_is_long_in_few_bytes() {
        // Messages side by side get in each other's way.
        let side_by_side = Cost { message_s: 60e-6, ..NETWORK };
        assert_eq!(chosen(100, 64, side_by_side), Algorithm::RecursiveDoubling);
        assert_eq!(chosen(4 << 20, 64, side_by_side), Algorithm::HalvingDoubling);
        // No power of two: whole sums would have to be lent.
        assert_eq!(chosen(400 << 20, 48, side_by_side), Algorithm::Ring);
        // Where messages side by side cost little, two rounds are the fewest.
        assert_eq!(chosen(4 << 20, 16, Cost { message_s: 0.0, ..NETWORK }), Algorithm::Direct);
        assert_eq!(chosen(4 << 20, 1, NETWORK), Algorithm::Direct);
    }

    #[test]
    fn a_ring_loses_beyond_some_workers() {
        let at = |world: usize| {
            let of = |algorithm| NETWORK.all_reduce_s(algorithm, world, 1 << 20);
            of(Algorithm::Ring) / of(Algorithm::HalvingDoubling)
        };
        assert!(at(4) < 1.05 && at(16) > 1.1 && at(64) > 1.6, "{} {} {}", at(4), at(16), at(64));
    }

    #[test]
    fn the_reason_says_all_there_is() {
        assert_eq!(
            Algorithm::cheapest(4 << 20, 2, NETWORK).reason,
            "direct for 4194304 bytes over 2 nodes: 6.4 ms expected (ring 6.4 ms, halving 6.4 ms, doubling 8.4 ms, \
             tree 12.7 ms), at 50.0 us a message, 10.0 us each further one, 1000 MB/s"
        );
    }
}
