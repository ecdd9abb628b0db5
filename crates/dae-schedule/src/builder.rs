//! Words from Rust, with the two sorts as two types: what is not a word does not compile.

use std::fmt;

use crate::gossip::Gossip;
use crate::gradient::{GItem, Pipe, Split, Tensor};
use crate::join::Join;
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::place::Place;
use crate::problem::Problem;
use crate::read::parse;
use crate::step::{Closing, Step};
use crate::word::Word;

/// A gradient that is still open: folds may wrap it, and a step closes it.
///
/// ```
/// use dae_schedule::{Join, Optimizer, Outer, Word};
/// let outer = Outer::Nesterov { lr: 0.7, mu: 0.9 };
/// let model = Word::begin().accum(4).split(2).step(Optimizer::adam(1e-3)).clip(1.0);
/// let word = model.every(20).join(Join { outer, ..Join::new(3) }).build().unwrap();
/// let text = "accum 4 | split 2 | step adam(1e-3) clip=1 | every 20 | join 3 outer=nesterov(0.7,0.9)";
/// assert_eq!(word.to_string(), text);
/// ```
///
/// A fold right of `step` is not a word, and not a program either:
///
/// ```compile_fail,E0599
/// use dae_schedule::{Optimizer, Word};
/// let word = Word::begin().step(Optimizer::adam(1e-3)).accum(4).build();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gradient {
    items: Vec<GItem>,
}

impl Gradient {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Folds `count` micro-batches over time: `accum k`.
    #[must_use]
    pub fn accum(self, count: u32) -> Self {
        self.item(GItem::Accum(count))
    }

    /// Folds `workers` replicas over space, where they fit best: `split n`.
    #[must_use]
    pub fn split(self, workers: u32) -> Self {
        self.item(GItem::Split(Split::new(workers)))
    }

    /// Folds `workers` replicas that lie as `place` says: `split n @place`.
    #[must_use]
    pub fn split_at(self, workers: u32, place: Place) -> Self {
        self.item(GItem::Split(Split { place: Some(place), ..Split::new(workers) }))
    }

    /// Folds replicas over space with all its settings: `Split { overlap: true, ..Split::new(4) }`.
    #[must_use]
    pub fn split_with(self, split: Split) -> Self {
        self.item(GItem::Split(split))
    }

    /// Cuts the layers into stages: `pipe p`.
    #[must_use]
    pub fn pipe(self, pipe: Pipe) -> Self {
        self.item(GItem::Pipe(pipe))
    }

    /// Cuts wide layers: `tensor n`.
    #[must_use]
    pub fn tensor(self, tensor: Tensor) -> Self {
        self.item(GItem::Tensor(tensor))
    }

    /// Wraps any item that may stand left of `step`.
    #[must_use]
    pub fn item(mut self, item: GItem) -> Self {
        self.items.push(item);
        self
    }

    /// Closes the gradient: `step optimizer`.
    #[must_use]
    pub fn step(self, optimizer: Optimizer) -> Model {
        self.close(Step::new(Closing::Optimizer(optimizer)))
    }

    /// Hands the gradient on as the displacement, for a `join` to apply: `step raw`.
    #[must_use]
    pub fn step_raw(self) -> Model {
        self.close(Step::new(Closing::Raw))
    }

    /// Closes the gradient with this step.
    #[must_use]
    pub fn close(self, step: Step) -> Model {
        Model { draft: Word { gradient: self.items, step, model: Vec::new() } }
    }
}

/// A model process: a closed gradient, which model items may wrap. It prints as the word it would be.
#[derive(Clone, Debug)]
pub struct Model {
    draft: Word,
}

impl Model {
    /// Scales the gradient down where its global norm is above `bound`: `clip=bound`.
    #[must_use]
    pub fn clip(mut self, bound: f32) -> Self {
        self.draft.step.clip = Some(bound);
        self
    }

    /// Cuts state, gradient and parameters over the replicas: `zero=level`, 0 to 3.
    #[must_use]
    pub fn zero(mut self, level: u8) -> Self {
        self.draft.step.zero = level;
        self
    }

    /// Makes a round of `rounds` inner rounds: `every h`.
    #[must_use]
    pub fn every(self, rounds: u32) -> Self {
        self.item(MItem::Every(rounds))
    }

    /// Puts children around a centre: `join n`.
    #[must_use]
    pub fn join(self, join: Join) -> Self {
        self.item(MItem::Join(join))
    }

    /// Lets peers mix without a centre: `gossip n`.
    #[must_use]
    pub fn gossip(self, gossip: Gossip) -> Self {
        self.item(MItem::Gossip(gossip))
    }

    /// Wraps any item that may stand right of `step`.
    #[must_use]
    pub fn item(mut self, item: MItem) -> Self {
        self.draft.model.push(item);
        self
    }

    /// Checks the word by the very rules of [`parse`].
    ///
    /// # Errors
    /// All problems; each place counts in bytes of `self.to_string()`.
    pub fn build(&self) -> Result<Word, Vec<Problem>> {
        let schedule = parse(&self.to_string())?;
        // A builder prints one word and never a phase, so there is always one here.
        Ok(schedule.into_word().unwrap_or_else(|| self.draft.clone()))
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.draft.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_what_text_says() {
        let built = Word::begin().split_at(2, Place::Node).accum(3).step(Optimizer::sgd(0.1)).build();
        assert_eq!(
            built.map(crate::schedule::Schedule::Word),
            parse("split 2 @node | accum 3 | step sgd(.1)")
        );
    }

    #[test]
    fn refuses_what_text_refuses() {
        let adam =
            Optimizer::Adam { lr: f32::NAN, beta1: 1.0, beta2: -0.5, eps: f32::INFINITY, weight_decay: 0.0 };
        let model = Word::begin().accum(0).split(100_000).step(adam).clip(0.0);
        let printed = model.to_string();
        let blamed: Vec<_> =
            model.build().unwrap_err().into_iter().map(|p| printed[p.at].to_owned()).collect();
        assert_eq!(blamed, ["0", "100000", "NaN", "1", "-0.5", "inf", "0"]);
    }
}
