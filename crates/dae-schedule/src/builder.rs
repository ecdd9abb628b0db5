//! Words from Rust, with the two sorts as two types: what is not a word does not compile.

use std::fmt;

use crate::fold::{Fold, Place};
use crate::optimizer::Optimizer;
use crate::parse::parse;
use crate::problem::Problem;
use crate::word::Word;

/// A gradient that is still open: folds may wrap it, and a step closes it.
///
/// ```
/// use dae_schedule::{Optimizer, Word};
/// let word = Word::gradient().accum(4).split(2).step(Optimizer::adam(1e-3)).clip(1.0).build().unwrap();
/// assert_eq!(word.to_string(), "accum 4 | split 2 | step adam(1e-3) clip=1");
/// ```
///
/// A fold right of `step` is not a word, and not a program either:
///
/// ```compile_fail,E0599
/// use dae_schedule::{Optimizer, Word};
/// let word = Word::gradient().step(Optimizer::adam(1e-3)).accum(4).build();
/// ```
#[derive(Clone, Debug)]
pub struct Gradient {
    folds: Vec<Fold>,
}

impl Gradient {
    pub(crate) fn new() -> Self {
        Self { folds: Vec::new() }
    }

    /// Folds `count` micro-batches over time: `accum k`.
    #[must_use]
    pub fn accum(self, count: u32) -> Self {
        self.with(Fold::Accum(count))
    }

    /// Folds `workers` replicas over space, where they fit best: `split n`.
    #[must_use]
    pub fn split(self, workers: u32) -> Self {
        self.with(Fold::Split { workers, place: None })
    }

    /// Folds `workers` replicas that lie as `place` says: `split n @place`.
    #[must_use]
    pub fn split_at(self, workers: u32, place: Place) -> Self {
        self.with(Fold::Split {
            workers,
            place: Some(place),
        })
    }

    /// Closes the gradient: `step optimizer`.
    #[must_use]
    pub fn step(self, optimizer: Optimizer) -> Model {
        Model {
            draft: Word {
                folds: self.folds,
                optimizer,
                clip: None,
            },
        }
    }

    fn with(mut self, fold: Fold) -> Self {
        self.folds.push(fold);
        self
    }
}

/// A model process: a closed gradient, ready to be checked. It prints as the word it would be.
#[derive(Clone, Debug)]
pub struct Model {
    draft: Word,
}

impl Model {
    /// Scales the gradient down where its global norm is above `bound`: `clip=bound`.
    #[must_use]
    pub fn clip(mut self, bound: f32) -> Self {
        self.draft.clip = Some(bound);
        self
    }

    /// Checks the word by the very rules of [`parse`].
    ///
    /// # Errors
    /// All problems; each place counts in bytes of `self.to_string()`.
    pub fn build(&self) -> Result<Word, Vec<Problem>> {
        parse(&self.to_string())
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
        let built = Word::gradient()
            .split_at(2, Place::Node)
            .accum(3)
            .step(Optimizer::sgd(0.1))
            .build();
        assert_eq!(built, parse("split 2 @node | accum 3 | step sgd(.1)"));
    }

    #[test]
    fn refuses_what_text_refuses() {
        let adam = Optimizer::Adam {
            lr: f32::NAN,
            beta1: 1.0,
            beta2: -0.5,
            eps: f32::INFINITY,
            weight_decay: 0.0,
        };
        let model = Word::gradient().accum(0).split(100_000).step(adam).clip(0.0);
        let printed = model.to_string();
        let blamed: Vec<_> = model
            .build()
            .unwrap_err()
            .into_iter()
            .map(|p| printed[p.at].to_owned())
            .collect();
        assert_eq!(blamed, ["0", "100000", "NaN", "1", "-0.5", "inf", "0"]);
    }
}
