//! Tables as trees: dotted keys, merging, and values without their spans.

use toml::de::DeValue;
use toml::{Table, Value};

use super::rule::clip;

/// How deep a user's own table may nest; what is written back must be readable again.
const DEEPEST: usize = 16;

/// The value without its spans, or why it cannot be one.
pub(super) fn plain(value: &DeValue<'_>) -> Result<Value, String> {
    plain_within(value, DEEPEST)
}

fn plain_within(value: &DeValue<'_>, depth: usize) -> Result<Value, String> {
    let deeper = depth
        .checked_sub(1)
        .ok_or_else(|| format!("nests more than {DEEPEST} deep"));
    Ok(match value {
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(n) => {
            let parsed = i64::from_str_radix(n.as_str(), n.radix());
            Value::Integer(parsed.map_err(|_| format!("{} does not fit in 64 bits", clip(n.as_str())))?)
        }
        DeValue::Float(x) => Value::Float(
            x.as_str()
                .parse()
                .map_err(|_| format!("{} is no number", clip(x.as_str())))?,
        ),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(d) => Value::Datetime(*d),
        DeValue::Array(items) => {
            let deeper = deeper?;
            Value::Array(
                items
                    .iter()
                    .map(|v| plain_within(v.get_ref(), deeper))
                    .collect::<Result<_, _>>()?,
            )
        }
        DeValue::Table(table) => {
            let deeper = deeper?;
            let pairs = table
                .iter()
                .map(|(k, v)| Ok((k.get_ref().to_string(), plain_within(v.get_ref(), deeper)?)));
            Value::Table(pairs.collect::<Result<_, String>>()?)
        }
    })
}

/// Adds the one table to the other, inner tables likewise; what both hold is taken from the added one.
pub(super) fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// The value at a dotted key of the table of keys.
pub(super) fn lookup<'a>(table: &'a Table, dotted: &str) -> Option<&'a Value> {
    let (path, name) = dotted.rsplit_once('.')?;
    path.split('.')
        .try_fold(table, |t, part| t.get(part)?.as_table())?
        .get(name)
}

/// The table a dotted key lies in, and the key's own name.
fn parent<'a, 'k>(table: &'a mut Table, dotted: &'k str) -> Option<(&'a mut Table, &'k str)> {
    let (path, name) = dotted.rsplit_once('.')?;
    let inner = path
        .split('.')
        .try_fold(table, |t, part| t.get_mut(part)?.as_table_mut())?;
    Some((inner, name))
}

/// Puts a value at a dotted key.
pub(super) fn insert(table: &mut Table, dotted: &str, value: Value) {
    if let Some((inner, name)) = parent(table, dotted) {
        inner.insert(name.into(), value);
    }
}

/// Takes a dotted key out of the table.
pub(super) fn remove(table: &mut Table, dotted: &str) {
    if let Some((inner, name)) = parent(table, dotted) {
        inner.remove(name);
    }
}
