//! Reads the value of an attribute: a choice of names, a flag, a number, or a name with numbers in brackets.

use crate::problem::{BAD_VALUE, Problem, SYNTAX, TWICE, UNKNOWN};
use crate::read::attribute::{Attribute, Call, Tail, tail};
use crate::read::number::{Bound, bytes, number, whole};
use crate::read::tail::{Given, choices};
use crate::read::token::{Kind, Text, shown, tokens};
use crate::read::vocabulary::{listed, suggestion};
use crate::wire::Wire;

impl<'a> Given<'a> {
    /// The value of the attribute called `name`, if it is given; one without a value is reported.
    pub(crate) fn value(&self, name: &str, example: &str, problems: &mut Vec<Problem>) -> Option<&Call<'a>> {
        let attribute = self.attribute(name)?;
        if attribute.value.is_none() {
            let message = format!("`{name}` is missing its value");
            let help = format!("write it with `=`, for example `{name}={example}`");
            problems.push(Problem::new(SYNTAX, attribute.at.clone(), message, help));
        }
        attribute.value.as_ref()
    }

    /// One of several names; the default where it is not given.
    pub(crate) fn choice<T: Copy + Default>(
        &self,
        name: &str,
        names: &'static [(&'static str, T)],
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        let example = names.last().map_or("", |(name, _)| name);
        match (self.value(name, example, problems), self.attribute(name)) {
            (Some(call), Some(attribute)) => chosen(attribute, call, names, problems),
            (_, Some(_)) => None,
            (_, None) => Some(T::default()),
        }
    }

    /// Whether the flag stands on the item.
    pub(crate) fn flag(&self, name: &str, problems: &mut Vec<Problem>) -> bool {
        let Some(attribute) = self.attribute(name) else { return false };
        if !attribute.is_bare() {
            let help = format!("write `{name}` alone, or leave it out");
            let message = format!("`{name}` takes no value");
            problems.push(Problem::new(BAD_VALUE, attribute.at.clone(), message, help));
        }
        true
    }

    /// A whole number within its bounds; `default` where it is not given.
    pub(crate) fn whole(
        &self,
        name: &str,
        (least, most): (u32, u32),
        default: u32,
        problems: &mut Vec<Problem>,
    ) -> Option<u32> {
        if self.attribute(name).is_none() {
            return Some(default);
        }
        let call = self.value(name, &least.max(most.min(4)).to_string(), problems)?;
        let text = plain(name, call, problems)?;
        let number = whole(name, text, (u64::from(least), u64::from(most)), problems)?;
        u32::try_from(number).ok()
    }

    /// A number within its bound; nothing where it is not given, or where it is wrong.
    pub(crate) fn number(
        &self,
        name: &str,
        bound: Bound,
        example: f32,
        problems: &mut Vec<Problem>,
    ) -> Option<f32> {
        let call = self.value(name, &example.to_string(), problems)?;
        number(name, plain(name, call, problems)?, bound, example, problems)
    }

    /// A number of bytes; nothing where it is not given, or where it is wrong.
    pub(crate) fn bytes(&self, name: &str, problems: &mut Vec<Problem>) -> Option<u64> {
        let call = self.value(name, "4MiB", problems)?;
        bytes(name, plain(name, call, problems)?, problems)
    }

    /// `wire=`; `f32` where it is not given.
    pub(crate) fn wire(&self, problems: &mut Vec<Problem>) -> Option<Wire> {
        const NAMES: &[&str] = &["f32", "bf16", "f16", "int8", "int4", "topk", "powersgd"];
        if self.attribute("wire").is_none() {
            return Some(Wire::F32);
        }
        let call = self.value("wire", "bf16", problems)?;
        let simple = match call.head.text {
            "f32" => Wire::F32,
            "bf16" => Wire::Bf16,
            "f16" => Wire::F16,
            "int8" => Wire::Int8,
            "int4" => Wire::Int4,
            "topk" => {
                let [fraction] = numbers(call, ["f"], "topk(0.01)", problems)?;
                return number("topk", &fraction, Bound::Part, 0.01, problems).map(Wire::TopK);
            }
            "powersgd" => {
                let [rank] = numbers(call, ["r"], "powersgd(4)", problems)?;
                let rank = whole("powersgd", &rank, (1, 65_536), problems)?;
                return u32::try_from(rank).ok().map(Wire::PowerSgd);
            }
            _ => {
                problems.push(no_such("wire", &call.head, NAMES));
                return None;
            }
        };
        plain("wire", call, problems).map(|_| simple)
    }
}

fn chosen<T: Copy>(
    attribute: &Attribute<'_>,
    call: &Call<'_>,
    names: &'static [(&'static str, T)],
    problems: &mut Vec<Problem>,
) -> Option<T> {
    let head = plain(attribute.name.text, call, problems)?;
    let found = names.iter().find(|(name, _)| *name == head.text).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
        problems.push(no_such(attribute.name.text, head, &names));
    }
    found
}

/// A value that is none of the names an attribute takes.
pub(crate) fn no_such(attribute: &str, written: &Text<'_>, names: &[&'static str]) -> Problem {
    let message = format!("`{attribute}` is one of {}, and `{}` is none", listed(names), shown(written.text));
    Problem::new(BAD_VALUE, written.at.clone(), message, choices(names, written))
}

/// The head of a value that has no brackets.
pub(crate) fn plain<'c, 'a>(
    name: &str,
    call: &'c Call<'a>,
    problems: &mut Vec<Problem>,
) -> Option<&'c Text<'a>> {
    if call.arguments.is_none() {
        return Some(&call.head);
    }
    let written = shown(call.head.text);
    let message = format!("`{written}` of `{name}` has no brackets");
    problems.push(Problem::new(SYNTAX, call.at.clone(), message, format!("write `{name}={written}`")));
    None
}

/// The entries in brackets after a name, in the order of `names`; each may be written with its name or without.
pub(crate) fn numbers<'a, const N: usize>(
    call: &Call<'a>,
    names: [&'static str; N],
    example: &str,
    problems: &mut Vec<Problem>,
) -> Option<[Text<'a>; N]> {
    let before = problems.len();
    let mut found = [const { None }; N];
    for (place, argument) in call.arguments.iter().flatten().enumerate() {
        let slot = match &argument.name {
            None => place,
            Some(name) => match names.iter().position(|known| *known == name.text) {
                Some(slot) => slot,
                None => {
                    let message = format!("`{}` has no setting `{}`", call.head.text, shown(name.text));
                    let help = suggestion(name.text, "settings", &names);
                    problems.push(Problem::new(UNKNOWN, name.at.clone(), message, help));
                    continue;
                }
            },
        };
        let value = argument.value.clone();
        match found.get_mut(slot) {
            Some(empty @ None) => *empty = Some(value),
            _ => {
                let (head, written) = (call.head.text, shown(value.text));
                let message = format!("`{head}` takes {N} settings, and `{written}` is one too many");
                let code = if slot < N { TWICE } else { SYNTAX };
                problems.push(Problem::new(code, value.at, message, format!("write `{example}`")));
            }
        }
    }
    if problems.len() > before {
        return None;
    }
    if found.iter().any(Option::is_none) {
        let message = format!("`{}` takes {} in brackets", call.head.text, listed(&names));
        problems.push(Problem::new(SYNTAX, call.at.clone(), message, format!("write `{example}`")));
        return None;
    }
    let mut found = found.into_iter().flatten();
    let texts = [const { Text { text: "", at: 0..0 } }; N];
    Some(texts.map(|empty| found.next().unwrap_or(empty)))
}

/// Whether the text is one value and nothing more: `4`, `int8`, `lr/tau`, `adam(1e-3, wd=0)`.
pub(crate) fn is_call(text: &str) -> bool {
    let tokens = tokens(text);
    let mut open = None;
    for (place, token) in tokens.iter().enumerate() {
        let fits = match (token.kind, open) {
            (Kind::Name | Kind::Number, None) => place == 0 || tokens[place - 1].is('/'),
            (Kind::Symbol('/'), None) => place > 0,
            (Kind::Symbol('('), None) => {
                open = Some(place);
                place > 0
            }
            (Kind::Symbol(')'), Some(_)) => place + 1 == tokens.len(),
            (Kind::Symbol(symbol), Some(_)) => matches!(symbol, ',' | '='),
            (Kind::Symbol(_), None) => false,
            (_, Some(_)) => true,
        };
        if !fits {
            return false;
        }
    }
    !tokens.is_empty() && (open.is_none() || tokens.last().is_some_and(|last| last.is(')')))
}

/// A printed item as keys with their values: `item`, `n`, `place`, `optimizer`, and its attributes.
pub(crate) fn pieces(item: &str) -> Vec<(&str, Option<&str>)> {
    let tokens = tokens(item);
    let Some((first, rest)) = tokens.split_first() else { return Vec::new() };
    let mut problems = Vec::new();
    let Tail { counts, attributes, places } = tail(item, rest, &mut problems);
    let op = first.text.text;
    let attribute = |each: &Attribute<'_>| {
        let bare = op == "step" && each.value.is_none();
        match &each.value {
            _ if bare => ("optimizer", item.get(each.at.clone())),
            Some(value) => (name_in(item, &each.name), item.get(value.at.clone())),
            None => (name_in(item, &each.name), None),
        }
    };
    let mut pieces = vec![("item", Some(op))];
    pieces.extend(counts.iter().map(|count| ("n", item.get(count.at.clone()))));
    pieces.extend(places.iter().map(|place| ("place", item.get(place.at.clone()))));
    pieces.extend(attributes.iter().map(attribute));
    pieces
}

fn name_in<'a>(item: &'a str, name: &Text<'_>) -> &'a str {
    item.get(name.at.clone()).unwrap_or("")
}
