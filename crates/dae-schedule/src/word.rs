//! [`Word`]: a schedule that is known to be valid.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::builder::Gradient;
use crate::fold::{Fold, Place};
use crate::number::Shortest;
use crate::optimizer::Optimizer;
use crate::parse::parse;
use crate::problem::Problem;

/// A valid schedule: gradient items, then one `step`. It prints as it was written, and `parse(print(w)) == w`.
///
/// With serde it is the printed string.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    pub(crate) folds: Vec<Fold>,
    pub(crate) optimizer: Optimizer,
    pub(crate) clip: Option<f32>,
}

impl Word {
    /// Begins a word in Rust; see [`Gradient`].
    pub fn gradient() -> Gradient {
        Gradient::new()
    }

    /// Micro-batches that each worker folds into one step: the product of all `accum k`, 1 to [`crate::MAX_COUNT`].
    ///
    /// Together with [`Word::workers`] it multiplies to a number that fits in 32 bits.
    pub fn accum(&self) -> u32 {
        self.folds.iter().map(|fold| if let Fold::Accum(count) = fold { *count } else { 1 }).product()
    }

    /// Workers whose gradients are summed: the product of all `split n`, 1 to [`crate::MAX_COUNT`].
    pub fn workers(&self) -> u32 {
        self.folds
            .iter()
            .map(|fold| if let Fold::Split { workers, .. } = fold { *workers } else { 1 })
            .product()
    }

    /// Nodes that these workers are spread over: the count of `split n @cluster`, or 1.
    pub fn nodes(&self) -> u32 {
        let nodes = |fold: &Fold| match fold {
            Fold::Split { workers, place: Some(Place::Cluster) } => *workers,
            _ => 1,
        };
        self.folds.iter().map(nodes).product()
    }

    /// Workers on each of the [`Word::nodes`].
    pub fn workers_per_node(&self) -> u32 {
        self.workers() / self.nodes()
    }

    /// What turns the gradient into a change of the parameters.
    pub fn optimizer(&self) -> &Optimizer {
        &self.optimizer
    }

    /// The bound on the global norm of the gradient, if there is one; above 0.
    pub fn clip(&self) -> Option<f32> {
        self.clip
    }

    /// The normal form: words that the laws G1 to G3 make equal have the same one.
    ///
    /// Folds of one child vanish (G1); `accum`s merge, and so do neighbouring `split`s of one place (G2); `accum`
    /// stands innermost (G3). `split`s of different places stay apart and in order: they are different machines.
    pub fn normal(&self) -> Word {
        let mut folds: Vec<Fold> = Vec::new();
        if self.accum() > 1 {
            folds.push(Fold::Accum(self.accum()));
        }
        for fold in self.folds.iter().filter(|fold| !fold.is_nothing()) {
            let Fold::Split { workers, place } = *fold else {
                continue;
            };
            match folds.last_mut() {
                Some(Fold::Split { workers: outer, place: same }) if *same == place => *outer *= workers,
                _ => folds.push(Fold::Split { workers, place }),
            }
        }
        Word { folds, optimizer: self.optimizer, clip: self.clip }
    }

    /// 64-bit FNV-1a over the printed normal form: stable for ever, on every machine.
    ///
    /// Checkpoints and handshakes carry it. It tells schedules apart; it is no protection against forgery.
    pub fn hash(&self) -> u64 {
        const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let printed = self.normal().to_string();
        printed.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fold in &self.folds {
            write!(f, "{fold} | ")?;
        }
        write!(f, "step {}", self.optimizer)?;
        match self.clip {
            Some(clip) => write!(f, " clip={}", Shortest(clip)),
            None => Ok(()),
        }
    }
}

impl FromStr for Word {
    type Err = Vec<Problem>;

    fn from_str(text: &str) -> Result<Self, Vec<Problem>> {
        parse(text)
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
            de::Error::custom(format!("bad schedule `{}`\n{}", crate::token::shown(&text), lines.join("\n")))
        })
    }
}
