//! Random words, and how two of them are compared.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseResult, TestRng, TestRunner};

use super::models::{Bent, Bowl, noise};
use crate::Schedule;
use crate::oracle::{Model, Round, Run, Setting, uneven};

/// Runs a law over so many random cases: always the same, so that it holds today if it held yesterday.
pub(super) fn hold<S: Strategy>(
    cases: u32,
    strategy: S,
    law: impl Fn(S::Value) -> TestCaseResult,
) -> Result<(), String> {
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(config, chance).run(&strategy, law).map_err(|failed| failed.to_string())
}

/// What a random word runs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct On {
    pub(super) bent: bool,
    pub(super) batch: u64,
    pub(super) total: u64,
    pub(super) seed: u64,
}

/// Endless data or, with `tails`, some that end within the run.
pub(super) fn on(tails: bool) -> impl Strategy<Value = On> {
    let total = if tails { (3..90_u64).boxed() } else { Just(u64::MAX).boxed() };
    (any::<bool>(), 1..4_u64, total, any::<u64>()).prop_map(|(bent, batch, total, seed)| On {
        bent,
        batch,
        total,
        seed,
    })
}

impl On {
    pub(super) fn model(&self) -> &'static dyn Model {
        if self.bent { &Bent } else { &Bowl }
    }

    /// So many rounds of a word, in workers of uneven speed.
    pub(super) fn run(self, word: &str, rounds: usize) -> Vec<Round> {
        with_run(self, word, |run| run.rounds(rounds))
    }
}

/// Does something with a run of a word.
pub(super) fn with_run<T>(on: On, word: &str, with: impl FnOnce(&mut Run<'_>) -> T) -> T {
    let duration = uneven(on.seed);
    let setting = Setting {
        batch: on.batch,
        total: on.total,
        seed: on.seed,
        duration: &duration,
        ..Setting::new(on.model(), 1)
    };
    let mut run = begun(word, setting);
    with(&mut run)
}

/// A run of a word from parameters that are not all alike.
pub(super) fn begun<'a>(word: &str, setting: Setting<'a>) -> Run<'a> {
    Run::new(&parsed(word), start(setting.model), setting)
        .unwrap_or_else(|refused| panic!("{word}: {refused}"))
}

/// Where runs begin.
pub(super) fn start(model: &dyn Model) -> Vec<f32> {
    (0..model.parameters()).map(|at| 0.7 * noise(7, 0, at) as f32).collect()
}

pub(super) fn parsed(word: &str) -> Schedule {
    crate::parse(word).unwrap_or_else(|problems| panic!("{word}: {problems:?}"))
}

/// The same bits, round by round.
pub(super) fn same(a: &[Round], b: &[Round]) -> TestCaseResult {
    prop_assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        prop_assert_eq!(bits(&a.params), bits(&b.params), "round {}: {:?} {:?}", a.round, a.params, b.params);
        prop_assert_eq!(a.weight, b.weight);
        prop_assert_eq!(a.samples, b.samples);
    }
    Ok(())
}

/// The same but for rounding, round by round.
pub(super) fn alike(a: &[Round], b: &[Round]) -> TestCaseResult {
    prop_assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        near(&a.params, &b.params)?;
        prop_assert_eq!(a.weight, b.weight);
        let losses =
            (a.loss - b.loss).abs() <= 1e-4 * (1.0 + b.loss.abs()) || a.loss.is_nan() && b.loss.is_nan();
        prop_assert!(losses, "round {}: losses {} {}", a.round, a.loss, b.loss);
    }
    Ok(())
}

/// The same but for rounding.
pub(super) fn near(a: &[f32], b: &[f32]) -> TestCaseResult {
    for (x, y) in a.iter().zip(b) {
        prop_assert!((x - y).abs() <= 2e-5 * (1.0 + y.abs()), "{a:?} {b:?}");
    }
    Ok(())
}

pub(super) fn bits(x: &[f32]) -> Vec<u32> {
    x.iter().map(|x| x.to_bits()).collect()
}

/// Any optimizer that does not run away.
pub(super) fn optimizer() -> impl Strategy<Value = &'static str> {
    prop_oneof![linear(), Just("adam(.02)"), Just("adam(.01, beta1=.5, wd=.1)"), Just("adamw(.02, wd=.3)")]
}

/// One that is linear in the gradients.
pub(super) fn linear() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "sgd(.2)",
        "sgd(.1, wd=.1)",
        "sgd(.05, momentum=.8)",
        "sgd(.05, momentum=.8, nesterov)",
        "sgd(.05, momentum=.5, wd=.1)",
    ])
}

/// A `step`, perhaps with a bound.
pub(super) fn step() -> impl Strategy<Value = String> {
    (optimizer(), prop::option::of(prop::sample::select(vec![".3", "1.5"])), 0..3_u32).prop_map(
        |(optimizer, clip, zero)| {
            let clip = clip.map_or(String::new(), |clip| format!(" clip={clip}"));
            format!("step {optimizer}{clip} zero={zero}")
        },
    )
}

/// Items left of `step`; their sums in the order of ranks, or exact.
pub(super) fn folds(exact: bool) -> impl Strategy<Value = Vec<String>> {
    let order = if exact { " order=exact" } else { "" };
    let item = prop_oneof![
        (1..4_u32).prop_map(|k| format!("accum {k}")),
        (1..4_u32).prop_map(move |n| format!("split {n}{order}")),
        (1..3_u32, 1..3_u32).prop_map(|(n, micro)| format!("pipe {n} micro={micro}")),
    ];
    let last = (1..4_u32).prop_map(move |n| format!("split {n}{order}"));
    (prop::collection::vec(item, 0..3), last).prop_map(|(mut items, last)| {
        items.push(last);
        items
    })
}

/// A join of n: any synchronisation, any outer rule.
pub(super) fn join(n: u32) -> impl Strategy<Value = String> {
    let sync = (0..6_u32, 1..=n, 0..3_u32).prop_map(|(mode, k, s)| match mode {
        0 => "sync=async".to_owned(),
        1 => format!("sync=ssp({s})"),
        2 => format!("sync=quorum({k},keep)"),
        3 => format!("sync=quorum({k},drop)"),
        _ => String::new(),
    });
    let outer = prop::sample::select(vec![
        "",
        "outer=nesterov(.5,.5)",
        "outer=slowmo(.8,.3)",
        "outer=elastic(.2)",
        "outer=sgd(.5)",
        "outer=adam(.01)",
    ]);
    let stale = prop::sample::select(vec!["", "", "stale=lr/tau", "stale=dc(.1)", "stale=drop(2)"]);
    let wire = prop::sample::select(vec!["", "", "wire=bf16", "wire=int8", "wire=topk(.4)", "wire=f16"]);
    let rest = prop::sample::select(vec!["", "weight=equal", "shards=2", "mix=.3"]);
    (sync, outer, stale, wire, rest).prop_map(move |(sync, outer, stale, wire, rest)| {
        let said = [&sync, outer, stale, wire, rest];
        let said = said.iter().filter(|said| !said.is_empty()).map(|said| format!(" {said}"));
        format!("join {n}{}", said.collect::<String>())
    })
}

/// A gossip of any kind.
pub(super) fn gossip() -> impl Strategy<Value = String> {
    let graph = prop::sample::select(vec!["ring", "exp", "complete", "hops(1,2)"]);
    let push = prop::sample::select(vec!["", " push"]);
    let sync = prop::sample::select(vec!["", " sync=async"]);
    (1..5_u32, graph, push, sync)
        .prop_map(|(n, graph, push, sync)| format!("gossip {n} graph={graph}{push}{sync}"))
}

/// Items right of `step`.
pub(super) fn around() -> impl Strategy<Value = Vec<String>> {
    let item =
        prop_oneof![(1..4_u32).prop_map(|h| format!("every {h}")), (1..5_u32).prop_flat_map(join), gossip(),];
    prop::collection::vec(item, 0..4)
}

/// Items as a word.
pub(super) fn word<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    items.into_iter().cloned().collect::<Vec<_>>().join(" | ")
}
