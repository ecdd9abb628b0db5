//! [`Cost`]: what a word costs, all of it together.

use serde::Serialize;

use super::collective::Chosen;
use super::facts::Facts;
use super::figures::Figures;
use super::gradient;
use super::layout::{Layout, Placed, cut};
use super::ledger::{Ledger, Traffic};
use super::memory::{Memory, memory};
use super::model::{self, Process};
use super::pace::{Pace, share};
use super::refused::Refused;
use super::straggler::{Slowest, Straggler};
use crate::word::Word;

/// What a word costs. All numbers are finite.
///
/// A step is one optimizer step of every worker; where some are slow and others do not wait, the time in which as many
/// contributions are accepted as there are workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The word.
    pub word: String,
    /// Workers, and the machines they lie on.
    pub workers: u32,
    /// Machines.
    pub nodes: u32,
    /// Workers on each.
    pub workers_per_node: u32,
    /// Seconds of a step.
    pub step_s: f64,
    /// Steps of a round of the whole word, and its seconds.
    pub steps_per_round: u32,
    /// Seconds of a round.
    pub round_s: f64,
    /// Samples of a step.
    pub samples_per_step: f64,
    /// Samples a second.
    pub samples_per_s: f64,
    /// The share of their time in which workers do not compute, 0 to 1.
    pub idle_share: f64,
    /// How many times as long a step takes as without stragglers, and with nothing dropped.
    pub slowdown: f64,
    /// The share of what is computed that is used, 0 to 1; the rest came too late and was dropped.
    pub useful_share: f64,
    /// Seconds a worker computes in a step when nothing slows it.
    pub compute_s: f64,
    /// Bytes and messages of a step by kind of link.
    pub traffic: Vec<Traffic>,
    /// The oldest parameters that gradients are computed with.
    pub staleness: Staleness,
    /// Bytes held.
    pub memory: Memory,
    /// Where the children of each item lie.
    pub places: Vec<Placed>,
    /// Each all-reduce, and why it is made as it is.
    pub all_reduces: Vec<Chosen>,
    /// Events the simulation followed.
    pub events: u64,
}

/// How many updates lie between the parameters a contribution was computed with and those it is applied to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Staleness {
    /// The item that makes it so; empty if none does.
    pub item: String,
    /// On average.
    pub mean: f64,
    /// The most that the simulation saw.
    pub seen: u64,
    /// The most that can be; nothing if there is no bound.
    pub bound: Option<u64>,
}

impl Staleness {
    /// Gradients of the newest parameters.
    fn none() -> Self {
        Self { bound: Some(0), ..Self::default() }
    }

    /// Keeps the larger.
    pub(crate) fn worse(&mut self, other: Self) {
        let unbounded = other.bound.is_none() && self.bound.is_some();
        if unbounded || other.mean > self.mean || other.bound > self.bound && self.bound.is_some() {
            *self = other;
        }
    }
}

/// Predicts what a word costs.
///
/// # Errors
/// All facts and figures for which there is no answer, each with what to give instead.
pub fn cost(word: &Word, facts: &Facts, figures: &Figures) -> Result<Cost, Vec<Refused>> {
    let mut refused = Vec::new();
    facts.check(&mut refused);
    figures.check(word.workers(), &mut refused);
    if !refused.is_empty() {
        return Err(refused);
    }
    let normal = word.normal();
    let layout = Layout::new(&normal, facts)?;
    let cost = predict(word, &normal, facts, &layout, figures);
    let ideal_s = if figures.straggler == Straggler::None {
        cost.step_s * cost.useful_share
    } else {
        let ideal = Figures { straggler: Straggler::None, ..figures.clone() };
        let ideal = predict(word, &normal, facts, &layout, &ideal);
        ideal.step_s * ideal.useful_share
    };
    told(Cost { slowdown: if ideal_s > 0.0 { cost.step_s / ideal_s } else { 1.0 }, ..cost })
}

/// Refuses what takes no time or more than there is.
fn told(cost: Cost) -> Result<Cost, Vec<Refused>> {
    if cost.step_s > 0.0 && cost.round_s.is_finite() && cost.samples_per_s.is_finite() {
        return Ok(cost);
    }
    Err(vec![Refused::new(
        "figures",
        format!("with them a step takes {:e} s", cost.step_s),
        "give a compute time or model parameters above 0, and links that are not too slow",
    )])
}

fn predict(word: &Word, normal: &Word, facts: &Facts, layout: &Layout, figures: &Figures) -> Cost {
    let mut ledger = Ledger::new(figures);
    let time = gradient::step(normal, facts, layout, &mut ledger);
    let of = |marked| Pace::step(&time, Slowest::of(figures.straggler, time.group, marked));
    let process = Process {
        pace: of(false),
        marked: Process::is_marked(figures.straggler).then(|| of(true)),
        useful: 1.0,
        staleness: Staleness::none(),
        period: 1,
    };
    let process = model::wrap(normal, facts, layout, process, &mut ledger);
    let (pace, period) = (process.whole(), f64::from(process.period));
    let round_s = pace.mean();
    let step_s = round_s / period;
    let replicas = f64::from(word.workers()) / f64::from(cut(word));
    let samples_per_step = replicas * f64::from(word.accum()) * facts.batch as f64;
    Cost {
        word: word.to_string(),
        workers: word.workers(),
        nodes: layout.nodes,
        workers_per_node: layout.workers_per_node,
        step_s,
        steps_per_round: process.period,
        round_s,
        samples_per_step,
        samples_per_s: if step_s > 0.0 { samples_per_step / step_s } else { 0.0 },
        idle_share: 1.0 - share(pace.busy, 1.0),
        slowdown: 1.0,
        useful_share: process.useful,
        compute_s: time.work_s,
        traffic: ledger.by_link,
        staleness: process.staleness,
        memory: memory(normal, facts, layout),
        places: layout.placed(normal),
        all_reduces: ledger.chosen,
        events: ledger.events,
    }
}
