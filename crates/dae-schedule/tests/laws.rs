//! The laws of words, over random words: print and parse, the normal form, the hash.

use std::fmt;

use dae_schedule::{Gradient, Model, Optimizer, Place, Problem, Schedule, Word};
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

fn parse(text: &str) -> Result<Word, Vec<Problem>> {
    dae_schedule::parse(text).map(|schedule| schedule.into_word().unwrap())
}

#[derive(Clone, Copy, Debug)]
enum Item {
    Accum(u32),
    Split(u32, Option<Place>),
}

fn item() -> impl Strategy<Value = Item> {
    let place = prop_oneof![Just(None), Just(Some(Place::Device)), Just(Some(Place::Node))];
    prop_oneof![(1..9_u32).prop_map(Item::Accum), (1..9_u32, place).prop_map(|(n, at)| Item::Split(n, at))]
}

/// Any number the bound allows, from the whole range of bits and from the round ones people write.
fn number(low: f32, high: f32) -> impl Strategy<Value = f32> {
    let round =
        prop_oneof![Just(0.0_f32), Just(1e-8), Just(1e-3), Just(0.01), Just(0.9), Just(0.999), Just(1.0)];
    let bits = any::<u32>().prop_map(f32::from_bits);
    prop_oneof![round, bits, 0.0..1.0_f32].prop_filter("within its bound", move |x| {
        x.is_finite() && *x >= low && *x < high && x.is_sign_positive()
    })
}

fn optimizer() -> impl Strategy<Value = Optimizer> {
    let positive = || number(f32::from_bits(1), f32::MAX);
    let fraction = || number(0.0, 1.0);
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
}

/// Folds, with one over a cluster around them or not.
fn folds(most: usize) -> impl Strategy<Value = Vec<Item>> {
    let around = prop::option::of((1..5_u32).prop_map(|n| Item::Split(n, Some(Place::Cluster))));
    (prop::collection::vec(item(), 0..most), around)
        .prop_map(|(items, around)| items.into_iter().chain(around).collect())
}

fn built(items: &[Item], optimizer: Optimizer, clip: Option<f32>) -> Model {
    let wrap = |gradient: Gradient, item: &Item| match *item {
        Item::Accum(count) => gradient.accum(count),
        Item::Split(workers, None) => gradient.split(workers),
        Item::Split(workers, Some(place)) => gradient.split_at(workers, place),
    };
    let model = items.iter().fold(Word::begin(), wrap).step(optimizer);
    clip.map_or(model.clone(), |bound| model.clip(bound))
}

prop_compose! {
    fn word()(
        items in folds(5),
        optimizer in optimizer(),
        clip in prop::option::of(number(f32::from_bits(1), f32::MAX)),
    ) -> Word {
        built(&items, optimizer, clip).build().expect("every random word is valid")
    }
}

/// What `Serialize` writes: serde can serialise a string into a formatter.
struct Serialized(Schedule);

impl fmt::Display for Serialized {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        serde::Serialize::serialize(&self.0, f)
    }
}

fn deserialized(text: &str) -> Result<Schedule, Error> {
    let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
    Schedule::deserialize(deserializer)
}

proptest! {
    #[test]
    fn print_then_parse_is_nothing(word in word()) {
        let printed = word.to_string();
        prop_assert_eq!(parse(&printed), Ok(word.clone()));
        prop_assert_eq!(printed.parse(), Ok(Schedule::from(word.clone())));
        prop_assert_eq!(Serialized(word.clone().into()).to_string(), printed.clone());
        prop_assert_eq!(deserialized(&printed).ok(), Some(word.into()));
    }

    #[test]
    fn white_space_is_free(word in word()) {
        let airy = word.to_string().replace('|', "\n\t|  ").replace('(', " ( ").replace(',', " ,\n").replace('=', " = ");
        prop_assert_eq!(parse(&airy), Ok(word));
    }

    #[test]
    fn normal_keeps_the_meaning(word in word()) {
        let normal = word.normal();
        prop_assert_eq!(normal.accum(), word.accum());
        prop_assert_eq!(normal.workers(), word.workers());
        prop_assert_eq!(normal.optimizer(), word.optimizer());
        prop_assert_eq!(normal.clip(), word.clip());
        prop_assert_eq!(normal.normal(), normal.clone());
        prop_assert_eq!(normal.hash(), word.hash());
        prop_assert_eq!(parse(&normal.to_string()), Ok(normal));
    }

    #[test]
    fn g1_a_fold_of_one_is_nothing(items in prop::collection::vec(item(), 0..4), at in 0..5_usize, one in prop_oneof![
        Just(Item::Accum(1)), Just(Item::Split(1, None)), Just(Item::Split(1, Some(Place::Node)))
    ]) {
        let mut longer = items.clone();
        longer.insert(at.min(items.len()), one);
        prop_assert_eq!(normal_of(&longer), normal_of(&items));
    }

    #[test]
    fn g2_like_folds_merge(a in 1..200_u32, b in 1..200_u32) {
        prop_assert_eq!(normal_of(&[Item::Accum(a), Item::Accum(b)]), normal_of(&[Item::Accum(a * b)]));
        for place in [None, Some(Place::Node), Some(Place::Device)] {
            let (apart, merged) = ([Item::Split(a, place), Item::Split(b, place)], [Item::Split(a * b, place)]);
            prop_assert_eq!(normal_of(&apart), normal_of(&merged));
        }
    }

    #[test]
    fn g3_accum_and_split_commute(items in folds(5), at in 0..3_usize) {
        prop_assume!(items.len() > 1);
        let at = at.min(items.len() - 2);
        let mut swapped = items.clone();
        swapped.swap(at, at + 1);
        let differ = matches!((items[at], items[at + 1]), (Item::Accum(_), Item::Split(..)) | (Item::Split(..), Item::Accum(_)));
        prop_assume!(differ);
        prop_assert_eq!(normal_of(&swapped), normal_of(&items));
    }
}

#[test]
fn a_mesh_is_workers_on_nodes() {
    for (text, workers, nodes, on_each, normal) in [
        ("split 2", 2, 1, 2, "split 2"),
        ("split 1 @node | split 3 @cluster", 3, 3, 1, "split 3 @cluster"),
        ("split 3 @cluster", 3, 3, 1, "split 3 @cluster"),
        (
            "split 2 | accum 3 | split 4 @node | split 5 @cluster",
            40,
            5,
            8,
            "accum 3 | split 2 | split 4 @node | split 5 @cluster",
        ),
        ("split 5 | split 2 @cluster | accum 3", 10, 2, 5, "accum 3 | split 5 | split 2 @cluster"),
        ("split 2 @node | split 1 @cluster", 2, 1, 2, "split 2 @node"),
    ] {
        let word = parse(&format!("{text} | step adam")).unwrap();
        assert_eq!(
            (word.workers(), word.nodes(), word.workers_per_node()),
            (workers, nodes, on_each),
            "{text}"
        );
        assert_eq!(word.normal().to_string(), format!("{normal} | step adam(1e-3)"));
        assert_eq!((word.normal().nodes(), word.normal().workers()), (nodes, workers));
    }
}

fn normal_of(items: &[Item]) -> Option<Word> {
    built(items, Optimizer::sgd(0.1), None).build().ok().map(|word| word.normal())
}

#[test]
fn the_normal_form_of_a_tangle() {
    let word =
        parse("split 2 | accum 3 | split 1 @node | split 4 | accum 2 | split 5 @node | step adam clip=.5")
            .unwrap();
    assert_eq!(word.normal().to_string(), "accum 6 | split 8 | split 5 @node | step adam(1e-3) clip=0.5");
}

#[test]
fn the_hash_never_changes() {
    // Checkpoints carry these numbers: a change here is a broken promise, not a test to adjust.
    let hash = |text: &str| parse(text).map(|word| word.hash());
    assert_eq!(hash("accum 4 | split 2 | step adamw(1e-3)"), Ok(0xe5b0_958d_8a9e_fcc9));
    assert_eq!(hash("split 2 | accum 2 | accum 2 | step adamw"), Ok(0xe5b0_958d_8a9e_fcc9));
    assert_eq!(hash("step sgd(.1, momentum=.9, nesterov, wd=1e-4) clip=1"), Ok(0xdd7d_c934_7803_e282));
}

#[test]
fn settings_mean_what_torch_means() {
    let optimizer = |text: &str| parse(&format!("step {text}")).map(|word| *word.optimizer().unwrap());
    assert_eq!(optimizer("sgd"), Ok(Optimizer::sgd(0.01)));
    assert_eq!(optimizer("adam"), Ok(Optimizer::adam(1e-3)));
    assert_eq!(optimizer("adamw()"), Ok(Optimizer::adamw(1e-3)));
    assert_eq!(optimizer("adam(lr=5)"), Ok(Optimizer::adam(5.0)));
    let full = Optimizer::AdamW { lr: 0.1, beta1: 0.8, beta2: 0.99, eps: 1e-6, weight_decay: 0.0 };
    assert_eq!(optimizer("adamw(.1, beta1=.8, beta2=.99, eps=1e-6, wd=0)"), Ok(full));
    let sgd = Optimizer::Sgd { lr: 0.1, momentum: 0.9, nesterov: true, weight_decay: 0.0 };
    assert_eq!(optimizer("sgd(.1, momentum=0.9, nesterov, wd=-0)"), Ok(sgd));
    assert_eq!(parse("step clip=1.0 adam(1e-3)").map(|word| word.clip()), Ok(Some(1.0)));
}

#[test]
fn serde_refuses_with_every_problem() {
    let error = deserialized("accum 0 | split 2 wire=int9").unwrap_err().to_string();
    for part in ["accum 0 | split 2 wire=int9", "S04: ", "E01: "] {
        assert!(error.contains(part), "{error}");
    }
}
