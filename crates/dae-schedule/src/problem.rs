//! What is wrong with a word, where, and what to write instead.

use std::ops::Range;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The schedule is refused.
    Error,
    /// The schedule runs, and probably not as meant.
    Warning,
}

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
/// | `E01` | sorts: a gradient item right of `step`, no `step`, or two; `step raw` without a `join` |
/// | `E02` | the counts do not multiply to the workers, or the nodes, there are |
/// | `E03` | the batch is no whole number of grains |
/// | `E04` | `frag`, `delay` and `mix` do not fit the `every` before them |
/// | `E05` | a quorum that can never be, or that does not say what becomes of the late |
/// | `E06` | a `wire` that cannot be added under an `algo` that adds on the way |
/// | `E07` | `powersgd` on matrices too small to gain by it |
/// | `E08` | bits asked of a word whose order depends on time |
/// | `E10` | a gossip graph that is not connected |
/// | `E11` | batch statistics left of `step` |
/// | `E12` | Adam averaged every step is not synchronous Adam |
/// | `E13` | more stages than layers, or stages of unequal length |
/// | `E14` | momentum or Adam at a stale centre |
/// | `E15` | a checkpoint that would lose residuals or inner moments |
/// | `E16` | more memory than a node has |
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}; {help}")]
pub struct Problem {
    /// The kind of problem, stable across versions (see the table above).
    pub code: &'static str,
    /// Whether the schedule can be run all the same.
    pub severity: Severity,
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
        Self { code, severity: Severity::Error, at, message: message.into(), help: help.into() }
    }

    /// The same as a warning.
    pub(crate) fn warning(self) -> Self {
        Self { severity: Severity::Warning, ..self }
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
pub(crate) const WORKERS: &str = "E02";
pub(crate) const GRAINS: &str = "E03";
pub(crate) const FRAGMENTS: &str = "E04";
pub(crate) const QUORUM: &str = "E05";
pub(crate) const ADDING: &str = "E06";
pub(crate) const LOW_RANK: &str = "E07";
pub(crate) const BITS: &str = "E08";
pub(crate) const CONNECTED: &str = "E10";
pub(crate) const STATISTICS: &str = "E11";
pub(crate) const NOT_SYNCHRONOUS: &str = "E12";
pub(crate) const STAGES: &str = "E13";
pub(crate) const STALENESS: &str = "E14";
pub(crate) const CHECKPOINT: &str = "E15";
pub(crate) const MEMORY: &str = "E16";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_one_line() {
        let problem = Problem::new(SYNTAX, 0..0, "the word is empty", "write `step adam`");
        assert_eq!(problem.to_string(), "S01: the word is empty; write `step adam`");
    }
}
