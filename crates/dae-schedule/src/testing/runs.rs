//! Random words that run today, on one node.

use proptest::prelude::*;
use proptest::sample::select;

use super::word;
use crate::gossip::Gossip;
use crate::gradient::{Algo, GItem, Order, Split};
use crate::join::{Join, Outer, Scale, Stale, View};
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::place::Place;
use crate::step::{Closing, Step};
use crate::wire::Wire;
use crate::word::Word;

/// The most workers of such a word.
const MOST_WORKERS: u32 = 6;

/// A random word with all taken out that [`crate::not_yet_run`] names: at most six workers on one node, few inner rounds,
/// and rates at which a small model of numbers about 1 does not run away.
pub fn word_that_runs() -> BoxedStrategy<Word> {
    let joined = |word: &Word| word.model.iter().any(|item| matches!(item, MItem::Join(_)));
    let gossips = |word: &Word| word.model.iter().any(|item| matches!(item, MItem::Gossip(_)));
    let any = prop_oneof![
        2 => word(),
        2 => word().prop_filter("has a join", joined),
        1 => word().prop_filter("has a gossip", gossips),
    ];
    let place = select(vec![None, Some(Place::Device), Some(Place::Node)]);
    (any, place, select(vec![Order::Any, Order::Exact]))
        .prop_map(|(word, place, order)| fitted(word, place, order))
        .prop_filter("few workers", |word| word.workers() <= MOST_WORKERS)
        .boxed()
}

fn fitted(word: Word, place: Option<Place>, order: Order) -> Word {
    let mut model: Vec<MItem> = Vec::new();
    for item in word.model {
        let count = |is: fn(&MItem) -> bool| model.iter().filter(|item| is(item)).count();
        match item {
            MItem::Every(h) if count(|item| matches!(item, MItem::Every(_))) < 2 => {
                model.push(MItem::Every(h.min(4)));
            }
            MItem::Join(join) if count(is_hub) == 0 => {
                let rounds = model.iter().map(|item| if let MItem::Every(h) = item { *h } else { 1 });
                let rounds = rounds.product();
                model.push(MItem::Join(around(join, place, word.step.closing, rounds)));
            }
            // Peers mix parameters, and raw gradients move none.
            MItem::Gossip(gossip) if count(is_hub) == 0 && word.step.closing != Closing::Raw => {
                model.push(MItem::Gossip(Gossip { place, ..gossip }));
            }
            _ => {}
        }
    }
    let sums = model.iter().any(|item| matches!(item, MItem::Join(join) if join.scale == Scale::Sum));
    let pushes = |item: &MItem| matches!(item, MItem::Gossip(gossip) if gossip.push && gossip.asynchronous);
    let closing = match word.step.closing {
        // Who has given nearly all away by then moves by so much more: Adam's steps do not grow with it.
        Closing::Optimizer(optimizer) if model.iter().any(pushes) => {
            let lr = within(optimizer.lr(), 0.0002, 0.001);
            Closing::Optimizer(Optimizer::Adam { lr, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 })
        }
        Closing::Optimizer(optimizer) => Closing::Optimizer(slow(optimizer, if sums { 0.1 } else { 1.0 })),
        Closing::Raw => Closing::Raw,
    };
    let clip = word.step.clip.map(|clip| within(clip, 0.05, 2.0));
    let gradient = word.gradient.iter().filter_map(|item| fold(item, place, order)).take(3).collect();
    Word { gradient, step: Step { closing, zero: word.step.zero.min(1), clip }, model }
}

fn is_hub(item: &MItem) -> bool {
    matches!(item, MItem::Join(_) | MItem::Gossip(_))
}

/// All of one place and order, so that neighbours are one.
fn fold(item: &GItem, place: Option<Place>, order: Order) -> Option<GItem> {
    Some(match *item {
        GItem::Accum(k) => GItem::Accum(k.min(3)),
        GItem::Split(split) => GItem::Split(Split {
            n: split.n.min(3),
            place,
            order,
            algo: Algo::Auto,
            wire: Wire::F32,
            bucket: None,
            overlap: false,
        }),
        GItem::Pipe(_) | GItem::Tensor(_) => return None,
    })
}

fn around(join: Join, place: Option<Place>, closing: Closing, rounds: u32) -> Join {
    let raw = closing == Closing::Raw;
    // What is summed up is so many steps at once.
    let part = if join.scale == Scale::Sum { 0.3 } else { 1.0 };
    let outer = match join.outer {
        // Neither is for gradients: one does not run, the other takes the gradient itself for a step.
        Outer::Elastic(_) | Outer::Avg if raw => Outer::Optimizer(Optimizer::sgd(0.1)),
        Outer::Avg => Outer::Avg,
        Outer::Nesterov { lr, mu } => {
            Outer::Nesterov { lr: part * within(lr, 0.1, 0.8), mu: within(mu, 0.0, 0.7) }
        }
        Outer::SlowMo { a, b } => Outer::SlowMo { a: part * within(a, 0.1, 0.8), b: within(b, 0.0, 0.7) },
        Outer::Elastic(a) => Outer::Elastic(within(a, 0.0, 0.4)),
        Outer::Optimizer(optimizer) => Outer::Optimizer(slow(optimizer, part)),
    };
    let stale = match join.stale {
        Stale::Dc(lambda) => Stale::Dc(within(lambda, 0.0, 0.5)),
        stale => stale,
    };
    let wire = match join.wire {
        Wire::Int4 | Wire::PowerSgd(_) => Wire::F32,
        _ if matches!(outer, Outer::Elastic(_)) => Wire::F32,
        Wire::TopK(fraction) => Wire::TopK(within(fraction, 0.05, 1.0)),
        wire => wire,
    };
    let stays = raw || matches!(outer, Outer::Elastic(_));
    let streams = !stays && join.terms().k == join.n;
    let fits = |frag: &u32| rounds.is_multiple_of(*frag);
    let frag = (1..=join.frag).rev().filter(|_| streams).find(fits).unwrap_or(1);
    let delay = if streams { join.delay % (rounds / frag) } else { 0 };
    let mix = if stays { 0.0 } else { join.mix };
    Join { place, outer, stale, wire, frag, delay, mix, view: View::Whole, ..join }
}

/// An optimizer whose rate is at most `part` of what is sound.
fn slow(optimizer: Optimizer, part: f32) -> Optimizer {
    let wd = |x| within(x, 0.0, 0.1);
    match optimizer {
        Optimizer::Sgd { lr, momentum, nesterov, weight_decay } => {
            let momentum = within(momentum, 0.0, 0.8);
            let (lr, nesterov) = (part * within(lr, 0.01, 0.2), nesterov && momentum > 0.0);
            Optimizer::Sgd { lr, momentum, nesterov, weight_decay: wd(weight_decay) }
        }
        Optimizer::Adam { lr, beta1, beta2, eps, weight_decay } => {
            let (lr, beta1, beta2, eps) = adam(part, lr, beta1, beta2, eps);
            Optimizer::Adam { lr, beta1, beta2, eps, weight_decay: wd(weight_decay) }
        }
        Optimizer::AdamW { lr, beta1, beta2, eps, weight_decay } => {
            let (lr, beta1, beta2, eps) = adam(part, lr, beta1, beta2, eps);
            Optimizer::AdamW { lr, beta1, beta2, eps, weight_decay: wd(weight_decay) }
        }
    }
}

fn adam(part: f32, lr: f32, beta1: f32, beta2: f32, eps: f32) -> (f32, f32, f32, f32) {
    let lr = part * within(lr, 0.001, 0.02);
    (lr, within(beta1, 0.0, 0.95), within(beta2, 0.5, 0.999), within(eps, 1e-8, 1e-3))
}

/// Some number between the two, by the bits of any other.
fn within(x: f32, low: f32, high: f32) -> f32 {
    low + (high - low) * (x.to_bits() % 1021) as f32 / 1021.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Schedule;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn it_runs_and_is_valid(word in word_that_runs()) {
            let schedule = Schedule::Word(word);
            prop_assert!(schedule.not_yet_run().is_empty(), "{schedule}: {:?}", schedule.not_yet_run());
            prop_assert_eq!(crate::parse(&schedule.to_string()), Ok(schedule));
        }
    }
}
