//! Members of several nodes, each node an arena of its own.

use crate::{
    Algorithm, Apply, Arena, Broken, Codec, Contribution, Incoming, Means, Member, MemoryPeers, Outgoing,
    Peers, Phase, Tag,
};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

const STALL: Duration = Duration::from_secs(20);

/// The gradient of a rank: numbers whose sum depends on the order of summing.
fn gradient(rank: usize, i: usize, step: u64) -> f32 {
    (1.0 + i as f32 * 0.37 + step as f32) * 1e3f32.powi(rank as i32 % 3 - 1) / 3.0
}

/// Plain descent clipped by a norm, and the weights and ranks that everybody sees.
fn descend(view: &mut Apply<'_>) -> Result<(Vec<f64>, Option<bool>), Broken> {
    let squares = |range: std::ops::Range<usize>| -> f64 {
        let total = |i: usize| view.grads.iter().map(|g| g[i]).fold(-0.0, |a, b| a + b);
        range.map(|i| f64::from(total(i)).powi(2)).sum()
    };
    let mine = view.stretches().map(squares).sum();
    let norm = view.sum(mine)?.sqrt() as f32;
    for (i, p) in view.params.iter_mut().enumerate() {
        *p -= view.grads.iter().map(|g| g[i]).fold(-0.0, |a, b| a + b) / norm;
    }
    Ok((view.contributions.iter().map(|c| c.weight).collect(), Some(true)))
}

fn run(mut member: Member, steps: u64, fail: Option<(usize, u64)>) -> Result<Option<Vec<u32>>, Broken> {
    let rank = member.rank();
    for step in 0..steps {
        if fail == Some((rank, step)) {
            return Err(Broken::Left { rank, cause: "told to".into() });
        }
        member.slot().iter_mut().enumerate().for_each(|(i, g)| *g = gradient(rank, i, step));
        let mine = Contribution { weight: rank as f64, ..Default::default() };
        let (weights, bad) = member.reduce(mine, descend)?;
        assert!(weights.iter().enumerate().all(|(rank, weight)| *weight == rank as f64), "{weights:?}");
        assert_eq!(bad, None);
    }
    let left = member.leave(steps)?;
    Ok(left.map(|copy| copy.params().iter().map(|p| p.to_bits()).collect()))
}

type Outcome = Result<Option<Vec<u32>>, Broken>;

/// So many nodes of so many ranks; what became of each rank, in order.
fn nodes(nodes: usize, ranks: usize, len: usize, fail: Option<(usize, u64)>) -> Vec<Outcome> {
    nodes_by(Means::default(), nodes, ranks, len, fail)
}

fn means() -> impl Strategy<Value = Means> {
    let plain = Algorithm::ALL.map(Means::Plain);
    // Without a matrix nothing is lost.
    let none = Means::LowRank { rank: 1, matrices: [].into(), algorithm: Algorithm::Ring };
    let others = [Means::Coded(Codec::F32), none];
    proptest::sample::select([&plain[..], &others].concat())
}

fn nodes_by(
    means: Means,
    nodes: usize,
    ranks: usize,
    len: usize,
    fail: Option<(usize, u64)>,
) -> Vec<Outcome> {
    let names: Vec<_> = (0..nodes).map(|n| format!("node {n}")).collect();
    let arenas: Vec<_> = (0..nodes).map(|n| Arena::on_node(n * ranks, len, 0, ranks, STALL)).collect();
    let mut members: Vec<Member> = Vec::new();
    for rank in 0..ranks {
        for (arena, peers) in arenas.iter().zip(MemoryPeers::mesh(&names, STALL)) {
            members.push(arena.join(rank).unwrap().across_by(Box::new(peers), means.clone()));
        }
    }
    members.sort_by_key(Member::rank);
    std::thread::scope(|scope| {
        let threads: Vec<_> = members.into_iter().map(|m| scope.spawn(move || run(m, 4, fail))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// The parameters of each node.
fn params(outcomes: Vec<Outcome>) -> Vec<Vec<u32>> {
    outcomes.into_iter().filter_map(|outcome| outcome.unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn nodes_of_one_rank_are_one_node_of_so_many_to_the_bit(count in 1usize..6, len in 0usize..400) {
        let one = &params(nodes(1, count, len, None))[0];
        let all = params(nodes(count, 1, len, None));
        prop_assert_eq!(all.len(), count);
        prop_assert!(all.iter().all(|node| node == one));
    }

    #[test]
    fn nodes_of_several_ranks_come_to_the_same_by_all_means(
        means in means(), count in 2usize..6, ranks in 1usize..4, len in 0usize..400,
    ) {
        let one = &params(nodes(1, count * ranks, len, None))[0];
        let all = params(nodes_by(means, count, ranks, len, None));
        prop_assert!(all.iter().all(|node| *node == all[0]));
        for node in all {
            for (a, b) in node.iter().zip(one).map(|(a, b)| (f32::from_bits(*a), f32::from_bits(*b))) {
                prop_assert!((a - b).abs() <= 1e-5 * b.abs(), "{} {}", a, b);
            }
        }
    }

    #[test]
    fn a_rank_that_leaves_frees_all_nodes_and_its_own_is_named(
        means in means(), count in 2usize..5, ranks in 1usize..3, who in 0usize..8, step in 0u64..4,
    ) {
        let who = who % (count * ranks);
        let outcomes = nodes_by(means, count, ranks, 100, Some((who, step)));
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Err(Broken::Left { rank: left, .. }) => prop_assert!(left == who && rank / ranks == who / ranks),
                // From its own node, or from one that was told.
                Err(Broken::Node { cause, .. }) => prop_assert!(cause.contains(&format!("rank {who} left")), "{}", cause),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

#[test]
fn the_first_to_say_so_is_known_on_all_nodes() {
    let names = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
    let threads: Vec<_> = MemoryPeers::mesh(&names, STALL)
        .into_iter()
        .map(|peers| {
            let arena: Arc<Arena> = Arena::on_node(peers.node(), 8, 0, 1, STALL);
            let mut member = arena.join(0).unwrap().across(Box::new(peers));
            std::thread::spawn(move || {
                let rank = member.rank();
                [member.first_to_say(rank > 0).unwrap(), member.first_to_say(false).unwrap()]
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), [Some(1), None]);
    }
}

#[test]
fn a_sum_that_nobody_applied_leaves_nothing_behind() {
    let matrices = [crate::Matrix { start: 0, rows: 12, cols: 12 }].into();
    let low_rank = Means::LowRank { rank: 2, matrices, algorithm: Algorithm::Ring };
    for means in
        [Means::Coded(Codec::Int8), Means::Coded(Codec::TopK(0.1)), Means::Coded(Codec::F16), low_rank]
    {
        let names = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let threads: Vec<_> = MemoryPeers::mesh(&names, STALL)
            .into_iter()
            .map(|peers| {
                let (arena, means) = (Arena::on_node(peers.node(), 200, 0, 1, STALL), means.clone());
                let mut member = arena.join(0).unwrap().across_by(Box::new(peers), means).revocable();
                std::thread::spawn(move || {
                    let mut kept = |bad: bool, skipped: bool| {
                        let rank = member.rank();
                        member.slot().iter_mut().enumerate().for_each(|(i, g)| *g = gradient(rank, i, 1));
                        if bad && rank == 1 {
                            member.slot()[7] = f32::NAN;
                        }
                        let apply = |view: &mut Apply<'_>| {
                            view.skipped = skipped;
                            Ok(((), Some(true)))
                        };
                        member.reduce(Contribution::default(), apply).unwrap();
                        let residuals = member.residuals().unwrap();
                        residuals.map(|kept| kept.iter().map(|x| x.to_bits()).collect::<Vec<_>>())
                    };
                    let before = kept(false, false);
                    assert!(before[0].iter().any(|bits| *bits != 0));
                    assert_eq!(kept(true, true), before);
                    assert_ne!(kept(false, false), before);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

#[test]
fn a_node_that_sends_other_lengths_is_refused() {
    let names = ["a".to_owned(), "b".to_owned()];
    let mut ends = MemoryPeers::mesh(&names, STALL);
    let (mut b, a) = (ends.pop().unwrap(), ends.pop().unwrap());
    let arena = Arena::on_node(0, 64, 0, 1, STALL);
    let member = arena.join(0).unwrap().across(Box::new(a));
    let thread = std::thread::spawn(move || run(member, 1, None));
    let out = [Some(Outgoing::default()), None];
    let mut into = [Some(Incoming::default()), None];
    let tag = Tag::new(1, 1, Phase::Gradients);
    assert!(b.exchange(tag, &out, &mut into).is_err(), "it has no room for what is sent");
    let broken = thread.join().unwrap().unwrap_err();
    assert_eq!(
        broken.to_string(),
        "node b: it sent (0, 0) bytes of Gradients 1, bucket 0, round 0, of group 1 where (37, 128) were due"
    );
}
