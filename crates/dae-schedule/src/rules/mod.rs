//! The rules of check. Those of the word alone make a text a schedule or not; the others need facts, or only warn.
//!
//! | module | rules |
//! |---|---|
//! | `facts` | [`Facts`]: what is known of machines, data and model |
//! | `own` | those of the word alone: E01 for `raw`, E04, E05, E06, E10 |
//! | `mesh` | E02 workers and nodes, E03 grains |
//! | `factors` | the nearest counts that multiply to what there is |
//! | `dynamics` | E08 bits, E11 batch statistics, E12 and E14 what learns worse than it looks |
//! | `model` | E07 low rank, E13 stages |
//! | `state` | E15 checkpoints, E16 memory |

mod dynamics;
mod factors;
mod facts;
mod mesh;
mod model;
mod own;
mod state;

pub use facts::{Checkpoint, Facts};
pub(crate) use own::own;
pub use state::memory_per_node;

use crate::problem::{Problem, Severity, TOO_MANY};
use crate::read::{Item, read};
use crate::schedule::Schedule;
use crate::word::Word;

/// What a check found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The schedule; nothing if it has an error.
    pub schedule: Option<Schedule>,
    /// All problems in the order of the text, warnings among them.
    pub problems: Vec<Problem>,
}

impl Checked {
    /// Whether nothing is wrong enough to refuse the schedule.
    pub fn is_ok(&self) -> bool {
        self.schedule.is_some()
    }
}

/// Checks a schedule by all rules, as far as the facts go.
pub fn check(text: &str, facts: &Facts) -> Checked {
    let reading = read(text);
    let mut problems = reading.problems;
    // What multiplies to more than there may be is not multiplied any further.
    let countable = problems.iter().all(|problem| problem.code != TOO_MANY);
    if let Some(schedule) = reading.schedule.as_ref().filter(|_| countable) {
        for (word, items) in schedule.words().zip(&reading.words) {
            with_facts(&Line { word, items }, facts, &mut problems);
        }
    }
    problems.sort_by_key(|problem| (problem.at.start, problem.at.end));
    let refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    Checked { schedule: reading.schedule.filter(|_| !refused), problems }
}

/// A word that was understood, and where its items stand.
struct Line<'l, 'a> {
    word: &'l Word,
    items: &'l [Item<'a>],
}

fn with_facts(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    mesh::workers(line, facts, problems);
    mesh::nodes(line, facts, problems);
    mesh::grains(line, facts, problems);
    dynamics::bits(line, facts, problems);
    dynamics::batch_statistics(line, facts, problems);
    dynamics::not_synchronous(line, problems);
    dynamics::staleness(line, problems);
    model::low_rank(line, facts, problems);
    model::stages(line, facts, problems);
    state::checkpoint(line, facts, problems);
    state::memory(line, facts, problems);
}
