//! Reads what stands in the brackets of an optimizer: the learning rate, named settings and flags.

use crate::problem::{BAD_VALUE, Problem, SYNTAX, TWICE, UNKNOWN};
use crate::read::attribute::Call;
use crate::read::number::{Bound, number};
use crate::read::token::{Text, shown};
use crate::read::vocabulary::{listed, suggestion};

/// The settings given to one optimizer, by name; each is there once and known.
pub(crate) struct Settings<'a> {
    given: Vec<(&'a str, Text<'a>)>,
    flags: Vec<Text<'a>>,
}

impl<'a> Settings<'a> {
    /// Sorts the arguments of `optimizer` by name. The first may go without one: it is the learning rate.
    pub(crate) fn sort(
        optimizer: &Call<'a>,
        numbers: &'static [&'static str],
        flags: &'static [&'static str],
        problems: &mut Vec<Problem>,
    ) -> Self {
        let mut settings = Self { given: Vec::new(), flags: Vec::new() };
        let called = optimizer.head.text;
        let names = [numbers, flags].concat();
        for (place, argument) in optimizer.arguments.iter().flatten().enumerate() {
            let value = argument.value.clone();
            match &argument.name {
                Some(name) if numbers.contains(&name.text) => settings.give(name.text, name, value, problems),
                Some(name) if flags.contains(&name.text) => problems.push(Problem::new(
                    BAD_VALUE,
                    value.at,
                    format!("`{}` takes no value", name.text),
                    format!("write `{}` alone, or leave it out", name.text),
                )),
                Some(name) => problems.push(unknown(called, name, &names)),
                None if value.is_number() && place == 0 => {
                    settings.give("lr", &value.clone(), value, problems)
                }
                None if value.is_number() => problems.push(Problem::new(
                    SYNTAX,
                    value.at,
                    "only the learning rate, which stands first, goes without a name".to_owned(),
                    format!("write `name=` before it; `{called}` takes {}", listed(&names)),
                )),
                None if flags.contains(&value.text) => settings.raise(value, problems),
                None if numbers.contains(&value.text) => problems.push(Problem::new(
                    SYNTAX,
                    value.at.clone(),
                    format!("`{}` is missing its value", value.text),
                    format!("write `{}=` and a number", value.text),
                )),
                None => problems.push(unknown(called, &value, &names)),
            }
        }
        settings
    }

    fn give(&mut self, name: &'a str, at: &Text<'a>, value: Text<'a>, problems: &mut Vec<Problem>) {
        if self.given.iter().any(|(given, _)| *given == name) {
            problems.push(twice(name, at));
        } else {
            self.given.push((name, value));
        }
    }

    fn raise(&mut self, flag: Text<'a>, problems: &mut Vec<Problem>) {
        if self.flags.iter().any(|raised| raised.text == flag.text) {
            problems.push(twice(flag.text, &flag));
        } else {
            self.flags.push(flag);
        }
    }

    /// The number called `name`, or its default if it was not given; nothing if what was given is out of bounds.
    pub(crate) fn number(
        &self,
        name: &str,
        bound: Bound,
        default: f32,
        problems: &mut Vec<Problem>,
    ) -> Option<f32> {
        match self.given.iter().find(|(given, _)| *given == name) {
            Some((_, text)) => number(name, text, bound, default, problems),
            None => Some(default),
        }
    }

    /// Where the flag stands, if it was given.
    pub(crate) fn flag(&self, name: &str) -> Option<&Text<'a>> {
        self.flags.iter().find(|flag| flag.text == name)
    }
}

fn unknown(optimizer: &str, name: &Text<'_>, names: &[&'static str]) -> Problem {
    Problem::new(
        UNKNOWN,
        name.at.clone(),
        format!("`{optimizer}` has no setting `{}`", shown(name.text)),
        match name.text {
            "weight_decay" => "did you mean `wd`?".to_owned(),
            other => suggestion(other, "settings", names),
        },
    )
}

fn twice(name: &str, at: &Text<'_>) -> Problem {
    Problem::new(TWICE, at.at.clone(), format!("`{name}` is given twice"), "keep one of the two")
}
