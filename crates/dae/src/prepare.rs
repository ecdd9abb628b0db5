//! From a topology file to what a run needs: a plan that fits its data, the data, and a model that computes on them.

use crate::budget;
use crate::cli::TopologyArgs;
use crate::exit::Failure;
use crate::host::{Host, Part};
use dae_torch::TorchBackend;
use dae_train::backend::Backend;
use dae_train::data::{Dataset, IdxImages, mnist};
use dae_train::exit::Exit;
use dae_train::topology::{self, DataFacts, Plan, Topology};
use std::path::Path;
use std::sync::Arc;

/// What a run needs.
pub(crate) struct Prepared {
    pub(crate) plan: Plan,
    pub(crate) dataset: Arc<dyn Dataset>,
    pub(crate) backend: Arc<dyn Backend>,
}

/// The plan of a topology file.
pub(crate) fn plan(host: &Host, args: &TopologyArgs) -> Result<Plan, Failure> {
    Topology::from_file(&args.file, &args.set)
        .and_then(|loaded| loaded.compile(&host.kinds()))
        .map_err(Failure::invalid)
}

/// Opens the data, checks that plan and data fit, and tries the model once.
pub(crate) fn prepare(host: &Host, plan: Plan) -> Result<Prepared, Failure> {
    let dataset = open(host, &plan.topology().data, Part::Train)?;
    let facts = DataFacts { samples: dataset.len(), shape: dataset.shape().to_vec() };
    plan.fit(&facts).map_err(Failure::invalid)?;
    let backend = backend(host, &plan, dataset.shape(), plan.batch())?;
    host.try_actors(&plan.topology().actors)
        .map_err(|e| Failure { exit: Exit::Invalid, report: miette::miette!("{e}") })?;
    Ok(Prepared { plan, dataset, backend })
}

/// The model of a plan, tried on samples of a shape.
pub(crate) fn backend(
    host: &Host,
    plan: &Plan,
    shape: &[usize],
    rows: usize,
) -> Result<Arc<dyn Backend>, Failure> {
    let section = &plan.topology().model;
    let wrong = |cause: &dyn std::fmt::Display| Failure {
        exit: Exit::Invalid,
        report: miette::miette!(
            help = "look at [model] in the topology, and at the shape its parameters and its forward expect",
            "the model `{}` does not work on samples of shape {shape:?}: {cause}",
            section.kind
        ),
    };
    let model = host.make_model(section).map_err(|e| wrong(&e))?;
    let sizes =
        model.parameters().into_iter().map(|p| p.shape.iter().fold(1usize, |n, d| n.saturating_mul(*d)));
    let parameters = sizes.fold(0usize, usize::saturating_add);
    let features = shape.iter().fold(1usize, |n, d| n.saturating_mul(*d));
    budget::check(plan, parameters, features).map_err(Failure::failed)?;
    let threads = plan.topology().placement.threads as usize;
    let backend = TorchBackend::new(model, shape, rows, threads).map_err(|e| wrong(&e))?;
    Ok(Arc::new(backend))
}

/// Opens the samples of a section. Where there are none to evaluate on, those to train on serve.
pub(crate) fn open(host: &Host, data: &topology::Data, part: Part) -> Result<Arc<dyn Dataset>, Failure> {
    if let Some(made) = host.make_data(data, part) {
        return made.map_err(|e| Failure::failed(format!("the data `{}` cannot be opened: {e}", data.kind)));
    }
    let location = data.location().ok_or_else(|| {
        Failure::failed(format!("the data `{}` need a path: write data.path in the topology", data.kind))
    })?;
    let images = match (data.kind.as_str(), part, &data.eval_path) {
        ("mnist", ..) => mnist(&location, part == Part::Train),
        (_, Part::Test, Some(path)) => IdxImages::open(Path::new(path)),
        _ => IdxImages::open(&location),
    };
    Ok(Arc::new(images.map_err(Failure::failed)?))
}

/// The command `check`.
pub(crate) fn check(host: &Host, args: &TopologyArgs) -> Result<Exit, Failure> {
    let prepared = prepare(host, plan(host, args)?)?;
    let (plan, layout) = (&prepared.plan, prepared.backend.layout());
    println!(
        "{}: {} workers x {} micro-batches x {} samples, {} steps, {} parameters\nok",
        plan.topology().job.name,
        plan.workers(),
        plan.accum(),
        plan.batch(),
        plan.steps(prepared.dataset.len()),
        layout.parameters()
    );
    Ok(Exit::Done)
}
