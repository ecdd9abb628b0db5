//! Judging one value by the rule of its key.

use toml::Value;

use super::key::{Key, LAYERS, MOST_NAMES, Rule, WIDTHS};
use super::nearest::nearest;

/// What is wrong with a value.
pub(super) struct Flaw {
    /// What kind of problem it is.
    pub code: &'static str,
    /// The reason.
    pub reason: String,
    /// The element at fault, when the value is a list.
    pub element: Option<usize>,
}

impl Flaw {
    fn new(code: &'static str, reason: String) -> Self {
        Self { code, reason, element: None }
    }
}

impl Rule {
    /// Everything wrong with the value; nothing if it may stand.
    pub fn flaws(&self, value: &Value) -> Vec<Flaw> {
        let flaw = match (*self, value) {
            (Rule::Layers, Value::Array(widths)) => return layers(widths),
            (Rule::Names, Value::Array(names)) => return self::names(names),
            (Rule::Int { min, max }, Value::Integer(n)) => outside(*n, min, max),
            (Rule::Float { min, max }, Value::Float(x)) if x.is_finite() => outside(*x, min, max),
            (Rule::Float { min, max }, Value::Integer(n)) => outside(*n as f64, min, max),
            (Rule::Float { .. }, Value::Float(x)) => Some(format!("must be a finite number, found {x}")),
            (Rule::Text | Rule::Kind(_), Value::String(s)) if s.trim().is_empty() => {
                Some("must not be empty".into())
            }
            (Rule::Name, Value::String(s)) if !is_name(s) => Some(NO_NAME.into()),
            (Rule::OneOf([only]), Value::String(s)) if s != only => {
                let reason = format!("\"{}\" is not available yet; only \"{only}\" is", clip(s));
                return vec![Flaw::new("not-available", reason)];
            }
            (Rule::OneOf(words), Value::String(s)) if !words.contains(&s.as_str()) => {
                return vec![Flaw::new("not-allowed", format!("\"{}\" is not {}", clip(s), one_of(words)))];
            }
            (Rule::Bool, Value::Boolean(_))
            | (Rule::Table, Value::Table(_))
            | (Rule::Text | Rule::Name | Rule::OneOf(_) | Rule::Kind(_), Value::String(_)) => None,
            _ => {
                let reason = format!("must be {}, found {}", self.wanted(), found(value));
                return vec![Flaw::new("wrong-type", reason)];
            }
        };
        flaw.map(|reason| Flaw::new("out-of-range", reason)).into_iter().collect()
    }

    /// What the key takes, to end a sentence with.
    pub fn wanted(&self) -> String {
        match self {
            Rule::Bool => "true or false".into(),
            Rule::Int { min, max: i64::MAX } => format!("a whole number, {min} or more"),
            Rule::Int { min, max } => format!("a whole number from {min} to {max}"),
            Rule::Float { min, max } => format!("a number from {min} to {max}"),
            Rule::Text => "text in quotes".into(),
            Rule::Name => "a name in quotes".into(),
            Rule::Names => "a list of names in quotes".into(),
            Rule::OneOf(words) => one_of(words),
            Rule::Kind(words) => format!("{}, or a name your program registers", one_of(words)),
            Rule::Layers => format!(
                "a list of {} to {} widths, each from {} to {}",
                LAYERS.start(),
                LAYERS.end(),
                WIDTHS.start(),
                WIDTHS.end()
            ),
            Rule::Table => "a table".into(),
        }
    }
}

impl Key {
    /// What to write instead of a value that will not do.
    pub fn fix(&self, value: &Value) -> String {
        if let (Rule::OneOf(words), Value::String(s)) = (self.rule, value)
            && let Some(word) = nearest(s, words.iter().copied())
        {
            return format!("did you mean \"{word}\"?");
        }
        let text = matches!(self.rule, Rule::Text | Rule::Name);
        match value {
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if text => {
                format!("put it in quotes: {} = \"{value}\"", self.name)
            }
            _ => format!("{} takes {}", self.name, self.rule.wanted()),
        }
    }
}

/// At most the first few characters of something a user wrote, to quote in a sentence.
pub(super) fn clip(text: &str) -> String {
    const LONGEST: usize = 48;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

fn outside<T: PartialOrd + std::fmt::Display>(x: T, min: T, max: T) -> Option<String> {
    if x < min {
        Some(format!("must be at least {min}, found {x}"))
    } else if x > max {
        Some(format!("must be at most {max}, found {x}"))
    } else {
        None
    }
}

fn layers(widths: &[Value]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    if !LAYERS.contains(&widths.len()) {
        let reason =
            format!("must list {} to {} widths, found {}", LAYERS.start(), LAYERS.end(), widths.len());
        flaws.push(Flaw::new("out-of-range", reason));
    }
    let width = Rule::Int { min: *WIDTHS.start(), max: *WIDTHS.end() };
    for (i, value) in widths.iter().enumerate().take(*LAYERS.end()) {
        flaws.extend(width.flaws(value).into_iter().map(|flaw| Flaw { element: Some(i), ..flaw }));
    }
    flaws
}

fn names(names: &[Value]) -> Vec<Flaw> {
    if names.len() > MOST_NAMES {
        let reason = format!("must list at most {MOST_NAMES} names, found {}", names.len());
        return vec![Flaw::new("out-of-range", reason)];
    }
    let flaw = |(i, name): (usize, &Value)| {
        let (code, reason) = match name {
            Value::String(s) if !is_name(s) => ("out-of-range", NO_NAME.to_owned()),
            Value::String(s) if names[..i].contains(name) => ("conflict", format!("lists {s} twice")),
            Value::String(_) => return None,
            _ => ("wrong-type", format!("must list names in quotes, found {}", found(name))),
        };
        Some(Flaw { element: Some(i), ..Flaw::new(code, reason) })
    };
    names.iter().enumerate().filter_map(flaw).collect()
}

const NO_NAME: &str = "must be a name of at most 64 letters, digits, `-`, `_` and `.`";

fn is_name(text: &str) -> bool {
    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.len() <= 64 && !text.starts_with('.') && text.chars().all(fit)
}

fn one_of(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|w| format!("\"{w}\"")).collect();
    match quoted.as_slice() {
        [only] => only.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
        [] => "nothing".into(),
    }
}

fn found(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a fraction",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date or time",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}
