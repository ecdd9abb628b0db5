//! From text to [`Word`]: the items one after another, then the rules over the word as a whole.

use crate::fold::Fold;
use crate::item::{Item, ItemKind, item};
use crate::problem::{Problem, SORTS, SYNTAX, TOO_LONG, TOO_MANY};
use crate::token::{Token, shown, tokens};
use crate::word::Word;

/// The longest word that is read, in bytes.
pub const MAX_WORD_BYTES: usize = 4096;

/// The most micro-batches (all `accum`s multiplied) and the most workers (all `split`s) of a word.
pub const MAX_COUNT: u32 = 65_536;

/// Reads a word such as `accum 4 | split 2 | step adamw(1e-3)`. White space and line breaks are free.
///
/// # Errors
/// All that is wrong with the text, in the order of the text; only a word of more than [`MAX_WORD_BYTES`] is refused
/// unread.
pub fn parse(text: &str) -> Result<Word, Vec<Problem>> {
    if text.len() > MAX_WORD_BYTES {
        return Err(vec![Problem::new(
            TOO_LONG,
            0..0,
            format!(
                "the word has {} bytes, and at most {MAX_WORD_BYTES} are read",
                text.len()
            ),
            "write a shorter word: counts multiply, so `accum 2 | accum 2` is `accum 4`",
        )]);
    }
    let mut problems = Vec::new();
    let items = items(text, &mut problems);
    sorts(&items, &mut problems);
    limits(&items, &mut problems);
    problems.sort_by_key(|problem| (problem.at.start, problem.at.end));
    match assembled(&items) {
        Some(word) if problems.is_empty() => Ok(word),
        _ => Err(problems),
    }
}

fn items<'a>(text: &'a str, problems: &mut Vec<Problem>) -> Vec<Item<'a>> {
    let tokens = tokens(text);
    if tokens.is_empty() {
        let help = "write at least a step, for example `step adam(1e-3)`";
        problems.push(Problem::new(SYNTAX, 0..text.len(), "the word is empty", help));
        return Vec::new();
    }
    let mut items = Vec::new();
    let mut start = 0;
    for group in tokens.split(|token| token.is('|')) {
        match group.split_first() {
            Some((first, rest)) => items.push(item(text, first, rest, problems)),
            None => problems.push(no_item(&tokens, start)),
        }
        if group.first().is_some_and(|first| first.text.text == "phase") {
            break; // a phase has words of its own in brackets, up to the end of the text
        }
        start += group.len() + 1;
    }
    items
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

/// E01: gradient items, then exactly one `step`.
fn sorts(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let mut closed = false;
    for Item { text, kind } in items {
        let written = shown(text.text);
        match kind {
            ItemKind::Step(_) if closed => problems.push(Problem::new(
                SORTS,
                text.at.clone(),
                "a word has one `step`, and this is another: the gradient is already closed",
                "keep one of them",
            )),
            ItemKind::Step(_) => closed = true,
            ItemKind::Fold(_) if closed => {
                let (instead, later) = match text.text.starts_with("accum") {
                    true => ("every", "`every` repeats whole steps"),
                    false => ("join", "`join` runs whole models side by side"),
                };
                problems.push(Problem::new(
                    SORTS,
                    text.at.clone(),
                    format!("`{written}` folds a gradient, and right of `step` there is none"),
                    format!(
                        "use `{instead}` there ({later}; not yet available), or move `{written}` left of `step`"
                    ),
                ));
            }
            ItemKind::Fold(_) | ItemKind::Other => {}
        }
    }
    // A misspelt item may have been the step, and a phase has its own: ask only when all items were understood.
    let understood = items.iter().all(|item| !matches!(item.kind, ItemKind::Other));
    if let (false, true, Some(last)) = (closed, understood, items.last()) {
        problems.push(Problem::new(
            SORTS,
            last.text.at.clone(),
            "the word ends with an open gradient: `step` is missing",
            "add an optimizer at the end, for example `| step adam(1e-3)`",
        ));
    }
}

/// What each kind of fold multiplies to stays within [`MAX_COUNT`], and all of them together within 32 bits.
fn limits(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let (mut accum, mut workers) = (1_u64, 1_u64);
    for Item { text, kind } in items {
        let ItemKind::Fold(Some(fold)) = kind else {
            continue;
        };
        let (product, count, what) = match fold {
            Fold::Accum(count) => (&mut accum, *count, "micro-batches"),
            Fold::Split { workers: count, .. } => (&mut workers, *count, "workers"),
        };
        let before = *product;
        *product = before * u64::from(count);
        let limit = u64::from(MAX_COUNT);
        let (asked, most) = match accum.checked_mul(workers) {
            _ if before * u64::from(count) > limit => (before * u64::from(count), limit),
            Some(together) if together <= u64::from(u32::MAX) => continue,
            _ => (accum * workers, u64::from(u32::MAX)),
        };
        let what = if most == limit {
            what
        } else {
            "micro-batches over all workers"
        };
        problems.push(Problem::new(
            TOO_MANY,
            text.at.clone(),
            format!("up to here the word multiplies to {asked} {what}, and {most} is the most"),
            "make one of the counts smaller",
        ));
        return;
    }
}

fn assembled(items: &[Item<'_>]) -> Option<Word> {
    let mut folds = Vec::new();
    for item in items {
        match item.kind {
            ItemKind::Fold(fold) => folds.push(fold?),
            ItemKind::Step(closing) => {
                let closing = closing?;
                return Some(Word {
                    folds,
                    optimizer: closing.optimizer,
                    clip: closing.clip,
                });
            }
            ItemKind::Other => return None,
        }
    }
    None
}
