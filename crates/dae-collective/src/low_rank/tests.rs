//! Sums over nodes in low rank.

use super::*;
use crate::plan::tests::algorithm;
use crate::{Algorithm, Collective, MemoryPeers, Phase};
use proptest::prelude::*;
use std::time::Duration;

const STALL: Duration = Duration::from_secs(20);
/// Numbers in no matrix, a matrix of 24 by 16, more of the first kind, a matrix of 9 by 30, one too small to gain.
const LEN: usize = 700;
const MATRICES: [Matrix; 3] = [
    Matrix { start: 10, rows: 24, cols: 16 },
    Matrix { start: 400, rows: 9, cols: 30 },
    Matrix { start: 670, rows: 2, cols: 2 },
];

/// So many nodes, each on a thread, which does `work` with a function that sums a gradient as a step.
fn nodes<R: Send>(
    world: usize,
    rank: usize,
    algorithm: Algorithm,
    work: impl Fn(usize, &mut LowRank, &mut dyn FnMut(&mut LowRank, u64, &mut [f32])) -> R + Sync,
) -> Vec<R> {
    let names: Vec<_> = (0..world).map(|n| format!("node {n}")).collect();
    let ends = MemoryPeers::mesh(&names, STALL).into_iter().enumerate();
    std::thread::scope(|scope| {
        let threads: Vec<_> = ends
            .map(|(node, mut peers)| {
                let plan = |len| Plan::new(algorithm, Collective::AllReduce, world, node, len);
                let (work, mut low) = (&work, LowRank::new(rank, &MATRICES, 0..LEN, plan));
                scope.spawn(move || {
                    let mut reduce = |low: &mut LowRank, step: u64, numbers: &mut [f32]| {
                        let tags = [Phase::Gradients, Phase::Sums].map(|phase| Tag::new(1, step, phase));
                        let mut all = vec![vec![0]; world];
                        let heads = Heads { mine: &[node as u8], all: &mut all };
                        low.reduce(&mut peers, tags, numbers, heads).unwrap();
                        assert!((0..world).all(|n| n == node || all[n] == [n as u8]));
                    };
                    work(node, &mut low, &mut reduce)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn gradient(node: usize, step: u64) -> Vec<f32> {
    (0..LEN).map(|i| ((i * i + 31 * node) as f32 * 0.01 + step as f32).sin()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn all_nodes_have_the_same_bits_and_lose_nothing_for_good(
        algorithm in algorithm(), world in 1usize..6, rank in 1usize..4,
    ) {
        const STEPS: u64 = 4;
        let outcomes = nodes(world, rank, algorithm, |node, low, reduce| {
            let mut arrived = vec![];
            for step in 1..=STEPS {
                let mut numbers = gradient(node, step);
                reduce(low, step, &mut numbers);
                arrived.push(numbers);
            }
            (arrived, low.residuals().map(|kept| kept.to_vec()))
        });
        let (first, [_, rights]) = &outcomes[0];
        prop_assert!(outcomes.iter().all(|(arrived, [_, right])| arrived == first && right == rights));
        for i in 0..LEN {
            let due: f32 = (0..world).map(|n| (1..=STEPS).map(|s| gradient(n, s)[i]).sum::<f32>()).sum();
            let arrived: f32 = outcomes[0].0.iter().map(|numbers| numbers[i]).sum();
            let kept: f32 = outcomes.iter().map(|(_, [kept, _])| kept[i]).sum();
            prop_assert!((arrived + kept - due).abs() < 1e-3, "{}: {} {} {}", i, arrived, kept, due);
            let within = MATRICES[..2].iter().any(|m| m.range().contains(&i));
            prop_assert!(within || kept == 0.0, "what is in no matrix is not lost");
        }
    }

    #[test]
    fn slices_have_the_rows_that_are_whole_in_them(
        start in 0usize..50, rows in 0usize..40, cols in 0usize..20, from in 0usize..900, len in 0usize..900, rank in 1usize..3,
    ) {
        let (whole, slice) = (Matrix { start, rows, cols }, from..from + len);
        let inside = |row: &usize| {
            let at = start + row * cols;
            slice.start <= at && at + cols <= slice.end
        };
        let due: Vec<_> = (0..rows).filter(inside).collect();
        let gains = rank * (due.len() + cols) < due.len() * cols;
        match whole.within(&slice, rank) {
            None => prop_assert!(!gains),
            Some(part) => {
                prop_assert!(gains);
                let first = start + due[0] * cols - slice.start;
                prop_assert_eq!(part, Matrix { start: first, rows: due.len(), cols });
            }
        }
    }
}

#[test]
fn what_is_of_low_rank_arrives_at_once() {
    let [first, second, _] = MATRICES;
    let outer = |node: usize| {
        let mut numbers = vec![node as f32; LEN];
        for m in [first, second] {
            for (i, x) in numbers[m.range()].iter_mut().enumerate() {
                *x = (1 + node) as f32 * ((i / m.cols) as f32).cos() * (1.0 + (i % m.cols) as f32);
            }
        }
        numbers
    };
    let due: Vec<f32> = (0..LEN).map(|i| (0..3).map(|node| outer(node)[i]).sum()).collect();
    // More rank than there is does no harm.
    for rank in [1, 3] {
        for numbers in nodes(3, rank, Algorithm::Ring, |node, low, reduce| {
            let mut numbers = outer(node);
            reduce(low, 1, &mut numbers);
            numbers
        }) {
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
            assert!(numbers.iter().zip(&due).all(close), "{rank}");
        }
    }
}

#[test]
fn what_is_sent_is_little() {
    let plan = |len| Plan::new(Algorithm::Ring, Collective::AllReduce, 2, 0, len);
    let low = LowRank::new(2, &MATRICES, 0..LEN, plan);
    assert_eq!(low.left.len() + low.right.len(), 2 * (24 + 16 + 9 + 30) + LEN - 24 * 16 - 9 * 30);
}

#[test]
fn descent_arrives_because_what_is_lost_is_kept() {
    let least = |i: usize| ((i * 7) as f32).cos() + ((i * i) as f32).sin();
    let left = |feedback: bool| {
        let found = nodes(3, 1, Algorithm::Direct, |node, low, reduce| {
            let mut x = vec![0f32; LEN];
            for step in 1..=600 {
                let pull = [4.0, -3.0, -1.0][node];
                let mut gradient: Vec<_> =
                    x.iter().enumerate().map(|(i, x)| x - least(i) + pull * (i as f32).cos()).collect();
                reduce(low, step, &mut gradient);
                x.iter_mut().zip(gradient).for_each(|(x, g)| *x -= 0.01 * g);
                if !feedback {
                    low.residuals()[0].fill(0.0);
                }
            }
            x
        });
        assert!(found.iter().all(|x| *x == found[0]));
        let norm = |x: &dyn Fn(usize) -> f32| (0..LEN).map(|i| (x(i) - least(i)).powi(2)).sum::<f32>().sqrt();
        norm(&|i| found[0][i]) / norm(&|_| 0.0)
    };
    let (kept, lost) = (left(true), left(false));
    assert!(kept < 0.01 && lost > 0.1, "{kept} {lost}");
}

#[test]
fn what_is_not_finite_is_never_hidden() {
    for bad in [f32::NAN, f32::INFINITY] {
        for numbers in nodes(2, 2, Algorithm::Direct, |node, low, reduce| {
            let mut numbers = gradient(node, 1);
            if node == 1 {
                numbers[20] = bad;
            }
            reduce(low, 1, &mut numbers);
            numbers
        }) {
            assert!(numbers.iter().any(|x| !x.is_finite()));
        }
    }
}
