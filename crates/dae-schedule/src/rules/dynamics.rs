//! E08, E11, E12, E14: what learns otherwise than it looks.

use super::Line;
use super::facts::Facts;
use crate::gradient::{GItem, Order};
use crate::join::{Join, Outer, Scale, Stale};
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::problem::{BITS, NOT_SYNCHRONOUS, Problem, STALENESS, STATISTICS};
use crate::read::{Item, ItemKind};

/// Versions that a displacement may be behind its centre before momentum or Adam make it worse (Mitliagkas et al. 2016
/// see momentum grow with staleness; the bound is a rule of thumb).
const HIGH_STALENESS: u32 = 4;

/// The items right of `step`, with the rounds since the one before.
fn models<'l, 'a>(line: &Line<'l, 'a>) -> impl Iterator<Item = (&'l Item<'a>, &'l MItem)> {
    line.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Model(Some(model)) => Some((item, model)),
        _ => None,
    })
}

/// E08: what depends on who is first cannot repeat itself, unless time is virtual.
pub(super) fn bits(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let exact = |item: &&Item<'_>| matches!(&item.kind, ItemKind::Gradient(Some(GItem::Split(split))) if split.order == Order::Exact);
    let asked = line.items.iter().find(exact);
    if facts.virtual_time == Some(true) || asked.is_none() && facts.bits != Some(true) {
        return;
    }
    for (item, model) in models(line) {
        let waits = match model {
            MItem::Every(_) => true,
            MItem::Join(join) => join.terms().k == join.n && join.terms().slack == Some(0),
            MItem::Gossip(gossip) => !gossip.asynchronous,
        };
        if !waits {
            let at = asked.map_or_else(|| item.mark("sync"), |asked| asked.mark("order"));
            problems.push(Problem::new(
                BITS,
                at,
                "the same bits are asked of a word that goes by who is first",
                "run it by virtual time, or write `sync=bsp`, or leave `order=exact` out",
            ));
            return;
        }
    }
}

/// E11: statistics of a batch see only the part that one worker has, so that no fold is free any more.
pub(super) fn batch_statistics(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    if facts.batch_statistics != Some(true) {
        return;
    }
    let folds = |item: &&Item<'_>| match &item.kind {
        ItemKind::Gradient(Some(fold)) => {
            fold.micro_batches() > 1 || matches!(fold, GItem::Split(split) if split.n > 1)
        }
        _ => false,
    };
    if let Some(fold) = line.items.iter().find(folds) {
        problems.push(Problem::new(
            STATISTICS,
            fold.text.at.clone(),
            "the model keeps statistics of its batches, and each part of a batch has others: left of `step` \
             the learning curve would change",
            "normalise by layer or by group instead of by batch, or fold nothing left of `step`",
        ));
    }
}

/// E12: the average of what Adam did is not what Adam does with the average.
pub(super) fn not_synchronous(line: &Line<'_, '_>, problems: &mut Vec<Problem>) {
    let Some(Optimizer::Adam { .. } | Optimizer::AdamW { .. }) = line.word.optimizer() else { return };
    let mut rounds = 1;
    for (item, model) in models(line) {
        match model {
            MItem::Every(h) => rounds *= h,
            MItem::Join(join) if rounds == 1 && join.n > 1 && waits_and_averages(join) => {
                let n = join.n;
                problems.push(
                    Problem::new(
                        NOT_SYNCHRONOUS,
                        item.text.at.clone(),
                        "each child has an Adam of its own, and their average is not synchronous Adam",
                        format!(
                            "for that write `split {n}` left of `step`, or `step raw | join {n} outer=adam`; \
                             for local steps write `every h` before the `join`"
                        ),
                    )
                    .warning(),
                );
                return;
            }
            _ => return,
        }
    }
}

fn waits_and_averages(join: &Join) -> bool {
    join.outer == Outer::Avg && join.terms().k == join.n
}

/// E14: a stale displacement, a momentum that keeps it.
pub(super) fn staleness(line: &Line<'_, '_>, problems: &mut Vec<Problem>) {
    for (item, model) in models(line) {
        let MItem::Join(join) = model else { continue };
        let terms = join.terms();
        let stale = terms.slack.unwrap_or(u32::MAX).min(join.n.saturating_sub(terms.k));
        let heavy = match join.outer {
            Outer::Nesterov { mu, .. } | Outer::SlowMo { b: mu, .. } => mu >= 0.9,
            Outer::Optimizer(Optimizer::Sgd { momentum, .. }) => momentum >= 0.9,
            Outer::Optimizer(_) => true,
            Outer::Avg | Outer::Elastic(_) => false,
        };
        if !heavy || stale < HIGH_STALENESS || join.stale != Stale::None {
            continue;
        }
        let what = if matches!(join.outer, Outer::Optimizer(Optimizer::Adam { .. } | Optimizer::AdamW { .. }))
        {
            "Adam"
        } else {
            "a momentum of 0.9 or more"
        };
        let sum = if join.scale == Scale::Sum { ", the more so with `scale=sum`" } else { "" };
        problems.push(
            Problem::new(
                STALENESS,
                item.mark("outer"),
                format!("displacements may come {stale} versions late, and {what} carries them on{sum}"),
                "add `stale=lr/tau`, or lower the momentum, or wait more: `sync=ssp(2)`",
            )
            .warning(),
        );
    }
}
