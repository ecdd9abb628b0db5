//! Random valid schedules, for property tests here and elsewhere: with the cargo feature `proptest`.
//!
//! Every strategy gives only what [`crate::parse`] accepts. Counts are small, so that whatever runs a word can run it.

mod runs;

pub use runs::word_that_runs;

use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::gossip::{Gossip, Graph};
use crate::gradient::{Algo, GItem, Order, Pipe, PipeSched, Split, Tensor};
use crate::join::{Join, Late, Outer, Scale, Stale, SyncMode, View, Weight};
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::place::Place;
use crate::schedule::{Carry, Condition, Phase, Schedule};
use crate::step::{Closing, Step};
use crate::wire::Wire;
use crate::word::Word;

/// A number in `low..high`, from the whole range of bits and from the round ones people write.
pub fn number(low: f32, high: f32) -> BoxedStrategy<f32> {
    let round = select(vec![0.0_f32, 1e-8, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.999, 1.0]);
    let bits = any::<u32>().prop_map(f32::from_bits);
    prop_oneof![round, bits, 0.0..1.0_f32]
        .prop_filter("within its bound", move |x| {
            x.is_finite() && *x >= low && *x < high && x.is_sign_positive()
        })
        .boxed()
}

fn positive() -> BoxedStrategy<f32> {
    number(f32::from_bits(1), f32::MAX)
}

fn fraction() -> BoxedStrategy<f32> {
    number(0.0, 1.0)
}

fn place() -> impl Strategy<Value = Option<Place>> {
    select(vec![None, None, Some(Place::Device), Some(Place::Node), Some(Place::Rack), Some(Place::Cluster)])
}

/// Any sound optimizer.
pub fn optimizer() -> BoxedStrategy<Optimizer> {
    let not_negative = || number(0.0, f32::MAX);
    let sgd = (positive(), fraction(), not_negative(), any::<bool>()).prop_map(
        |(lr, momentum, weight_decay, nesterov)| Optimizer::Sgd {
            lr,
            momentum,
            nesterov: nesterov && momentum > 0.0,
            weight_decay,
        },
    );
    let adam = (positive(), fraction(), fraction(), positive(), not_negative(), any::<bool>()).prop_map(
        |(lr, beta1, beta2, eps, weight_decay, decoupled)| match decoupled {
            false => Optimizer::Adam { lr, beta1, beta2, eps, weight_decay },
            true => Optimizer::AdamW { lr, beta1, beta2, eps, weight_decay },
        },
    );
    prop_oneof![
        sgd,
        adam,
        positive().prop_map(Optimizer::sgd),
        positive().prop_map(Optimizer::adam),
        positive().prop_map(Optimizer::adamw)
    ]
    .boxed()
}

/// Any way for numbers to travel; half of them `f32`.
pub fn wire() -> BoxedStrategy<Wire> {
    prop_oneof![
        4 => Just(Wire::F32),
        3 => select(vec![Wire::Bf16, Wire::F16, Wire::Int8, Wire::Int4]),
        1 => number(f32::from_bits(1), 1.0).prop_map(Wire::TopK),
        1 => (1..9_u32).prop_map(Wire::PowerSgd),
    ]
    .boxed()
}

/// An item left of `step`, with all its settings.
pub fn gradient_item() -> BoxedStrategy<GItem> {
    prop_oneof![
        2 => (1..6_u32).prop_map(GItem::Accum),
        3 => split().prop_map(GItem::Split),
        1 => (1..4_u32, place(), 1..5_u32, any::<bool>()).prop_map(|(n, place, micro, gpipe)| {
            let sched = if gpipe { PipeSched::Gpipe } else { PipeSched::OneFOneB };
            GItem::Pipe(Pipe { n, place, micro, sched })
        }),
        1 => (1..4_u32, place()).prop_map(|(n, place)| GItem::Tensor(Tensor { n, place })),
    ]
    .boxed()
}

fn split() -> BoxedStrategy<Split> {
    let algo = select(Algo::NAMES).prop_map(|(_, algo)| algo);
    let order = select(Order::NAMES).prop_map(|(_, order)| order);
    let bucket = option::weighted(0.3, prop_oneof![1..100_u64, (1..100_u64).prop_map(|kib| kib << 10)]);
    (1..6_u32, place(), algo, wire(), order, bucket, any::<bool>(), any::<bool>())
        .prop_map(|(n, place, algo, wire, order, bucket, overlap, plain)| {
            let algo = if wire.adds() { algo } else { Algo::Auto };
            let all = Split { n, place, algo, wire, order, bucket, overlap };
            if plain { Split { place, ..Split::new(n) } } else { all }
        })
        .boxed()
}

/// A join whose children make `rounds` inner rounds, with all its settings.
pub fn join(rounds: u32) -> BoxedStrategy<Join> {
    let outer = prop_oneof![
        3 => Just(Outer::Avg),
        1 => (positive(), fraction()).prop_map(|(lr, mu)| Outer::Nesterov { lr, mu }),
        1 => (positive(), fraction()).prop_map(|(a, b)| Outer::SlowMo { a, b }),
        1 => fraction().prop_map(Outer::Elastic),
        1 => optimizer().prop_map(Outer::Optimizer),
    ];
    let stale = prop_oneof![
        3 => Just(Stale::None),
        1 => Just(Stale::LrOverTau),
        1 => number(0.0, f32::MAX).prop_map(Stale::Dc),
        1 => (0..9_u32).prop_map(Stale::Drop),
    ];
    let divisors: Vec<u32> = (1..=rounds).filter(|frag| rounds.is_multiple_of(*frag)).collect();
    let settings = (1..5_u32, select(divisors), any::<u32>(), number(0.0, 1.0), any::<[bool; 5]>());
    let simple = (1..5_u32, place()).prop_map(|(n, place)| Join { place, ..Join::new(n) });
    let all = (1..5_u32, place(), sync(), outer, stale, wire(), settings).prop_map(
        move |(
            n,
            place,
            sync,
            outer,
            stale,
            wire,
            (shards, frag, delay, mix, [sum, torn, equal, late, frags]),
        )| {
            let frag = if frags { frag } else { 1 };
            Join {
                n,
                place,
                sync: fitted(sync, n),
                outer,
                scale: if sum { Scale::Sum } else { Scale::Mean },
                stale,
                wire,
                shards,
                frag,
                delay: if late { delay % (rounds / frag) } else { 0 },
                mix,
                view: if torn { View::Shard } else { View::Whole },
                weight: if equal { Weight::Equal } else { Weight::Samples },
            }
        },
    );
    prop_oneof![simple, all].boxed()
}

fn sync() -> BoxedStrategy<SyncMode> {
    let late = select(vec![None, Some(Late::Drop), Some(Late::Keep)]);
    prop_oneof![
        Just(SyncMode::Bsp),
        Just(SyncMode::Async),
        (0..5_u32).prop_map(SyncMode::Ssp),
        (1..5_u32, late).prop_map(|(k, late)| SyncMode::Quorum { k, late }),
    ]
    .boxed()
}

/// The same where n children can do it.
fn fitted(sync: SyncMode, n: u32) -> SyncMode {
    match sync {
        SyncMode::Quorum { k, late } => {
            let k = k.min(n);
            SyncMode::Quorum { k, late: if k < n { late.or(Some(Late::Drop)) } else { late } }
        }
        other => other,
    }
}

/// A connected gossip, with all its settings.
pub fn gossip() -> BoxedStrategy<Gossip> {
    let hops = prop::collection::vec(1..5_u32, 0..3).prop_map(|more| Graph::Hops([vec![1], more].concat()));
    let graph = prop_oneof![select(vec![Graph::Ring, Graph::Exp, Graph::Complete]), hops];
    (1..5_u32, place(), graph, any::<bool>(), any::<bool>())
        .prop_map(|(n, place, graph, push, asynchronous)| Gossip { n, place, graph, push, asynchronous })
        .boxed()
}

/// A few rounds, then a join, a gossip, or nothing.
fn block() -> BoxedStrategy<Vec<MItem>> {
    prop::collection::vec(1..7_u32, 0..3)
        .prop_flat_map(|rounds| {
            let h = rounds.iter().product();
            let everys: Vec<_> = rounds.into_iter().map(MItem::Every).collect();
            let last = prop_oneof![
                3 => join(h).prop_map(|join| vec![MItem::Join(join)]),
                1 => gossip().prop_map(|gossip| vec![MItem::Gossip(gossip)]),
                1 => Just(Vec::new()),
            ];
            last.prop_map(move |last| [everys.clone(), last].concat())
        })
        .boxed()
}

/// Any valid word of at most 4 items left of `step`, of at most 2 joins or gossips right of it.
pub fn word() -> BoxedStrategy<Word> {
    let clip = option::of(positive());
    let model = prop_oneof![
        1 => Just(Vec::new()),
        2 => (block(), block()).prop_map(|(one, two)| merged(one, two)),
    ];
    let gradient = prop::collection::vec(gradient_item(), 0..5);
    (gradient, optimizer(), any::<bool>(), 0..4_u8, clip, model)
        .prop_map(|(gradient, optimizer, raw, zero, clip, model)| {
            let centre = model.iter().any(|item| matches!(item, MItem::Join(_)));
            let closing = if raw && centre { Closing::Raw } else { Closing::Optimizer(optimizer) };
            outwards(Word { gradient, step: Step { closing, zero, clip }, model })
        })
        .boxed()
}

/// A block without a join would lend its rounds to the next: one that has rounds alone stands last.
fn merged(one: Vec<MItem>, two: Vec<MItem>) -> Vec<MItem> {
    match one.last() {
        Some(MItem::Every(_)) => [two, one].concat(),
        _ => [one, two].concat(),
    }
}

/// The same with no place nearer than one inside it.
fn outwards(mut word: Word) -> Word {
    let mut widest = None;
    let mut fit = |place: &mut Option<Place>| {
        if widest.is_some() && *place < widest {
            *place = None;
        }
        widest = place.filter(|place| place.spans_nodes()).or(widest);
    };
    for item in &mut word.gradient {
        match item {
            GItem::Accum(_) => {}
            GItem::Split(Split { place, .. })
            | GItem::Pipe(Pipe { place, .. })
            | GItem::Tensor(Tensor { place, .. }) => fit(place),
        }
    }
    for item in &mut word.model {
        match item {
            MItem::Every(_) => {}
            MItem::Join(Join { place, .. }) | MItem::Gossip(Gossip { place, .. }) => fit(place),
        }
    }
    word
}

/// Any valid schedule: a word, or a phase of two.
pub fn schedule() -> BoxedStrategy<Schedule> {
    let until = prop_oneof![
        (1..1000_u64).prop_map(Condition::Step),
        (1..100_000_u64).prop_map(Condition::Time),
        number(0.0, f32::MAX).prop_map(Condition::Loss),
        number(1.0, f32::MAX).prop_map(Condition::Straggle),
    ];
    let phase = (until, any::<bool>(), word(), word()).prop_map(|(until, carry, first, then)| {
        let kind = |word: &Word| word.optimizer().map(std::mem::discriminant);
        let carry = if carry && kind(&first) == kind(&then) { Carry::State } else { Carry::Params };
        Schedule::Phase(Box::new(Phase { until, carry, first, then }))
    });
    prop_oneof![3 => word().prop_map(Schedule::Word), 1 => phase].boxed()
}
