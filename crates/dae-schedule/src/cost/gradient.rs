//! The cost of what stands left of `step`, and of `step` itself.

use super::collective::Sum;
use super::facts::Facts;
use super::layout::{Layout, Level, written};
use super::ledger::Ledger;
use super::size::Vector;
use crate::gradient::{Algo, GItem, Pipe, Split};
use crate::model::MItem;
use crate::optimizer::Optimizer;
use crate::place::Place;
use crate::wire::Wire;
use crate::word::Word;

/// One optimizer step of one child right of `step`, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StepTime {
    /// Computing, as long as the slowest worker does; a pipeline's bubble is in it.
    pub(crate) compute_s: f64,
    /// What of it one worker computes.
    pub(crate) work_s: f64,
    /// Links, as far as computing does not hide them.
    pub(crate) links_s: f64,
    /// The optimizer's passes over memory.
    pub(crate) memory_s: f64,
    /// Workers that wait for each other in it.
    pub(crate) group: u32,
}

/// Prices the gradient and its step.
pub(crate) fn step(word: &Word, facts: &Facts, layout: &Layout, ledger: &mut Ledger<'_>) -> StepTime {
    let leaf = ledger.figures.compute_s;
    let mut time = StepTime { compute_s: leaf, work_s: leaf, group: 1, ..StepTime::default() };
    let mut micro = 1.0;
    for (at, item) in word.gradient().iter().enumerate() {
        let level = layout.level(at);
        let name = written(word, at);
        match item {
            GItem::Accum(k) => {
                let k = f64::from(*k);
                (time.compute_s, time.work_s, micro) = (time.compute_s * k, time.work_s * k, micro * k);
            }
            GItem::Pipe(pipe) => {
                stages(*pipe, level, micro * facts.batch as f64 * facts.width as f64, &mut time, ledger);
                micro *= f64::from(pipe.micro);
            }
            GItem::Tensor(_) => {
                let Some(level) = level else { continue };
                let n = f64::from(level.n);
                (time.compute_s, time.work_s) = (time.compute_s / n, time.work_s / n);
                let vector = Vector::plain(4.0 * facts.batch as f64 * facts.width as f64);
                // One sum for each layer and micro-batch (Shoeybi et al. 2019: two for each two layers, there and back).
                let often = facts.layers as f64 * f64::from(word.accum()) / stages_of(word);
                let (algo, wire) = (Algo::Auto, Wire::F32);
                let sum = Sum { item: &name, level, vector, algo, wire, pieces: 1.0, per_step: often };
                time.links_s += often * sum.enter(ledger);
            }
            GItem::Split(split) => {
                let Some(level) = level else { continue };
                time.links_s += split_s(split, &name, level, (word.step().zero, leaf), facts, ledger);
            }
        }
        time.group *= item.children();
    }
    time.memory_s = optimizer_s(word, facts, layout, ledger.figures.memory_bytes_per_s);
    time
}

/// Stages that the layers are spread over.
fn stages_of(word: &Word) -> f64 {
    let stages = |item: &GItem| if let GItem::Pipe(pipe) = item { f64::from(pipe.n) } else { 1.0 };
    word.gradient().iter().map(stages).product()
}

/// A pipeline: p - 1 slots of its m + p - 1 are empty on each stage (Huang et al. 2019).
fn stages(pipe: Pipe, level: Option<&Level>, numbers: f64, time: &mut StepTime, ledger: &mut Ledger<'_>) {
    let (p, m) = (f64::from(pipe.n), f64::from(pipe.micro));
    let slot = time.compute_s / p;
    time.work_s *= m / p;
    time.compute_s = (m + p - 1.0) * slot;
    let Some(level) = level else { return };
    let (bytes, link) = (4.0 * numbers, ledger.figures.links.of(level.place));
    // Activations go on while the next micro-batch computes; only what is longer than it is seen, and the way there and
    // back of the first and the last.
    let hop = link.message_s + bytes / link.bytes_per_s;
    time.links_s += (m + p - 1.0) * (hop - slot).max(0.0) + 2.0 * (p - 1.0) * link.message(bytes);
    let cuts = 2.0 * m * (p - 1.0) * f64::from(level.instances);
    ledger.traffic(level.place, cuts * bytes, 2.0 * m * bytes * (p - 1.0) / p, 2.0 * m * bytes, cuts);
}

/// An all-reduce, less what the backward pass hides of it.
fn split_s(
    split: &Split,
    name: &str,
    level: &Level,
    (zero, leaf_s): (u8, f64),
    facts: &Facts,
    ledger: &mut Ledger<'_>,
) -> f64 {
    let mut vector = Vector::gradient(split.wire, split.order, facts);
    if zero == 3 {
        // Parameters are gathered for the forward and for the backward pass (Rajbhandari et al. 2020).
        vector.gather *= 2.0;
    }
    let bytes = 4.0 * facts.params as f64;
    let pieces = split.bucket.map_or(1.0, |bucket| (bytes / bucket.max(1) as f64).ceil().max(1.0));
    let Split { algo, wire, .. } = *split;
    let seconds = Sum { item: name, level, vector, algo, wire, pieces, per_step: 1.0 }.enter(ledger);
    if !split.overlap {
        return seconds;
    }
    // The backward pass is two thirds of a micro-batch; the last piece is ready when it is over.
    (seconds - leaf_s * 2.0 / 3.0 * (1.0 - 1.0 / pieces)).max(seconds / pieces)
}

/// Reads and writes of each parameter, in numbers: gradient, parameter and state in, parameter and state out.
pub fn passes(optimizer: &Optimizer) -> f64 {
    3.0 + 2.0 * states(optimizer)
}

/// Numbers of state that an optimizer keeps for each parameter.
pub(crate) fn states(optimizer: &Optimizer) -> f64 {
    match optimizer {
        Optimizer::Sgd { momentum, .. } if *momentum == 0.0 => 0.0,
        Optimizer::Sgd { .. } => 1.0,
        Optimizer::Adam { .. } | Optimizer::AdamW { .. } => 2.0,
    }
}

/// The optimizer's pass over all copies of the parameters that lie in one memory.
fn optimizer_s(word: &Word, facts: &Facts, layout: &Layout, bytes_per_s: f64) -> f64 {
    let Some(optimizer) = word.optimizer() else { return 0.0 };
    let lefts = word.gradient().len();
    let mut copies = 1.0;
    for level in &layout.levels {
        let (n, here) = (f64::from(level.n), level.place == Place::Node);
        match (word.gradient().get(level.at), word.model().get(level.at.wrapping_sub(lefts))) {
            (Some(GItem::Pipe(_) | GItem::Tensor(_)), _) if !here => copies /= n / f64::from(level.share),
            (Some(GItem::Split(_)), _) if word.step().zero > 0 && !here => copies /= n,
            (_, Some(MItem::Join(_) | MItem::Gossip(_))) if here => copies *= n,
            (_, Some(_)) => copies *= f64::from(level.share),
            _ => {}
        }
    }
    4.0 * facts.params as f64 * passes(optimizer) * copies / bytes_per_s
}
