//! [`Word`]: gradient items, a step, model items.

use std::fmt;

use crate::builder::Gradient;
use crate::gradient::GItem;
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::place::Place;
use crate::step::Step;

/// A word that is known to be valid: gradient items, one step, then model items, from the inside out.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub(crate) gradient: Vec<GItem>,
    pub(crate) step: Step,
    pub(crate) model: Vec<MItem>,
}

impl Word {
    /// Begins a word in Rust; see [`Gradient`].
    pub fn begin() -> Gradient {
        Gradient::new()
    }

    /// What stands left of `step`, the innermost first.
    pub fn gradient(&self) -> &[GItem] {
        &self.gradient
    }

    /// What closes the gradient.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// What stands right of `step`, the innermost first.
    pub fn model(&self) -> &[MItem] {
        &self.model
    }

    /// Micro-batches that each worker folds into one step: the product of all `accum k` and `micro=m`, 1 to
    /// [`crate::MAX_COUNT`].
    ///
    /// Together with [`Word::workers`] it multiplies to a number that fits in 32 bits.
    pub fn accum(&self) -> u32 {
        self.gradient.iter().map(GItem::micro_batches).product()
    }

    /// All workers: the product of all counts over space, 1 to [`crate::MAX_COUNT`].
    pub fn workers(&self) -> u32 {
        self.children().map(|(n, _)| n).product()
    }

    /// Nodes that these workers are spread over: the product of the counts whose children lie on different nodes.
    ///
    /// Those are the ones `@cluster` and `@rack`, and the ones without a place around them.
    pub fn nodes(&self) -> u32 {
        let mut apart = false;
        let mut nodes = 1;
        for (n, place) in self.children().filter(|(n, _)| *n > 1) {
            apart = place.map_or(apart, Place::spans_nodes);
            nodes *= if apart { n } else { 1 };
        }
        nodes
    }

    /// Workers on each of the [`Word::nodes`].
    pub fn workers_per_node(&self) -> u32 {
        self.workers() / self.nodes()
    }

    /// Optimizer steps in one round of the whole word: the product of all `every h`, 1 to [`crate::MAX_COUNT`].
    pub fn period(&self) -> u32 {
        self.model.iter().map(|item| if let MItem::Every(h) = item { *h } else { 1 }).product()
    }

    /// What turns the gradient into a change of the parameters; nothing for `step raw`.
    pub fn optimizer(&self) -> Option<&Optimizer> {
        self.step.optimizer()
    }

    /// The bound on the global norm of the gradient, if there is one; above 0.
    pub fn clip(&self) -> Option<f32> {
        self.step.clip
    }

    /// The counts over space, from the inside out, with their places.
    pub(crate) fn children(&self) -> impl Iterator<Item = (u32, Option<Place>)> {
        let inner = self.gradient.iter().map(|item| (item.children(), item.place()));
        inner.chain(self.model.iter().map(|item| (item.children(), item.place())))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for item in &self.gradient {
            write!(f, "{item} | ")?;
        }
        self.step.fmt(f)?;
        self.model.iter().try_for_each(|item| write!(f, " | {item}"))
    }
}
