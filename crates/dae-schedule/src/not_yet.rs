//! What parses and checks, but is not yet run. A line deleted here is an item switched on.

use crate::gradient::{Algo, GItem};
use crate::place::Place;
use crate::problem::{NOT_YET, Problem};
use crate::read::{Item, ItemKind, read};
use crate::schedule::Schedule;
use crate::step::Closing;
use crate::wire::Wire;

/// What of a schedule the runtime cannot run yet, each with its place in the text it was read from.
///
/// A text that is no schedule gives nothing here: [`crate::parse`] has told what is wrong with it.
pub fn not_yet_run(text: &str) -> Vec<Problem> {
    let reading = read(text);
    let mut problems = Vec::new();
    if let Some(at) = &reading.phase {
        problems.push(not_yet(at.clone(), "`phase`"));
    }
    for item in reading.words.iter().flatten() {
        for (mark, what, given) in missing(item) {
            if given {
                let at = if mark.is_empty() { item.op.clone() } else { item.mark(mark) };
                problems.push(not_yet(at, what));
            }
        }
    }
    problems
}

/// One row for each thing that does not run: where it is marked, what it is, whether this item has it.
fn missing(item: &Item<'_>) -> Vec<(&'static str, &'static str, bool)> {
    let across =
        matches!(&item.kind, ItemKind::Gradient(Some(GItem::Split(s))) if s.place == Some(Place::Cluster));
    match &item.kind {
        ItemKind::Gradient(Some(GItem::Pipe(_))) => vec![("", "`pipe`", true)],
        ItemKind::Gradient(Some(GItem::Tensor(_))) => vec![("", "`tensor`", true)],
        ItemKind::Gradient(Some(GItem::Split(split))) => vec![
            ("algo", "a choice of `algo` other than over a cluster", split.algo != Algo::Auto && !across),
            ("wire", "a `wire` other than over a cluster", split.wire != Wire::F32 && !across),
            ("wire", "this `wire`", across && split.wire == Wire::Int4),
            ("bucket", "`bucket`", split.bucket.is_some()),
            ("overlap", "`overlap`", split.overlap),
            ("@", "`@rack`", split.place == Some(Place::Rack)),
        ],
        ItemKind::Step(Some(step)) => {
            vec![("raw", "`step raw`", step.closing == Closing::Raw), ("zero", "`zero`", step.zero != 0)]
        }
        ItemKind::Model(Some(model)) => vec![("", name(model), true)],
        _ => Vec::new(),
    }
}

fn name(model: &crate::model::MItem) -> &'static str {
    match model {
        crate::model::MItem::Every(_) => "`every`",
        crate::model::MItem::Join(_) => "`join`",
        crate::model::MItem::Gossip(_) => "`gossip`",
    }
}

fn not_yet(at: std::ops::Range<usize>, what: &str) -> Problem {
    Problem::new(
        NOT_YET,
        at,
        format!("{what} parses and checks, but is not yet run"),
        "take it out; `accum`, `split` and `step` with an optimizer run today",
    )
}

impl Schedule {
    /// What of it the runtime cannot run yet; each place counts in bytes of `self.to_string()`.
    pub fn not_yet_run(&self) -> Vec<Problem> {
        not_yet_run(&self.to_string())
    }
}
