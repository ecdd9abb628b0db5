//! What parses and checks, but is not yet run. A line deleted here is an item switched on.

use crate::gradient::{Algo, GItem};
use crate::join::{Outer, View};
use crate::model::MItem;
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
    for items in &reading.words {
        let (mut hubs, mut raw, mut apart, mut coded) = (0, false, false, false);
        for item in items {
            raw |= matches!(&item.kind, ItemKind::Step(Some(step)) if step.closing == Closing::Raw);
            apart |= matches!(&item.kind, ItemKind::Gradient(Some(fold)) if fold.place().is_some_and(Place::spans_nodes));
            coded |= matches!(&item.kind, ItemKind::Gradient(Some(GItem::Split(split))) if split.wire != Wire::F32);
            hubs +=
                usize::from(matches!(&item.kind, ItemKind::Model(Some(MItem::Join(_) | MItem::Gossip(_)))));
            let around = around(item, Inside { hubs, raw, apart, coded });
            for (mark, what, given) in missing(item).into_iter().chain(around) {
                if given {
                    let at = if mark.is_empty() { item.op.clone() } else { item.mark(mark) };
                    problems.push(not_yet(at, what));
                }
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
        ItemKind::Step(Some(step)) => vec![("zero", "`zero` beyond 1", step.zero > 1)],
        ItemKind::Model(Some(MItem::Join(join))) => vec![
            ("@", "`@rack`", join.place == Some(Place::Rack)),
            ("wire", "this `wire` of a `join`", matches!(join.wire, Wire::Int4 | Wire::PowerSgd(_))),
            ("view", "`view=shard`", join.view != View::Whole),
        ],
        ItemKind::Model(Some(MItem::Gossip(gossip))) => {
            vec![("@", "a `gossip` over nodes", gossip.place.is_some_and(Place::spans_nodes))]
        }
        _ => Vec::new(),
    }
}

/// What stands left of an item, or is it.
struct Inside {
    /// Joins and gossips.
    hubs: usize,
    raw: bool,
    apart: bool,
    coded: bool,
}

/// The same for what an item has around it.
fn around(item: &Item<'_>, inside: Inside) -> Vec<(&'static str, &'static str, bool)> {
    let Inside { hubs, raw, apart, coded } = inside;
    match &item.kind {
        ItemKind::Step(Some(step)) => vec![("zero", "`zero` around a `wire`", step.zero == 1 && coded)],
        ItemKind::Model(Some(MItem::Join(join))) => {
            let elastic = matches!(join.outer, Outer::Elastic(_));
            let streams = if join.frag > 1 { "frag" } else { "delay" };
            let hurries = join.streams() && join.terms().k < join.n;
            vec![
                ("", "a `join` around another, or around a `gossip`,", hubs > 1),
                ("", "a `join` around a `split` over a cluster", apart),
                ("outer", "`elastic` around `step raw`", raw && elastic),
                // It stays where it is, and the centre knows that from what it pushes.
                (streams, "`frag` or `delay` of a `join` that does not wait for all", hurries),
                (streams, "`frag` or `delay` of an `elastic` join", elastic && join.streams()),
                (streams, "`frag` or `delay` around `step raw`", raw && join.streams()),
                ("mix", "`mix` around `step raw`", raw && join.mix != 0.0),
                ("mix", "`mix` of an `elastic` join", elastic && join.mix != 0.0),
                ("wire", "a `wire` of an `elastic` join", elastic && join.wire.loses()),
            ]
        }
        ItemKind::Model(Some(MItem::Gossip(_))) => vec![
            ("", "a `gossip` around another, or around a `join`,", hubs > 1),
            ("", "a `gossip` around a `split` over a cluster", apart),
        ],
        _ => Vec::new(),
    }
}

fn not_yet(at: std::ops::Range<usize>, what: &str) -> Problem {
    Problem::new(
        NOT_YET,
        at,
        format!("{what} parses and checks, but is not yet run"),
        "take it out; `accum`, `split`, `step`, `every` and one `join` or `gossip` run today",
    )
}

impl Schedule {
    /// What of it the runtime cannot run yet; each place counts in bytes of `self.to_string()`.
    pub fn not_yet_run(&self) -> Vec<Problem> {
        not_yet_run(&self.to_string())
    }
}
