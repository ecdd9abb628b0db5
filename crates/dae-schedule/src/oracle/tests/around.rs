//! The laws of wires, of saving, and of phases.

use proptest::prelude::*;

use super::models::Slope;
use super::words::{around, begun, folds, hold, on, optimizer, parsed, same, step, with_run, word};
use crate::oracle::wire::Residual;
use crate::oracle::{Run, Setting, even, uneven};
use crate::testing::schedule;
use crate::{Schedule, Wire};

/// `wire=f32` = nothing; with error feedback, sent + residual = the gradient exactly, time after time.
pub(super) fn c1(cases: u32) -> Result<(), String> {
    let wire = prop_oneof![
        Just(Wire::Bf16),
        Just(Wire::F16),
        Just(Wire::Int8),
        Just(Wire::Int4),
        (0.01_f32..=1.0).prop_map(Wire::TopK)
    ];
    let number = (-30_i32..8, -1.0_f32..1.0).prop_map(|(e, x)| x * 2_f32.powi(e));
    let numbers = prop::collection::vec(prop::collection::vec(number, 9), 1..12);
    hold(cases, (wire, numbers, on(true)), |(wire, rounds, on)| {
        let mut residual = Residual::new(9);
        prop_assert_eq!(&residual.send(Wire::F32, 0..9, &rounds[0]), &rounds[0]);
        let mut expected = [0.0_f64; 9];
        for numbers in &rounds {
            // What is due is rounded once, when the residual is added; from then on nothing is.
            let due: Vec<f32> = residual.kept().iter().zip(numbers).map(|(kept, x)| kept + x).collect();
            let sent = residual.send(wire, 0..9, numbers);
            for ((due, sent), kept) in due.iter().zip(&sent).zip(residual.kept()) {
                prop_assert_eq!(f64::from(*sent) + f64::from(*kept), f64::from(*due));
            }
            expected.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += f64::from(*x));
            expected.iter_mut().zip(&sent).for_each(|(sum, x)| *sum -= f64::from(*x));
        }
        for (expected, kept) in expected.iter().zip(residual.kept()) {
            prop_assert!((expected - f64::from(*kept)).abs() < 1e-3, "{expected} {kept}");
        }
        same(
            &on.run("split 3 wire=f32 | step adam | join 2 wire=f32", 3),
            &on.run("split 3 | step adam | join 2", 3),
        )
    })
}

/// Stopped after any round, saved, and taken up by another run: no difference, in any word: bits.
pub(super) fn p1(cases: u32) -> Result<(), String> {
    let wire = prop::sample::select(vec!["split 2 wire=int8 | ", "split 3 wire=topk(.3) | ", ""]);
    let words = (any::<bool>().prop_flat_map(folds), wire, step(), around()).prop_map(
        |(folds, wire, step, items)| {
            format!("{wire}{} | {}", word(&folds), word([step].iter().chain(&items)))
        },
    );
    let streams = (step(), 1..3_u32, 0..2_u32).prop_map(|(step, n, delay)| {
        format!("{step} | every 4 | join {n} outer=nesterov(.5,.5) frag=2 delay={delay} mix=.5 wire=int8")
    });
    let phases = (step(), around(), 1..5_u32).prop_map(|(step, items, steps)| {
        let items = word([step].iter().chain(&items));
        let carry = if items.starts_with("step adam(") { " carry=state" } else { "" };
        format!("phase step>={steps}{carry}: [split 2 | step adam(.02)]; [{items}]")
    });
    hold(
        cases,
        (prop_oneof![3 => words, 1 => streams, 1 => phases], 0..6_usize, on(true)),
        |(word, stop, on)| {
            let whole = on.run(&word, 6);
            let saved = with_run(on, &word, |run| {
                run.rounds(stop);
                run.save()
            });
            let rest = with_run(on, &word, |run| {
                prop_assert!(run.restore(saved).is_ok(), "what was saved is not read");
                Ok(run.rounds(6 - stop))
            })?;
            same(&whole[stop..], &rest)?;
            prop_assert_eq!(whole[5].time, rest.last().map_or(whole[5].time, |last| last.time));
            Ok(())
        },
    )
}

/// A word and its normal form are run alike: bits, where sums are exact. And of any two of the language, normal or
/// not, both are interpreted or neither is, and both consume the same samples.
pub(super) fn normal(cases: u32) -> Result<(), String> {
    hold(cases, (folds(true), step(), around(), on(true)), |(items, step, around, on)| {
        // `split 1 order=exact` makes all sums of a word exact, and is not in its normal form.
        prop_assume!(items.iter().any(|item| item.starts_with("split") && !item.starts_with("split 1")));
        let word = word(items.iter().chain([&step]).chain(&around));
        same(&on.run(&word, 3), &on.run(&parsed(&word).normal().to_string(), 3))
    })?;
    hold(cases, (schedule(), 1..3_u64, any::<u64>()), |(schedule, batch, seed)| {
        let duration = uneven(seed);
        let setting = Setting { seed, duration: &duration, ..Setting::new(&Slope { alike: false }, batch) };
        let samples = |schedule: &Schedule| {
            let mut run = Run::new(schedule, vec![0.0; 4], setting).ok()?;
            Some(run.rounds(2).into_iter().map(|round| round.samples).collect::<Vec<_>>())
        };
        let normal = schedule.normal();
        prop_assert_eq!(samples(&schedule), samples(&normal), "{} {}", schedule, normal);
        Ok(())
    })
}

/// Other numbers of workers left of `step`, in the middle of a run, keep the trajectory: bits with order=exact.
pub(super) fn e1(cases: u32) -> Result<(), String> {
    hold(cases, (optimizer(), 1..5_u64, 1..5_u32, 1..4_u32, on(true)), |(optimizer, when, a, b, on)| {
        let (before, after) =
            (format!("accum {a} | split {b} order=exact"), format!("split {} order=exact", a * b));
        let resized = format!(
            "phase step>={when} carry=state: [{before} | step {optimizer}]; [{after} | step {optimizer}]"
        );
        same(&on.run(&resized, 6), &on.run(&format!("{after} | step {optimizer}"), 6))
    })
}

#[test]
fn what_arrives_is_what_the_formats_say() {
    let sent = |wire, numbers: &[f32]| Residual::new(numbers.len()).send(wire, 0..numbers.len(), numbers);
    let numbers = [1.0 / 3.0, -1.0e5, 7.0e-8, 1.0 + 1.0 / 256.0, 1.0 + 3.0 / 256.0];
    assert_eq!(sent(Wire::Bf16, &numbers), [0.333_984_38, -99_840.0, 6.984_919e-8, 1.0, 1.015_625]);
    assert_eq!(
        sent(Wire::F16, &numbers),
        [0.333_251_95, -65_504.0, 5.960_464_5e-8, 1.003_906_2, 1.011_718_8]
    );
    assert_eq!(sent(Wire::Int8, &[254.0, -3.0, 1.0, 0.9]), [254.0, -4.0, 0.0, 0.0]);
    assert_eq!(sent(Wire::Int4, &[-7.0, 3.4, 0.5, 1.5]), [-7.0, 3.0, 0.0, 2.0]);
    assert_eq!(sent(Wire::TopK(0.5), &[1.0, -5.0, 5.0, -5.0]), [0.0, -5.0, 5.0, 0.0]);
    assert_eq!(sent(Wire::TopK(0.01), &[1.0, -5.0, 2.0]), [0.0, -5.0, 0.0]);
}

#[test]
fn what_was_not_saved_is_not_restored() {
    let setting = Setting::new(&Slope { alike: true }, 1);
    let word = "split 2 wire=int8 | step adam | join 3 sync=async";
    let saved = begun(word, setting).save();
    for (what, numbers) in [
        ("less", saved[..saved.len() - 1].to_vec()),
        ("nothing", vec![]),
        ("a digit wrong", [&[saved[0] ^ 1], &saved[1..]].concat()),
        ("another word's", begun("split 2 wire=int8 | step adam | join 3", setting).save()),
        ("more", [&saved[..], &[0]].concat()),
        ("noise", vec![u64::MAX; saved.len()]),
    ] {
        assert!(begun(word, setting).restore(numbers).is_err(), "{what}");
    }
}

#[test]
fn a_phase_goes_on_where_the_first_word_stopped() {
    let slope = Slope { alike: true };
    let stepped = |x: &[f32], steps: f32| -> Vec<f32> {
        x.iter().zip(Slope::STEEP).map(|(x, g)| x - 0.125 * g * steps).collect()
    };
    let phase = "phase step>=3: [split 4 | step sgd(.125)]; [step sgd(.125) | every 5 | join 2]";
    let mut run =
        Run::new(&parsed(phase), vec![0.0; 4], Setting { total: 46, ..Setting::new(&slope, 2) }).unwrap();
    let rounds = run.rounds(6);
    for (round, steps) in rounds.iter().zip([1.0, 2.0, 3.0, 8.0, 9.0, 9.0]) {
        assert_eq!(round.params, stepped(&[0.0; 4], steps), "round {}", round.round);
    }
    // 24 samples in the first word, then 20 a round, and the end.
    assert_eq!(rounds.iter().map(|round| round.samples).collect::<Vec<_>>(), [8, 16, 24, 44, 46, 46]);
}

#[test]
fn a_phase_ends_on_its_condition() {
    let slope = Slope { alike: true };
    let straggling =
        |worker: usize, step: u64| if worker == 1 && step >= 2 { 3.0 } else { even(worker, step) };
    for (condition, first) in [("time>=4", 4), ("loss<=-1", 3), ("straggle>=3", 3), ("step>=2", 2)] {
        let word = format!("phase {condition}: [step sgd(.1) | join 3]; [step sgd(.1) | every 2]");
        let setting = Setting { duration: &straggling, ..Setting::new(&slope, 1) };
        let setting =
            if condition.starts_with("straggle") { setting } else { Setting { duration: &even, ..setting } };
        let rounds = Run::new(&parsed(&word), vec![0.0; 4], setting).unwrap().rounds(6);
        let of_first = rounds.iter().filter(|round| round.weight == 3.0).count();
        assert_eq!(of_first, first, "{condition}: {:?}", rounds.iter().map(|r| r.loss).collect::<Vec<_>>());
    }
}

/// Steps of one optimizer in two words, with its state carried over, are those of one word.
#[test]
fn a_phase_carries_state_if_it_is_told_to() {
    let setting = Setting::new(&super::models::Bowl, 2);
    let [carried, anew, one] = [
        "phase step>=3 carry=state: [split 2 | step adam(.1)]; [split 2 | step adam(.1) | every 1]",
        "phase step>=3: [split 2 | step adam(.1)]; [split 2 | step adam(.1) | every 1]",
        "split 2 | step adam(.1)",
    ]
    .map(|word| begun(word, setting).rounds(7)[6].params.clone());
    assert_eq!(carried, one);
    assert_ne!(anew, one);
}
