//! Cuts the text of a word into tokens; any text can be cut, what makes no sense becomes a symbol.

use std::borrow::Cow;
use std::ops::Range;

/// A piece of the word: what it says and where it stands, in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: Range<usize>,
}

impl Text<'_> {
    /// Whether it begins as a number does; it may still not be one, as `1f1b`.
    pub(crate) fn is_number(&self) -> bool {
        let unsigned = self.text.strip_prefix(['-', '+']).unwrap_or(self.text);
        unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.')
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Name,
    Number,
    /// Any other character, alone.
    Symbol(char),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: Text<'a>,
}

impl Token<'_> {
    pub(crate) fn is(&self, symbol: char) -> bool {
        self.kind == Kind::Symbol(symbol)
    }
}

/// The tokens of a word from left to right; white space only separates them.
pub(crate) fn tokens(word: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = word[start..].chars().next() {
        let (kind, length) = cut(first, &word[start..]);
        let end = start + length;
        if !first.is_whitespace() {
            tokens.push(Token { kind, text: Text { text: &word[start..end], at: start..end } });
        }
        start = end;
    }
    tokens
}

/// The kind and the length in bytes of the token at the start of `rest`, which begins with `first`.
fn cut(first: char, rest: &str) -> (Kind, usize) {
    if first.is_alphabetic() || first == '_' {
        (Kind::Name, name_length(rest))
    } else if (Text { text: rest, at: 0..0 }).is_number() {
        (Kind::Number, number_length(rest))
    } else {
        (Kind::Symbol(first), first.len_utf8())
    }
}

fn name_length(rest: &str) -> usize {
    rest.find(|next: char| !(next.is_alphanumeric() || next == '_')).unwrap_or(rest.len())
}

/// Takes letters too, so that `4MiB` and `1f1b` stay whole; a sign belongs to it after the `e` of an exponent.
fn number_length(rest: &str) -> usize {
    let mut exponent_open = true; // a sign may stand first
    let mut only_digits = true;
    for (place, next) in rest.char_indices() {
        let sign = matches!(next, '-' | '+');
        if !(sign && exponent_open || next.is_alphanumeric() || matches!(next, '.' | '_')) {
            return place;
        }
        exponent_open = only_digits && matches!(next, 'e' | 'E');
        only_digits &= sign || next.is_ascii_digit() || next == '.';
    }
    rest.len()
}

/// A piece of somebody's text, fit to be put into a message: escaped, and cut when long.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    const LONGEST_CHARS: usize = 40;
    if text.chars().count() <= LONGEST_CHARS && text.chars().all(|each| !each.is_control()) {
        return Cow::Borrowed(text);
    }
    let mut short: String = text.chars().take(LONGEST_CHARS).flat_map(char::escape_debug).collect();
    if text.chars().count() > LONGEST_CHARS {
        short.push('…');
    }
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut_up(word: &str) -> Vec<&str> {
        tokens(word).into_iter().map(|token| token.text.text).collect()
    }

    #[test]
    fn cuts_words_as_written() {
        assert_eq!(
            cut_up("accum 4|step adam(1e-3,wd=.1)"),
            ["accum", "4", "|", "step", "adam", "(", "1e-3", ",", "wd", "=", ".1", ")"]
        );
        assert_eq!(cut_up("sched=1f1b bucket=4MiB"), ["sched", "=", "1f1b", "bucket", "=", "4MiB"]);
        assert_eq!(cut_up("-1 +.5 1e+5 - 1-2"), ["-1", "+.5", "1e+5", "-", "1", "-2"]);
        assert_eq!(cut_up("größe\u{a0}π🦀"), ["größe", "π", "🦀"]);
    }

    #[test]
    fn shows_long_and_odd_text_short() {
        assert_eq!(shown("adam"), "adam");
        assert_eq!(shown("\u{7}"), "\\u{7}");
        assert_eq!(shown(&"x".repeat(50)).chars().count(), 41);
    }
}
