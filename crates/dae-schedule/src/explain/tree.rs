//! What each item of a word says, the outermost first.

use serde::Serialize;

use crate::gossip::{Gossip, Graph};
use crate::gradient::{GItem, Order, PipeSched, Split};
use crate::join::{Join, Late, Outer, Scale, Stale, SyncMode};
use crate::model::MItem;
use crate::step::{Closing, Step};
use crate::wire::Wire;
use crate::word::Word;

/// An item, and what it says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// As it is written.
    pub item: String,
    /// In words.
    pub says: String,
}

/// All items, the outermost first, and last the micro-batch they are around.
pub(crate) fn tree(word: &Word) -> Vec<Branch> {
    let branch = |item: String, says: String| Branch { item, says };
    let model = word.model().iter().rev().map(|item| branch(item.to_string(), of_model(item)));
    let step = std::iter::once(branch(word.step().to_string(), of_step(word.step())));
    let gradient = word.gradient().iter().rev().map(|item| branch(item.to_string(), of_gradient(item)));
    let leaf = std::iter::once(branch("micro-batch".into(), "forward and backward on one worker".into()));
    model.chain(step).chain(gradient).chain(leaf).collect()
}

fn of_gradient(item: &GItem) -> String {
    match item {
        GItem::Accum(k) => format!("{k} micro-batches, one after another, are one gradient"),
        GItem::Split(split) => of_split(split),
        GItem::Pipe(pipe) => {
            let order = match pipe.sched {
                PipeSched::Gpipe => "all forward, then all backward",
                PipeSched::OneFOneB => "one forward, one backward",
            };
            format!("the layers in {} stages, {} micro-batches under way: {order}", pipe.n, pipe.micro)
        }
        GItem::Tensor(tensor) => format!("wide layers in {} parts, summed at each layer", tensor.n),
    }
}

fn of_split(split: &Split) -> String {
    let mut says = format!("{} replicas, whose gradients are summed", split.n);
    if split.order == Order::Exact {
        says += ", as whole numbers in any order";
    }
    says += &of_wire(split.wire);
    if split.overlap {
        says += ", while the backward pass still runs";
    }
    says
}

fn of_wire(wire: Wire) -> String {
    if wire.loses() { format!(", sent as {wire}") } else { String::new() }
}

fn of_step(step: &Step) -> String {
    let closing = match step.closing {
        Closing::Optimizer(_) => "the optimizer turns the gradient into new parameters",
        Closing::Raw => "the gradient is handed on as the displacement",
    };
    let zero = match step.zero {
        0 => "",
        1 => "; each replica keeps its part of the optimizer's state",
        2 => "; each replica keeps its part of state and gradient",
        _ => "; each replica keeps its part of state, gradient and parameters",
    };
    let clip = step.clip.map_or(String::new(), |clip| format!("; a norm above {clip} is scaled down to it"));
    format!("{closing}{zero}{clip}")
}

fn of_model(item: &MItem) -> String {
    match item {
        MItem::Every(h) => format!("a round is {h} inner rounds"),
        MItem::Join(join) => of_join(join),
        MItem::Gossip(gossip) => of_gossip(gossip),
    }
}

fn of_join(join: &Join) -> String {
    let n = join.n;
    let sync = match join.sync {
        SyncMode::Bsp | SyncMode::Ssp(0) => "all wait for all".to_owned(),
        SyncMode::Ssp(s) => format!("nobody gets more than {s} rounds ahead of the slowest"),
        SyncMode::Async => "nobody waits for anybody".to_owned(),
        SyncMode::Quorum { k, late } => {
            let rest = match late.unwrap_or(Late::Keep) {
                Late::Drop => "what comes later is dropped",
                Late::Keep => "what comes later counts for the next",
            };
            format!("an update for {k} contributions, {rest}")
        }
    };
    let outer = match &join.outer {
        Outer::Avg => "values are averaged".to_owned(),
        Outer::Elastic(a) => format!("child and centre move {a} of the way to each other"),
        outer => format!("{outer} descends their displacement"),
    };
    let mut says = format!("{n} children around a centre: {sync}; {outer}");
    if join.scale == Scale::Sum {
        says += ", each push a full step";
    }
    says += &of_wire(join.wire);
    if join.frag > 1 {
        says += &format!(", in {} fragments", join.frag);
    }
    if join.delay > 0 {
        says += &format!(", merged {} rounds later", join.delay);
    }
    match join.stale {
        Stale::None => {}
        Stale::LrOverTau => says += ", divided by their age",
        Stale::Dc(_) => says += ", corrected for their age",
        Stale::Drop(tau) => says += &format!(", thrown away when older than {tau} updates"),
    }
    says
}

fn of_gossip(gossip: &Gossip) -> String {
    let with = match &gossip.graph {
        Graph::Ring => "the next and the one before".to_owned(),
        Graph::Exp => "one that is 1, 2, 4, ... places on".to_owned(),
        Graph::Complete => "all others".to_owned(),
        Graph::Hops(hops) => {
            let hops: Vec<String> = hops.iter().map(u32::to_string).collect();
            format!("those {} places on and back", hops.join(", "))
        }
    };
    let push = if gossip.push { ", weights along with values" } else { "" };
    let waits = if gossip.asynchronous { ", waiting for nobody" } else { "" };
    format!("{} peers without a centre mix with {with}{push}{waits}", gossip.n)
}
