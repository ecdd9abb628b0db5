//! [`Layers`]: the long form of a schedule, one table for each item, as in TOML's `[[schedule.layer]]`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::problem::Problem;
use crate::read::{is_call, parse, pieces, shown};
use crate::schedule::Schedule;

/// A schedule in its long form. With serde it is a list of tables, and it reads back to the same schedule.
///
/// Each table has an `item`; what the word says without a name is called `n` (the count), `place`, `optimizer` (of a
/// `step`; `raw` too) and `until` (of a `phase`, which stands between the items of its two words). All other keys are
/// the item's attributes, and `true` raises a flag. A key that the item does not know is refused.
///
/// ```toml
/// [[schedule.layer]]
/// item = "split"
/// n = 4
/// place = "node"
///
/// [[schedule.layer]]
/// item = "step"
/// optimizer = "adamw(1e-3)"
/// clip = 1.0
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Table>", into = "Vec<Table>")]
pub struct Layers(pub Schedule);

type Table = BTreeMap<String, Value>;

/// What a key may hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    Flag(bool),
    Whole(u64),
    Number(f64),
    Text(String),
}

impl Value {
    /// As it stands in a word; nothing if no value of a word looks so.
    fn word(&self) -> Option<String> {
        match self {
            Self::Flag(_) => None,
            Self::Whole(number) => Some(number.to_string()),
            Self::Number(number) => Some(format!("{number:?}")),
            Self::Text(text) => is_call(text).then(|| text.clone()),
        }
    }
}

impl TryFrom<Vec<Table>> for Layers {
    type Error = String;

    /// Writes the word out and reads it.
    fn try_from(tables: Vec<Table>) -> Result<Self, String> {
        let mut words = vec![Vec::new()];
        let mut phase = None;
        for (place, table) in tables.iter().enumerate() {
            let blame = |why: String| format!("layer {}: {why}", place + 1);
            if table.get("item") == Some(&Value::Text("phase".into())) {
                if phase.is_some() {
                    return Err(blame("a schedule has one `phase`, and this is another".into()));
                }
                phase = Some(head(table).map_err(blame)?);
                words.push(Vec::new());
            } else if let Some(word) = words.last_mut() {
                word.push(item(table).map_err(blame)?);
            }
        }
        let words: Vec<String> = words.iter().map(|items| items.join(" | ")).collect();
        let text = match (phase, words.as_slice()) {
            (Some(head), [first, then]) => format!("{head}: [{first}]; [{then}]"),
            _ => words.concat(),
        };
        parse(&text).map(Self).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
            format!("bad layers, which make `{}`\n{}", shown(&text), lines.join("\n"))
        })
    }
}

/// The item of a word that a table says.
fn item(table: &Table) -> Result<String, String> {
    let mut text = match table.get("item") {
        Some(Value::Text(op)) if is_call(op) => op.clone(),
        _ => return Err("`item` must name an item, such as \"split\"".into()),
    };
    for (key, value) in table.iter().filter(|(key, _)| *key != "item") {
        let said = || {
            value.word().ok_or_else(|| {
                format!(
                    "`{}` holds what no word can say; write a name, a number or \"name(number)\"",
                    shown(key)
                )
            })
        };
        match (key.as_str(), value) {
            ("n" | "optimizer", _) => text += &format!(" {}", said()?),
            ("place", _) => text += &format!(" @{}", said()?),
            (key, _) if !is_call(key) || key.contains('(') => {
                return Err(format!("there is no key `{}`", shown(key)));
            }
            (key, Value::Flag(true)) => text += &format!(" {key}"),
            (_, Value::Flag(false)) => {}
            (key, _) => text += &format!(" {key}={}", said()?),
        }
    }
    Ok(text)
}

/// The head of a phase that a table says.
fn head(table: &Table) -> Result<String, String> {
    let mut text = String::from("phase");
    for (key, value) in table.iter().filter(|(key, _)| *key != "item").rev() {
        match (key.as_str(), value) {
            ("until", Value::Text(until)) if !until.contains([':', '[', ']', '|']) => {
                text += &format!(" {until}")
            }
            ("carry", Value::Text(carry)) if is_call(carry) => text += &format!(" carry={carry}"),
            (key, _) => {
                return Err(format!(
                    "`phase` takes `until`, such as \"step>=500\", and `carry`; `{}` is neither or has no such value",
                    shown(key)
                ));
            }
        }
    }
    Ok(text)
}

impl From<Layers> for Vec<Table> {
    fn from(Layers(schedule): Layers) -> Self {
        let words: Vec<Vec<Table>> = schedule
            .words()
            .map(|word| {
                let items = word.gradient().iter().map(ToString::to_string);
                let items = items.chain([word.step().to_string()]);
                items.chain(word.model().iter().map(ToString::to_string)).map(|item| table(&item)).collect()
            })
            .collect();
        let Schedule::Phase(phase) = &schedule else { return words.concat() };
        let mut head = Table::from([
            ("item".into(), Value::Text("phase".into())),
            ("until".into(), Value::Text(phase.until.to_string())),
        ]);
        if phase.carry == crate::schedule::Carry::State {
            head.insert("carry".into(), Value::Text("state".into()));
        }
        words.join(&[head][..])
    }
}

/// The table of a printed item.
fn table(item: &str) -> Table {
    let text = |text: &str| match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(whole), _) => Value::Whole(whole),
        (_, Ok(number)) => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    };
    let entry = |(key, value): (&str, Option<&str>)| match (key, value) {
        (key, Some(value)) => (key.to_owned(), text(value)),
        (key, None) => (key.to_owned(), Value::Flag(true)),
    };
    pieces(item).into_iter().map(entry).collect()
}
