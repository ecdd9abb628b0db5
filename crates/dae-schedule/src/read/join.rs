//! Reads the items right of `step`.

use crate::gossip::{Gossip, Graph};
use crate::join::{Join, Late, Outer, Scale, Stale, SyncMode, View, Weight};
use crate::model::MItem;
use crate::problem::{FRAGMENTS, Problem, QUORUM, SYNTAX};
use crate::read::attribute::Call;
use crate::read::number::{Bound, number, whole};
use crate::read::optimizer::optimizer;
use crate::read::parse::MAX_COUNT;
use crate::read::tail::Given;
use crate::read::token::Text;
use crate::read::value::{no_such, numbers, plain};
use crate::read::vocabulary::OPTIMIZERS;

/// The most numbers in `hops(…)`.
const MAX_HOPS: usize = 8;

/// Reads `every`, `join` or `gossip`; nothing if any of it is wrong.
pub(crate) fn model(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<MItem> {
    let before = problems.len();
    let item = match given.op {
        "every" => {
            let count = given.count("inner rounds", problems);
            given.no_place(problems);
            count.map(MItem::Every)
        }
        "join" => join(given, problems).map(MItem::Join),
        _ => gossip(given, problems).map(MItem::Gossip),
    };
    given.no_strays(problems);
    item.filter(|_| problems.len() == before)
}

fn join(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Join> {
    let n = given.count("children", problems);
    let place = given.place(problems);
    let sync = sync(given, problems);
    let outer = outer(given, problems);
    let scale = given.choice("scale", Scale::NAMES, problems);
    let stale = stale(given, problems);
    let wire = given.wire(problems);
    let shards = given.whole("shards", (1, MAX_COUNT), 1, problems);
    let from = problems.len();
    let frag = given.whole("frag", (1, MAX_COUNT), 1, problems);
    let delay = given.whole("delay", (0, MAX_COUNT), 0, problems);
    let mix = given.number("mix", Bound::Share, 0.5, problems);
    blame(FRAGMENTS, from, problems);
    let view = given.choice("view", View::NAMES, problems);
    let weight = given.choice("weight", Weight::NAMES, problems);
    Some(Join {
        n: n?,
        place,
        sync: sync?,
        outer: outer?,
        scale: scale?,
        stale: stale?,
        wire: wire?,
        shards: shards?,
        frag: frag?,
        delay: delay?,
        mix: mix.unwrap_or(0.0),
        view: view?,
        weight: weight?,
    })
}

/// Gives the problems found since then, all of one rule, its code.
fn blame(code: &'static str, from: usize, problems: &mut [Problem]) {
    for problem in problems.iter_mut().skip(from).filter(|problem| problem.code != SYNTAX) {
        problem.code = code;
    }
}

fn sync(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<SyncMode> {
    const NAMES: &[&str] = &["bsp", "ssp", "async", "quorum"];
    if given.attribute("sync").is_none() {
        return Some(SyncMode::Bsp);
    }
    let call = given.value("sync", "async", problems)?;
    match call.head.text {
        "bsp" => plain("sync", call, problems).map(|_| SyncMode::Bsp),
        "async" => plain("sync", call, problems).map(|_| SyncMode::Async),
        "ssp" => {
            let [slack] = numbers(call, ["s"], "ssp(3)", problems)?;
            let from = problems.len();
            let slack = small("s", &slack, 0, problems);
            blame(QUORUM, from, problems);
            slack.map(SyncMode::Ssp)
        }
        "quorum" => quorum(call, problems),
        _ => {
            problems.push(no_such("sync", &call.head, NAMES));
            None
        }
    }
}

fn quorum(call: &Call<'_>, problems: &mut Vec<Problem>) -> Option<SyncMode> {
    let (k, late) = match call.arguments.as_ref().map_or(0, Vec::len) {
        0 | 1 => (numbers(call, ["k"], "quorum(3,drop)", problems).map(|[k]| k), None),
        _ => match numbers(call, ["k", "late"], "quorum(3,drop)", problems) {
            Some([k, late]) => (Some(k), Some(late)),
            None => (None, None),
        },
    };
    let from = problems.len();
    let k = small("k", &k?, 1, problems);
    let named = late.as_ref().map(|late| {
        let found = Late::NAMES.iter().find(|(name, _)| *name == late.text).map(|(_, value)| *value);
        if found.is_none() {
            problems.push(no_such("late", late, &["keep", "drop"]));
        }
        found
    });
    blame(QUORUM, from, problems);
    match named {
        Some(None) => None,
        late => Some(SyncMode::Quorum { k: k?, late: late.flatten() }),
    }
}

fn outer(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Outer> {
    if given.attribute("outer").is_none() {
        return Some(Outer::Avg);
    }
    let call = given.value("outer", "nesterov(0.7,0.9)", problems)?;
    match call.head.text {
        "avg" => plain("outer", call, problems).map(|_| Outer::Avg),
        "nesterov" => {
            let [lr, mu] = numbers(call, ["lr", "mu"], "nesterov(0.7,0.9)", problems)?;
            let lr = number("lr", &lr, Bound::Positive, 0.7, problems);
            let mu = number("mu", &mu, Bound::Fraction, 0.9, problems);
            Some(Outer::Nesterov { lr: lr?, mu: mu? })
        }
        "slowmo" => {
            let [a, b] = numbers(call, ["a", "b"], "slowmo(1,0.5)", problems)?;
            let a = number("a", &a, Bound::Positive, 1.0, problems);
            let b = number("b", &b, Bound::Fraction, 0.5, problems);
            Some(Outer::SlowMo { a: a?, b: b? })
        }
        "elastic" => {
            let [a] = numbers(call, ["a"], "elastic(0.1)", problems)?;
            number("a", &a, Bound::Share, 0.1, problems).map(Outer::Elastic)
        }
        name if OPTIMIZERS.contains(&name) => optimizer(call, problems).map(Outer::Optimizer),
        _ => {
            let names = [&["avg", "nesterov", "slowmo", "elastic"], OPTIMIZERS].concat();
            problems.push(no_such("outer", &call.head, &names));
            None
        }
    }
}

fn stale(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Stale> {
    if given.attribute("stale").is_none() {
        return Some(Stale::None);
    }
    let call = given.value("stale", "lr/tau", problems)?;
    match call.head.text {
        "none" => plain("stale", call, problems).map(|_| Stale::None),
        "lr/tau" => plain("stale", call, problems).map(|_| Stale::LrOverTau),
        "dc" => {
            let [lambda] = numbers(call, ["lambda"], "dc(0.04)", problems)?;
            number("lambda", &lambda, Bound::NotNegative, 0.04, problems).map(Stale::Dc)
        }
        "drop" => {
            let [tau] = numbers(call, ["tau"], "drop(8)", problems)?;
            small("tau", &tau, 0, problems).map(Stale::Drop)
        }
        _ => {
            problems.push(no_such("stale", &call.head, &["none", "lr/tau", "dc", "drop"]));
            None
        }
    }
}

fn gossip(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Gossip> {
    const SYNC: &[(&str, bool)] = &[("bsp", false), ("async", true)];
    let n = given.count("peers", problems);
    let place = given.place(problems);
    let graph = graph(given, problems);
    let push = given.flag("push", problems);
    let asynchronous = given.choice("sync", SYNC, problems);
    Some(Gossip { n: n?, place, graph: graph?, push, asynchronous: asynchronous? })
}

fn graph(given: &Given<'_>, problems: &mut Vec<Problem>) -> Option<Graph> {
    if given.attribute("graph").is_none() {
        return Some(Graph::Ring);
    }
    let call = given.value("graph", "exp", problems)?;
    let simple = match call.head.text {
        "ring" => Graph::Ring,
        "exp" => Graph::Exp,
        "complete" => Graph::Complete,
        "hops" => return hops(call, problems),
        _ => {
            problems.push(no_such("graph", &call.head, &["ring", "exp", "complete", "hops"]));
            return None;
        }
    };
    plain("graph", call, problems).map(|_| simple)
}

fn hops(call: &Call<'_>, problems: &mut Vec<Problem>) -> Option<Graph> {
    let entries = call.arguments.as_deref().unwrap_or_default();
    if entries.is_empty() || entries.len() > MAX_HOPS || entries.iter().any(|entry| entry.name.is_some()) {
        let message = format!("`hops` takes 1 to {MAX_HOPS} numbers of places");
        problems.push(Problem::new(SYNTAX, call.at.clone(), message, "write for example `hops(1,3)`"));
        return None;
    }
    let hops: Vec<_> = entries.iter().map(|entry| small("hops", &entry.value, 1, problems)).collect();
    hops.into_iter().collect::<Option<Vec<_>>>().map(Graph::Hops)
}

/// A whole number from `least` to [`MAX_COUNT`].
fn small(name: &str, text: &Text<'_>, least: u64, problems: &mut Vec<Problem>) -> Option<u32> {
    whole(name, text, (least, u64::from(MAX_COUNT)), problems).and_then(|number| u32::try_from(number).ok())
}
