//! The rules of a word alone.

use crate::gossip::Graph;
use crate::gradient::{Algo, GItem};
use crate::join::{Join, SyncMode};
use crate::model::MItem;
use crate::print::name;
use crate::problem::{ADDING, CONNECTED, FRAGMENTS, Problem, QUORUM, SORTS};
use crate::read::{Item, ItemKind};
use crate::step::{Closing, Step};

/// Adds what is wrong with the items of a word, each as far as it was understood.
pub(crate) fn own(items: &[Item<'_>], problems: &mut Vec<Problem>) {
    let mut rounds = Some(1);
    for (place, item) in items.iter().enumerate() {
        match &item.kind {
            ItemKind::Gradient(Some(GItem::Split(split))) => {
                problems.extend(adding(item, split.algo, split));
            }
            ItemKind::Step(Some(step)) => problems.extend(raw(item, step, &items[place + 1..])),
            ItemKind::Model(Some(MItem::Every(h))) => {
                rounds = rounds.map(|rounds: u32| rounds.saturating_mul(*h))
            }
            ItemKind::Model(Some(MItem::Join(join))) => {
                fragments(item, join, rounds, problems);
                quorum(item, join, problems);
                rounds = Some(1);
            }
            ItemKind::Model(Some(MItem::Gossip(gossip))) => {
                problems.extend(connected(item, gossip.n, &gossip.graph));
                rounds = Some(1);
            }
            // How many rounds there are is not known behind an item that was not understood.
            ItemKind::Model(None) => rounds = None,
            _ => {}
        }
    }
}

/// E01: what `step raw` hands on, somebody must take.
fn raw(item: &Item<'_>, step: &Step, outside: &[Item<'_>]) -> Option<Problem> {
    let takes = |item: &Item<'_>| match &item.kind {
        ItemKind::Model(Some(MItem::Join(_))) | ItemKind::Other => true,
        // A join that was wrong has been reported, and would have taken it.
        ItemKind::Model(None) => item.text.text.starts_with("join"),
        _ => false,
    };
    if step.closing != Closing::Raw || outside.iter().any(takes) {
        return None;
    }
    let message = "`step raw` hands the gradient on, and no `join` right of it applies it";
    let help =
        "add a centre with an optimizer, for example `| join 4 outer=adam`, or name the optimizer here";
    Some(Problem::new(SORTS, item.text.at.clone(), message, help))
}

/// E04: fragments take turns within the inner rounds, and each arrives before its next turn.
fn fragments(item: &Item<'_>, join: &Join, rounds: Option<u32>, problems: &mut Vec<Problem>) {
    let Some(h) = rounds else { return };
    let Join { frag, delay, .. } = *join;
    let mut report = |at: &str, message: String, help: String| {
        problems.push(Problem::new(FRAGMENTS, item.mark(at), message, help));
    };
    if frag > 1 && !h.is_multiple_of(frag) {
        let (message, help) = match h {
            1 => (
                format!(
                    "`frag={frag}` cuts the rounds between two joins into {frag} turns, and there is one"
                ),
                format!("write `every {frag}` or a multiple of it left of this `join`"),
            ),
            _ => {
                let (below, above) = (h - h % frag, (h - h % frag).saturating_add(frag));
                let nearest = if below == 0 { above.to_string() } else { format!("{below} or {above}") };
                (
                    format!("`frag={frag}` takes turns within {h} rounds, and {h} is no multiple of {frag}"),
                    format!("let `every` make {nearest} rounds, or choose a `frag` that divides {h}"),
                )
            }
        };
        report("frag", message, help);
    } else if delay > 0 && delay >= h / frag {
        let turn = h / frag;
        report(
            "delay",
            format!(
                "a fragment is due every {turn} rounds, and with `delay={delay}` it would still be under way"
            ),
            match turn {
                0 | 1 => "leave `delay` out, or write a larger `every` left of this `join`".to_owned(),
                _ => format!("write `delay={}` or less", turn - 1),
            },
        );
    }
}

/// E05: a quorum is some of the children, and says what becomes of the late.
fn quorum(item: &Item<'_>, join: &Join, problems: &mut Vec<Problem>) {
    let SyncMode::Quorum { k, late } = join.sync else { return };
    let n = join.n;
    let (message, help) = if k > n {
        (
            format!("an update would wait for {k} contributions, and {n} children make no more than {n}"),
            format!("write `sync=quorum({n})`, which is `bsp`, or fewer"),
        )
    } else if k < n && late.is_none() {
        (
            format!("with {k} of {n} contributions some come late, and it is not said what becomes of them"),
            format!("write `sync=quorum({k},drop)` or `sync=quorum({k},keep)`"),
        )
    } else {
        return;
    };
    problems.push(Problem::new(QUORUM, item.mark("sync"), message, help));
}

/// E06: an algorithm that adds on the way needs numbers that can be added as they travel.
fn adding(item: &Item<'_>, algo: Algo, split: &crate::gradient::Split) -> Option<Problem> {
    let on_the_way = matches!(algo, Algo::Ring | Algo::Halving | Algo::Doubling);
    if split.wire.adds() || !on_the_way {
        return None;
    }
    let (wire, algo) = (split.wire, name(Algo::NAMES, algo));
    let message = format!("`wire={wire}` cannot be added as it travels, and `algo={algo}` does so");
    let help = "write `algo=auto` or `algo=direct`, or a wire that adds: `bf16`, `int8`, `powersgd(4)`";
    Some(Problem::new(ADDING, item.mark("wire"), message, help))
}

/// E10: with steps of these sizes each peer must be reached from each.
fn connected(item: &Item<'_>, n: u32, graph: &Graph) -> Option<Problem> {
    let Graph::Hops(hops) = graph else { return None };
    let parts = hops.iter().fold(n, |common, hop| gcd(common, *hop));
    if parts <= 1 {
        return None;
    }
    let message =
        format!("`graph={graph}` over {n} peers falls into {parts} parts that never hear of each other");
    let help =
        format!("add a hop that {n} and the others share no divisor with, such as 1, or write `graph=exp`");
    Some(Problem::new(CONNECTED, item.mark("graph"), message, help))
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}
