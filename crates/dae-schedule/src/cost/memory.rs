//! Bytes held, by a worker and by a machine.

use serde::Serialize;

use super::facts::Facts;
use super::gradient::states;
use super::layout::{Layout, cut};
use super::model::is_all_reduce;
use crate::gradient::{GItem, Order, PipeSched};
use crate::join::{Join, Outer};
use crate::model::MItem;
use crate::word::Word;

/// Bytes held; the model's own code, datasets and libraries come on top.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Memory {
    /// Parameters.
    pub params_bytes: f64,
    /// The gradient.
    pub gradient_bytes: f64,
    /// The optimizer's state.
    pub optimizer_bytes: f64,
    /// What is kept for the backward pass.
    pub activation_bytes: f64,
    /// Residuals of wires that lose something, the values a round began with and the outer state of joins without a
    /// centre, what neighbours sent.
    pub exchange_bytes: f64,
    /// All of it, for one worker on a machine of its own.
    pub worker_bytes: f64,
    /// All workers of a machine, which share parameters and optimizer state where they hold the same.
    pub node_bytes: f64,
    /// Each shard of a centre, where there is one: values, the sum that grows, and outer state.
    pub centre_bytes: f64,
}

pub(crate) fn memory(word: &Word, facts: &Facts, layout: &Layout) -> Memory {
    let params = facts.params as f64;
    let part = params / f64::from(cut(word));
    let replicas = word.gradient().iter().map(|item| match item {
        GItem::Split(split) => f64::from(split.n),
        _ => 1.0,
    });
    let replicas: f64 = replicas.product();
    let zero = |level: u8| if word.step().zero >= level { replicas } else { 1.0 };
    let exact = word
        .gradient()
        .iter()
        .any(|item| matches!(item, GItem::Split(split) if split.n > 1 && split.order == Order::Exact));
    let params_bytes = 4.0 * part / zero(3);
    let gradient_bytes = if exact { 8.0 } else { 4.0 } * part / zero(2);
    let optimizer_bytes = 4.0 * part * word.optimizer().map_or(0.0, states) / zero(1);
    let activation_bytes = activations(word, facts);
    let exchange_bytes = 4.0 * part * exchanged(word);
    let worker_bytes = params_bytes + gradient_bytes + optimizer_bytes + activation_bytes + exchange_bytes;
    // On a machine, replicas of a split share parameters and state; where these are cut each has a part of them.
    let on_node: u32 = layout
        .levels
        .iter()
        .filter(|level| matches!(word.gradient().get(level.at), Some(GItem::Split(_))))
        .map(|level| if level.place == crate::place::Place::Node { level.n } else { level.share })
        .product();
    let workers = f64::from(layout.workers_per_node);
    let copies = workers / f64::from(on_node);
    let held = |level: u8| if word.step().zero >= level { workers } else { copies };
    let node_bytes = held(3) * params_bytes
        + held(1) * optimizer_bytes
        + workers * (gradient_bytes + activation_bytes + exchange_bytes);
    let centre_bytes = word.model().iter().map(|item| centre(item, params)).fold(0.0, f64::max);
    Memory {
        params_bytes,
        gradient_bytes,
        optimizer_bytes,
        activation_bytes,
        exchange_bytes,
        worker_bytes,
        node_bytes,
        centre_bytes,
    }
}

/// Of all micro-batches under way at once.
fn activations(word: &Word, facts: &Facts) -> f64 {
    let one = 4.0 * facts.batch as f64 * facts.activations as f64 / f64::from(cut(word));
    let under_way = word.gradient().iter().map(|item| match item {
        // A stage of `1f1b` holds as many as there are stages after it, itself among them.
        GItem::Pipe(pipe) if pipe.sched == PipeSched::OneFOneB => f64::from(pipe.micro.min(pipe.n)),
        GItem::Pipe(pipe) => f64::from(pipe.micro),
        _ => 1.0,
    });
    one * under_way.product::<f64>()
}

/// Numbers kept for each parameter because of exchanges.
fn exchanged(word: &Word) -> f64 {
    let residual = |loses: bool| if loses { 1.0 } else { 0.0 };
    let left = word.gradient().iter().map(|item| match item {
        GItem::Split(split) if split.n > 1 => residual(split.wire.loses()),
        _ => 0.0,
    });
    let right = word.model().iter().map(|item| match item {
        MItem::Join(join) if join.n > 1 => {
            let outer = if is_all_reduce(join) { outer_states(&join.outer) } else { 0.0 };
            1.0 + outer + residual(join.wire.loses())
        }
        MItem::Gossip(gossip) if gossip.n > 1 => 1.0,
        _ => 0.0,
    });
    left.sum::<f64>() + right.sum::<f64>()
}

fn centre(item: &MItem, params: f64) -> f64 {
    let MItem::Join(join @ Join { n: 2.., .. }) = item else { return 0.0 };
    if is_all_reduce(join) {
        return 0.0;
    }
    4.0 * params * (2.0 + outer_states(&join.outer)) / f64::from(join.shards)
}

/// Numbers of state that an outer rule keeps for each parameter.
fn outer_states(outer: &Outer) -> f64 {
    match outer {
        Outer::Avg | Outer::Elastic(_) => 0.0,
        Outer::Nesterov { .. } | Outer::SlowMo { .. } => 1.0,
        Outer::Optimizer(optimizer) => states(optimizer),
    }
}
