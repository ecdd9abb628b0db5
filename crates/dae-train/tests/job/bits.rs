//! The same topology gives the same bits; what stands left of `step` changes nothing; rates, clipping.

use crate::oracle;
use crate::rig::{Ran, Rig, apart, topology};
use dae_train::topology::Topology;

/// The ways to deal a global batch of 12, with the micro-batch that each of them takes.
const DEALS: [(&str, u32); 5] =
    [("split 1", 12), ("split 2", 6), ("split 3", 4), ("accum 2 | split 2", 3), ("accum 3", 4)];

/// Runs every deal of this optimizer, and holds each against the first and against the oracle.
fn all_deals(optimizer: &str, steps: u64) -> Vec<Ran> {
    let deal = |(word, batch): (&str, u32)| {
        topology(&format!("{word} | step {optimizer}")).batch(batch).steps(steps)
    };
    let truth = oracle::train(&deal(DEALS[0]), 50);
    let runs: Vec<_> = DEALS.iter().map(|d| Rig::new(&deal(*d)).run().finished()).collect();
    for (ran, (word, _)) in runs.iter().zip(DEALS) {
        let (from_one, from_truth) = (apart(ran.params(), runs[0].params()), truth.apart(ran.params()));
        assert!(from_one < 1e-5, "{word} | {optimizer}: {from_one:e} from one worker");
        assert!(from_truth < 1e-4, "{word} | {optimizer}: {from_truth:e} from the oracle");
        for (step, want) in ran.log.steps().iter().zip(&truth.losses) {
            assert!((step.loss - want).abs() < 1e-4 * want, "{word}, {step:?}: {want}");
        }
    }
    runs
}

#[test]
fn the_same_topology_gives_the_same_bits_and_the_same_lines() {
    // A tail at the end, noise, three ranks with slices of unequal size.
    let topology = topology("accum 2 | split 3 | step adam(0.02)").epochs(30.3).masking(0.2).warmup(5);
    let once = Rig::new(&topology).run().finished();
    // What is free may not change a bit either.
    let mut other = topology.clone().checkpoint_every(1);
    (other.data.prefetch, other.job.name, other.placement.pin) = (1, "other".into(), true);
    for again in [&topology, &other] {
        let again = Rig::new(again).run().finished();
        assert_eq!(again.bits(), once.bits());
        assert_eq!(again.log.lines("step"), once.log.lines("step"));
    }
    let seeded = Rig::new(&topology.clone().seed(12)).run().finished();
    assert_ne!(seeded.bits(), once.bits());
    assert_ne!(seeded.log.lines("step")[0], once.log.lines("step")[0]);
}

#[test]
fn the_loss_falls() {
    let ran = Rig::new(&topology("split 2 | step adam(0.02)").steps(300).masking(0.05)).run().finished();
    let losses: Vec<_> = ran.log.steps().iter().map(|s| s.loss).collect();
    let mean = |l: &[f64]| l.iter().sum::<f64>() / l.len() as f64;
    let (first, last) = (mean(&losses[..10]), mean(&losses[290..]));
    assert!(last < first / 4.0, "{first} to {last}");
    assert_eq!(ran.report.loss, Some(losses[299]));
    assert_eq!(ran.report.step, 300);
}

#[test]
fn folds_change_nothing_under_sgd() {
    all_deals("sgd(0.2)", 100);
}

#[test]
fn folds_change_nothing_under_adam() {
    all_deals("adam(0.01)", 100);
}

#[test]
fn momentum_and_decay_take_no_notice_of_folds() {
    for optimizer in ["sgd(0.05, momentum=0.9, nesterov, wd=0.01)", "adamw(0.01)"] {
        let runs: Vec<_> = DEALS
            .iter()
            .map(|(word, batch)| topology(&format!("{word} | step {optimizer}")).batch(*batch).steps(100))
            .map(|t| Rig::new(&t).run().finished())
            .collect();
        for ran in &runs {
            let from_one = apart(ran.params(), runs[0].params());
            assert!(from_one < 1e-5, "{optimizer}: {from_one:e} from one worker");
        }
    }
}

#[test]
fn a_norm_is_clipped_as_one_norm_over_all_slices() {
    let clipped = all_deals("sgd(0.2) clip=0.2", 60);
    let norms = oracle::train(&topology("step sgd(0.2) clip=0.2").batch(12), 50).norms;
    let over = norms.iter().filter(|n| **n > 0.2).count();
    assert!((5..55).contains(&over), "the bound must bite in some steps and not in others: {over} of 60");
    let free = Rig::new(&topology("split 3 | step sgd(0.2)").batch(4)).run().finished();
    assert!(apart(free.params(), clipped[0].params()) > 1e-3, "clipping did nothing");
}

#[test]
fn the_rate_of_a_step_is_a_function_of_the_step() {
    let rates = |topology: Topology| -> Vec<f64> {
        Rig::new(&topology.steps(40)).run().finished().log.steps().iter().map(|s| s.lr).collect()
    };
    let near = |rates: &[f64], want: &dyn Fn(u64) -> f64| {
        assert_eq!(rates.len(), 40);
        for (step, rate) in (0..).zip(rates) {
            assert!((rate - want(step)).abs() < 1e-6, "step {step}: {rate} and not {}", want(step));
        }
    };
    // However many ranks there are, a step advances it once.
    for word in ["split 1 | step sgd(0.2)", "accum 2 | split 3 | step sgd(0.2)"] {
        near(&rates(topology(word)), &|_| 0.2);
        near(&rates(topology(word).warmup(8).decay(10, 0.5)), &|step| match step {
            0..8 => 0.2 * (step + 1) as f64 / 8.0,
            _ => 0.2 * 0.5f64.powi(((step - 8) / 10) as i32),
        });
        near(&rates(topology(word).warmup(4).cosine(0.1)), &|step| match step {
            0..4 => 0.2 * (step + 1) as f64 / 4.0,
            _ => {
                let part = (step - 4) as f64 / 36.0;
                0.2 * (0.1 + 0.9 * 0.5 * (1.0 + (std::f64::consts::PI * part).cos()))
            }
        });
    }
    // And it is what the step is made with: at a tenth of the rate, plain descent goes a tenth as far.
    let far = |word: &str| {
        let one = topology(word).steps(1);
        let ran = Rig::new(&one).run().finished();
        ran.params()
            .iter()
            .zip(oracle::initial(&one))
            .map(|(a, b)| f64::from(a - b).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    let (whole, tenth) = (far("step sgd(0.2)"), far("step sgd(0.02)"));
    assert!((whole / tenth - 10.0).abs() < 1e-3, "{whole} {tenth}");
}
