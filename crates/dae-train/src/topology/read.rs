//! From text to a full table: each key known and fit, defaults filled in, places noted, problems collected.

use std::sync::Arc;

use miette::NamedSource;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::key::{Key, Rule, Section};
use super::marks::Marks;
use super::nearest::nearest;
use super::problem::{Place, Problem, Source};
use super::rule::clip;
use super::sections::SECTIONS;
use super::tree::{insert, lookup, merge, plain, remove};

/// What the overrides are shown as, and as many blanks so that spans in both are the same.
const SET: (&str, &str) = ("--set ", "      ");

/// A topology being read: the table so far, the places of its keys, and what was wrong.
pub(super) struct Reader {
    defaults: Table,
    pub table: Table,
    pub marks: Marks,
    pub problems: Vec<Problem>,
}

impl Reader {
    /// A reader that has read nothing: all keys at their defaults.
    pub fn new(defaults: Table) -> Self {
        Self {
            table: defaults.clone(),
            defaults,
            marks: Marks::default(),
            problems: Vec::new(),
        }
    }

    /// Reads a file's text.
    pub fn file(&mut self, name: &str, text: &str) {
        let source: Source = Arc::new(NamedSource::new(name, text.to_owned()));
        match DeTable::parse(text) {
            Ok(document) => self.document(&source, document.get_ref()),
            Err(error) => {
                // What is missing at the end has no width there; the caret goes under the last character.
                let last = text.trim_end().char_indices().next_back().map_or(0, |(i, _)| i);
                let span = error.span().unwrap_or_default();
                let span = if span.start > last {
                    last..text.trim_end().len()
                } else {
                    span
                };
                let place = Place { source, span };
                let fix = "see https://toml.io for how TOML is written; text stands in quotes";
                self.report("syntax", String::new(), error.message().trim(), fix, Some(place));
            }
        }
    }

    /// Reads one override, `key=value`; a value that is not TOML is taken as text.
    pub fn set(&mut self, text: &str) {
        let source: Source = Arc::new(NamedSource::new("the command line", format!("{}{text}", SET.0)));
        let toml = format!("{}{text}", SET.1);
        let as_text = toml
            .split_once('=')
            .map(|(key, value)| format!("{key}={}", Value::from(value.trim())));
        let parsed = DeTable::parse(&toml)
            .ok()
            .or_else(|| DeTable::parse(as_text.as_deref()?).ok());
        match parsed.filter(|t| !t.get_ref().is_empty()) {
            Some(document) => self.document(&source, document.get_ref()),
            None => {
                let span = SET.0.len()..source.inner().len();
                let fix = "write key=value with a dotted key, such as --set job.steps=100";
                self.report(
                    "syntax",
                    String::new(),
                    "not key=value",
                    fix,
                    Some(Place { source, span }),
                );
            }
        }
    }

    fn document(&mut self, source: &Source, document: &DeTable<'_>) {
        let before = self.problems.len();
        for (key, value) in document {
            let name: &str = key.get_ref();
            let place = at(source, key.span());
            match (SECTIONS.iter().find(|s| s.path == name), value.get_ref()) {
                (Some(section), _) => self.section(source, section, place, value),
                (None, DeValue::Table(actors)) if name == "actors" => {
                    for (actor, value) in actors {
                        let path = ["actors", actor.get_ref()];
                        self.free(source, &path, at(source, actor.span()), value);
                    }
                }
                (None, _) if name == "actors" => self.not_a_section(name, place),
                (None, _) => self.unknown_section(name, place),
            }
        }
        // TOML's tables come sorted by key; people read by line.
        self.problems[before..].sort_by_key(|p| p.place.as_ref().map(|place| place.span.start));
    }

    fn section(
        &mut self,
        source: &Source,
        section: &'static Section,
        place: Place,
        value: &Spanned<DeValue<'_>>,
    ) {
        let DeValue::Table(keys) = value.get_ref() else {
            return self.not_a_section(section.path, place);
        };
        self.marks.note(section.path.into(), place);
        for (key, value) in keys {
            let name: &str = key.get_ref();
            let place = at(source, key.span());
            let inner = SECTIONS
                .iter()
                .find(|s| s.path.strip_prefix(section.path) == Some(&format!(".{name}")));
            match (inner, section.key(name)) {
                (Some(inner), _) => self.section(source, inner, place, value),
                (
                    None,
                    Some(Key {
                        rule: Rule::Table, ..
                    }),
                ) => {
                    let path: Vec<_> = section.path.split('.').chain([name]).collect();
                    self.free(source, &path, place, value);
                }
                (None, Some(key)) => self.key(source, key, value),
                (None, None) => self.unknown_key(section, name, place),
            }
        }
    }

    /// A key of the table of keys.
    fn key(&mut self, source: &Source, key: &'static Key, value: &Spanned<DeValue<'_>>) {
        let dotted = key.dotted();
        let place = at(source, value.span());
        let plain = match plain(value.get_ref()) {
            Ok(plain) => plain,
            Err(reason) => {
                let fix = format!("{} takes {}", key.name, key.rule.wanted());
                return self.report("out-of-range", dotted, reason, fix, Some(place));
            }
        };
        if let DeValue::Array(elements) = value.get_ref() {
            for (i, element) in elements.iter().enumerate() {
                self.marks
                    .note(format!("{dotted}[{i}]"), at(source, element.span()));
            }
        }
        self.marks.note(dotted.clone(), place);
        let flaws = key.rule.flaws(&plain);
        for flaw in &flaws {
            let at = flaw.element.map_or(dotted.clone(), |i| format!("{dotted}[{i}]"));
            let problem = self.marks.problem(flaw.code, &at, &flaw.reason, key.fix(&plain));
            self.problems.push(problem);
        }
        if flaws.is_empty() {
            self.replace(key, source);
            insert(&mut self.table, &dotted, plain);
        }
    }

    /// An override of one of two keys that exclude each other takes the place of the other: `--set job.epochs=3`
    /// must work on a file that gives `job.steps`. Two in the same source are for the consistency check to refuse.
    fn replace(&mut self, key: &Key, source: &Source) {
        let Some(other) = key.instead_of else { return };
        if self
            .marks
            .place(other)
            .is_some_and(|place| !Arc::ptr_eq(&place.source, source))
        {
            self.marks.forget(other);
            match lookup(&self.defaults, other).cloned() {
                Some(default) => insert(&mut self.table, other, default),
                None => remove(&mut self.table, other),
            }
        }
    }

    /// A table whose keys are the user's own; given twice, the two are merged.
    fn free(&mut self, source: &Source, path: &[&str], place: Place, value: &Spanned<DeValue<'_>>) {
        let dotted = path.join(".");
        let taken = match plain(value.get_ref()) {
            Ok(Value::Table(taken)) => taken,
            Ok(_) => return self.not_a_section(&dotted, place),
            Err(reason) => {
                let fix = "simplify the table";
                return self.report(
                    "out-of-range",
                    dotted,
                    reason,
                    fix,
                    Some(at(source, value.span())),
                );
            }
        };
        self.marks.note(dotted, place);
        let mut table = &mut self.table;
        for name in path {
            let entry = table.entry(*name).or_insert_with(|| Value::Table(Table::new()));
            let Value::Table(next) = entry else { return };
            table = next;
        }
        merge(table, taken);
    }

    fn unknown_section(&mut self, name: &str, place: Place) {
        let mut names = SECTIONS
            .iter()
            .map(|s| s.path)
            .filter(|p| !p.contains('.'))
            .collect::<Vec<_>>();
        names.push("actors");
        let home = SECTIONS.iter().find(|s| s.key(name).is_some());
        let fix = match (nearest(name, names.iter().copied()), home) {
            (_, Some(home)) => format!("`{name}` is a key of [{}]: put it under that heading", home.path),
            (Some(meant), None) => format!("did you mean [{meant}]?"),
            (None, None) => format!("the sections are {}", names.join(", ")),
        };
        self.report(
            "unknown-section",
            clip(name),
            "there is no such section",
            fix,
            Some(place),
        );
    }

    fn unknown_key(&mut self, section: &Section, name: &str, place: Place) {
        let inner = SECTIONS
            .iter()
            .filter_map(|s| s.path.strip_prefix(section.path)?.strip_prefix('.'));
        let names: Vec<_> = section.keys.iter().map(|k| k.name).chain(inner).collect();
        let home = SECTIONS.iter().find(|s| s.key(name).is_some());
        let fix = match (nearest(name, names.iter().copied()), home) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, Some(home)) => format!("`{name}` is a key of [{}]", home.path),
            (None, None) => format!("the keys of [{}] are {}", section.path, names.join(", ")),
        };
        let reason = format!("[{}] has no such key", section.path);
        self.report(
            "unknown-key",
            format!("{}.{}", section.path, clip(name)),
            reason,
            fix,
            Some(place),
        );
    }

    fn not_a_section(&mut self, path: &str, place: Place) {
        let fix = format!("write [{}] on a line of its own, and its keys below", clip(path));
        self.report("wrong-type", clip(path), "must be a section", fix, Some(place));
    }

    fn report(
        &mut self,
        code: &'static str,
        key: String,
        reason: impl Into<String>,
        fix: impl Into<String>,
        place: Option<Place>,
    ) {
        self.problems.push(Problem {
            code,
            key,
            reason: reason.into(),
            fix: fix.into(),
            place,
        });
    }
}

fn at(source: &Source, span: std::ops::Range<usize>) -> Place {
    // An override taken as text was parsed with quotes that its source does not show.
    let end = source.inner().len();
    Place {
        source: source.clone(),
        span: span.start.min(end)..span.end.min(end),
    }
}
