//! Reads one item: its name, its count, and what may stand on it.

use std::ops::Range;

use crate::attribute::{Attribute, Tail, tail};
use crate::fold::{Fold, Place};
use crate::number::count;
use crate::problem::{BAD_VALUE, MISPLACED, NOT_YET, Problem, SYNTAX, TWICE, UNKNOWN};
use crate::step::{Closing, step};
use crate::token::{Kind, Text, Token, shown};
use crate::vocabulary::{
    OPTIMIZER_SETTINGS, OPTIMIZERS, PLACES, PLACES_NOT_YET, all_items, attributes, is_item, listed, nearest,
    owner, purpose, suggestion,
};

/// An item with its place; what it holds is missing where it was wrong, and that has been reported.
pub(crate) struct Item<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) kind: ItemKind,
}

pub(crate) enum ItemKind {
    Fold(Option<Fold>),
    Step(Option<Closing>),
    /// Not an item that runs today, by whatever reason; reported.
    Other,
}

/// Reads the tokens between two bars; there is at least one.
pub(crate) fn item<'a>(
    word: &'a str,
    first: &Token<'a>,
    rest: &[Token<'a>],
    problems: &mut Vec<Problem>,
) -> Item<'a> {
    let op = first.text.clone();
    let end = rest.last().unwrap_or(first).text.at.end;
    let text = Text { text: &word[op.at.start..end], at: op.at.start..end };
    let mut read = || tail(word, rest, problems);
    let kind = match op.text {
        "accum" => {
            let tail = read();
            ItemKind::Fold(accum(op.at, &tail, problems))
        }
        "split" => {
            let tail = read();
            ItemKind::Fold(split(op.at, &tail, problems))
        }
        "step" => {
            let tail = read();
            ItemKind::Step(step(op.at, &tail, problems))
        }
        _ => {
            problems.push(not_an_item(first));
            ItemKind::Other
        }
    };
    Item { text, kind }
}

fn accum(op: Range<usize>, tail: &Tail<'_>, problems: &mut Vec<Problem>) -> Option<Fold> {
    let before = problems.len();
    let count = one_count("accum", op, &tail.counts, problems);
    no_places("accum", &tail.places, problems);
    problems.extend(tail.attributes.iter().map(|attribute| stray("accum", attribute)));
    if problems.len() > before { None } else { count.map(Fold::Accum) }
}

fn split(op: Range<usize>, tail: &Tail<'_>, problems: &mut Vec<Problem>) -> Option<Fold> {
    let before = problems.len();
    let workers = one_count("split", op, &tail.counts, problems);
    let place = one_place(&tail.places, problems);
    once(&tail.attributes, problems);
    for attribute in &tail.attributes {
        match attribute.name.text {
            "order" => problems.extend(refused_order(attribute)),
            _ => problems.push(stray("split", attribute)),
        }
    }
    if problems.len() > before { None } else { workers.map(|workers| Fold::Split { workers, place }) }
}

/// `order=any` is what happens without it, so it is accepted and leaves no trace.
fn refused_order(attribute: &Attribute<'_>) -> Option<Problem> {
    let value = attribute.value.as_ref();
    match value.map(|value| value.text) {
        Some("any") => None,
        Some("exact") => Some(Problem::new(
            NOT_YET,
            attribute.at(),
            "`order=exact`, the same bits for any number of workers, is not yet available",
            "leave it out, or write `order=any`: sums are then the same to rounding",
        )),
        _ => Some(Problem::new(
            BAD_VALUE,
            attribute.at(),
            "`order` says in which order gradients are added: `any` or `exact`",
            "write `order=any`, or leave it out",
        )),
    }
}

fn one_count(op: &str, at: Range<usize>, counts: &[Text<'_>], problems: &mut Vec<Problem>) -> Option<u32> {
    let Some((first, more)) = counts.split_first() else {
        let what = if op == "accum" { "micro-batches" } else { "workers" };
        problems.push(Problem::new(
            SYNTAX,
            at,
            format!("`{op}` needs its number of {what}"),
            format!("write it after the name, for example `{op} 4`"),
        ));
        return None;
    };
    problems.extend(more.iter().map(|extra| {
        let message = format!("`{op}` has one count, and `{}` is another", shown(extra.text));
        Problem::new(TWICE, extra.at.clone(), message, "keep one of them")
    }));
    count(op, first, problems)
}

pub(crate) fn no_counts(op: &str, counts: &[Text<'_>], problems: &mut Vec<Problem>) {
    problems.extend(counts.iter().map(|count| {
        let message = format!("`{op}` has no count, and `{}` is one", shown(count.text));
        Problem::new(MISPLACED, count.at.clone(), message, "a learning rate stands in brackets: `adam(1e-3)`")
    }));
}

fn one_place(places: &[Text<'_>], problems: &mut Vec<Problem>) -> Option<Place> {
    let (first, more) = places.split_first()?;
    problems.extend(more.iter().map(|extra| {
        let message = format!("`split` has one place, and `@{}` is another", shown(extra.text));
        Problem::new(TWICE, extra.at.clone(), message, "keep one of them")
    }));
    match first.text {
        "device" => return Some(Place::Device),
        "node" => return Some(Place::Node),
        "cluster" => return Some(Place::Cluster),
        later if PLACES_NOT_YET.contains(&later) => problems.push(Problem::new(
            NOT_YET,
            first.at.clone(),
            format!("`@{later}`, a part of a cluster, is not yet available"),
            "write `@cluster` for one child on each node, or `@node` for all on one",
        )),
        other => problems.push(Problem::new(
            UNKNOWN,
            first.at.clone(),
            format!("there is no place `@{}`", shown(other)),
            suggestion(other, "places", PLACES),
        )),
    }
    None
}

pub(crate) fn no_places(op: &str, places: &[Text<'_>], problems: &mut Vec<Problem>) {
    problems.extend(places.iter().map(|place| {
        let message = format!("`{op}` has no place: only items with several workers lie somewhere");
        Problem::new(MISPLACED, place.at.clone(), message, "take the place out, or write it on `split`")
    }));
}

/// Reports every attribute that was given before.
pub(crate) fn once(attributes: &[Attribute<'_>], problems: &mut Vec<Problem>) {
    for (place, attribute) in attributes.iter().enumerate() {
        let name = attribute.name.text;
        let known = owner(name).is_some();
        if known && attributes[..place].iter().any(|earlier| earlier.name.text == name) {
            let message = format!("`{name}` is given twice");
            problems.push(Problem::new(TWICE, attribute.at(), message, "keep one of the two"));
        }
    }
}

/// What is wrong with an attribute that the item does not take today.
pub(crate) fn stray(op: &str, attribute: &Attribute<'_>) -> Problem {
    let name = attribute.name.text;
    let (at, written) = (attribute.at(), shown(name));
    let taken = attributes(op);
    if taken.not_yet.contains(&name) {
        let message = format!("`{name}` of `{op}` is not yet available");
        return Problem::new(NOT_YET, at, message, format!("leave `{name}` out"));
    }
    if op == "step" && OPTIMIZER_SETTINGS.contains(&name) {
        let message = format!("`{name}` is a setting of the optimizer");
        return Problem::new(
            MISPLACED,
            at,
            message,
            "write it in the optimizer's brackets: `adam(1e-3, wd=0)`",
        );
    }
    if let Some(owner) = owner(name) {
        let message = format!("`{name}` belongs to `{owner}`, not to `{op}`");
        return Problem::new(MISPLACED, at, message, format!("move it to `{owner}`"));
    }
    let (kind, names) = match (op, &attribute.value) {
        ("step", None) => ("optimizers", OPTIMIZERS),
        _ => ("attributes", taken.known),
    };
    let message = if kind == "optimizers" {
        format!("there is no optimizer `{written}`")
    } else {
        format!("`{op}` has no attribute `{written}`")
    };
    let help = if nearest(name, taken.known.iter().chain(taken.not_yet).copied()).is_some() {
        suggestion(name, "attributes", &[taken.known, taken.not_yet].concat())
    } else {
        suggestion(name, kind, names)
    };
    Problem::new(UNKNOWN, at, message, help)
}

/// What is wrong with the first token of an item that does not run today.
fn not_an_item(first: &Token<'_>) -> Problem {
    let name = first.text.text;
    let (at, written) = (first.text.at.clone(), shown(name));
    if first.kind != Kind::Name {
        let message = format!("an item begins with its name, and `{written}` is none");
        return Problem::new(SYNTAX, at, message, "begin with `accum`, `split` or `step`");
    }
    if let Some(purpose) = purpose(name) {
        let message = format!("`{name}`, which {purpose}, is not yet available");
        return Problem::new(NOT_YET, at, message, "take it out; `accum`, `split` and `step` run today");
    }
    let message = format!("there is no item `{written}`");
    let letters = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let help = if OPTIMIZERS.contains(&name) {
        format!("write `step {name}`: `step` closes the gradient with an optimizer")
    } else if is_item(letters) {
        format!("write a space: `{letters} {}`", shown(&name[letters.len()..]))
    } else {
        let names: Vec<_> = all_items().collect();
        match nearest(name, names.iter().copied()) {
            Some(_) => suggestion(name, "items", &names),
            None => format!("the items that run today are {}", listed(crate::vocabulary::ITEMS)),
        }
    };
    Problem::new(UNKNOWN, at, message, help)
}
