//! Measures what slow workers do to schedules, and holds it against what `cost` predicts.
//!
//! Eight workers whose gradient is a sleep train a model of a few numbers, so all the time there is is theirs. How many
//! gradients were taken up in the time in which all were at work gives how many times as long a step took as
//! without a slow one. Prints a JSON line for each word.

use dae_actor::System;
use dae_collective::Member;
use dae_schedule::cost::{Facts, Figures, Link, Links, Straggler, cost};
use dae_train::actors::Ended;
use dae_train::backend::{Backend, BackendError, Replica};
use dae_train::data::{Batch, Dataset, uniform};
use dae_train::job::Job;
use dae_train::layout::Layout;
use dae_train::run_folder::RunFolder;
use dae_train::topology::{Kinds, Topology};
use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const WORKERS: usize = 8;
/// What a gradient takes where nothing slows it.
const COMPUTE: Duration = Duration::from_millis(80);
const STEPS: u64 = 80;

/// Each word with who is slow.
const WORDS: [(&str, &str); 11] = [
    ("step raw | join 8 outer=sgd(.01)", "one:4"),
    ("step raw | join 8 sync=ssp(3) outer=sgd(.01)", "one:4"),
    ("step raw | join 8 sync=quorum(7,drop) outer=sgd(.01)", "one:4"),
    ("step raw | join 8 sync=async outer=sgd(.01)", "one:4"),
    ("split 8 | step sgd(.01)", "one:4"),
    ("step sgd(.01) | every 10 | join 8", "one:4"),
    ("step raw | join 8 outer=sgd(.01)", "p:0.125,4"),
    ("step raw | join 8 sync=ssp(3) outer=sgd(.01)", "p:0.125,4"),
    ("step raw | join 8 sync=async outer=sgd(.01)", "p:0.125,4"),
    ("step sgd(.01) | every 10 | join 8", "p:0.125,4"),
    ("step raw | join 8 sync=quorum(7,drop) outer=sgd(.01)", "p:0.125,4"),
];

fn main() -> Outcome {
    for (word, slow) in WORDS {
        let straggler = Straggler::parse(slow)?;
        let measured = measure(word, straggler)?;
        let predicted = predict(word, straggler)?;
        let line = serde_json::json!({
            "what": "stragglers", "word": word, "slow": slow, "slowdown": measured, "predicted": predicted,
        });
        println!("{line}");
    }
    Ok(())
}

/// How many times as long a step takes, where links cost nothing.
fn predict(word: &str, straggler: Straggler) -> Outcome<f64> {
    let link = Link { latency_s: 0.0, bytes_per_s: 1e18, message_s: 0.0 };
    let links = Links { device: link, node: link, rack: link, cluster: link };
    let compute_s = COMPUTE.as_secs_f64();
    let figures = Figures { compute_s, memory_bytes_per_s: 1e18, links, straggler, seed: 7 };
    let schedule = dae_schedule::parse(word).map_err(|problems| format!("{word}: {problems:?}"))?;
    let word = schedule.into_word().ok_or("one word")?;
    let cost = cost(&word, &Facts::of_params(1, 1), &figures).map_err(|refused| format!("{refused:?}"))?;
    Ok(cost.slowdown)
}

/// When each worker began each of its gradients.
type Clock = Arc<Mutex<Vec<Vec<Instant>>>>;

fn measure(word: &str, straggler: Straggler) -> Outcome<f64> {
    let folder = tempfile::tempdir()?;
    let run = RunFolder::create(&folder.path().join("run"), false)?;
    let mut topology = Topology::new("stragglers")
        .model("sleeper")
        .data("nothing")
        .mse()
        .seed(11)
        .steps(STEPS)
        .batch(1)
        .checkpoint_every(0)
        .schedule(word);
    topology.job.stall_timeout_s = 600;
    let plan = topology.compile(&Kinds::stock().with_model("sleeper").with_data("nothing"))?;
    let clock: Clock = Arc::new(Mutex::new(vec![vec![]; WORKERS]));
    let backend = Arc::new(Sleeper {
        layout: Layout::new([("numbers".into(), vec![4])]),
        straggler,
        clock: clock.clone(),
    });
    let job = Job::prepare(plan, backend, Arc::new(Nothing), &run, false)?;
    let report = System::run(|mut system| async move { job.run(&mut system, |_, _| Ok(vec![])).await })??;
    if !matches!(report.how, Ended::Finished) {
        return Err(format!("{word}: {:?}", report.how).into());
    }
    let begun = clock.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let dropped = dropped(&std::fs::read_to_string(run.events())?)?;
    Ok(slowdown(&begun, &dropped))
}

/// The pushes that came to nothing, by child and round.
fn dropped(events: &str) -> Outcome<HashMap<(u64, u64), bool>> {
    let mut all = HashMap::new();
    for line in events.lines() {
        let event: serde_json::Value = serde_json::from_str(line)?;
        if event["type"] == "push" {
            let number = |key: &str| event[key].as_u64().ok_or_else(|| format!("no {key} in {line}"));
            all.insert((number("child")?, number("round")?), event["applied"].is_null());
        }
    }
    Ok(all)
}

/// The time a gradient of all workers that counted took, over what it takes alone; in the time in which all were at work,
/// beyond the first of it.
fn slowdown(begun: &[Vec<Instant>], dropped: &HashMap<(u64, u64), bool>) -> f64 {
    let ends = begun.iter().filter_map(|times| times.last());
    let starts = begun.iter().filter_map(|times| times.get(times.len() / 10));
    let (Some(from), Some(to)) = (starts.min(), ends.min()) else { return f64::NAN };
    let mut counted = 0;
    for (child, times) in begun.iter().enumerate() {
        // A gradient is pushed before the next begins.
        for (round, pair) in times.windows(2).enumerate() {
            let lost = dropped.get(&(child as u64, round as u64)).is_some_and(|lost| *lost);
            counted += usize::from(pair[1] > *from && pair[1] <= *to && !lost);
        }
    }
    (*to - *from).as_secs_f64() / COMPUTE.as_secs_f64() * WORKERS as f64 / counted as f64
}

struct Sleeper {
    layout: Layout,
    straggler: Straggler,
    clock: Clock,
}

impl Backend for Sleeper {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn initialise(&self, _: u64, params: &mut [f32]) -> Result<(), BackendError> {
        params.fill(0.0);
        Ok(())
    }

    fn replica(&self, member: &Member) -> Result<Box<dyn Replica>, BackendError> {
        Ok(Box::new(Sleeping { rank: member.rank(), straggler: self.straggler, clock: self.clock.clone() }))
    }

    fn reconstruct(&self, _: &[f32], _: &Batch, _: &mut [f32]) -> Result<f64, BackendError> {
        Err(BackendError("there is nothing to see".into()))
    }
}

struct Sleeping {
    rank: usize,
    straggler: Straggler,
    clock: Clock,
}

impl Replica for Sleeping {
    fn gradient(&mut self, member: &mut Member, _: &Batch, _: bool) -> Result<f64, BackendError> {
        let now = Instant::now();
        let step = {
            let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
            clock[self.rank].push(now);
            clock[self.rank].len()
        };
        let factor = match self.straggler {
            Straggler::Constant { worker, factor } if worker as usize == self.rank => factor,
            Straggler::Probability { p, factor } if chance(self.rank, step) < p => factor,
            _ => 1.0,
        };
        #[expect(clippy::disallowed_methods, reason = "the sleep is the work")]
        std::thread::sleep((now + COMPUTE.mul_f64(factor)).saturating_duration_since(Instant::now()));
        member.slot().fill(0.0);
        Ok(1.0)
    }
}

/// A number from 0 to 1 for each step of each worker.
fn chance(rank: usize, step: usize) -> f64 {
    let mut number = [0.0];
    uniform(23, (step * WORKERS + rank) as u64, 0.5, &mut number);
    f64::from(number[0]) + 0.5
}

struct Nothing;

impl Dataset for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }

    fn len(&self) -> usize {
        1024
    }

    fn shape(&self) -> &[usize] {
        &[1]
    }

    fn read(&self, _: usize, out: &mut [f32]) {
        out.fill(0.0);
    }
}
