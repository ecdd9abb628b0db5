//! [`Unsupported`]: words that have no meaning here.

/// Why a word cannot be interpreted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    /// As many parameters as the model has are needed to start from.
    #[error("the model has {model} parameters and {given} are given to start from; give as many")]
    Parameters {
        /// How many the model has.
        model: usize,
        /// How many were given.
        given: usize,
    },
    /// The item needs something of what stands left of it, or forbids it.
    #[error("item {item} of the word, `{text}`: {reason}")]
    Item {
        /// Which of the items right of `step`, counted from 0; of those left of it, likewise.
        item: usize,
        /// The item as it prints.
        text: String,
        /// What is amiss, and what to write instead.
        reason: &'static str,
    },
}

pub(super) const LOW_RANK: &str =
    "low-rank factors need the shapes of matrices, which flat parameters do not have; choose another `wire`";

impl Unsupported {
    pub(super) fn item(item: usize, text: &impl std::fmt::Display, reason: &'static str) -> Self {
        Self::Item { item, text: text.to_string(), reason }
    }
}
