//! A host: the kinds a program adds to the stock ones, and its command line.

use crate::cli::{Cli, Command};
use crate::exit::Failure;
use crate::{bench, evaluate, prepare, run, serve};
use clap::Parser;
use dae_actor::{Handler, Spawn, System, TellError};
use dae_torch::Model;
use dae_train::actors::{Committed, Listener};
use dae_train::data::Dataset;
use dae_train::exit::Exit;
use dae_train::job::JobHandle;
use dae_train::topology::{self, Kinds, ModelSection};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use toml::Table;

type MakeModel = Box<dyn Fn(&ModelSection) -> Result<Arc<dyn Model>, String>>;
type MakeData = Box<dyn Fn(&topology::Data, Part) -> Result<Arc<dyn Dataset>, String>>;
type StartActor = Box<dyn Fn(&mut System, &Table, JobHandle) -> Listener>;
type TryActor = Box<dyn Fn(&Table) -> Result<(), String>>;

/// Which samples are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Those to train on.
    Train,
    /// Those to evaluate on.
    Test,
}

/// A program that runs topologies. See [`host`].
#[derive(Default)]
pub struct Host {
    models: BTreeMap<String, MakeModel>,
    data: BTreeMap<String, MakeData>,
    actors: BTreeMap<String, (TryActor, StartActor)>,
}

/// A host of the stock kinds; add your own, then [`Host::run`] it.
pub fn host() -> Host {
    Host::default()
}

impl Host {
    /// Adds a model: `[model] kind = "…"` in a topology makes it from that section, whose `options` are yours.
    pub fn model<M: Model + 'static>(
        mut self,
        kind: &str,
        make: impl Fn(&ModelSection) -> Result<M, String> + 'static,
    ) -> Self {
        let make = move |section: &ModelSection| Ok(Arc::new(make(section)?) as Arc<dyn Model>);
        self.models.insert(kind.into(), Box::new(make));
        self
    }

    /// Adds a source of samples: `[data] kind = "…"` makes it from that section, whose `options` are yours.
    pub fn data<D: Dataset + 'static>(
        mut self,
        kind: &str,
        make: impl Fn(&topology::Data, Part) -> Result<D, String> + 'static,
    ) -> Self {
        let make =
            move |section: &topology::Data, part| Ok(Arc::new(make(section, part)?) as Arc<dyn Dataset>);
        self.data.insert(kind.into(), Box::new(make));
        self
    }

    /// Adds an actor: `[actors.KIND]` starts one, made from that table, on a thread of its own. It is told of all
    /// committed steps, in order; one that cannot keep up misses some, and training waits for none.
    pub fn actor<A: Handler<Committed>>(
        mut self,
        kind: &str,
        make: impl Fn(&Table, JobHandle) -> Result<A, String> + Send + Sync + 'static,
    ) -> Self {
        let (name, make) = (kind.to_owned(), Arc::new(make));
        // Made once to no purpose, so that what is wrong with its settings is an error before the run, not a panic in it.
        let attempt = {
            let make = make.clone();
            move |options: &Table| make(options, JobHandle::detached()).map(drop)
        };
        let start = move |system: &mut System, options: &Table, job: JobHandle| -> Listener {
            let (make, options) = (make.clone(), options.clone());
            let actor = system.start(Spawn::named(&name).own_thread(), move || {
                make(&options, job.clone())
                    .unwrap_or_else(|cause| panic!("{} cannot start: {cause}", A::KIND))
            });
            Box::new(move |committed| !matches!(actor.tell(committed.clone()), Err(TellError::Stopped(..))))
        };
        self.actors.insert(kind.into(), (Box::new(attempt), Box::new(start)));
        self
    }

    /// Does what the command line says: `run`, `check` or `eval`. See `--help`.
    pub fn run(self) -> ExitCode {
        let cli = match Cli::try_parse() {
            Ok(cli) => cli,
            Err(error) => {
                // Help and version come this way too. If the terminal is gone, nobody is left to tell.
                let _ = error.print();
                return if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() };
            }
        };
        dae_torch::reuse_memory();
        let done = match &cli.command {
            Command::Run(args) => run::run(&self, args),
            Command::Check(args) => prepare::check(&self, args),
            Command::Eval(args) => evaluate::evaluate(&self, args),
            Command::Serve(args) => serve::serve(&self, args),
            Command::BenchAllreduce(args) => bench::allreduce(args),
            Command::BenchCompute(args) => bench::compute(&self, args),
        };
        match done {
            Ok(exit) => exit.into(),
            Err(Failure { exit, report }) => {
                eprintln!("{report:?}");
                exit.into()
            }
        }
    }

    /// The kinds this host can run.
    pub(crate) fn kinds(&self) -> Kinds {
        let kinds = self.models.keys().fold(Kinds::stock(), |k, name| k.with_model(name));
        let kinds = self.data.keys().fold(kinds, |k, name| k.with_data(name));
        self.actors.keys().fold(kinds, |k, name| k.with_actor(name))
    }

    pub(crate) fn make_model(&self, section: &ModelSection) -> Result<Arc<dyn Model>, String> {
        if let Some(make) = self.models.get(&section.kind) {
            return make(section);
        }
        dae_torch::stock(section).ok_or_else(|| format!("this host has no model `{}`", section.kind))
    }

    /// A user's own dataset, if the kind is one.
    pub(crate) fn make_data(
        &self,
        section: &topology::Data,
        part: Part,
    ) -> Option<Result<Arc<dyn Dataset>, String>> {
        self.data.get(&section.kind).map(|make| make(section, part))
    }

    /// Tries a topology's actors, before anything is begun.
    pub(crate) fn try_actors(&self, actors: &BTreeMap<String, Table>) -> Result<(), String> {
        actors.iter().try_for_each(|(kind, options)| {
            let (attempt, _) =
                self.actors.get(kind).ok_or_else(|| format!("this host has no actor `{kind}`"))?;
            attempt(options).map_err(|e| format!("[actors.{kind}] {e}"))
        })
    }

    /// Starts a topology's actors.
    pub(crate) fn start_actors(
        &self,
        system: &mut System,
        actors: &BTreeMap<String, Table>,
        job: &JobHandle,
    ) -> Vec<Listener> {
        let known = actors.iter().filter_map(|(kind, options)| Some((&self.actors.get(kind)?.1, options)));
        known.map(|(start, options)| start(system, options, job.clone())).collect()
    }
}
