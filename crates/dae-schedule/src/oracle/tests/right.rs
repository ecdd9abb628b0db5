//! The laws of the items right of `step`.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::models::{Alone, Slope};
use super::words::{
    On, alike, around, begun, bits, folds, hold, join, linear, near, on, optimizer, parsed, same, start,
    step, with_run, word,
};
use crate::oracle::mutant::{Mutant, with};
use crate::oracle::process::Process;
use crate::oracle::{Run, Setting, uneven};

/// `join 1` = `gossip 1` = `every 1` = nothing, and `every a | every b` = `every ab`, whatever stands around: bits.
pub(super) fn m1(cases: u32) -> Result<(), String> {
    let one = prop::sample::select(vec![
        "join 1",
        "gossip 1",
        "every 1",
        "join 1 sync=async",
        "join 1 weight=equal",
        "gossip 1 push sync=async",
    ]);
    hold(
        cases,
        (step(), around(), one, 0..4_usize, 1..4_u32, 1..4_u32, on(true)),
        |(step, items, one, at, a, b, on)| {
            let with = |inserted: &[String]| {
                let mut items = items.clone();
                let at = at.min(items.len());
                items.splice(at..at, inserted.iter().cloned());
                on.run(&word([step.clone()].iter().chain(&items)), 3)
            };
            same(&with(&[]), &with(&[one.to_owned()]))?;
            same(&with(&[format!("every {a}"), format!("every {b}")]), &with(&[format!("every {}", a * b)]))
        },
    )
}

/// `step O | join n` = `split n | step O` for O linear in the gradients. With momentum only while all shares are
/// equally large: then the buffers of the children differ, and so would their shares of the mean.
pub(super) fn m2(cases: u32) -> Result<(), String> {
    hold(
        cases,
        (any::<bool>(), any::<bool>(), 1..5_u32, 1..3_u32, linear(), on(true)),
        |(bsp, tails, n, k, step, on)| {
            let total = if tails && !step.contains("momentum") { on.total } else { u64::MAX };
            let (on, sync) = (On { total, ..on }, if bsp { "" } else { " sync=ssp(0)" });
            let inner = on.run(&format!("accum {k} | step {step} | join {n}{sync}"), 5);
            alike(&inner, &on.run(&format!("accum {k} | split {n} | step {step}"), 5))
        },
    )
}

/// Not so for Adam: the mean of what it makes of several gradients is not what it makes of their mean.
#[test]
fn m2_does_not_hold_for_adam() {
    let on = On { bent: false, batch: 1, total: u64::MAX, seed: 1 };
    let [a, b] =
        ["step adam(.1) | join 4", "split 4 | step adam(.1)"].map(|word| on.run(word, 5)[4].params.clone());
    let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart > 0.05, "{a:?} {b:?}");
}

/// `step raw | join n outer=O` = `split n | step O` for every O: bits.
pub(super) fn m3(cases: u32) -> Result<(), String> {
    let sync = prop::sample::select(vec!["", " shards=3", " sync=quorum(4,drop)", " weight=samples"]);
    hold(cases, (folds(false), sync, optimizer(), 1..4_u32, on(true)), |(items, sync, optimizer, h, on)| {
        let items = word(&items);
        let outer = on.run(&format!("{items} | step raw | join 4{sync} outer={optimizer}"), 5);
        same(&outer, &on.run(&format!("{items} | split 4 | step {optimizer}"), 5))?;
        // Gradients handed on raw add up over rounds, as over micro-batches.
        let rounds = on.run(&format!("step raw | every {h} | join 4{sync} outer={optimizer}"), 5);
        alike(&rounds, &on.run(&format!("accum {h} | split 4 | step {optimizer}"), 5))
    })
}

/// `nesterov(1,0)` = `slowmo(1,0)` = `avg` but for rounding, whoever waits for whom; `dc(0)` = `none` in bits.
pub(super) fn m5(cases: u32) -> Result<(), String> {
    let sync = prop::sample::select(vec![
        "",
        "sync=async",
        "sync=ssp(2)",
        "sync=quorum(2,keep)",
        "sync=quorum(3,drop)",
    ]);
    let rest = prop::sample::select(vec!["", "mix=.4", "stale=lr/tau", "wire=int8"]);
    hold(cases, (step(), 1..4_u32, sync, rest, on(true)), |(step, h, sync, rest, on)| {
        let inner = format!("{step} | every {h} | join 4 {sync} {rest}");
        let [avg, nesterov, slowmo] =
            ["avg", "nesterov(1,0)", "slowmo(1,0)"].map(|outer| on.run(&format!("{inner} outer={outer}"), 4));
        same(&nesterov, &slowmo)?;
        if rest != "wire=int8" {
            alike(&avg, &nesterov)?;
        }
        let [dc, none] = ["dc(0)", "none"].map(|stale| {
            on.run(&format!("{step} | every {h} | join 4 {sync} stale={stale} outer=nesterov(.5,.5)"), 4)
        });
        same(&dc, &none)
    })
}

/// `join a | join b` = `join ab` at equal period, both averaging.
pub(super) fn m6(cases: u32) -> Result<(), String> {
    hold(cases, (step(), 1..4_u32, 1..4_u32, 1..4_u32, on(true)), |(step, h, a, b, on)| {
        let two = on.run(&format!("{step} | every {h} | join {a} | join {b}"), 4);
        alike(&two, &on.run(&format!("{step} | every {h} | join {}", a * b), 4))
    })
}

/// Mixing conserves the sum: where gradients do not depend on where they are taken, peers that mix hold together what
/// as many hold that do not. Push-sum weights sum to n.
pub(super) fn m7(cases: u32) -> Result<(), String> {
    let graph = prop::sample::select(vec!["ring", "exp", "complete", "hops(1,3)"]);
    let sync = prop::sample::select(vec!["", " sync=async"]);
    hold(cases, (1..7_u32, graph, any::<bool>(), sync, any::<u64>()), |(n, graph, push, sync, seed)| {
        let duration = uneven(seed);
        let setting = Setting { seed, duration: &duration, ..Setting::new(&Slope { alike: false }, 2) };
        let push = if push { " push" } else { "" };
        let mut peers = begun(&format!("step sgd(.1) | gossip {n} graph={graph}{push}{sync}"), setting);
        let mut apart = begun(&format!("step sgd(.1) | join {n} outer=elastic(0){sync}"), setting);
        for _ in 0..6 {
            peers.round();
            let want = apart.round().replicas;
            let Process::Gossip(gossip) = peers.process() else {
                return Err(TestCaseError::fail("no gossip"));
            };
            let (mut held, mut weights) = (vec![0.0; 4], 0.0);
            for (mass, weight) in gossip.held() {
                held.iter_mut().zip(mass).for_each(|(held, mass)| *held += mass);
                weights += weight;
            }
            let want: Vec<f32> = (0..4).map(|at| want.iter().map(|replica| replica[at]).sum()).collect();
            near(&held, &want)?;
            prop_assert!((weights - f64::from(n)).abs() < 1e-9, "{weights}");
        }
        Ok(())
    })
}

/// `frag P` all due at once = `frag 1`: bits. And one after the other, where all children do the same, a fragment is
/// where they were when it was due, and of the steps it travelled they keep the share `mix`.
pub(super) fn m8(cases: u32) -> Result<(), String> {
    let outer = prop::sample::select(vec!["avg", "nesterov(.5,.6)", "adam(.02)", "slowmo(.8,.3)"]);
    hold(
        cases,
        (step(), 1..5_u32, 1..4_u32, 1..4_u32, outer, on(true)),
        |(step, fragments, times, n, outer, on)| {
            let join = format!("{step} | every {} | join {n} outer={outer}", fragments * times);
            let cut = with(Mutant::AllAtOnce, || on.run(&format!("{join} frag={fragments}"), 3));
            same(&on.run(&join, 3), &cut)
        },
    )?;
    let mix = prop::sample::select(vec![0.0_f32, 0.25, 0.5, 1.0]);
    hold(cases, (1..5_u32, 1..5_u32, 0..4_u32, mix, 1..4_u32), |(fragments, times, delay, mix, n)| {
        let (period, delay) = (fragments * times, delay.min(times - 1));
        let setting = Setting::new(&Slope { alike: true }, 2);
        let join = format!("join {n} frag={fragments} delay={delay} mix={mix}");
        let start = start(setting.model);
        let rounds = begun(&format!("step sgd(.125) | every {period} | {join}"), setting).rounds(3);
        for (round, params) in rounds.iter().map(|round| &round.params).enumerate() {
            for at in 0..4_u32 {
                let fragment = (0..fragments).rev().find(|f| 4 * f / fragments <= at).unwrap_or(0);
                let each = period as f32 - (1.0 - mix) * delay as f32;
                let steps = ((fragment + 1) * times) as f32 + round as f32 * each;
                let want = start[at as usize] - 0.125 * Slope::STEEP[at as usize] * steps;
                near(&[params[at as usize]], &[want])?;
            }
        }
        Ok(())
    })
}

/// `elastic(0)` = independent runs, around a centre that never moves: bits.
pub(super) fn m9(cases: u32) -> Result<(), String> {
    hold(cases, (step(), 1..4_u32, 1..5_u32, on(false)), |(step, h, n, on)| {
        let word = format!("accum 2 | {step} | every {h}");
        let together = on.run(&format!("{word} | join {n} outer=elastic(0)"), 4);
        for rank in 0..n {
            let model = Alone { model: on.model(), rank: rank.into(), ranks: n.into(), share: 2 * on.batch };
            let alone = begun(&word, Setting::new(&model, on.batch)).rounds(4);
            for (together, alone) in together.iter().zip(&alone) {
                prop_assert_eq!(bits(&together.replicas[rank as usize]), bits(&alone.params));
            }
        }
        prop_assert_eq!(bits(&together[0].params), bits(&together[3].params));
        Ok(())
    })
}

/// Where shares are equally large, `scale=sum` of n is n times the mean.
pub(super) fn sum_is_as_many_means(cases: u32) -> Result<(), String> {
    hold(cases, (any::<bool>(), 1..4_u32, 1..5_u8, on(false)), |(raw, h, n, on)| {
        let step = if raw { "step raw".to_owned() } else { format!("step sgd(.05) | every {h}") };
        let sum = on.run(&format!("{step} | join {n} scale=sum outer=sgd(.125)"), 4);
        alike(&sum, &on.run(&format!("{step} | join {n} outer=sgd({})", 0.125 * f32::from(n)), 4))
    })
}

/// Peers that all mix with all are children around a centre that averages.
pub(super) fn all_to_all_is_a_centre(cases: u32) -> Result<(), String> {
    hold(cases, (step(), 1..4_u32, 1..6_u32, any::<bool>(), on(false)), |(step, h, n, push, on)| {
        let push = if push { " push" } else { "" };
        let peers = on.run(&format!("{step} | every {h} | gossip {n} graph=complete{push}"), 4);
        alike(&peers, &on.run(&format!("{step} | every {h} | join {n} weight=equal"), 4))
    })
}

/// Whatever stands right of `step`, a word runs, and its samples are as many as its steps consume.
pub(super) fn samples_are_counted(cases: u32) -> Result<(), String> {
    hold(cases, (step(), around(), (1..4_u32).prop_flat_map(join), on(false)), |(step, items, last, on)| {
        let word = word([step].iter().chain(&items).chain(&[last]));
        with_run(on, &word, |run| {
            let rounds = run.rounds(3);
            let mut steps = 0;
            run.process().leaves(&mut |leaf| steps += leaf.steps);
            prop_assert_eq!(rounds[2].samples, steps * on.batch);
            prop_assert!(rounds.iter().all(|round| round.weight <= round.samples as f64));
            Ok(())
        })
    })
}

#[test]
fn what_has_no_meaning_is_refused() {
    let setting = Setting::new(&Slope { alike: true }, 1);
    for (word, said) in [
        ("step raw | gossip 2 | join 2", "peers mix parameters"),
        ("step raw | join 2 outer=elastic(.1)", "elastic children"),
        ("step adam | join 2 wire=powersgd(2)", "shapes of matrices"),
        ("split 2 wire=powersgd(2) | step adam", "shapes of matrices"),
        ("step adam | every 4 | join 2 frag=2 sync=async", "wait for all"),
    ] {
        let refused = Run::new(&parsed(word), vec![0.0; 4], setting).err().map(|refused| refused.to_string());
        assert!(refused.as_ref().is_some_and(|text| text.contains(said)), "{word}: {refused:?}");
    }
    assert!(Run::new(&parsed("step adam"), vec![0.0; 3], setting).is_err());
}
