//! E02 and E03: the counts against the workers, the nodes and the samples there are.

use super::Line;
use super::factors::nearest;
use super::facts::Facts;
use crate::gradient::GItem;
use crate::problem::{GRAINS, Problem, WORKERS};
use crate::read::{Item, ItemKind, shown};

/// The counts over space with their items.
fn over_space<'l, 'a>(line: &Line<'l, 'a>) -> Vec<(&'l Item<'a>, u32)> {
    let count = |item: &'l Item<'a>| match &item.kind {
        ItemKind::Gradient(Some(GItem::Accum(_))) => None,
        ItemKind::Gradient(Some(fold)) => Some((item, fold.children())),
        ItemKind::Model(Some(model @ (crate::MItem::Join(_) | crate::MItem::Gossip(_)))) => {
            Some((item, model.children()))
        }
        _ => None,
    };
    line.items.iter().filter_map(count).collect()
}

/// E02: the counts multiply to the workers there are; fewer leave some idle.
pub(super) fn workers(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let Some(there) = facts.workers else { return };
    let (needed, over_space) = (line.word.workers(), over_space(line));
    if needed == there {
        return;
    }
    let mut product = 1_u64;
    let first_over = over_space.iter().find(|(_, count)| {
        product *= u64::from(*count);
        product > u64::from(there)
    });
    let blamed = first_over.or(over_space.last()).map_or(line.items.last(), |(item, _)| Some(*item));
    let Some(blamed) = blamed else { return };
    let message = match needed > there {
        true => format!("the word takes {needed} workers, and there are {there}"),
        false => format!("the word takes {needed} workers of the {there} there are; the others stay idle"),
    };
    let problem = Problem::new(WORKERS, blamed.text.at.clone(), message, factorisation(&over_space, there));
    problems.push(if needed > there { problem } else { problem.warning() });
}

fn factorisation(over_space: &[(&Item<'_>, u32)], there: u32) -> String {
    let counts: Vec<u32> = over_space.iter().map(|(_, count)| *count).collect();
    match nearest(&counts, there) {
        Some(found) => {
            let named = |((item, _), count): (&(&Item<'_>, u32), u32)| {
                format!("{} {count}", item.text.text.get(..item.op.len()).unwrap_or_default())
            };
            let items: Vec<String> = over_space.iter().zip(found).map(named).collect();
            let all = if items.len() > 1 { " in all" } else { "" };
            format!("the nearest that takes {there}{all} is `{}`", shown(&items.join(" | ")))
        }
        None if over_space.is_empty() => format!("write `split {there} |` before the `step`"),
        None => "write counts that multiply to as many as there are".to_owned(),
    }
}

/// E02 for nodes: no more than there are.
pub(super) fn nodes(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let Some(there) = facts.nodes else { return };
    let needed = line.word.nodes();
    if needed <= there {
        return;
    }
    let widest = over_space(line).into_iter().rfind(|(item, _)| item.has_mark("@"));
    let Some((blamed, _)) = widest else { return };
    let message = format!("the word takes {needed} nodes, and there are {there}");
    let help =
        "lower the counts of the items `@cluster` and `@rack`, or let their children share nodes: `@node`";
    problems.push(Problem::new(WORKERS, blamed.text.at.clone(), message, help));
}

/// E03: a step takes whole grains; a tail is never dropped silently.
pub(super) fn grains(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let Some(batch) = facts.batch else { return };
    let grain = facts.grain.unwrap_or(1).max(1);
    let splits =
        line.word.gradient().iter().map(|item| if let GItem::Split(split) = item { split.n } else { 1 });
    let grains = splits.map(u64::from).product::<u64>() * u64::from(line.word.accum());
    let Some(whole) = grains.checked_mul(grain) else { return };
    if batch > 0 && batch.is_multiple_of(whole) {
        return;
    }
    let fold = line.items.iter().rev().find(|item| matches!(item.kind, ItemKind::Gradient(_)));
    let Some(blamed) = fold.or(line.items.first()) else { return };
    let (below, above) = (batch - batch % whole, (batch - batch % whole).saturating_add(whole));
    let nearest = if below == 0 { above.to_string() } else { format!("{below} or {above}") };
    problems.push(Problem::new(
        GRAINS,
        blamed.text.at.clone(),
        format!("a step takes {grains} grains of {grain}, and a batch of {batch} samples is no whole number of them"),
        format!("let a step take {nearest} samples, or write counts whose product divides {}", batch / grain),
    ));
}
