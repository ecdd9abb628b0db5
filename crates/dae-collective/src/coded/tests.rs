//! Sums over nodes in a codec.

use crate::across::Across;
use crate::{Algorithm, Codec, Contribution, Means, MemoryPeers, Outgoing, Peers, Phase, Tag};
use proptest::prelude::*;
use std::time::Duration;

const STALL: Duration = Duration::from_secs(20);

/// So many nodes, each on a thread.
fn nodes<R: Send>(
    world: usize,
    len: usize,
    means: Means,
    work: impl Fn(usize, Across) -> R + Sync,
) -> Vec<R> {
    let names: Vec<_> = (0..world).map(|n| format!("node {n}")).collect();
    let ends = MemoryPeers::mesh(&names, STALL).into_iter().enumerate();
    std::thread::scope(|scope| {
        let threads: Vec<_> = ends
            .map(|(node, peers)| {
                let (work, across) = (&work, Across::new(Box::new(peers), 0..len, means.clone()));
                scope.spawn(move || work(node, across))
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn mine(node: usize) -> Contribution {
    Contribution { weight: node as f64, ..Default::default() }
}

fn codec() -> impl Strategy<Value = Codec> {
    proptest::sample::select(vec![
        Codec::F32,
        Codec::Bf16,
        Codec::F16,
        Codec::Int8,
        Codec::TopK(0.05),
        Codec::TopK(0.5),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn all_nodes_have_the_same_bits_and_lose_nothing_for_good(codec in codec(), world in 1usize..7, len in 0usize..600) {
        const STEPS: u64 = 5;
        let gradient = |node: usize, step: u64| -> Vec<f32> {
            (0..len).map(|i| ((i * 31 + node * 17) as f32 + step as f32).sin()).collect()
        };
        let outcomes = nodes(world, len, Means::Coded(codec), |node, mut across| {
            let mut reduced: Vec<Vec<u32>> = vec![];
            for step in 1..=STEPS {
                let all = across.reduce(step, &[&gradient(node, step)], &[mine(node)]).unwrap();
                assert!(all.iter().enumerate().all(|(n, c)| *c == mine(n)));
                reduced.push(across.reduced().0.iter().map(|x| x.to_bits()).collect());
            }
            let [sent, total] = across.residuals().unwrap();
            (reduced, sent.to_vec(), total.to_vec())
        });
        prop_assert!(outcomes.iter().all(|(reduced, ..)| *reduced == outcomes[0].0));
        // What arrived and what is kept, by all, is what there was.
        let totals: Vec<f32> = outcomes.iter().flat_map(|(_, _, total)| total.clone()).collect();
        prop_assert_eq!(totals.len(), len);
        for i in 0..len {
            let due: f64 = (0..world).flat_map(|n| (1..=STEPS).map(move |s| (n, s)))
                .map(|(n, s)| f64::from(gradient(n, s)[i])).sum();
            let arrived: f64 = outcomes[0].0.iter().map(|r| f64::from(f32::from_bits(r[i]))).sum();
            let kept: f64 = outcomes.iter().map(|(_, sent, _)| f64::from(sent[i])).sum();
            let all = arrived + kept + f64::from(totals[i]);
            prop_assert!((all - due).abs() < 1e-4, "{} {}: {} {}", codec, i, all, due);
        }
    }

    #[test]
    fn f32_is_no_codec_at_all(world in 1usize..7, len in 0usize..300) {
        let run = |means: Means| nodes(world, len, means, |node, mut across| {
            let gradient: Vec<f32> = (0..len).map(|i| 1e3f32.powi(node as i32 % 3) / (i + 3) as f32).collect();
            across.reduce(1, &[&gradient], &[mine(node)]).unwrap();
            across.reduced().0.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        });
        prop_assert_eq!(run(Means::Coded(Codec::F32)), run(Means::Plain(Algorithm::Direct)));
    }
}

/// How far from the least of a bowl descent over four nodes comes, as a share of where it began. Each node alone is drawn
/// elsewhere, far more strongly in some directions than in others.
fn descent(codec: Codec, feedback: bool) -> f32 {
    const WORLD: usize = 4;
    const LEN: usize = 256;
    let least = |i: usize| ((i * 7) as f32).cos();
    let pull =
        |node: usize, i: usize| if i.is_multiple_of(8) { [15.0, -15.0, 10.0, -10.0][node] } else { 0.0 };
    let found = nodes(WORLD, LEN, Means::Coded(codec), |node, mut across| {
        let mut x = [0f32; LEN];
        for step in 1..=1200 {
            let gradient: Vec<f32> =
                x.iter().enumerate().map(|(i, x)| x - least(i) + pull(node, i)).collect();
            across.reduce(step, &[&gradient], &[mine(node)]).unwrap();
            x.iter_mut().zip(across.reduced().0).for_each(|(x, g)| *x -= 0.002 * g);
            if !feedback {
                across.residuals().unwrap().into_iter().for_each(|kept| kept.fill(0.0));
            }
        }
        x
    });
    assert!(found.iter().all(|x| *x == found[0]));
    let norm = |x: &dyn Fn(usize) -> f32| (0..LEN).map(|i| (x(i) - least(i)).powi(2)).sum::<f32>().sqrt();
    norm(&|i| found[0][i]) / norm(&|_| 0.0)
}

#[test]
fn descent_arrives_because_what_is_lost_is_kept() {
    for codec in [Codec::F32, Codec::Int8, Codec::TopK(0.05)] {
        let left = descent(codec, true);
        assert!(left < 0.1, "{codec}: {left}");
    }
    let left = descent(Codec::TopK(0.05), false);
    assert!(left > 0.5, "topk without feedback: {left}");
}

#[test]
fn what_was_kept_can_be_taken_along() {
    let gradient = |node: usize, step: u64| -> Vec<f32> {
        (0..100).map(|i| ((i * 3 + node) as f32 * step as f32).cos()).collect()
    };
    let run = |stop: bool| {
        nodes(3, 100, Means::Coded(Codec::TopK(0.1)), |node, mut across| {
            for step in 1..9 {
                across.reduce(step, &[&gradient(node, step)], &[mine(node)]).unwrap();
                if stop && step == 4 {
                    let mut residuals = across.residuals().unwrap();
                    let kept = residuals.each_ref().map(|kept| kept.to_vec());
                    residuals.iter_mut().for_each(|there| there.fill(f32::NAN));
                    residuals.iter_mut().zip(kept).for_each(|(there, kept)| there.copy_from_slice(&kept));
                }
            }
            across.reduced().0.to_vec()
        })
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn bytes_that_say_nothing_name_their_sender() {
    let mut ends = MemoryPeers::mesh(&["a".to_owned(), "b".to_owned()], STALL);
    let (mut b, a) = (ends.pop().unwrap(), ends.pop().unwrap());
    let codec = Codec::TopK(0.1);
    let honest = std::thread::spawn(move || {
        let mut across = Across::new(Box::new(a), 0..64, Means::Coded(codec));
        across.reduce(1, &[&[1.0; 64]], &[mine(0)]).map(drop)
    });
    let (head, body) = (mine(1).to_bytes(), vec![0xff; codec.encoded_len(32)]);
    let out = [Some(Outgoing { head: &head, body: &body }), None];
    b.exchange(Tag::new(1, 1, Phase::Gradients), &out, &mut [None, None]).unwrap();
    let said = honest.join().unwrap().unwrap_err().to_string();
    assert!(said.starts_with("node b: what it sent of Gradients 1, bucket 0,"), "{said}");
    assert!(said.contains("cannot be read: index 4294967295 of 32 numbers"), "{said}");
}
