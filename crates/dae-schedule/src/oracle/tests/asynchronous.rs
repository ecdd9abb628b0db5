//! The laws of virtual time, of lateness, and of the log.

use proptest::prelude::*;

use super::models::Slope;
use super::words::{around, begun, gossip, hold, near, on, same, start, step, with_run, word};
use crate::oracle::dice::dice;
use crate::oracle::mutant::{Mutant, with};
use crate::oracle::{Grain, Model, Push, Setting, uneven};

/// `quorum(n)` = `ssp(0)` = `bsp`, also where nothing but waiting for one's own update holds a child back; and in a
/// trace of `ssp(s)` max clock - min clock <= s + 1, which is reached.
pub(super) fn m4(cases: u32) -> Result<(), String> {
    hold(cases, (step(), 1..3_u32, 1..6_u32, on(true)), |(step, h, n, on)| {
        let inner = format!("{step} | every {h} | join {n} outer=nesterov(.5,.5)");
        let bsp = on.run(&inner, 4);
        for sync in [format!("quorum({n},keep)"), format!("quorum({n},drop)"), "ssp(0)".to_owned()] {
            same(&bsp, &on.run(&format!("{inner} sync={sync}"), 4))?;
        }
        same(&bsp, &with(Mutant::BareQuorum, || on.run(&inner, 4)))
    })?;
    hold(cases, (1..5_u32, 2..7_u32, any::<u64>()), |(s, n, seed)| {
        // The last child is so slow that all others run into their bound.
        let duration =
            move |worker, step| if worker + 1 == n as usize { 40.0 } else { uneven(seed)(worker, step) };
        let setting = Setting { duration: &duration, ..Setting::new(&Slope { alike: true }, 1) };
        let mut run = begun(&format!("step sgd(.1) | join {n} sync=ssp({s})"), setting);
        run.rounds(8);
        let mut clocks = vec![0_i64; n as usize];
        let mut widest = 0;
        for push in run.log() {
            prop_assert_eq!(clocks[push.worker], push.round as i64);
            clocks[push.worker] += 1;
            let spread = clocks.iter().max().unwrap() - clocks.iter().min().unwrap();
            prop_assert!(spread <= i64::from(s) + 1, "{spread} where {s}");
            widest = widest.max(spread);
        }
        prop_assert_eq!(widest, i64::from(s) + 1);
        Ok(())
    })
}

/// Under virtual time an asynchronous word repeats itself: bits, and the same log.
pub(super) fn m10(cases: u32) -> Result<(), String> {
    let last = prop_oneof![
        gossip(),
        prop::sample::select(vec![
            "join 4 sync=async",
            "join 5 sync=ssp(1) stale=lr/tau",
            "join 4 sync=quorum(2,keep)"
        ])
        .prop_map(str::to_owned),
    ];
    hold(cases, (step(), around(), last, on(true)), |(step, items, last, on)| {
        let word = word([step].iter().chain(&items).chain(&[last]));
        let run = || with_run(on, &word, |run| (run.rounds(4), run.log().to_vec()));
        let ((a, a_log), (b, b_log)) = (run(), run());
        same(&a, &b)?;
        prop_assert_eq!(a_log, b_log);
        Ok(())
    })
}

/// What mixed when is all that was left to chance: peers that follow another run's log, and no clock, come to its bits.
#[test]
fn a_log_of_mixings_repeats_them() {
    for gossip in ["gossip 2", "gossip 5", "gossip 5 graph=exp push", "gossip 4 graph=complete push"] {
        let text = format!("step sgd(.125) | every 2 | {gossip} sync=async");
        let (slope, duration) = (Slope { alike: false }, uneven(7));
        let setting = Setting { duration: &duration, seed: 3, ..Setting::new(&slope, 2) };
        let mut run = begun(&text, setting);
        let (rounds, log) = (run.rounds(5), run.log().to_vec());
        assert_eq!(log.len(), 5 * run.process().replicas().len());
        assert!(log.iter().any(|push| push.staleness() > Some(0)), "{text}: nobody was in anybody's way");
        let mut again = begun(&text, Setting { replay: Some(&log), seed: 3, ..Setting::new(&slope, 2) });
        for (a, b) in rounds.iter().zip(again.rounds(5)) {
            assert_eq!((&a.params, &a.replicas, a.loss), (&b.params, &b.replicas, b.loss), "{text}");
        }
        let timeless = |push: &Push| Push { time: 0.0, ..*push };
        assert!(log.iter().map(timeless).eq(again.log().iter().map(timeless)), "{text}");
    }
}

/// The log explains the trajectory: on a slope, the centre has moved by what the applied pushes of the log were worth.
/// Every child's rounds are in it once, in turn; times never run back; what `drop` lets through is fresh.
pub(super) fn log(cases: u32) -> Result<(), String> {
    let stale = prop::sample::select(vec!["none", "lr/tau", "drop(0)", "drop(1)"]);
    let sync = prop::sample::select(vec!["async", "ssp(2)", "quorum(2,keep)", "quorum(2,drop)", "bsp"]);
    hold(cases, (2..6_u32, sync, stale, 1..3_u32, any::<u64>()), |(n, sync, stale, h, seed)| {
        let duration = uneven(seed);
        let setting = Setting { duration: &duration, ..Setting::new(&Slope { alike: true }, 2) };
        let mut run = begun(
            &format!("step sgd(.125) | every {h} | join {n} sync={sync} stale={stale} scale=sum"),
            setting,
        );
        let (start, end) = (start(setting.model), run.rounds(5)[4].params.clone());
        let log = run.log();
        let worth = |push: &Push| match push.staleness() {
            None => 0.0,
            Some(tau) if stale == "lr/tau" => 1.0 / tau.max(1) as f32,
            Some(_) => 1.0,
        };
        let pushes = log.iter().map(worth).sum::<f32>() * h as f32;
        let want: Vec<f32> = start.iter().zip(Slope::STEEP).map(|(x, g)| x - 0.125 * g * pushes).collect();
        near(&end, &want)?;
        let mut clocks = vec![0; n as usize];
        let (mut time, mut version) = (0.0, 0);
        for push in log {
            prop_assert!(push.time >= time);
            // Several in one update are logged in the order of the children, not of their arrival.
            if !sync.starts_with("quorum") && sync != "bsp" {
                prop_assert_eq!(push.round, clocks[push.worker]);
            }
            clocks[push.worker] += 1;
            if let Some(applied) = push.applied {
                prop_assert!(applied == version || applied == version + 1);
                version = applied;
            }
            time = push.time;
            let most = match (sync, stale) {
                ("quorum(2,drop)" | "bsp", _) | (_, "drop(0)") => 0,
                (_, "drop(1)") => 1,
                _ => u64::MAX,
            };
            prop_assert!(push.staleness().is_none_or(|tau| tau <= most), "{push:?}");
        }
        Ok(())
    })
}

/// Where the curvature is the square of the gradient, as -log(x) has it, `dc(1)` corrects an old gradient to first
/// order: what an update applies is nearer to the gradient at the centre than without.
pub(super) fn delay_is_corrected(cases: u32) -> Result<(), String> {
    struct Log;
    impl Model for Log {
        fn parameters(&self) -> usize {
            1
        }
        fn gradient(&self, params: &[f32], grain: std::ops::Range<u64>, into: &mut [f32]) -> Grain {
            let weight = (grain.end - grain.start) as f64;
            into[0] = -(weight as f32) / params[0];
            Grain { weight, loss: -weight * f64::from(params[0].ln()) }
        }
    }
    hold(cases, (2..6_u32, any::<u64>()), |(n, seed)| {
        let duration = uneven(seed);
        let setting = Setting { duration: &duration, ..Setting::new(&Log, 1) };
        let missed = |stale: &str| {
            let word =
                super::words::parsed(&format!("step raw | join {n} sync=async outer=sgd(.05) stale={stale}"));
            // Rounds of one update each: what was applied is the way gone over the rate.
            let mut run = crate::oracle::Run::new(&word, vec![1.0], setting).unwrap();
            run.rounds(3).last().map(|round| f64::from(round.params[0]))
        };
        // What n pushes a round come to with fresh gradients, one after the other.
        let mut fresh = 1.0_f64;
        (0..3 * n).for_each(|_| fresh += 0.05 / fresh);
        let (with, without) = (missed("dc(1)").unwrap(), missed("none").unwrap());
        prop_assert!((with - fresh).abs() < 0.5 * (without - fresh).abs(), "{with} {without} {fresh}");
        Ok(())
    })
}

/// What is left to chance is left to a good one.
#[test]
fn dice_are_fair() {
    let mut counts = [0_u32; 8];
    (0..8000).for_each(|n| counts[(dice(5, n % 8, n) % 8) as usize] += 1);
    assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
}
