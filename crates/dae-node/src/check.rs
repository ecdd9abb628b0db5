//! A topology looked at before anything is started.

use std::fmt::Write;
use std::path::PathBuf;

use dae_train::data::{DataError, IdxImages, mnist_path};
use dae_train::topology::{self, Data, DataFacts, Kinds, Plan, Topology};

use crate::cli::{CheckArgs, TopologyArgs};
use crate::exit::Failure;
use crate::host;
use dae_train::exit::Exit;

/// Checks a topology, against its data too if they are on this machine, and summarises its plan.
pub fn check(args: &CheckArgs) -> Result<Vec<u8>, Failure> {
    host::check_by_own(args)?;
    let plan = compile(&args.topology)?;
    let facts = facts(&plan.topology().data)?;
    if let Some(facts) = &facts {
        plan.fit(facts).map_err(|error| Failure::new(Exit::Invalid, error))?;
    }
    Ok(summary(&plan, facts.as_ref()).into_bytes())
}

/// The plan of a topology of stock kinds.
pub fn compile(args: &TopologyArgs) -> Result<Plan, Failure> {
    Topology::from_file(&args.file, &args.set)
        .and_then(|loaded| loaded.compile(&Kinds::stock()))
        .map_err(|error| Failure::new(Exit::Invalid, error))
}

/// The plan of a topology whose kinds another program knows, and has checked.
pub fn compile_any(args: &TopologyArgs) -> Result<Plan, Failure> {
    let compile = |loaded: topology::Loaded| {
        let Topology { model, data, actors, .. } = &loaded.topology;
        let kinds = Kinds::stock().with_model(&model.kind).with_data(&data.kind);
        let kinds = actors.keys().fold(kinds, |kinds, name| kinds.with_actor(name));
        loaded.compile(&kinds)
    };
    Topology::from_file(&args.file, &args.set)
        .and_then(compile)
        .map_err(|error| Failure::new(Exit::Invalid, error))
}

/// The JSON schema of topology files.
pub fn schema() -> Result<Vec<u8>, Failure> {
    Ok(format!("{:#}\n", topology::json_schema()).into_bytes())
}

/// What the training data say of themselves; `None` if they are not on this machine.
fn facts(data: &Data) -> Result<Option<DataFacts>, Failure> {
    let Some(path) = file(data) else { return Ok(None) };
    match IdxImages::header(&path) {
        Ok((samples, shape)) => Ok(Some(DataFacts { samples, shape })),
        Err(DataError::Missing { .. }) => Ok(None),
        Err(error) => Err(Failure::new(Exit::Failed, miette::miette!("{error}"))),
    }
}

/// The file the training data lie in, if they are of a kind that lies in a file.
fn file(data: &Data) -> Option<PathBuf> {
    let path = data.location()?;
    Some(if data.kind == "mnist" { mnist_path(&path, true) } else { path })
}

fn summary(plan: &Plan, facts: Option<&DataFacts>) -> String {
    let Topology { job, data, model, .. } = plan.topology();
    let corruption = &data.corruption;
    let steps = match (facts, job.epochs) {
        (Some(facts), _) => plan.steps(facts.samples).to_string(),
        (None, None) => job.steps.to_string(),
        (None, Some(epochs)) => format!("{epochs} epochs"),
    };
    let samples = match facts {
        Some(facts) => {
            format!("{} samples of shape {:?}", plan.samples(facts.samples), facts.shape)
        }
        None if data.kind == "mnist" => "not here yet: run `dae-node data fetch mnist`".to_owned(),
        None => format!("not here: {}", data.path.as_deref().unwrap_or("no path")),
    };
    let layers = match model.kind.as_str() {
        "mlp" => format!(" {:?}", model.layers),
        _ => String::new(),
    };
    let noise = match corruption.kind.as_str() {
        "none" => "none".to_owned(),
        kind => format!("{kind} {}", corruption.level),
    };
    let lines = [
        ("job", job.name.clone()),
        ("workers", plan.workers().to_string()),
        (
            "batch",
            format!(
                "{} a worker and micro-batch, {} a step (micro-batches: {})",
                plan.batch(),
                plan.global_batch(),
                plan.accum()
            ),
        ),
        ("steps", steps),
        ("schedule", plan.word().to_string()),
        ("optimizer", plan.optimizer().map_or("none".into(), ToString::to_string)),
        ("model", format!("{}{layers}, loss {}", model.kind, model.loss)),
        ("data", format!("{}, {samples}", data.kind)),
        ("corruption", noise),
    ];
    let mut text = String::new();
    for (name, value) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<11}{value}");
    }
    text + "ok\n"
}
