//! E15 and E16: what must be kept, on disk and in memory.

use super::Line;
use super::facts::Facts;
use crate::gradient::{GItem, Pipe, PipeSched};
use crate::join::Outer;
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::problem::{CHECKPOINT, MEMORY, Problem};
use crate::read::{Item, ItemKind};
use crate::word::Word;

/// E15: a checkpoint holds all that the next step depends on.
pub(super) fn checkpoint(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let Some(held) = facts.checkpoint else { return };
    let loses = |item: &&Item<'_>| match &item.kind {
        ItemKind::Gradient(Some(GItem::Split(split))) => split.wire.loses(),
        ItemKind::Model(Some(MItem::Join(join))) => join.wire.loses(),
        _ => false,
    };
    let lossy = if held.residuals { None } else { line.items.iter().find(loses) };
    if let Some(item) = lossy {
        problems.push(Problem::new(
            CHECKPOINT,
            item.mark("wire"),
            "what this wire has kept back is not in a checkpoint, so that a resumed run would lose it",
            "keep residuals in checkpoints, or write `wire=f32`",
        ));
    }
    let apart = |item: &&Item<'_>| match &item.kind {
        ItemKind::Model(Some(MItem::Join(join))) => {
            join.n > 1 && (moments(line.word) > 0 || outer(&join.outer) > 0)
        }
        ItemKind::Model(Some(MItem::Gossip(gossip))) => gossip.n > 1 && moments(line.word) > 0,
        _ => false,
    };
    let several = if held.moments { None } else { line.items.iter().find(apart) };
    if let Some(item) = several {
        problems.push(Problem::new(
            CHECKPOINT,
            item.text.at.clone(),
            "each child and each centre here has moments of its own, and a checkpoint does not hold them",
            "keep inner moments in checkpoints, or step with `sgd` without momentum and `outer=avg`",
        ));
    }
}

/// Numbers of optimizer state for each parameter.
fn state(optimizer: &Optimizer) -> u64 {
    match optimizer {
        Optimizer::Sgd { momentum, .. } => u64::from(*momentum > 0.0),
        Optimizer::Adam { .. } | Optimizer::AdamW { .. } => 2,
    }
}

fn moments(word: &Word) -> u64 {
    word.optimizer().map_or(0, state)
}

fn outer(outer: &Outer) -> u64 {
    match outer {
        Outer::Avg | Outer::Elastic(_) => 0,
        Outer::Nesterov { mu, .. } | Outer::SlowMo { b: mu, .. } => u64::from(*mu > 0.0),
        Outer::Optimizer(optimizer) => state(optimizer),
    }
}

/// E16: a node holds what its workers need.
pub(super) fn memory(line: &Line<'_, '_>, facts: &Facts, problems: &mut Vec<Problem>) {
    let (Some(parameters), Some(there)) = (facts.parameters, facts.node_memory) else { return };
    let needed = memory_per_node(line.word, parameters, facts.activations.unwrap_or(0));
    if needed <= there {
        return;
    }
    let widest = line.items.iter().rev().find(|item| match &item.kind {
        ItemKind::Gradient(Some(fold)) => fold.children() > 1,
        ItemKind::Model(Some(model)) => model.children() > 1,
        _ => false,
    });
    let Some(blamed) = widest.or(line.items.first()) else { return };
    problems.push(Problem::new(
        MEMORY,
        blamed.text.at.clone(),
        format!("a node would need about {} of memory and has {}", Size(needed), Size(there)),
        "put fewer workers on a node, cut state over them with `zero=1` to `3`, or cut the model with `pipe`",
    ));
}

/// Bytes that a node needs at most, by estimate: 4 bytes for each number of parameters, gradients, optimizer state and
/// residuals of each of its workers, their activations, and all centres with their state.
///
/// `zero` divides state (1), gradients (2) and parameters (3) by the replicas of all `split`s. `parameters` counts
/// those of the whole model; `activations` are bytes for one micro-batch of the whole model.
pub fn memory_per_node(word: &Word, parameters: u64, activations: u64) -> u64 {
    let (mut cuts, mut replicas, mut under_way, mut residual) = (1_u64, 1_u64, 1_u64, 0_u64);
    for item in word.gradient() {
        match item {
            GItem::Accum(_) => {}
            GItem::Split(split) => {
                replicas = replicas.saturating_mul(u64::from(split.n));
                residual |= u64::from(split.wire.loses());
            }
            GItem::Pipe(Pipe { n, micro, sched, .. }) => {
                cuts = cuts.saturating_mul(u64::from(*n));
                let held = if *sched == PipeSched::Gpipe { *micro } else { *micro.min(n) };
                under_way = under_way.saturating_mul(u64::from(held));
            }
            GItem::Tensor(tensor) => cuts = cuts.saturating_mul(u64::from(tensor.n)),
        }
    }
    let mut centres = 0_u64;
    for item in word.model() {
        if let MItem::Join(join) = item {
            centres = centres.saturating_add(1 + outer(&join.outer));
            residual |= u64::from(join.wire.loses());
        }
    }
    let zero = |level: u8| if word.step().zero >= level { replicas } else { 1 };
    let part =
        |copies: u64, level: u8| parameters.saturating_mul(copies).div_ceil(cuts.saturating_mul(zero(level)));
    let numbers = part(1, 3) // parameters
        .saturating_add(part(1, 2)) // gradients
        .saturating_add(part(moments(word), 1))
        .saturating_add(part(residual, u8::MAX));
    let worker =
        numbers.saturating_mul(4).saturating_add(activations.div_ceil(cuts).saturating_mul(under_way));
    let workers = worker.saturating_mul(u64::from(word.workers_per_node()));
    workers.saturating_add(parameters.saturating_mul(4).saturating_mul(centres))
}

/// Bytes for people.
struct Size(u64);

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0..1_048_576 => write!(f, "{} KiB", self.0.div_ceil(1024)),
            1_048_576..1_073_741_824 => write!(f, "{:.1} MiB", self.0 as f64 / f64::from(1 << 20)),
            _ => write!(f, "{:.1} GiB", self.0 as f64 / f64::from(1 << 30)),
        }
    }
}
