//! [`Schedule`]: one word for the whole run, or one after another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::print::Shortest;
use crate::problem::Problem;
use crate::read::{parse, shown};
use crate::word::Word;

/// A schedule that is known to be valid. It prints as it was written, and `parse(print(s)) == s`.
///
/// With serde it is the printed string.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// One word, from the first step to the last.
    Word(Word),
    /// Two words, one after the other.
    Phase(Box<Phase>),
}

/// `phase c: [A]; [B]`: A until the condition holds, then B from A's parameters and step.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// When the second word takes over.
    pub until: Condition,
    /// What goes over besides parameters and step; `carry=`, `params` when left out.
    pub carry: Carry,
    /// What runs first.
    pub first: Word,
    /// What runs then.
    pub then: Word,
}

/// When a phase ends; it is judged between steps, and it holds from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Condition {
    /// So many optimizer steps are done: `step>=500`.
    Step(u64),
    /// So many seconds have gone by since the run began: `time>=90`; `90s`, `15m` and `2h` are read too.
    Time(u64),
    /// The loss of a step is at most this, a finite number: `loss<=0.1`.
    Loss(f32),
    /// The slowest worker takes so many times as long as the median, at least 1: `straggle>=2`.
    Straggle(f32),
}

/// What goes over from one phase to the next, besides parameters and step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carry {
    /// Nothing: optimizers begin anew (`params`).
    #[default]
    Params,
    /// The optimizer's state, where both words step with the same kind of optimizer (`state`).
    State,
}

impl Carry {
    pub(crate) const NAMES: &'static [(&'static str, Self)] =
        &[("params", Self::Params), ("state", Self::State)];
}

impl Schedule {
    /// The word, if there is only one.
    pub fn word(&self) -> Option<&Word> {
        match self {
            Self::Word(word) => Some(word),
            Self::Phase(_) => None,
        }
    }

    /// The word, if there is only one.
    pub fn into_word(self) -> Option<Word> {
        match self {
            Self::Word(word) => Some(word),
            Self::Phase(_) => None,
        }
    }

    /// All its words, in the order they run.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        let (first, then) = match self {
            Self::Word(word) => (word, None),
            Self::Phase(phase) => (&phase.first, Some(&phase.then)),
        };
        std::iter::once(first).chain(then)
    }

    /// The workers it needs: the most that any of its words has.
    pub fn workers(&self) -> u32 {
        self.words().map(Word::workers).max().unwrap_or(1)
    }

    /// The nodes it needs: the most that any of its words has.
    pub fn nodes(&self) -> u32 {
        self.words().map(Word::nodes).max().unwrap_or(1)
    }
}

impl From<Word> for Schedule {
    fn from(word: Word) -> Self {
        Self::Word(word)
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => word.fmt(f),
            Self::Phase(phase) => {
                let Phase { until, carry, first, then } = &**phase;
                let carry = if *carry == Carry::State { " carry=state" } else { "" };
                write!(f, "phase {until}{carry}: [{first}]; [{then}]")
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(steps) => write!(f, "step>={steps}"),
            Self::Time(seconds) => write!(f, "time>={seconds}"),
            Self::Loss(loss) => write!(f, "loss<={}", Shortest(*loss)),
            Self::Straggle(times) => write!(f, "straggle>={}", Shortest(*times)),
        }
    }
}

impl FromStr for Schedule {
    type Err = Vec<Problem>;

    fn from_str(text: &str) -> Result<Self, Vec<Problem>> {
        parse(text)
    }
}

impl Serialize for Schedule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
            de::Error::custom(format!("bad schedule `{}`\n{}", shown(&text), lines.join("\n")))
        })
    }
}
