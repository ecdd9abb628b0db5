//! The rules over a word as a whole that decide whether it is one: sorts, counts, places, then those of `rules`.

use crate::model::MItem;
use crate::place::Place;
use crate::problem::{AROUND_A_CLUSTER, Problem, SORTS, TOO_MANY};
use crate::read::item::{Item, ItemKind};
use crate::read::parse::MAX_COUNT;
use crate::read::token::shown;
use crate::rules::own;

/// Adds what is wrong with the word these items make.
pub(crate) fn whole_word(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    sorts(items, problems);
    limits(items, problems);
    around(items, problems);
    own(items, problems);
}

/// E01: gradient items, then exactly one `step`, then model items.
fn sorts(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let closes = |item: &Item<'_>| matches!(item.kind, ItemKind::Step(_));
    let step = items.iter().position(closes);
    // A misspelt item may have been the step: ask for one only when all items were understood.
    let understood = items.iter().all(|item| !matches!(item.kind, ItemKind::Other));
    for (place, Item { text, kind, .. }) in items.iter().enumerate() {
        let (written, right) = (shown(text.text), step.is_some_and(|step| place > step));
        let (message, help) = match kind {
            ItemKind::Step(_) if right => (
                "a word has one `step`, and this is another: the gradient is already closed".to_owned(),
                "keep one of them".to_owned(),
            ),
            ItemKind::Gradient(_) if right => (
                format!("`{written}` folds a gradient, and right of `step` there is none"),
                instead(text.text, &written),
            ),
            ItemKind::Model(_) if step.is_some_and(|step| place < step) || step.is_none() && understood => (
                format!("`{written}` wraps a model, and left of `step` there is only a gradient"),
                match step {
                    Some(_) => format!("move `{written}` right of `step`"),
                    None => format!("write a `step` before it, for example `step adam(1e-3) | {written}`"),
                },
            ),
            _ => continue,
        };
        problems.push(Problem::new(SORTS, text.at.clone(), message, help));
    }
    if let (None, true, Some(last)) = (step, understood, items.last())
        && matches!(last.kind, ItemKind::Gradient(_))
    {
        problems.push(Problem::new(
            SORTS,
            last.text.at.clone(),
            "the word ends with an open gradient: `step` is missing",
            "add an optimizer at the end, for example `| step adam(1e-3)`",
        ));
    }
}

/// What to write right of `step` instead of a gradient item.
fn instead(text: &str, written: &str) -> String {
    let move_it = format!("move `{written}` left of `step`");
    if text.starts_with("accum") {
        format!("use `every k` there, which repeats whole steps, or {move_it}")
    } else if text.starts_with("split") {
        format!("use `join n` there, which runs whole models side by side, or {move_it}")
    } else {
        move_it
    }
}

/// Nothing that lies on one node is around something that lies on several.
fn around(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let mut widest: Option<(Place, &Item<'_>)> = None;
    for item in items {
        let place = match &item.kind {
            ItemKind::Gradient(Some(fold)) => fold.place(),
            ItemKind::Model(Some(model)) => model.place(),
            _ => None,
        };
        let Some(place) = place else { continue };
        match widest {
            Some((wide, inner)) if place < wide => {
                let (written, inner) = (shown(item.text.text), shown(inner.text.text));
                problems.push(Problem::new(
                    AROUND_A_CLUSTER,
                    item.mark("@"),
                    format!("`{written}` lies around `{inner}`, whose children are further apart than that"),
                    format!("write it left of `{inner}`: a word goes from the inside out"),
                ));
            }
            _ if place.spans_nodes() => widest = Some((place, item)),
            _ => {}
        }
    }
}

/// What the counts of one kind multiply to stays within [`MAX_COUNT`], and what a step holds within 32 bits.
fn limits(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let before = problems.len();
    let micro_batches = |item: &ItemKind| match item {
        ItemKind::Gradient(Some(fold)) => fold.micro_batches(),
        _ => 1,
    };
    let workers = |item: &ItemKind| match item {
        ItemKind::Gradient(Some(fold)) => fold.children(),
        ItemKind::Model(Some(model)) => model.children(),
        _ => 1,
    };
    let rounds = |item: &ItemKind| match item {
        ItemKind::Model(Some(MItem::Every(h))) => *h,
        _ => 1,
    };
    problems.extend(over(items, micro_batches, MAX_COUNT, "micro-batches"));
    problems.extend(over(items, workers, MAX_COUNT, "workers"));
    problems.extend(over(items, rounds, MAX_COUNT, "inner rounds"));
    if problems.len() == before {
        let both = |item: &ItemKind| micro_batches(item).saturating_mul(workers(item));
        problems.extend(over(items, both, u32::MAX, "micro-batches over all workers"));
    }
}

/// Blames the first item that takes the product of the counts over `most`.
fn over(items: &[Item<'_>], count: impl Fn(&ItemKind) -> u32, most: u32, what: &str) -> Option<Problem> {
    let mut product = 1_u64;
    for Item { text, kind, .. } in items {
        product *= u64::from(count(kind));
        if product > u64::from(most) {
            let message =
                format!("up to here the word multiplies to {product} {what}, and {most} is the most");
            return Some(Problem::new(TOO_MANY, text.at.clone(), message, "make one of the counts smaller"));
        }
    }
    None
}
