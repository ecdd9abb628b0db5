//! What is wrong with a word, where, and what to write instead.

use std::ops::Range;

/// One thing wrong with a word. Parsing reports all of them, never only the first.
///
/// | code | meaning |
/// |---|---|
/// | `S01` | the text does not have the shape of a word |
/// | `S02` | a name the language does not know |
/// | `S03` | something that parses and checks, but is not yet run |
/// | `S04` | a number or a value out of its bounds |
/// | `S05` | the same thing given twice |
/// | `S06` | the text is too long to be read |
/// | `S07` | more micro-batches or workers than a schedule may have |
/// | `S08` | a known name on an item it does not belong to |
/// | `S09` | an item that lies around one whose children are further apart |
/// | `E01` | sorts: a gradient item right of `step`, no `step`, or two |
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}; {help}")]
pub struct Problem {
    /// The kind of problem, stable across versions (see the table above).
    pub code: &'static str,
    /// Where, in bytes into the word: always within it and on character boundaries. It may be empty.
    pub at: Range<usize>,
    /// What is wrong and why, in one sentence without a full stop.
    pub message: String,
    /// What to write instead, in one sentence without a full stop.
    pub help: String,
}

impl Problem {
    pub(crate) fn new(
        code: &'static str,
        at: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { code, at, message: message.into(), help: help.into() }
    }
}

pub(crate) const SYNTAX: &str = "S01";
pub(crate) const UNKNOWN: &str = "S02";
pub(crate) const NOT_YET: &str = "S03";
pub(crate) const BAD_VALUE: &str = "S04";
pub(crate) const TWICE: &str = "S05";
pub(crate) const TOO_LONG: &str = "S06";
pub(crate) const TOO_MANY: &str = "S07";
pub(crate) const MISPLACED: &str = "S08";
pub(crate) const AROUND_A_CLUSTER: &str = "S09";
pub(crate) const SORTS: &str = "E01";
pub(crate) const FRAGMENTS: &str = "E04";
pub(crate) const QUORUM: &str = "E05";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_line() {
        let problem = Problem::new(SYNTAX, 0..0, "the word is empty", "write `step adam`");
        assert_eq!(problem.to_string(), "S01: the word is empty; write `step adam`");
    }
}
