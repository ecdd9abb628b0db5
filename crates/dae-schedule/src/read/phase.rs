//! Reads `phase c: [A]; [B]`.

use std::ops::Range;

use crate::problem::{BAD_VALUE, Problem, SYNTAX, TWICE, UNKNOWN};
use crate::read::number::{Bound, number, whole};
use crate::read::token::{Kind, Text, Token, shown};
use crate::read::value::no_such;
use crate::read::vocabulary::suggestion;
use crate::schedule::{Carry, Condition};

/// A phase as far as it has a shape: its head, and the tokens of its words.
pub(crate) struct Phase<'t, 'a> {
    pub(crate) until: Option<Condition>,
    pub(crate) carry: Option<Carry>,
    pub(crate) words: Vec<&'t [Token<'a>]>,
    /// Where `phase` stands.
    pub(crate) at: Range<usize>,
    /// Where `carry` stands.
    pub(crate) carry_at: Option<Range<usize>>,
}

const EXAMPLE: &str = "write `phase step>=500: [word]; [word]`";

/// Reads the tokens of a phase; the first is `phase`.
pub(crate) fn phase<'t, 'a>(tokens: &'t [Token<'a>], problems: &mut Vec<Problem>) -> Phase<'t, 'a> {
    let at = tokens.first().map_or(0..0, |first| first.text.at.clone());
    let open = tokens.iter().position(|token| token.is('[')).unwrap_or(tokens.len());
    let (head, rest) = tokens.split_at(open);
    let words = words(rest, &at, problems);
    let (until, carry, carry_at) = self::head(head, problems);
    Phase { until, carry, words, at, carry_at }
}

/// Reads what stands in square brackets: two words, parted by `;`.
fn words<'t, 'a>(
    mut rest: &'t [Token<'a>],
    phase: &Range<usize>,
    problems: &mut Vec<Problem>,
) -> Vec<&'t [Token<'a>]> {
    let mut words = Vec::new();
    while let Some((open, inside)) = rest.split_first() {
        if !open.is('[') {
            let message = format!("`{}` has no meaning here", shown(open.text.text));
            problems.push(Problem::new(SYNTAX, open.text.at.clone(), message, EXAMPLE));
            break;
        }
        let Some(close) = inside.iter().position(|token| token.is(']')) else {
            let message = "the bracket is never closed";
            problems.push(Problem::new(
                SYNTAX,
                open.text.at.clone(),
                message,
                "write `]` after the word's last item",
            ));
            words.push(inside);
            break;
        };
        words.push(&inside[..close]);
        rest = &inside[close + 1..];
        match rest.split_first() {
            Some((semicolon, after)) if semicolon.is(';') => rest = after,
            Some((next, _)) if next.is('[') => {
                let at = next.text.at.start..next.text.at.start;
                problems.push(Problem::new(
                    SYNTAX,
                    at,
                    "words of a phase are parted by `;`",
                    "write `;` here",
                ));
            }
            _ => {}
        }
    }
    if words.len() != 2 {
        let message = format!("a phase has two words, one after the other, and here are {}", words.len());
        problems.push(Problem::new(SYNTAX, phase.clone(), message, EXAMPLE));
    }
    words.truncate(2);
    words
}

type Head = (Option<Condition>, Option<Carry>, Option<Range<usize>>);

/// Reads `phase step>=500 carry=state:`.
fn head(tokens: &[Token<'_>], problems: &mut Vec<Problem>) -> Head {
    let Some((phase, rest)) = tokens.split_first() else { return (None, None, None) };
    let rest = match rest.split_last() {
        Some((colon, rest)) if colon.is(':') => rest,
        _ => {
            let end = tokens.last().unwrap_or(phase).text.at.end;
            problems.push(Problem::new(SYNTAX, end..end, "a `:` ends the condition of a phase", EXAMPLE));
            rest
        }
    };
    let (condition, carry) =
        rest.split_at(rest.iter().position(|token| token.text.text == "carry").unwrap_or(rest.len()));
    let until = condition_of(phase, condition, problems);
    let at = carry.first().zip(carry.last()).map(|(first, last)| first.text.at.start..last.text.at.end);
    (until, carry_of(carry, problems), at)
}

fn carry_of(tokens: &[Token<'_>], problems: &mut Vec<Problem>) -> Option<Carry> {
    let value = match tokens {
        [] => return Some(Carry::Params),
        [_, equals, value] if equals.is('=') && value.kind == Kind::Name => value,
        [carry, rest @ ..] => {
            let at = carry.text.at.start..rest.last().unwrap_or(carry).text.at.end;
            let code = if rest.iter().any(|token| token.text.text == "carry") { TWICE } else { SYNTAX };
            let message = "`carry` says what goes over to the second word";
            problems.push(Problem::new(code, at, message, "write `carry=state` or `carry=params`, once"));
            return None;
        }
    };
    let found = Carry::NAMES.iter().find(|(name, _)| *name == value.text.text).map(|(_, carry)| *carry);
    if found.is_none() {
        problems.push(no_such("carry", &value.text, &["params", "state"]));
    }
    found
}

fn condition_of(phase: &Token<'_>, tokens: &[Token<'_>], problems: &mut Vec<Problem>) -> Option<Condition> {
    let [name, sign, equals, value] = tokens else {
        let at = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => first.text.at.start..last.text.at.end,
            _ => phase.text.at.clone(),
        };
        let message = "a phase ends on a condition: `step>=500`, `time>=90s`, `loss<=0.1` or `straggle>=2`";
        problems.push(Problem::new(SYNTAX, at, message, EXAMPLE));
        return None;
    };
    let wanted = match name.text.text {
        "step" | "time" | "straggle" => '>',
        "loss" => '<',
        other => {
            let message = format!("a phase cannot wait for `{}`", shown(other));
            let help = suggestion(other, "conditions", &["step", "time", "loss", "straggle"]);
            problems.push(Problem::new(UNKNOWN, name.text.at.clone(), message, help));
            return None;
        }
    };
    if !sign.is(wanted) || !equals.is('=') {
        let message = format!("`{}` is compared with `{wanted}=`", name.text.text);
        let at = sign.text.at.start..equals.text.at.end;
        problems.push(Problem::new(SYNTAX, at, message, format!("write `{wanted}=`")));
        return None;
    }
    match name.text.text {
        "step" => whole("step", &value.text, (1, MOST_STEPS), problems).map(Condition::Step),
        "time" => seconds(&value.text, problems).map(Condition::Time),
        "loss" => number("loss", &value.text, Bound::Finite, 0.1, problems).map(Condition::Loss),
        _ => number("straggle", &value.text, Bound::Times, 2.0, problems).map(Condition::Straggle),
    }
}

/// The most steps, and the most seconds, that a phase waits for.
const MOST_STEPS: u64 = 1_000_000_000_000;

/// Reads seconds: `90`, `90s`, `15m`, `2h`.
fn seconds(text: &Text<'_>, problems: &mut Vec<Problem>) -> Option<u64> {
    let units = [("s", 1), ("m", 60), ("h", 3600), ("", 1)];
    let read = units.iter().find_map(|(unit, seconds)| {
        let digits = text.text.strip_suffix(unit)?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse::<u64>().ok()?.checked_mul(*seconds) } else { None }
    });
    let seconds = read.filter(|seconds| (1..=MOST_STEPS).contains(seconds));
    if seconds.is_none() {
        let message =
            format!("`time` is a whole number of seconds from 1, and `{}` is none", shown(text.text));
        problems.push(Problem::new(
            BAD_VALUE,
            text.at.clone(),
            message,
            "write for example `90s`, `15m` or `2h`",
        ));
    }
    seconds
}
