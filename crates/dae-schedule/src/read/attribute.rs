//! The shape of what follows an item's name: `name`, `name=value`, `name(…)`, `@place`, and a count.
//!
//! Nothing here knows what the names mean; that is judged by the item they stand on.

use std::ops::Range;

use crate::problem::{Problem, SYNTAX};
use crate::read::token::{Kind, Text, Token, shown};

/// One thing standing on an item.
pub(crate) struct Attribute<'a> {
    pub(crate) name: Text<'a>,
    /// What stands right of `=`.
    pub(crate) value: Option<Call<'a>>,
    /// What stands in brackets after the name.
    pub(crate) arguments: Option<Vec<Argument<'a>>>,
    /// From its name to the end of its value or brackets.
    pub(crate) at: Range<usize>,
}

impl<'a> Attribute<'a> {
    /// The name and its brackets, as the same thing would stand right of a `=`.
    pub(crate) fn call(&self) -> Call<'a> {
        Call { head: self.name.clone(), arguments: self.arguments.clone(), at: self.at.clone() }
    }

    /// Whether it is the name alone.
    pub(crate) fn is_bare(&self) -> bool {
        self.value.is_none() && self.arguments.is_none()
    }
}

/// A name or a number, with brackets or without: `int8`, `lr/tau`, `4MiB`, `quorum(8,drop)`.
#[derive(Clone)]
pub(crate) struct Call<'a> {
    pub(crate) head: Text<'a>,
    pub(crate) arguments: Option<Vec<Argument<'a>>>,
    pub(crate) at: Range<usize>,
}

/// One entry in brackets: `1e-3`, `nesterov` or `beta1=0.9`.
#[derive(Clone)]
pub(crate) struct Argument<'a> {
    pub(crate) name: Option<Text<'a>>,
    pub(crate) value: Text<'a>,
}

/// The most that may stand on one item, and in one pair of brackets: more than any takes.
const MOST: usize = 32;

/// All that stands on an item, in the order written, as far as it has a shape.
#[derive(Default)]
pub(crate) struct Tail<'a> {
    pub(crate) counts: Vec<Text<'a>>,
    pub(crate) attributes: Vec<Attribute<'a>>,
    pub(crate) places: Vec<Text<'a>>,
}

/// Reads the tokens after an item's name.
pub(crate) fn tail<'a>(word: &'a str, tokens: &[Token<'a>], problems: &mut Vec<Problem>) -> Tail<'a> {
    let mut reader = Reader { word, tokens, next: 0, problems };
    let mut tail = Tail::default();
    let mut read = 0;
    while let Some(token) = reader.take() {
        if read == MOST {
            reader.too_many(&token);
            break;
        }
        read += 1;
        match token.kind {
            Kind::Number => tail.counts.push(token.text),
            Kind::Name => {
                if let Some(attribute) = reader.attribute(token.text) {
                    tail.attributes.push(attribute);
                }
            }
            Kind::Symbol('@') => tail.places.extend(reader.place(&token)),
            Kind::Symbol(_) => reader.unexpected(token),
        }
    }
    tail
}

struct Reader<'r, 'a> {
    word: &'a str,
    tokens: &'r [Token<'a>],
    next: usize,
    problems: &'r mut Vec<Problem>,
}

impl<'a> Reader<'_, 'a> {
    fn peek(&self) -> Option<&Token<'a>> {
        self.tokens.get(self.next)
    }

    fn take(&mut self) -> Option<Token<'a>> {
        let token = self.peek().cloned();
        self.next += usize::from(token.is_some());
        token
    }

    /// Takes the next token if it is this symbol.
    fn take_symbol(&mut self, symbol: char) -> Option<Token<'a>> {
        if self.peek().is_some_and(|token| token.is(symbol)) { self.take() } else { None }
    }

    /// Takes the next token if it is a name or a number.
    fn take_text(&mut self) -> Option<Text<'a>> {
        let is_text = self.peek().is_some_and(|token| !matches!(token.kind, Kind::Symbol(_)));
        if is_text { self.take().map(|token| token.text) } else { None }
    }

    fn report(&mut self, at: Range<usize>, message: String, help: impl Into<String>) {
        self.problems.push(Problem::new(SYNTAX, at, message, help));
    }

    fn too_many(&mut self, first: &Token<'a>) {
        let message = format!("here stand more than {MOST} settings, and nothing takes so many");
        self.report(first.text.at.clone(), message, "take some out");
    }

    /// Reports a run of symbols that have no business here, as one problem.
    fn unexpected(&mut self, first: Token<'a>) {
        let mut end = first.text.at.end;
        while let Some(more) = self.peek() {
            if !matches!(more.kind, Kind::Symbol(symbol) if !matches!(symbol, '@' | ',' | ')')) {
                break;
            }
            end = more.text.at.end;
            self.next += 1;
        }
        let at = first.text.at.start..end;
        let message = format!("`{}` has no meaning here", shown(&self.word[at.clone()]));
        self.report(at, message, "take it out; settings are written `name`, `name=value` or `@place`");
    }

    fn place(&mut self, sign: &Token<'a>) -> Option<Text<'a>> {
        let place = self.take_text();
        if place.is_none() {
            let message = "`@` names a place, and none follows".to_owned();
            self.report(sign.text.at.clone(), message, "write `@node` or `@device`, or take the `@` out");
        }
        place
    }

    fn attribute(&mut self, name: Text<'a>) -> Option<Attribute<'a>> {
        if let Some(equals) = self.take_symbol('=') {
            let value = self.call(&name, &equals)?;
            let at = name.at.start..value.at.end;
            return Some(Attribute { name, value: Some(value), arguments: None, at });
        }
        let arguments = self.brackets(&name);
        let at = name.at.start..self.end();
        Some(Attribute { name, value: None, arguments, at })
    }

    /// Where the token taken last ends.
    fn end(&self) -> usize {
        self.next.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(0, |token| token.text.at.end)
    }

    /// Reads what stands right of `=`: a name or a number, and what clings to it as in `lr/tau` or `ssp(3)`.
    fn call(&mut self, name: &Text<'a>, equals: &Token<'a>) -> Option<Call<'a>> {
        let head = self.value(name, equals)?;
        let arguments = self.brackets(&head);
        let at = head.at.start..self.end();
        Some(Call { head, arguments, at })
    }

    /// Reads what stands right of `=`, without brackets.
    fn value(&mut self, name: &Text<'a>, equals: &Token<'a>) -> Option<Text<'a>> {
        let Some(first) = self.take_text() else {
            let message = format!("`{}=` is missing its value", shown(name.text));
            self.report(name.at.start..equals.text.at.end, message, "write a name or a number after the `=`");
            return None;
        };
        let mut end = first.at.end;
        while self.take_symbol('/').is_some() {
            end = self.take_text().map_or(end, |more| more.at.end);
        }
        Some(Text { text: &self.word[first.at.start..end], at: first.at.start..end })
    }

    fn brackets(&mut self, name: &Text<'a>) -> Option<Vec<Argument<'a>>> {
        let open = self.take_symbol('(')?;
        Some(self.arguments(name, &open))
    }

    /// Reads the entries up to the closing bracket; one missing bracket is one problem.
    fn arguments(&mut self, name: &Text<'a>, open: &Token<'a>) -> Vec<Argument<'a>> {
        let mut arguments = Vec::new();
        if self.take_symbol(')').is_some() {
            return arguments;
        }
        for _ in 0..MOST {
            if self.peek().is_none() {
                let message = format!("the bracket after `{}` is never closed", shown(name.text));
                self.report(open.text.at.clone(), message, "write `)` after the last setting");
                return arguments;
            }
            arguments.extend(self.argument());
            if self.take_symbol(')').is_some() {
                return arguments;
            }
            if self.take_symbol(',').is_none()
                && let Some(at) = self.peek().map(|token| token.text.at.clone())
            {
                let message = format!("settings of `{}` are parted by commas", shown(name.text));
                self.report(at.start..at.start, message, "write `,` here");
            }
        }
        if let Some(token) = self.peek().cloned() {
            self.too_many(&token);
        }
        while self.take().is_some_and(|token| !token.is(')')) {}
        arguments
    }

    fn argument(&mut self) -> Option<Argument<'a>> {
        let Some(first) = self.take_text() else {
            let token = self.peek()?.clone();
            if token.is(',') || token.is(')') {
                let message = "a setting is missing here".to_owned();
                self.report(token.text.at, message, "write the setting, or take the comma out");
            } else {
                self.next += 1;
                self.unexpected(token);
            }
            return None;
        };
        match self.take_symbol('=') {
            None => Some(Argument { name: None, value: first }),
            Some(equals) => {
                let value = self.value(&first, &equals)?;
                Some(Argument { name: Some(first), value })
            }
        }
    }
}
