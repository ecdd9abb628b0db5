//! The oracle of the algebra, on the model and the data of these tests.

use crate::linear::{Linear, gradient};
use crate::made_up::MadeUp;
use crate::oracle::initial;
use crate::rig::{FEATURES, SAMPLES, plan};
use dae_schedule::Schedule;
use dae_schedule::oracle::{Grain, Model, Push, Round, Run, Setting};
use dae_train::backend::Backend;
use dae_train::data::{Batch, Dataset, Feeder};
use dae_train::layout::Layout;
use dae_train::topology::{Plan, Topology};
use serde_json::Value;
use std::ops::Range;
use std::sync::Arc;

/// The model, as the oracle sees it: the gradient of the same rows, corrupted alike.
struct Pure {
    layout: Layout,
    feeder: Feeder,
}

impl Model for Pure {
    fn parameters(&self) -> usize {
        self.layout.len()
    }

    fn gradient(&self, params: &[f32], grain: Range<u64>, into: &mut [f32]) -> Grain {
        let rows = (grain.end - grain.start) as usize;
        let mut batch = Batch::new(rows, FEATURES, false);
        self.feeder.fill(grain, &mut batch);
        Grain { weight: rows as f64, loss: gradient(&self.layout, params, &batch, into) }
    }
}

/// What the oracle comes to.
pub struct Truth {
    pub rounds: Vec<Round>,
    pub log: Vec<Push>,
}

impl Truth {
    /// The parameters at the end, to the bit.
    pub fn bits(&self) -> Vec<u32> {
        self.rounds.last().unwrap().params.iter().map(|p| p.to_bits()).collect()
    }
}

/// Runs a topology's word for as many rounds as its run has; or, following the pushes of that run, to their end.
pub fn interpreted(topology: &Topology, replay: Option<&[Push]>) -> Truth {
    let plan = plan(topology);
    let dataset: Arc<dyn Dataset> = Arc::new(MadeUp::new(SAMPLES, FEATURES));
    let feeder = dae_train::job::feeder(&plan, &dataset);
    let model = Pure { layout: Linear::new(FEATURES).layout().clone(), feeder };
    let (total, seed) = (plan.total_samples(SAMPLES), plan.seed());
    let setting = Setting { total, seed, replay, ..Setting::new(&model, plan.batch() as u64) };
    let mut run = Run::new(&essence(&plan), initial(topology), setting).unwrap();
    let most = match replay {
        None => plan.updates(SAMPLES) as usize,
        Some(pushes) => pushes.len(),
    };
    let mut rounds = Vec::new();
    while rounds.len() < most && replay.is_none_or(|pushes| run.log().len() < pushes.len()) {
        rounds.push(run.round());
    }
    Truth { rounds, log: run.log().to_vec() }
}

/// Left of `step` the normal form: workers add what each of them has accumulated, all in one sum, and so does that; by
/// the laws G2 and G3 the word as it is written comes to the same up to the rounding of sums. Without the rounds right of
/// a join or a gossip, or of none, which change nothing but where a round of the whole ends; those left of it are one, as raw gradients
/// of a round come together in one sum.
fn essence(plan: &Plan) -> Schedule {
    let word = plan.word();
    let mut items: Vec<String> = word.normal().gradient().iter().map(ToString::to_string).collect();
    items.push(word.step().to_string());
    if let Some(hub) = plan.hub() {
        items.extend([format!("every {}", plan.period()), hub.to_string()]);
    }
    dae_schedule::parse(&items.join(" | ")).unwrap()
}

/// The pushes a run has written down, as the oracle knows them.
pub fn pushes(events: &[Value]) -> Vec<Push> {
    let push = |event: &Value| Push {
        // The join stands right of the rounds.
        centre: (1, 0),
        worker: event["child"].as_u64().unwrap() as usize,
        round: event["round"].as_u64().unwrap(),
        read: event["read"].as_u64().unwrap(),
        applied: event["applied"].as_u64(),
        time: 0.0,
    };
    events.iter().map(push).collect()
}
