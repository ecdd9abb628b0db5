//! From text to [`Schedule`]: the items one after another, then the rules over each word as a whole.

use crate::problem::{BAD_VALUE, Problem, SYNTAX, TOO_LONG, TOO_MANY};
use crate::read::item::{Item, ItemKind, item};
use crate::read::phase::{Phase, phase};
use crate::read::token::{Kind, Text, Token, tokens};
use crate::read::vocabulary::is_item;
use crate::read::whole::whole_word;
use crate::schedule::{self, Schedule};
use crate::word::Word;

/// The longest text that is read, in bytes.
pub const MAX_WORD_BYTES: usize = 16 * 1024;

/// The most items in one schedule.
pub const MAX_ITEMS: usize = 50;

/// The most micro-batches, workers, and inner rounds of a word, each multiplied over all its items.
pub const MAX_COUNT: u32 = 65_536;

/// Reads a word such as `accum 4 | split 2 | step adamw(1e-3)`. White space and line breaks are free.
///
/// # Errors
/// All that is wrong with the text, in the order of the text; only a text of more than [`MAX_WORD_BYTES`] or
/// [`MAX_ITEMS`] is refused unread.
pub fn parse(text: &str) -> Result<Schedule, Vec<Problem>> {
    let reading = read(text);
    match reading.schedule {
        Some(schedule) if reading.problems.is_empty() => Ok(schedule),
        _ => Err(reading.problems),
    }
}

/// A text as far as it could be read.
pub(crate) struct Reading<'a> {
    /// The schedule, if every item of it was understood; it may still break a rule.
    pub(crate) schedule: Option<Schedule>,
    /// The items of each word.
    pub(crate) words: Vec<Vec<Item<'a>>>,
    /// Where `phase` stands, if it does.
    pub(crate) phase: Option<std::ops::Range<usize>>,
    /// All errors that need no facts, in the order of the text.
    pub(crate) problems: Vec<Problem>,
}

/// Reads as much of the text as has a meaning.
pub(crate) fn read(text: &str) -> Reading<'_> {
    let mut reading = Reading { schedule: None, words: Vec::new(), phase: None, problems: Vec::new() };
    if text.len() > MAX_WORD_BYTES {
        reading.problems.push(Problem::new(
            TOO_LONG,
            0..0,
            format!("the schedule has {} bytes, and at most {MAX_WORD_BYTES} are read", text.len()),
            "write a shorter word: counts multiply, so `accum 2 | accum 2` is `accum 4`",
        ));
        return reading;
    }
    let tokens = tokens(text);
    if let Some(bar) = tokens.iter().filter(|token| token.is('|')).nth(MAX_ITEMS - 1) {
        reading.problems.push(Problem::new(
            TOO_MANY,
            bar.text.at.clone(),
            format!("a schedule has at most {MAX_ITEMS} items, and here begins another"),
            "write fewer: counts multiply, so `accum 2 | accum 2` is `accum 4`",
        ));
        return reading;
    }
    let mut carry_place = None;
    let problems = &mut reading.problems;
    if tokens.first().is_some_and(|first| first.text.text == "phase") {
        let Phase { until, carry, words, at, carry_at } = phase(&tokens, problems);
        let place = at.end..at.end;
        reading.words = words.into_iter().map(|word| items(text, word, place.clone(), problems)).collect();
        reading.phase = Some(at);
        carry_place = carry_at;
        if let ([first, then], Some(until), Some(carry)) = (reading.words.as_slice(), until, carry)
            && let (Some(first), Some(then)) = (assembled(first), assembled(then))
        {
            let phase = schedule::Phase { until, carry, first, then };
            reading.schedule = Some(Schedule::Phase(Box::new(phase)));
        }
    } else {
        let items = items(text, &tokens, 0..text.len(), problems);
        reading.schedule = assembled(&items).map(Schedule::Word);
        reading.words.push(items);
    }
    for items in &reading.words {
        whole_word(items, problems);
    }
    problems.extend(carried(&reading.schedule, carry_place));
    problems.sort_by_key(|problem| (problem.at.start, problem.at.end));
    reading
}

/// Reads the items of one word; `place` is blamed if there is none.
fn items<'a>(
    text: &'a str,
    tokens: &[Token<'a>],
    place: std::ops::Range<usize>,
    problems: &mut Vec<Problem>,
) -> Vec<Item<'a>> {
    if tokens.is_empty() {
        let help = "write at least a step, for example `step adam(1e-3)`";
        problems.push(Problem::new(SYNTAX, place, "the word is empty", help));
        return Vec::new();
    }
    let mut items = Vec::new();
    let mut start = 0;
    for mut group in tokens.split(|token| token.is('|')) {
        if group.is_empty() {
            problems.push(no_item(tokens, start));
        }
        start += group.len() + 1;
        while let Some((first, rest)) = group.split_first() {
            let (rest, more) = rest.split_at(until_next_item(rest));
            items.push(item(text, first, rest, problems));
            problems.extend(more.first().map(no_bar));
            group = more;
        }
    }
    items
}

/// How many tokens stand before the name of another item, which lacks its bar.
fn until_next_item(rest: &[Token<'_>]) -> usize {
    let mut open_brackets = 0_usize;
    let mut is_value = false;
    for (place, token) in rest.iter().enumerate() {
        match token.kind {
            Kind::Symbol('(') => open_brackets += 1,
            Kind::Symbol(')') => open_brackets = open_brackets.saturating_sub(1),
            Kind::Name if open_brackets == 0 && !is_value && is_item(token.text.text) => return place,
            _ => {}
        }
        is_value = token.is('=') || token.is('@') || token.is('/');
    }
    rest.len()
}

fn no_bar(item: &Token<'_>) -> Problem {
    let Text { text, at } = &item.text;
    let message = format!("`{text}` begins an item of its own, and no `|` stands before it");
    Problem::new(SYNTAX, at.clone(), message, format!("write `| {text}`"))
}

/// Nothing stands between two bars, or before the first or after the last; blames the nearest bar.
fn no_item(tokens: &[Token<'_>], start: usize) -> Problem {
    let bar = tokens.get(start).or(tokens.last());
    let at = bar.map_or(0..0, |bar| bar.text.at.clone());
    Problem::new(
        SYNTAX,
        at,
        "`|` stands between two items, and one is missing",
        "write the item, or take the `|` out",
    )
}

/// State goes over only between optimizers of one kind.
fn carried(schedule: &Option<Schedule>, at: Option<std::ops::Range<usize>>) -> Option<Problem> {
    let Some(Schedule::Phase(phase)) = schedule else { return None };
    let kind = |word: &Word| word.optimizer().map(std::mem::discriminant);
    if phase.carry == schedule::Carry::Params || kind(&phase.first) == kind(&phase.then) {
        return None;
    }
    let message = "`carry=state` hands an optimizer's state on, and the two words step with different ones";
    let help = "write the same kind of optimizer in both words, or `carry=params`";
    Some(Problem::new(BAD_VALUE, at?, message, help))
}

/// The word, if every item of it was understood and stands where it may.
fn assembled(items: &[Item<'_>]) -> Option<Word> {
    let (mut gradient, mut step, mut model) = (Vec::new(), None, Vec::new());
    for item in items {
        match (&item.kind, step) {
            (ItemKind::Gradient(fold), None) => gradient.push((*fold)?),
            (ItemKind::Step(closing), None) => step = Some((*closing)?),
            (ItemKind::Model(item), Some(_)) => model.push(item.clone()?),
            _ => return None,
        }
    }
    Some(Word { gradient, step: step?, model })
}
