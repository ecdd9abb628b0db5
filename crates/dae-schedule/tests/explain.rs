//! Explanations: a whole one as text, verdicts by the laws, and something to say of any word.

use dae_schedule::cost::{Facts, Figures};
use dae_schedule::explain::{Explanation, explain, picture};
use dae_schedule::{Word, parse};
use proptest::prelude::*;

fn word(text: &str) -> Word {
    parse(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}")).into_word().expect("one word")
}

fn told(text: &str) -> Explanation {
    let facts = Facts::of_layers(&[784, 512, 64, 512, 784], 128);
    explain(&word(text), &facts, &Figures::default()).unwrap_or_else(|refused| panic!("{text}: {refused:?}"))
}

/// With `BLESS` set, what is printed is what was meant.
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/explained/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).expect("written");
    }
    let meant = std::fs::read_to_string(&path).expect("read");
    assert_eq!(text, meant, "if this is what is meant, run the test with BLESS=1");
}

const HYBRID: &str = "accum 2 | split 4 @node | step adamw | every 20 | join 6 @cluster outer=nesterov(.7,.9) sync=async shards=2";

#[test]
fn the_text_is_as_it_was() {
    golden("hybrid.txt", &told(HYBRID).to_string());
    golden("split.txt", &told("split 8 | step adam").to_string());
}

#[test]
fn the_picture_is_as_it_was() {
    golden("hybrid.svg", &picture(&word(HYBRID), &told(HYBRID).cost));
}

#[test]
fn json_keeps_its_fields() {
    let json = serde_json::to_value(told(HYBRID)).expect("written");
    let keys =
        |value: &serde_json::Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&json), ["actors", "cost", "normal", "synchronous", "tree", "verdict", "word"]);
    assert_eq!(
        keys(&json["cost"]),
        [
            "all_reduces",
            "compute_s",
            "events",
            "idle_share",
            "memory",
            "nodes",
            "places",
            "round_s",
            "samples_per_s",
            "samples_per_step",
            "slowdown",
            "staleness",
            "step_s",
            "steps_per_round",
            "traffic",
            "useful_share",
            "word",
            "workers",
            "workers_per_node"
        ]
    );
    assert_eq!(json["cost"]["staleness"]["bound"], serde_json::Value::Null);
    assert_eq!(json["cost"]["all_reduces"][0]["algorithm"], "direct");
}

#[test]
fn verdicts_go_by_the_laws() {
    for (text, badge) in [
        ("accum 4 | step adam", "exact to the bit"),
        ("split 8 order=exact | step adam", "exact to the bit"),
        ("split 8 | step adam", "exact to rounding"),
        ("split 8 wire=int8 | step adam", "approximate"),
        ("step sgd(.1, momentum=.9) | join 8", "exact to rounding"),
        ("step sgd(.1) | join 8 sync=ssp(0)", "exact to rounding"),
        ("step sgd(.1) | join 8 sync=quorum(8)", "exact to rounding"),
        ("step sgd(.1) | join 8 outer=nesterov(1,0)", "exact to rounding"),
        ("step sgd(.1) | every 2 | join 8", "approximate"),
        ("step sgd(.1) clip=1 | join 8", "approximate"),
        ("step adam | join 8", "approximate"),
        ("step raw | join 8 outer=adam shards=4", "exact to rounding"),
        ("step raw | join 8 outer=adam scale=sum", "approximate"),
        ("step raw | join 8 outer=adam sync=async", "approximate"),
        ("step raw | join 8 outer=adam sync=quorum(7,drop)", "approximate"),
        ("step sgd(.1) | gossip 8 graph=complete", "exact to rounding"),
        ("step sgd(.1) | gossip 8", "approximate"),
        ("step adam | every 1 | join 1 sync=async | gossip 1", "exact to the bit"),
    ] {
        let verdict = told(text).verdict;
        assert_eq!(verdict.badge, badge, "{text}: {:?}", verdict.why);
        assert_eq!(verdict.exact, badge != "approximate");
        assert!(!verdict.why.is_empty(), "{text}");
    }
}

#[test]
fn the_nearest_synchronous_word() {
    for (text, nearest) in [
        ("step raw | join 8 sync=async scale=sum outer=sgd(.01)", "split 8 | step sgd(0.01)"),
        ("step sgd(.1) | every 16 | join 8", "split 8 | step sgd(0.1)"),
        ("step raw | join 8 outer=nesterov(.7,.9)", "split 8 | step sgd(0.7, momentum=0.9, nesterov)"),
        (HYBRID, "accum 2 | split 4 @node | split 6 @cluster | step adamw(1e-3)"),
        (
            "step adam | gossip 4 @node | join 3 wire=int8",
            "split 4 @node | split 3 wire=int8 | step adam(1e-3)",
        ),
    ] {
        assert_eq!(told(text).synchronous.expect(text).word, nearest);
    }
    assert_eq!(told("split 8 | step adam").synchronous, None);
}

#[test]
fn actors_are_counted() {
    let counts: Vec<_> = told(HYBRID).actors.iter().map(|actor| (actor.kind, actor.count)).collect();
    assert_eq!(
        counts,
        [
            ("worker", 24),
            ("loader", 24),
            ("all-reduce coordinator", 6),
            ("parameter-server shard", 2),
            ("checkpointer", 1)
        ]
    );
}

fn any_word() -> impl Strategy<Value = String> {
    let left = (1..5_u32, 0..5_usize).prop_map(|(n, item)| {
        [
            format!("accum {n}"),
            format!("split {n}"),
            format!("split {n} wire=powersgd(2) order=exact"),
            format!("pipe {n} micro=3"),
            format!("tensor {n}"),
        ][item]
            .clone()
    });
    let step = prop_oneof![Just("step adam"), Just("step sgd(.1) clip=2"), Just("step raw zero=3")];
    let right = (1..5_u32, 0..6_usize).prop_map(|(n, item)| {
        [
            format!("every {n}"),
            format!("join {n} outer=slowmo(1,.5)"),
            format!("join {n} sync=async outer=elastic(0) shards=3"),
            format!("join {n} sync=ssp(2) stale=dc(.04) wire=int4"),
            format!("gossip {n} graph=complete"),
            format!("gossip {n} graph=exp push sync=async"),
        ][item]
            .clone()
    });
    (prop::collection::vec(left, 0..6), step, prop::collection::vec(right, 0..6)).prop_map(
        |(left, step, right)| {
            left.into_iter().chain([step.to_owned()]).chain(right).collect::<Vec<_>>().join(" | ")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn there_is_something_to_say_of_any_word(text in any_word()) {
        let Ok(schedule) = parse(&text) else { return Ok(()) };
        let word = schedule.into_word().unwrap();
        let told = explain(&word, &Facts::of_params(1000, 8), &Figures::default()).unwrap();
        prop_assert_eq!(told.tree.len(), word.gradient().len() + word.model().len() + 2);
        if let Some(nearest) = &told.synchronous {
            let nearest = parse(&nearest.word).unwrap().into_word().unwrap();
            prop_assert_eq!(nearest.workers(), word.workers());
            prop_assert_eq!(nearest.accum(), word.accum());
            prop_assert!(nearest.model().is_empty());
        }
        prop_assert!(told.to_string().lines().all(|line| line == line.trim_end()));
        let picture = picture(&word, &told.cost);
        prop_assert!(picture.matches(">worker<").count() <= 12 && picture.len() < 100_000);
        prop_assert_eq!(picture.matches('<').count(), picture.matches('>').count());
    }
}
