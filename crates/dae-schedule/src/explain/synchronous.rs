//! The nearest word in which all wait for all.

use serde::Serialize;

use crate::gradient::{GItem, Split};
use crate::join::{Join, Outer};
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::place::Place;
use crate::step::{Closing, Step};
use crate::wire::Wire;
use crate::word::Word;

/// The nearest word in which all wait for all at each step: what an approximate one is to be compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Synchronous {
    /// The word.
    pub word: String,
    /// What is different.
    pub says: String,
}

/// The same workers on the same places with the same batch, all of them left of `step`; nothing if the word is like
/// that already.
pub(crate) fn synchronous(word: &Word) -> Option<Synchronous> {
    let apart = |item: &&MItem| item.children() > 1;
    word.model().iter().find(apart)?;
    let mut gradient = word.gradient().to_vec();
    for item in word.model().iter().filter(apart) {
        let wire = if let MItem::Join(join) = item { join.wire } else { Wire::F32 };
        gradient.push(replicas(item.children(), item.place(), wire));
    }
    let closing = match (word.step().closing, applies(word)) {
        (Closing::Raw, Some(join)) => Closing::Optimizer(optimizer(join)),
        (closing, _) => closing,
    };
    let step = Step { closing, ..*word.step() };
    let period = word.period();
    let says = match period {
        1 => "all wait for all at each step".to_owned(),
        _ => format!("all wait for all at each step, {period} times as often"),
    };
    Some(Synchronous { word: Word { gradient, step, model: Vec::new() }.normal().to_string(), says })
}

/// The join whose centre a raw gradient comes to first.
fn applies(word: &Word) -> Option<&Join> {
    word.model().iter().find_map(|item| if let MItem::Join(join) = item { Some(join) } else { None })
}

fn replicas(n: u32, place: Option<Place>, wire: Wire) -> GItem {
    GItem::Split(Split { place, wire, ..Split::new(n) })
}

/// What does to a gradient what a join does to a displacement.
fn optimizer(join: &Join) -> Optimizer {
    let momentum = |lr: f32, momentum: f32, nesterov: bool| Optimizer::Sgd {
        lr,
        momentum,
        nesterov: nesterov && momentum > 0.0,
        weight_decay: 0.0,
    };
    match join.outer {
        Outer::Avg => Optimizer::sgd(1.0),
        Outer::Elastic(a) => Optimizer::sgd(if a > 0.0 { a } else { 1.0 }),
        Outer::Nesterov { lr, mu } => momentum(lr, mu, true),
        Outer::SlowMo { a, b } => momentum(a, b, false),
        Outer::Optimizer(optimizer) => optimizer,
    }
}
