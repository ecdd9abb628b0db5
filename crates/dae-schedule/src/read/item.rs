//! Reads one item: its name, and by it all that stands on it.

use std::ops::Range;

use crate::gradient::GItem;
use crate::model::MItem;
use crate::problem::{Problem, SYNTAX, UNKNOWN};
use crate::read::attribute::tail;
use crate::read::gradient::gradient;
use crate::read::join::model;
use crate::read::step::step;
use crate::read::tail::Given;
use crate::read::token::{Kind, Text, Token, shown};
use crate::read::vocabulary::{ITEMS, OPTIMIZERS, is_item, listed, nearest, suggestion};
use crate::step::Step;

/// An item with its places; what it holds is missing where it was wrong, and that has been reported.
pub(crate) struct Item<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) op: Range<usize>,
    pub(crate) kind: ItemKind,
    /// Where each of its attributes stands, and its place under `@`.
    marks: Vec<(&'a str, Range<usize>)>,
}

pub(crate) enum ItemKind {
    Gradient(Option<GItem>),
    Step(Option<Step>),
    Model(Option<MItem>),
    /// Not an item; reported.
    Other,
}

impl Item<'_> {
    /// Whether the attribute stands on it; `@` is its place.
    pub(crate) fn has_mark(&self, attribute: &str) -> bool {
        self.marks.iter().any(|(name, _)| *name == attribute)
    }

    /// Where the attribute stands; its whole item if it does not.
    pub(crate) fn mark(&self, attribute: &str) -> Range<usize> {
        let found = self.marks.iter().find(|(name, _)| *name == attribute);
        found.map_or(self.text.at.clone(), |(_, at)| at.clone())
    }
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
    if !is_item(op.text) || op.text == "phase" {
        problems.push(not_an_item(first));
        return Item { text, op: op.at, kind: ItemKind::Other, marks: Vec::new() };
    }
    let given = Given { op: op.text, at: op.at.clone(), tail: tail(word, rest, problems) };
    let kind = match op.text {
        "step" => ItemKind::Step(step(&given, problems)),
        "every" | "join" | "gossip" => ItemKind::Model(model(&given, problems)),
        _ => ItemKind::Gradient(gradient(&given, problems)),
    };
    let attributes = given.tail.attributes.iter().map(|each| (each.name.text, each.at.clone()));
    let places = given.tail.places.iter().map(|place| ("@", place.at.clone()));
    let marks = attributes.chain(places).collect();
    Item { text, op: op.at, kind, marks }
}

/// What is wrong with the first token of something that is no item.
fn not_an_item(first: &Token<'_>) -> Problem {
    let name = first.text.text;
    let (at, written) = (first.text.at.clone(), shown(name));
    if first.kind != Kind::Name {
        let message = format!("an item begins with its name, and `{written}` is none");
        return Problem::new(SYNTAX, at, message, format!("begin with one of {}", listed(ITEMS)));
    }
    if name == "phase" {
        let message = "`phase` stands first, before any other item";
        let help = "write `phase step>=500: [word]; [word]`, and nothing around it";
        return Problem::new(SYNTAX, at, message, help);
    }
    let message = format!("there is no item `{written}`");
    let letters = name.trim_end_matches(|last: char| last.is_ascii_digit());
    let help = if OPTIMIZERS.contains(&name) {
        format!("write `step {name}`: `step` closes the gradient with an optimizer")
    } else if is_item(letters) {
        format!("write a space: `{letters} {}`", shown(&name[letters.len()..]))
    } else if let Some(meant) = foreign(name) {
        meant.to_owned()
    } else {
        match nearest(name, ITEMS.iter().copied()) {
            Some(_) => suggestion(name, "items", ITEMS),
            None => format!("the items are {}", listed(ITEMS)),
        }
    };
    Problem::new(UNKNOWN, at, message, help)
}

/// Names that other systems use, and what they are called here.
fn foreign(name: &str) -> Option<&'static str> {
    Some(match name {
        "allreduce" | "all_reduce" | "mirror" | "mirrored" | "ddp" | "data" => {
            "data parallel is `split n`, left of `step`"
        }
        "ps" | "server" | "parameter_server" => "a parameter server is `step raw | join n outer=adam`",
        "local" | "localsgd" | "local_sgd" => "local SGD is `step sgd(0.1) | every 16 | join n`",
        "diloco" => "DiLoCo is `step adamw | every 500 | join n outer=nesterov(0.7,0.9)`",
        "async" | "hogwild" => "asynchronous is `join n sync=async`, right of `step`",
        _ => return None,
    })
}
