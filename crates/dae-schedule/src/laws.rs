//! The laws of words, over random words: print and parse, the normal form, the hash.

use std::fmt;

use proptest::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use crate::testing::{schedule, word};
use crate::{Gradient, Layers, Model, Optimizer, Place, Problem, Schedule, Word};

fn parse(text: &str) -> Result<Word, Vec<Problem>> {
    crate::parse(text).map(|schedule| schedule.into_word().unwrap())
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

fn built(items: &[Item], optimizer: Optimizer, clip: Option<f32>) -> Model {
    let wrap = |gradient: Gradient, item: &Item| match *item {
        Item::Accum(count) => gradient.accum(count),
        Item::Split(workers, None) => gradient.split(workers),
        Item::Split(workers, Some(place)) => gradient.split_at(workers, place),
    };
    let model = items.iter().fold(Word::begin(), wrap).step(optimizer);
    clip.map_or(model.clone(), |bound| model.clip(bound))
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
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn print_then_parse_is_nothing(schedule in schedule()) {
        let printed = schedule.to_string();
        prop_assert_eq!(crate::parse(&printed), Ok(schedule.clone()));
        prop_assert_eq!(printed.parse(), Ok(schedule.clone()));
        prop_assert_eq!(Serialized(schedule.clone()).to_string(), printed.clone());
        prop_assert_eq!(deserialized(&printed).ok(), Some(schedule));
    }

    #[test]
    fn white_space_is_free(schedule in schedule()) {
        let printed = schedule.to_string();
        let airy = ["|", "(", ")", ",", "=", ":", ";", "[", "]"].iter().fold(printed, |text, symbol| {
            text.replace(symbol, &format!("\n\t {symbol}  "))
        });
        prop_assert_eq!(crate::parse(&airy), Ok(schedule));
    }

    #[test]
    fn the_long_form_is_the_word(schedule in schedule()) {
        let document = std::collections::BTreeMap::from([("layer", Layers(schedule.clone()))]);
        let text = toml::to_string(&document).unwrap();
        let back: std::collections::BTreeMap<String, Layers> = toml::from_str(&text).unwrap();
        prop_assert_eq!(&back["layer"].0, &schedule, "{}", text);
    }

    #[test]
    fn the_builder_makes_what_the_text_says(word in word()) {
        let gradient = word.gradient().iter().fold(Word::begin(), |gradient, item| gradient.item(*item));
        let model = word.model().iter().fold(gradient.close(*word.step()), |model, item| model.item(item.clone()));
        prop_assert_eq!(model.build(), Ok(word));
    }

    #[test]
    fn normal_keeps_the_meaning(word in word()) {
        let normal = word.normal();
        prop_assert_eq!(normal.accum(), word.accum());
        prop_assert_eq!(normal.workers(), word.workers());
        prop_assert_eq!(normal.nodes(), word.nodes());
        prop_assert_eq!(normal.period(), word.period());
        prop_assert_eq!(normal.step(), word.step());
    }

    #[test]
    fn normal_is_normal(schedule in schedule()) {
        let normal = schedule.normal();
        prop_assert_eq!(normal.normal(), normal.clone());
        prop_assert_eq!(normal.hash(), schedule.hash());
        prop_assert_eq!(crate::parse(&normal.to_string()), Ok(normal));
    }

    #[test]
    fn m1_every_merges(word in word(), a in 1..20_u32, b in 1..20_u32) {
        let with = |rounds: &[u32]| {
            let mut longer = word.clone();
            longer.model.extend(rounds.iter().map(|h| crate::MItem::Every(*h)));
            longer.normal()
        };
        prop_assert_eq!(with(&[a, b]), with(&[a * b]));
        prop_assert_eq!(with(&[1]), word.normal());
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
    fn g3_accum_and_split_commute(items in prop::collection::vec(item(), 2..6), at in 0..4_usize) {
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

#[test]
fn m1_m4_m5_c1_names_of_one_thing() {
    for (text, normal) in [
        ("step sgd | every 1 | join 1 | gossip 1 graph=exp | every 4", "step sgd(0.01) | every 4"),
        ("step sgd | every 4 | join 1 sync=async scale=sum | every 5", "step sgd(0.01) | every 20"),
        ("step sgd | join 3 sync=ssp(0)", "step sgd(0.01) | join 3"),
        ("step sgd | join 3 sync=quorum(3,drop)", "step sgd(0.01) | join 3"),
        ("step sgd | join 3 sync=quorum(2,drop)", "step sgd(0.01) | join 3 sync=quorum(2,drop)"),
        ("step sgd | join 3 outer=nesterov(1,0)", "step sgd(0.01) | join 3"),
        ("step sgd | join 3 outer=slowmo(1,0) stale=dc(0)", "step sgd(0.01) | join 3"),
        ("step sgd | join 3 outer=slowmo(1,.5)", "step sgd(0.01) | join 3 outer=slowmo(1,0.5)"),
        (
            "split 2 wire=f32 algo=auto | step sgd zero=0 | join 3 wire=f32 frag=1 delay=0 mix=0 shards=1 view=whole \
          weight=samples scale=mean stale=none sync=bsp outer=avg",
            "split 2 | step sgd(0.01) | join 3",
        ),
        // A centre that has an optimizer, or a wire, does something even for one child.
        ("step raw | join 1", "step raw | join 1"),
        ("step sgd | join 1 outer=adam", "step sgd(0.01) | join 1 outer=adam(1e-3)"),
        ("step sgd | join 1 wire=int8", "step sgd(0.01) | join 1 wire=int8"),
        ("step sgd | gossip 4 graph=hops(3,1,3)", "step sgd(0.01) | gossip 4 graph=hops(1,3)"),
        // The laws G1 to G3 are of `accum`, `split` and `tensor`; a pipeline stays where it is.
        (
            "tensor 1 | pipe 2 micro=4 | split 2 | accum 3 | step sgd",
            "pipe 2 micro=4 | accum 3 | split 2 | step sgd(0.01)",
        ),
        ("split 2 wire=int8 | split 2 | split 3 | step sgd", "split 2 wire=int8 | split 6 | step sgd(0.01)"),
    ] {
        assert_eq!(parse(text).unwrap().normal().to_string(), normal, "{text}");
    }
}

#[test]
fn unknown_keys_of_the_long_form_are_refused() {
    let read = |text: &str| toml::from_str::<std::collections::BTreeMap<String, Layers>>(text);
    let good = "[[layer]]\nitem = \"split\"\nn = 2\nplace = \"node\"\noverlap = true\n[[layer]]\nitem = \"step\"\n\
                optimizer = \"adamw(1e-3, wd=0)\"\nclip = 1.0\n[[layer]]\nitem = \"every\"\nn = 20\n[[layer]]\n\
                item = \"join\"\nn = 3\nsync = \"quorum(2,drop)\"\nmix = 0.5";
    let word = "split 2 @node overlap | step adamw(1e-3, wd=0) clip=1 | every 20 | join 3 sync=quorum(2,drop) mix=0.5";
    assert_eq!(read(good).unwrap()["layer"].0.to_string(), word);
    for (bad, says) in [
        (good.replace("overlap", "overlop"), "overlap"),
        (good.replace("\"node\"", "\"node | split 3\""), "no word can say"),
        (good.replace("n = 20", "n = -1"), "S04"),
        (good.replace("item = \"every\"", "op = \"every\""), "`item`"),
        (good.replace("overlap = true", "\"x | y\" = true"), "no key"),
        (good.replace("quorum(2,drop)", "quorum(2"), "no word can say"),
        (good.replace("quorum(2,drop)", "quorum(2)"), "E05"),
    ] {
        let error = read(&bad).unwrap_err().to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
}
