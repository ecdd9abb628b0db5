//! The laws of costs: bytes by formula, what must cost the same, who hides which stragglers, and an answer to anything.

use dae_schedule::cost::{AllReduce, Cost, Facts, Figures, Link, Links, Refused, Straggler, cost};
use dae_schedule::{MAX_COUNT, Word};
use proptest::prelude::*;

fn word(text: &str) -> Word {
    dae_schedule::parse(text)
        .unwrap_or_else(|problems| panic!("{text}: {problems:?}"))
        .into_word()
        .expect("one word")
}

fn of(text: &str, facts: &Facts, figures: &Figures) -> Cost {
    cost(&word(text), facts, figures).unwrap_or_else(|refused| panic!("{text}: {refused:?}"))
}

fn model() -> Facts {
    Facts::of_params(2_800_000, 128)
}

/// Computing is all that takes time.
fn free_links(straggler: Straggler) -> Figures {
    let link = Link { latency_s: 0.0, bytes_per_s: 1e18, message_s: 0.0 };
    let links = Links { device: link, node: link, rack: link, cluster: link };
    Figures { compute_s: 1.0, memory_bytes_per_s: 1e18, links, straggler, seed: 7 }
}

fn sent(cost: &Cost, link: &str) -> f64 {
    cost.traffic.iter().filter(|traffic| traffic.link == link).map(|traffic| traffic.sent_bytes).sum()
}

fn near(x: f64, y: f64) -> bool {
    (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs()))
}

proptest! {
    #[test]
    fn s1_bytes_are_those_of_the_formula(p in 2..2000_u32, params in 0..50_000_000_u64, algo in 0..3_usize) {
        let n = 4.0 * params as f64;
        let many = f64::from(p);
        let algo = ["ring", "direct", "halving"][algo];
        let facts = Facts::of_params(params, 1);
        let plain = of(&format!("split {p} @cluster algo={algo} | step adam"), &facts, &Figures::default());
        prop_assert!(near(plain.traffic[0].endpoint_bytes, 2.0 * (many - 1.0) / many * n));
        prop_assert!(near(sent(&plain, "cluster"), 2.0 * (many - 1.0) * n));
        let exact =
            of(&format!("split {p} @cluster algo={algo} order=exact | step adam"), &facts, &Figures::default());
        prop_assert!(near(sent(&exact, "cluster"), (many - 1.0) * 12.0 * params as f64));
        let half = of(&format!("split {p} @cluster algo={algo} wire=bf16 | step adam"), &facts, &Figures::default());
        prop_assert!(near(2.0 * sent(&half, "cluster"), sent(&plain, "cluster")));
    }

    #[test]
    fn hierarchical_bytes_over_the_network_are_those_of_one_worker_a_node(k in 1..64_u32, p in 2..300_u32) {
        let (facts, figures) = (model(), Figures::default());
        let flat = of(&format!("split {p} @cluster | step adam"), &facts, &figures);
        let both = of(&format!("split {k} @node | split {p} @cluster | step adam"), &facts, &figures);
        prop_assert!(near(sent(&flat, "cluster"), sent(&both, "cluster")));
        let spread = Facts { nodes: Some(p), workers_per_node: Some(k), ..facts };
        let nearest = of(&format!("split {} | step adam", k * p), &spread, &figures);
        prop_assert!(near(sent(&nearest, "cluster"), sent(&both, "cluster")));
        prop_assert!(near(sent(&nearest, "node"), sent(&both, "node")));
        prop_assert!(near(nearest.step_s, both.step_s));
    }

    #[test]
    fn every_divides_bytes_and_messages(h in 1..1000_u32, n in 2..20_u32, sync in 0..4_usize) {
        let sync = ["", "sync=async", "sync=ssp(2)", "shards=4"][sync];
        let of = |every: u32| {
            let text = format!("step sgd(.1) | every {every} | join {n} @cluster {sync}");
            of(&text, &model(), &Figures::default()).traffic[0].clone()
        };
        let (one, many) = (of(1), of(h));
        prop_assert!(near(one.sent_bytes, many.sent_bytes * f64::from(h)));
        prop_assert!(near(one.endpoint_bytes, many.endpoint_bytes * f64::from(h)));
        prop_assert!(near(one.messages, many.messages * f64::from(h)));
    }

    #[test]
    fn m2_m3_a_join_of_all_costs_what_a_split_does(n in 2..500_u32, p in 0.0..1.0_f64, params in 1..9_000_000_u64) {
        let facts = Facts::of_params(params, 32);
        for straggler in [Straggler::None, Straggler::Probability { p, factor: 4.0 }] {
            let figures = Figures { straggler, ..Figures::default() };
            for (join, split) in [
                ("step sgd(.1) | join N @cluster", "split N @cluster | step sgd(.1)"),
                ("step raw | join N @cluster outer=adam", "split N @cluster | step adam"),
            ] {
                let (join, split) = (join.replace('N', &n.to_string()), split.replace('N', &n.to_string()));
                let (join, split) = (of(&join, &facts, &figures), of(&split, &facts, &figures));
                prop_assert!(near(join.step_s, split.step_s), "{} {}", join.step_s, split.step_s);
                prop_assert_eq!(join.traffic, split.traffic);
                prop_assert!(near(join.samples_per_s, split.samples_per_s));
            }
        }
    }

    #[test]
    fn g1_m1_what_is_nothing_costs_nothing(n in 1..50_u32) {
        let (facts, figures) = (model(), Figures::default());
        let plain = of(&format!("split {n} @cluster | step adam"), &facts, &figures);
        let more = format!("accum 1 | split {n} @cluster | tensor 1 | step adam | every 1 | join 1 | gossip 1");
        let more = of(&more, &facts, &figures);
        prop_assert_eq!(Cost { word: plain.word.clone(), ..more }, plain);
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn waiting_less_is_never_slower(p in 0.0..1.0_f64, factor in 1.0..20.0_f64, n in 2..20_u32, seed in any::<u64>()) {
        let figures = Figures { seed, ..free_links(Straggler::Probability { p, factor }) };
        let step = |sync: &str| {
            of(&format!("step sgd(.1) | join {n} @cluster shards=2 sync={sync}"), &model(), &figures).step_s
        };
        let steps = [step("bsp"), step("ssp(1)"), step("ssp(4)"), step("async")];
        prop_assert!(steps.windows(2).all(|pair| pair[0] >= pair[1] * 0.93), "{steps:?}");
    }
}

#[test]
fn a_centre_of_one_has_its_optimizer_all_the_same() {
    let of = |text: &str| of(text, &model(), &Figures::default()).step_s;
    assert!(near(of("step raw | join 1 outer=adam"), of("step adam")));
}

#[test]
fn one_worker_that_is_always_slow() {
    let figures = free_links(Straggler::Constant { worker: 0, factor: 4.0 });
    let slowdown = |sync: &str| {
        of(&format!("step raw | join 8 @cluster sync={sync} outer=adam"), &model(), &figures).slowdown
    };
    for (sync, low, high) in [
        ("bsp", 4.0 - 1e-6, 4.0 + 1e-6),
        ("ssp(3)", 3.9, 4.1),
        ("ssp(60000)", 3.9, 4.1),
        ("quorum(7,drop)", 1.0, 1.15),
        ("async", 1.0, 1.15),
    ] {
        let slow = slowdown(sync);
        assert!((low..=high).contains(&slow), "{sync}: {slow}");
    }
    let quorum = of("step raw | join 8 @cluster sync=quorum(7,drop) outer=adam", &model(), &figures);
    // One in 29 comes from the slow one, and is dropped.
    assert!((quorum.useful_share - 28.0 / 29.0).abs() < 0.01, "{}", quorum.useful_share);
    assert_eq!(quorum.staleness.bound, Some(0));
}

#[test]
fn workers_that_are_slow_now_and_then() {
    let figures = free_links(Straggler::Probability { p: 0.125, factor: 4.0 });
    let slowdown = |text: &str| of(text, &model(), &figures).slowdown;
    let bsp = slowdown("step raw | join 8 @cluster outer=adam");
    assert!((bsp - 2.97).abs() < 0.01, "bsp {bsp}");
    let served = slowdown("step raw | join 8 @cluster outer=adam shards=4");
    assert!((served - bsp).abs() < 0.1, "bsp by the simulation {served}");
    let ssp = slowdown("step raw | join 8 @cluster sync=ssp(3) outer=adam");
    assert!((ssp - 1.64).abs() < 0.1, "ssp(3) {ssp}");
    let free = slowdown("step raw | join 8 @cluster sync=async outer=adam");
    assert!((free - 1.375).abs() < 0.03, "async {free}");
    let gossip = slowdown("step sgd(.1) | gossip 8 @cluster graph=ring");
    assert!((1.375..bsp).contains(&gossip), "gossip {gossip}");
}

#[test]
fn staleness_is_what_the_theory_says() {
    let figures = free_links(Straggler::LogNormal { sigma: 0.2 });
    let stale = |sync: &str| {
        of(&format!("step raw | join 8 @cluster {sync} outer=adam"), &model(), &figures).staleness
    };
    let free = stale("sync=async");
    // While one works, each of the others pushes once on average.
    assert!((free.mean - 7.0).abs() < 0.3 && free.bound.is_none(), "{free:?}");
    let bounded = stale("sync=ssp(1)");
    assert_eq!(bounded.bound, Some(21));
    assert!(bounded.seen <= 21 && bounded.mean > 5.0, "{bounded:?}");
    assert!(stale("sync=async stale=drop(3)").seen <= 3);
    assert_eq!((stale("").mean, stale("").bound), (0.0, Some(0)));
    let soft = stale("sync=quorum(4,keep)");
    assert!(soft.mean < 2.5 && soft.bound.is_none(), "{soft:?}");
}

#[test]
fn a_centre_with_one_link_is_where_it_jams_and_shards_help() {
    let figures = Figures { compute_s: 1e-3, ..Figures::default() };
    let step = |shards: u32| {
        of(&format!("step raw | join 64 @cluster sync=async outer=adam shards={shards}"), &model(), &figures)
    };
    let (one, eight) = (step(1), step(8));
    // All pushes of a step pass one link, one after the other.
    let jam = 64.0 * 4.0 * 2_800_000.0 / figures.links.cluster.bytes_per_s;
    assert!(one.step_s >= jam && one.step_s < jam * 1.3, "{} {jam}", one.step_s);
    assert!(eight.step_s < one.step_s / 5.0, "{} {}", eight.step_s, one.step_s);
    assert!(one.idle_share > 0.99);
    // All but one, for a child is where the centre is.
    assert_eq!(one.traffic[0].busiest_bytes, 63.0 * 4.0 * 2_800_000.0);
}

#[test]
fn a_wire_of_a_join_packs_what_is_pushed_and_not_what_is_pulled() {
    let bytes = |rest: &str| {
        let cost =
            of(&format!("step raw | join 3 @cluster outer=adam {rest}"), &model(), &Figures::default());
        sent(&cost, "cluster")
    };
    let plain = 2.0 * 4.0 * 2_800_000.0;
    for rest in ["", "shards=4", "sync=async"] {
        assert_eq!(bytes(rest), 2.0 * plain, "{rest}");
        assert_eq!(bytes(&format!("wire=bf16 {rest}")), 1.5 * plain, "{rest}");
    }
    // Two of the three children are on other nodes than the centre.
    let int8 = |lengths: &[f64]| lengths.iter().map(|len| len + 4.0 * (len / 512.0).ceil()).sum::<f64>();
    assert_eq!(bytes("wire=int8"), plain + 2.0 * int8(&[2_800_000.0]));
    assert_eq!(bytes("wire=int8 shards=3"), plain + 2.0 * int8(&[933_333.0, 933_333.0, 933_334.0]));
}

#[test]
fn auto_chooses_the_cheapest() {
    for (nodes, params) in [(2, 1_000), (16, 25_000), (64, 2_800_000), (1000, 2_800_000), (48, 100_000_000)] {
        let facts = Facts::of_params(params, 1);
        let step = |algo: &str| {
            of(&format!("split {nodes} @cluster{algo} | step adam"), &facts, &Figures::default())
        };
        let auto = step("");
        let best = [" algo=ring", " algo=direct", " algo=halving", " algo=doubling"]
            .map(|algo| step(algo).step_s)
            .into_iter()
            .fold(f64::INFINITY, f64::min);
        assert!(near(auto.step_s, best), "{nodes} {params}: {} {best}", auto.step_s);
        assert!(!auto.all_reduces[0].said && step(" algo=ring").all_reduces[0].said);
    }
    let packed = of("split 8 @cluster wire=topk(0.01) | step adam", &model(), &Figures::default());
    assert_eq!(packed.all_reduces[0].algorithm, AllReduce::Direct);
}

#[test]
fn what_can_hide_hides() {
    let (facts, figures) = (model(), Figures { compute_s: 0.1, ..Figures::default() });
    let step = |text: &str| of(text, &facts, &figures).step_s;
    let plain = step("split 8 @cluster | step adam");
    assert!(step("split 8 @cluster bucket=1MiB overlap | step adam") < plain);
    assert!(
        near(step("split 8 @cluster overlap | step adam"), plain),
        "one piece has nothing to hide behind"
    );
    let whole = step("step adamw | every 100 | join 8 @cluster outer=nesterov(.7,.9)");
    let streamed = step("step adamw | every 100 | join 8 @cluster outer=nesterov(.7,.9) frag=4 delay=5");
    assert!(streamed < whole, "{streamed} {whole}");
}

#[test]
fn pipelines_have_bubbles() {
    let figures = free_links(Straggler::None);
    let of = |text: &str| of(text, &model(), &figures);
    let pipe = of("pipe 4 micro=8 sched=1f1b @cluster | step adam");
    assert!((pipe.step_s - 11.0 / 4.0).abs() < 1e-6, "{}", pipe.step_s);
    assert!((pipe.idle_share - 3.0 / 11.0).abs() < 1e-6, "{}", pipe.idle_share);
    let gpipe = of("pipe 4 micro=8 @cluster | step adam");
    assert!(pipe.memory.activation_bytes * 2.0 == gpipe.memory.activation_bytes);
    assert_eq!(pipe.samples_per_step, 8.0 * 128.0);
}

#[test]
fn workers_of_one_node_have_its_state_once_whether_it_is_cut_or_not() {
    for folds in ["split 8 @node", "split 2 @node | split 3 @cluster"] {
        let nodes = if folds.contains("cluster") { 3.0 } else { 1.0 };
        let [whole, cut] = [0, 1].map(|zero| {
            of(&format!("{folds} | step adam zero={zero}"), &model(), &Figures::default()).memory.node_bytes
        });
        let state = 2.0 * 4.0 * model().params as f64;
        assert!(near(whole - cut, state - state / nodes), "{folds}: {whole} {cut}");
    }
}

#[test]
fn memory_is_cut_by_zero() {
    let of =
        |zero: u8| of(&format!("split 8 @cluster | step adam zero={zero}"), &model(), &Figures::default());
    let params = 4.0 * 2_800_000.0;
    let held = |zero: u8| {
        let memory = of(zero).memory;
        (memory.params_bytes / params, memory.gradient_bytes / params, memory.optimizer_bytes / params)
    };
    assert_eq!([held(0), held(1)], [(1.0, 1.0, 2.0), (1.0, 1.0, 0.25)]);
    assert_eq!([held(2), held(3)], [(1.0, 0.125, 0.25), (0.125, 0.125, 0.25)]);
    assert!(near(sent(&of(3), "cluster"), 1.5 * sent(&of(2), "cluster")));
}

const WORDS: [&str; 12] = [
    "split 1000 @cluster | step adam",
    "split 8 @node | split 125 @cluster | step adam",
    "accum 4 | split 1000 @cluster wire=int8 bucket=1MiB overlap | step adamw",
    "step raw | join 1000 @cluster outer=adam shards=8",
    "step raw | join 1000 @cluster sync=async scale=sum outer=sgd(.01) shards=16",
    "step raw | join 1000 @cluster sync=ssp(3) outer=sgd(.01)",
    "step raw | join 1000 @cluster sync=quorum(950,drop) outer=adam shards=4",
    "step sgd(.1) | every 16 | join 1000 @cluster",
    "step adamw | every 500 | join 1000 @cluster outer=nesterov(.7,.9) frag=4 delay=5",
    "split 10 @cluster | step adamw | every 20 | join 100 @cluster sync=async outer=nesterov(.7,.9)",
    "step sgd(.1) | gossip 1000 @cluster graph=exp push",
    "step sgd(.1) | gossip 1000 @cluster graph=ring sync=async",
];

#[test]
fn a_thousand_nodes_take_few_events() {
    let mut events = 0;
    for link in ["1gbe", "10gbe", "100gbe"] {
        let figures = Figures { straggler: Straggler::LogNormal { sigma: 0.2 }, ..Figures::default() }
            .over(Link::parse(link).unwrap());
        for text in WORDS {
            events += of(text, &model(), &figures).events;
        }
    }
    // Some ten million a second are followed.
    assert!((100_000..30_000_000).contains(&events), "{events}");
}

#[test]
fn the_same_figures_give_the_same_prediction() {
    let figures = Figures { straggler: Straggler::LogNormal { sigma: 0.5 }, ..Figures::default() };
    let text = "split 2 @node | step sgd(.1) | every 3 | join 5 @cluster sync=ssp(2) | every 2 | gossip 4";
    assert_eq!(of(text, &model(), &figures), of(text, &model(), &figures));
}

fn any_number() -> impl Strategy<Value = f64> {
    let odd =
        prop_oneof![Just(0.0), Just(-1.0), Just(f64::NAN), Just(f64::INFINITY), Just(1e300), Just(1e-300)];
    prop_oneof![1 => any::<u64>().prop_map(f64::from_bits), 1 => odd, 12 => 0.0..1.0_f64, 12 => 1.0..1e5_f64]
}

prop_compose! {
    fn any_link()(latency_s in any_number(), bytes_per_s in any_number(), message_s in any_number()) -> Link {
        Link { latency_s, bytes_per_s, message_s }
    }
}

fn any_straggler() -> impl Strategy<Value = Straggler> {
    prop_oneof![
        Just(Straggler::None),
        (0..20_u32, any_number()).prop_map(|(worker, factor)| Straggler::Constant { worker, factor }),
        (any_number(), any_number()).prop_map(|(p, factor)| Straggler::Probability { p, factor }),
        any_number().prop_map(|sigma| Straggler::LogNormal { sigma }),
    ]
}

fn any_word() -> impl Strategy<Value = String> {
    let count = || prop_oneof![20 => 1..5_u32, 3 => Just(7), 1 => Just(100), 1 => Just(MAX_COUNT)];
    let left = prop_oneof![
        count().prop_map(|n| format!("accum {n}")),
        (count(), 0..6_usize).prop_map(|(n, with)| format!(
            "split {n}{}",
            [
                "",
                " algo=doubling",
                " wire=int4",
                " order=exact bucket=1",
                " overlap bucket=64KiB",
                " wire=powersgd(2)"
            ][with]
        )),
        (count(), count()).prop_map(|(n, m)| format!("pipe {n} micro={m}")),
        count().prop_map(|n| format!("tensor {n}")),
    ];
    let right = prop_oneof![
        count().prop_map(|h| format!("every {h}")),
        (count(), 0..8_usize).prop_map(|(n, with)| format!(
            "join {n}{}",
            [
                "",
                " sync=async",
                " sync=ssp(3)",
                " sync=quorum(1,drop)",
                " sync=quorum(1,keep) stale=drop(0)",
                " shards=65536",
                " sync=ssp(60000) outer=adam",
                " wire=topk(1) stale=drop(2)"
            ][with]
        )),
        (count(), 0..6_usize).prop_map(|(n, with)| format!(
            "gossip {n}{}",
            ["", " graph=exp push", " graph=complete", " sync=async", " graph=ring push", " push sync=async"]
                [with]
        )),
    ];
    (prop::collection::vec(left, 0..4), prop::collection::vec(right, 0..5)).prop_map(|(left, right)| {
        let items = left.into_iter().chain(["step adam".to_owned()]).chain(right);
        items.collect::<Vec<_>>().join(" | ")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn any_word_and_any_figures_give_an_answer(
        text in any_word(),
        (params, batch) in (prop_oneof![2 => 0..10_u64, 6 => 0..1_000_000_000_u64, 1 => any::<u64>()], prop_oneof![9 => 0..99_u64, 1 => any::<u64>()]),
        (nodes, per_node) in (prop::option::weighted(0.2, 0..2000_u32), prop::option::weighted(0.2, 0..2000_u32)),
        (compute_s, memory_bytes_per_s) in (any_number(), any_number()),
        (link, straggler, seed) in (any_link(), any_straggler(), any::<u64>()),
        sound in prop::bool::weighted(0.7),
    ) {
        let Ok(schedule) = dae_schedule::parse(&text) else { return Ok(()) };
        let facts = Facts { nodes, workers_per_node: per_node, ..Facts::of_params(params, batch) };
        let mut figures = Figures { straggler, seed, ..Figures::default() };
        if !sound {
            figures = Figures { compute_s, memory_bytes_per_s, ..figures }.over(link);
        }
        let answer: Result<Cost, Vec<Refused>> = cost(schedule.word().unwrap(), &facts, &figures);
        match answer {
            Ok(cost) => {
                prop_assert!(cost.step_s > 0.0 && cost.step_s.is_finite() && cost.samples_per_s.is_finite());
                prop_assert!((0.0..=1.0).contains(&cost.idle_share) && cost.memory.node_bytes.is_finite());
                prop_assert!((0.0..=1.0).contains(&cost.useful_share) && cost.slowdown.is_finite());
                prop_assert!(cost.traffic.iter().all(|t| t.sent_bytes.is_finite() && t.busiest_bytes.is_finite()));
                prop_assert!(cost.events < 20_000_000);
            }
            Err(refused) => prop_assert!(!refused.is_empty() && refused.iter().all(|r| !r.help.is_empty())),
        }
    }
}
