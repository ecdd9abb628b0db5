//! What may stand on an item, and what must not: its count, its place, its attributes.

use std::collections::HashSet;
use std::ops::Range;

use crate::place::Place;
use crate::problem::{MISPLACED, Problem, SYNTAX, TWICE, UNKNOWN};
use crate::read::attribute::{Attribute, Tail};
use crate::read::number::count;
use crate::read::token::{Text, shown};
use crate::read::vocabulary::{
    OPTIMIZER_SETTINGS, OPTIMIZERS, attribute_of, attributes, listed, nearest, owners, suggestion,
};

/// An item's name, where it stands, and all that stands on it.
pub(crate) struct Given<'a> {
    pub(crate) op: &'a str,
    pub(crate) at: Range<usize>,
    pub(crate) tail: Tail<'a>,
}

impl<'a> Given<'a> {
    /// The one count the item must have.
    pub(crate) fn count(&self, what: &str, problems: &mut Vec<Problem>) -> Option<u32> {
        let op = self.op;
        let Some((first, more)) = self.tail.counts.split_first() else {
            problems.push(Problem::new(
                SYNTAX,
                self.at.clone(),
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

    /// Reports any count: the item has none.
    pub(crate) fn no_count(&self, problems: &mut Vec<Problem>) {
        problems.extend(self.tail.counts.iter().map(|count| {
            let message = format!("`{}` has no count, and `{}` is one", self.op, shown(count.text));
            let help = "a learning rate stands in brackets: `adam(1e-3)`";
            Problem::new(MISPLACED, count.at.clone(), message, help)
        }));
    }

    /// The place of its children, if one is named.
    pub(crate) fn place(&self, problems: &mut Vec<Problem>) -> Option<Place> {
        let (first, more) = self.tail.places.split_first()?;
        problems.extend(more.iter().map(|extra| {
            let message = format!("`{}` has one place, and `@{}` is another", self.op, shown(extra.text));
            Problem::new(TWICE, extra.at.clone(), message, "keep one of them")
        }));
        let place = Place::NAMES.iter().find(|(name, _)| *name == first.text).map(|(_, place)| *place);
        if place.is_none() {
            let names: Vec<_> = Place::NAMES.iter().map(|(name, _)| *name).collect();
            problems.push(Problem::new(
                UNKNOWN,
                first.at.clone(),
                format!("there is no place `@{}`", shown(first.text)),
                suggestion(first.text, "places", &names),
            ));
        }
        place
    }

    /// Reports any place: the item has none.
    pub(crate) fn no_place(&self, problems: &mut Vec<Problem>) {
        problems.extend(self.tail.places.iter().map(|place| {
            let message =
                format!("`{}` has no place: only items with several workers lie somewhere", self.op);
            let help = "take the place out, or write it on `split`, `join` or another item over space";
            Problem::new(MISPLACED, place.at.clone(), message, help)
        }));
    }

    /// The attribute of this name, as it was given first.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.tail.attributes.iter().find(|attribute| attribute.name.text == name)
    }

    /// Reports every attribute that the item does not take, and every one given before.
    pub(crate) fn no_strays(&self, problems: &mut Vec<Problem>) {
        let mut seen = HashSet::new();
        for attribute in &self.tail.attributes {
            if !attributes(self.op).contains(&attribute.name.text) {
                problems.push(stray(self.op, attribute));
            } else if !seen.insert(attribute.name.text) {
                problems.push(given_twice(attribute));
            }
        }
    }
}

/// An attribute that was given before.
pub(crate) fn given_twice(attribute: &Attribute<'_>) -> Problem {
    let message = format!("`{}` is given twice", shown(attribute.name.text));
    Problem::new(TWICE, attribute.at.clone(), message, "keep one of the two")
}

/// What is wrong with an attribute that the item does not take.
pub(crate) fn stray(op: &str, attribute: &Attribute<'_>) -> Problem {
    let name = attribute.name.text;
    // Brackets after a name that nobody knows are not to blame.
    let end = attribute.value.as_ref().map_or(attribute.name.at.end, |value| value.at.end);
    let (at, written) = (attribute.name.at.start..end, shown(name));
    if op == "step" && OPTIMIZER_SETTINGS.contains(&name) {
        let message = format!("`{name}` is a setting of the optimizer");
        let help = "write it in the optimizer's brackets: `adam(1e-3, wd=0)`";
        return Problem::new(MISPLACED, at, message, help);
    }
    if let Some((owner, others)) = owners(name).split_first() {
        let others = others.iter().map(|other| format!(" and `{other}`")).collect::<String>();
        let message = format!("`{name}` belongs to `{owner}`{others}, not to `{op}`");
        return Problem::new(MISPLACED, at, message, format!("move it to `{owner}`, or take it out"));
    }
    if let Some(taking) = attribute_of(op, name) {
        let message = format!("`{name}` is a value of `{taking}`, and stands here alone");
        let brackets = if attribute.arguments.is_some() { "(…)" } else { "" };
        return Problem::new(MISPLACED, at, message, format!("write `{taking}={name}{brackets}`"));
    }
    if OPTIMIZERS.contains(&name) {
        let message = format!("`{name}` is an optimizer, and `{op}` takes none");
        return Problem::new(MISPLACED, at, message, format!("write it after `step`: `step {name}`"));
    }
    let taken = attributes(op);
    let (kind, names) = match (op, &attribute.value) {
        ("step", None) if nearest(name, taken.iter().copied()).is_none() => ("optimizers", OPTIMIZERS),
        _ => ("attributes", taken),
    };
    let message = match kind {
        "optimizers" => format!("there is no optimizer `{written}`"),
        _ => format!("`{op}` has no attribute `{written}`"),
    };
    Problem::new(UNKNOWN, at, message, suggestion(name, kind, names))
}

/// What an item takes, as prose for a message: the text of a place that lists names.
pub(crate) fn choices(names: &[&'static str], written: &Text<'_>) -> String {
    match nearest(written.text, names.iter().copied()) {
        Some(_) => suggestion(written.text, "values", names),
        None => format!("write one of {}", listed(names)),
    }
}
