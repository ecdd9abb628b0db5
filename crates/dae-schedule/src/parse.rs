//! From text to [`Word`]: the items one after another, then the rules over the word as a whole.

use crate::fold::{Fold, Place};
use crate::item::{Item, ItemKind, item};
use crate::problem::{AROUND_A_CLUSTER, Problem, SORTS, SYNTAX, TOO_LONG, TOO_MANY, TWICE};
use crate::token::{Kind, Text, Token, shown, tokens};
use crate::vocabulary::is_item;
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
            format!("the word has {} bytes, and at most {MAX_WORD_BYTES} are read", text.len()),
            "write a shorter word: counts multiply, so `accum 2 | accum 2` is `accum 4`",
        )]);
    }
    let mut problems = Vec::new();
    let items = items(text, &mut problems);
    sorts(&items, &mut problems);
    limits(&items, &mut problems);
    cluster(&items, &mut problems);
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
    for mut group in tokens.split(|token| token.is('|')) {
        if group.is_empty() {
            problems.push(no_item(&tokens, start));
        }
        start += group.len() + 1;
        while let Some((first, rest)) = group.split_first() {
            let (rest, more) = rest.split_at(until_next_item(rest));
            items.push(item(text, first, rest, problems));
            if first.text.text == "phase" {
                return items; // a phase has words of its own in brackets, up to the end of the text
            }
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
                    true => ("every k", "`every` repeats whole steps"),
                    false => ("join n", "`join` runs whole models side by side"),
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

/// One `split` at most is over the nodes of a cluster, and it is the outermost.
fn cluster(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let mut before = None;
    for Item { text, kind } in items {
        let ItemKind::Fold(Some(Fold::Split { place, .. })) = kind else { continue };
        match &before {
            Some(cluster) if *place == Some(Place::Cluster) => problems.push(Problem::new(
                TWICE,
                text.at.clone(),
                format!("a word has one `split` over a cluster, and `{cluster}` is one"),
                "keep one of them, with both counts multiplied",
            )),
            Some(cluster) => problems.push(Problem::new(
                AROUND_A_CLUSTER,
                text.at.clone(),
                format!("`{}` lies around `{cluster}`, and nothing lies around a cluster", shown(text.text)),
                format!("write it left of `{cluster}`: a word goes from the inside out"),
            )),
            None if *place == Some(Place::Cluster) => before = Some(shown(text.text)),
            None => {}
        }
    }
}

/// What each kind of fold multiplies to stays within [`MAX_COUNT`], and all of them together within 32 bits.
fn limits(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let before = problems.len();
    let micro_batches = |fold: Fold| if let Fold::Accum(count) = fold { count } else { 1 };
    let workers = |fold: Fold| {
        if let Fold::Split { workers, .. } = fold { workers } else { 1 }
    };
    problems.extend(over(items, micro_batches, MAX_COUNT, "micro-batches"));
    problems.extend(over(items, workers, MAX_COUNT, "workers"));
    if problems.len() == before {
        let both = |fold: Fold| micro_batches(fold) * workers(fold);
        problems.extend(over(items, both, u32::MAX, "micro-batches over all workers"));
    }
}

/// Blames the first fold that takes the product of the counts over `most`.
fn over(items: &[Item<'_>], count: impl Fn(Fold) -> u32, most: u32, what: &str) -> Option<Problem> {
    let mut product = 1_u64;
    for Item { text, kind } in items {
        let ItemKind::Fold(Some(fold)) = kind else {
            continue;
        };
        product *= u64::from(count(*fold));
        if product > u64::from(most) {
            let message =
                format!("up to here the word multiplies to {product} {what}, and {most} is the most");
            return Some(Problem::new(TOO_MANY, text.at.clone(), message, "make one of the counts smaller"));
        }
    }
    None
}

fn assembled(items: &[Item<'_>]) -> Option<Word> {
    let mut folds = Vec::new();
    for item in items {
        match item.kind {
            ItemKind::Fold(fold) => folds.push(fold?),
            ItemKind::Step(closing) => {
                let closing = closing?;
                return Some(Word { folds, optimizer: closing.optimizer, clip: closing.clip });
            }
            ItemKind::Other => return None,
        }
    }
    None
}
