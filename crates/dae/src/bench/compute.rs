//! The command `bench-compute`: how long one gradient of a topology's model takes on this machine, by the samples in it, and
//! the optimizer for each parameter.

use crate::cli::{BenchComputeArgs, TopologyArgs};
use crate::exit::Failure;
use crate::host::Host;
use crate::prepare::{Prepared, plan, prepare};
use crate::progress;
use dae_collective::{Arena, Contribution, Member, Scale};
use dae_train::backend::Replica;
use dae_train::data::Batch;
use dae_train::exit::Exit;
use dae_train::job::feeder;
use dae_train::optimizer::Rule;
use dae_train::run_folder::write_atomic;
use serde::Serialize;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long each thing is tried, and how often at least and at most; those before are not counted.
const TRIED: Duration = Duration::from_millis(500);
const TIMES: (usize, usize) = (5, 2_000);
const WARM_UP: usize = 3;
/// One rank waits for nobody.
const STALL: Duration = Duration::from_secs(60);

/// What was measured, in seconds and bytes. Fields may be added under one version; none changes its meaning or goes.
#[derive(Debug, Serialize)]
struct Measured {
    version: u32,
    model: String,
    parameters: usize,
    /// Threads that computed.
    threads: u32,
    gradients: Vec<Gradient>,
    /// None where the schedule has no optimizer.
    optimizer: Option<Optimizer>,
}

/// One gradient: forward and backward.
#[derive(Debug, Serialize)]
struct Gradient {
    /// Samples in it.
    batch: usize,
    times: usize,
    median_s: f64,
    fastest_s: f64,
    /// The median for each sample.
    sample_s: f64,
}

/// The pass that applies a gradient.
#[derive(Debug, Serialize)]
struct Optimizer {
    /// As the schedule writes it.
    word: String,
    times: usize,
    /// The median for each parameter.
    parameter_s: f64,
    /// That as bytes of memory read and written in a second.
    bytes_per_s: f64,
}

/// Measures.
pub(crate) fn compute(host: &Host, args: &BenchComputeArgs) -> Result<Exit, Failure> {
    let said = plan(host, &args.topology)?;
    let batches = if args.batches.is_empty() { around(said.batch()) } else { args.batches.clone() };
    // What the largest batch needs is looked at as for a run.
    let most = batches.iter().max().copied().unwrap_or(1);
    let mut set = args.topology.set.clone();
    set.push(format!("data.batch={most}"));
    let prepared = prepare(host, plan(host, &TopologyArgs { file: args.topology.file.clone(), set })?)?;
    let measured = measure(&prepared, &batches).map_err(Failure::failed)?;
    let json = serde_json::to_string_pretty(&measured).map_err(Failure::failed)? + "\n";
    if let Some(file) = &args.out {
        write_atomic(file, json.as_bytes()).map_err(Failure::failed)?;
    }
    if args.json {
        print!("{json}")
    } else {
        show(&measured)
    }
    Ok(Exit::Done)
}

/// The sizes that are tried unless others are named.
fn around(batch: usize) -> Vec<usize> {
    let mut sizes = vec![batch / 4, batch / 2, batch, batch * 2];
    sizes.retain(|batch| *batch > 0);
    sizes
}

fn measure(prepared: &Prepared, batches: &[usize]) -> Result<Measured, String> {
    let Prepared { plan, dataset, backend } = prepared;
    let (layout, topology) = (backend.layout(), plan.topology());
    let rule = plan.optimizer().map(Rule::new);
    let states = rule.map_or(0, |rule| rule.state_names().len());
    let mut params = vec![0.0; layout.len()];
    backend.initialise(plan.seed(), &mut params).map_err(words)?;
    let arena = Arena::new(layout.len(), states, 1, STALL);
    let zeros = vec![0.0; layout.len()];
    arena.load(0, &params, &vec![&zeros[..]; states], Scale::UNKNOWN).map_err(words)?;
    let mut member = arena.join(0).map_err(words)?;
    let mut replica = backend.replica(&member).map_err(words)?;
    let (feeder, features) = (feeder(plan, dataset), dataset.features());
    let bar = progress::bar(0, batches.len() as u64 + 1);
    let mut gradients = Vec::new();
    for &rows in batches {
        let mut batch = Batch::new(rows, features, topology.model.wants_mask());
        feeder.fill(0..rows as u64, &mut batch);
        gradients.push(gradient(&mut *replica, &mut member, &batch)?);
        bar.inc(1);
    }
    let rows = batches.last().copied().unwrap_or(1) as f64;
    let optimizer = match (plan.optimizer(), &rule) {
        (Some(optimizer), Some(rule)) => {
            let passes = dae_schedule::cost::passes(optimizer);
            Some(apply(rule, &mut member, rows, (optimizer.to_string(), passes))?)
        }
        _ => None,
    };
    bar.finish_and_clear();
    let (model, threads) = (topology.model.kind.clone(), topology.placement.threads);
    Ok(Measured { version: 1, model, parameters: layout.parameters(), threads, gradients, optimizer })
}

fn gradient(replica: &mut dyn Replica, member: &mut Member, batch: &Batch) -> Result<Gradient, String> {
    let times = tried(|| {
        let began = Instant::now();
        replica.gradient(member, batch, true).map_err(words)?;
        Ok(began.elapsed().as_secs_f64())
    })?;
    let (median_s, fastest_s) = (times[times.len() / 2], times[0]);
    let sample_s = median_s / batch.rows as f64;
    Ok(Gradient { batch: batch.rows, times: times.len(), median_s, fastest_s, sample_s })
}

/// Applies the gradient that is in the slot again and again, at a rate of 0: the same arithmetic, and nothing grows.
fn apply(
    rule: &Rule,
    member: &mut Member,
    weight: f64,
    (word, passes): (String, f64),
) -> Result<Optimizer, String> {
    let len = member.arena().len().max(1) as f64;
    let mut step = 0;
    let times = tried(|| {
        step += 1;
        let mine = Contribution { weight, ..Contribution::default() };
        let (took, _) = member
            .reduce(mine, |view| {
                let began = Instant::now();
                let scale = weight.recip() as f32;
                let finite = rule.apply(step, 0.0, scale, view.params, &mut view.state, &view.grads);
                Ok((began.elapsed().as_secs_f64(), Some(finite)))
            })
            .map_err(words)?;
        Ok(took)
    })?;
    let parameter_s = times[times.len() / 2] / len;
    Ok(Optimizer { word, times: times.len(), parameter_s, bytes_per_s: 4.0 * passes / parameter_s })
}

/// Tries something for a while; how long it took each time, the shortest first.
fn tried(mut once: impl FnMut() -> Result<f64, String>) -> Result<Vec<f64>, String> {
    for _ in 0..WARM_UP {
        once()?;
    }
    let (began, mut times) = (Instant::now(), Vec::new());
    while times.len() < TIMES.0 || (times.len() < TIMES.1 && began.elapsed() < TRIED) {
        times.push(once()?);
    }
    times.sort_by(f64::total_cmp);
    Ok(times)
}

fn words(error: impl Display) -> String {
    error.to_string()
}

fn show(measured: &Measured) {
    let Measured { model, parameters, threads, gradients, optimizer, .. } = measured;
    println!("{model}, {parameters} parameters, {threads} threads\n");
    println!("{:>8}{:>14}{:>14}{:>16}{:>8}", "BATCH", "GRADIENT ms", "FASTEST ms", "A SAMPLE us", "TIMES");
    for Gradient { batch, times, median_s, fastest_s, sample_s } in gradients {
        let (median, fastest, sample) = (median_s * 1e3, fastest_s * 1e3, sample_s * 1e6);
        println!("{batch:>8}{median:>14.3}{fastest:>14.3}{sample:>16.2}{times:>8}");
    }
    if let Some(Optimizer { word, parameter_s, bytes_per_s, .. }) = optimizer {
        let (nanos, rate) = (parameter_s * 1e9, bytes_per_s / 1e9);
        println!("\n{word} takes {nanos:.2} ns a parameter, {rate:.1} GB/s of memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lie_around_the_one_that_is_said() {
        assert_eq!(around(128), [32, 64, 128, 256]);
        assert_eq!(around(1), [1, 2]);
    }

    #[test]
    fn what_takes_long_is_tried_a_few_times_and_what_is_short_often() {
        let mut calls = 0;
        let times = tried(|| {
            calls += 1;
            Ok(f64::from(100 - calls))
        })
        .unwrap();
        assert_eq!(calls as usize, times.len() + WARM_UP);
        assert!(times.len() >= TIMES.0 && times.len() <= TIMES.1 && times.is_sorted());
        assert!(tried(|| Err("no".into())).is_err());
    }
}
