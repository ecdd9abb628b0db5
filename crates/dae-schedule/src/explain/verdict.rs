//! Whether a word trains as one worker with the same batch would, and why not.

use serde::Serialize;

use crate::gossip::{Gossip, Graph};
use crate::gradient::{GItem, Order};
use crate::join::{Join, Late, Outer, Scale};
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::step::Closing;
use crate::word::Word;

/// Whether a word trains as one worker with the same batch would.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether it does.
    pub exact: bool,
    /// `exact to the bit`, `exact to rounding` or `approximate`.
    pub badge: &'static str,
    /// By which law, or what changes the dynamics: a sentence each.
    pub why: Vec<String>,
}

/// Judges a word.
pub(crate) fn verdict(word: &Word) -> Verdict {
    let (mut changes, mut keeps) = (Vec::new(), Vec::new());
    left(word, &mut changes, &mut keeps);
    let mut period = 1_u32;
    for item in word.model() {
        match item {
            MItem::Every(h) => period = period.saturating_mul(*h),
            MItem::Join(join) if join.n > 1 => of_join(word, join, period, &mut changes, &mut keeps),
            MItem::Gossip(gossip) if gossip.n > 1 => {
                of_gossip(word, gossip, period, &mut changes, &mut keeps)
            }
            // Of one child it is nothing (law M1).
            MItem::Join(_) | MItem::Gossip(_) => {}
        }
    }
    let mut sums = word.gradient().iter().filter_map(|item| match item {
        GItem::Split(split) if split.n > 1 => Some(split.order == Order::Exact),
        // Their sums depend on how the work is cut.
        GItem::Tensor(tensor) if tensor.n > 1 => Some(false),
        _ => None,
    });
    let to_the_bit = sums.all(|exact| exact) && word.model().iter().all(|item| item.children() == 1);
    match changes.is_empty() {
        true if to_the_bit => Verdict { exact: true, badge: "exact to the bit", why: keeps },
        true => Verdict { exact: true, badge: "exact to rounding", why: keeps },
        false => Verdict { exact: false, badge: "approximate", why: changes },
    }
}

fn left(word: &Word, changes: &mut Vec<String>, keeps: &mut Vec<String>) {
    keeps.push("what stands left of `step` changes time and bytes, never the curve (law G4)".into());
    for item in word.gradient() {
        if let GItem::Split(split) = item
            && split.n > 1
        {
            if split.wire.loses() {
                changes.push(format!(
                    "`split {}`: wire={} loses something of each gradient; what is lost is sent later",
                    split.n, split.wire
                ));
            }
            if split.order == Order::Exact {
                keeps.push(format!("`split {}`: whole numbers have one sum in any order", split.n));
            }
        }
    }
}

/// Whether a step is linear in its gradients, so that means of steps are steps with means.
fn is_linear(word: &Word) -> bool {
    word.step().clip.is_none() && matches!(word.optimizer(), Some(Optimizer::Sgd { .. }))
}

/// Whether it takes the mean of the children's values.
fn averages(outer: &Outer) -> bool {
    match *outer {
        Outer::Avg => true,
        Outer::Nesterov { lr, mu } => lr == 1.0 && mu == 0.0,
        Outer::SlowMo { a, b } => a == 1.0 && b == 0.0,
        Outer::Elastic(_) | Outer::Optimizer(_) => false,
    }
}

fn of_join(word: &Word, join: &Join, period: u32, changes: &mut Vec<String>, keeps: &mut Vec<String>) {
    let name = format!("`join {}`", join.n);
    let before = changes.len();
    let mut add = |why: String| changes.push(format!("{name}: {why}"));
    let terms = join.terms();
    match (terms.slack, terms.late) {
        _ if terms.k == join.n && terms.slack == Some(0) => {}
        (Some(slack), _) => add(format!(
            "a child may be {slack} rounds ahead of the slowest, and compute with parameters that are old"
        )),
        (None, Late::Drop) => {
            add(format!("an update takes the first {} contributions, and drops the others", terms.k));
        }
        (None, Late::Keep) => add("contributions may have been computed with parameters of any age".into()),
    }
    if join.wire.loses() {
        add(format!("wire={} loses something of each displacement; what is lost is sent later", join.wire));
    }
    if join.scale == Scale::Sum {
        add("scale=sum makes each push a full step".into());
    }
    if join.frag > 1 || join.delay > 0 {
        add("fragments are merged at different times, and late".into());
    }
    if join.mix > 0.0 {
        add("a child keeps some of its own values".into());
    }
    let raw = word.step().closing == Closing::Raw;
    if period > 1 {
        add(format!("children go {period} steps alone before they agree, and drift apart"));
    } else if raw {
        if word.step().clip.is_some() {
            add("each child clips its own gradient".into());
        }
        if matches!(join.outer, Outer::Elastic(_)) {
            add("elastic leaves children apart from the centre".into());
        }
    } else {
        if !is_linear(word) {
            add("the mean of steps that are not linear in the gradient is not the step of the mean (law M2)"
                .into());
        }
        if !averages(&join.outer) {
            add(format!("outer={} has a memory of its own", join.outer));
        }
    }
    if changes.len() == before {
        let law = if raw { "M3" } else { "M2" };
        keeps.push(format!("{name}: all wait for all, and the mean is what a `split` would sum (law {law})"));
    }
}

fn of_gossip(word: &Word, gossip: &Gossip, period: u32, changes: &mut Vec<String>, keeps: &mut Vec<String>) {
    let name = format!("`gossip {}`", gossip.n);
    let all = gossip.graph == Graph::Complete || gossip.n == 2 && gossip.graph != Graph::Exp;
    if all && !gossip.asynchronous && period == 1 && is_linear(word) {
        keeps.push(format!("{name}: each mixes with all, which is the mean a `split` would sum (law M2)"));
        return;
    }
    changes.push(format!("{name}: peers mix with some others, and agree only in the long run"));
    if gossip.asynchronous {
        changes.push(format!("{name}: a peer is mixed with while it computes"));
    }
    if period > 1 {
        changes.push(format!("{name}: peers go {period} steps alone before they mix"));
    }
}
