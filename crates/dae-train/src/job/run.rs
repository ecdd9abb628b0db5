//! A run: prepared, then trained.

use super::assemble::{feeder, group};
use super::handle::Head;
use super::join::{self, JoinParts};
use super::origin::Origin;
use super::report::{PROMPT, Stood, finish};
use super::start::start_group;
use super::{Across, JobError, JobHandle, Report};
use crate::actors::{Checkpointer, Group, Listen, Listener, Recorder, Train};
use crate::backend::Backend;
use crate::board::Board;
use crate::centre::Tally;
use crate::checkpoint::{self, CheckpointError, Meta};
use crate::data::Dataset;
use crate::picture::lateness;
use crate::run_folder::{Event, EventLog, RunFolder, write_atomic};
use crate::topology::Plan;
use dae_actor::{Restart, Spawn, System};
use dae_collective::Scale;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A run about to begin: memory filled, nothing started.
pub struct Job {
    plan: Arc<Plan>,
    body: Body,
    dataset: Arc<dyn Dataset>,
    /// None where another node writes it down.
    records: Option<Records>,
    first: u64,
    /// The loss of the step it goes on from.
    loss: Option<f64>,
    /// The checkpoint it goes on from.
    pub resumed: Option<PathBuf>,
    /// Checkpoints that were passed over since they are damaged, with what is wrong with them. Their folders' names end
    /// in `.damaged` now; the next checkpoint replaces them.
    pub skipped: Vec<(PathBuf, CheckpointError)>,
    /// Where its progress can be read.
    pub board: Arc<Board>,
}

/// Who trains.
enum Body {
    /// Workers in step.
    Group(Arc<Group>),
    /// Groups of them around a centre, or with a mailbox each.
    Join(Box<JoinParts>),
}

/// What a run is written down in.
struct Records {
    staleness: PathBuf,
    log: EventLog,
    meta: Meta,
    checkpoints: PathBuf,
}

impl Job {
    /// Puts a run together: parameters from the seed, or everything from the newest valid checkpoint of the folder.
    ///
    /// # Errors
    /// If the checkpoint is of another topology or model, all are damaged, or the disk refuses.
    pub fn prepare(
        plan: Plan,
        backend: Arc<dyn Backend>,
        dataset: Arc<dyn Dataset>,
        folder: &RunFolder,
        resume: bool,
    ) -> Result<Self, JobError> {
        Self::prepare_across(plan, backend, dataset, Some(folder), resume, Across::alone())
    }

    /// As [`Job::prepare`], as one node of several. It waits for the other nodes, compares with them what all must have
    /// in common, and begins from the first one's parameters and state. The run folder is the first node's business:
    /// it has one, and decides what a resume goes on from; another node needs none.
    ///
    /// # Errors
    /// As [`Job::prepare`]; also if the nodes differ, with all that differs, or one is lost meanwhile. The other nodes
    /// are told.
    pub fn prepare_across(
        plan: Plan,
        backend: Arc<dyn Backend>,
        dataset: Arc<dyn Dataset>,
        folder: Option<&RunFolder>,
        resume: bool,
        mut across: Across,
    ) -> Result<Self, JobError> {
        let folder = folder.filter(|_| across.node == 0);
        match Origin::agreed(&plan, &*backend, &*dataset, folder.filter(|_| resume), &mut across) {
            Ok(origin) => Self::begin(plan, backend, dataset, folder, origin, across),
            Err(e) => {
                across.abort(&e.to_string());
                Err(e)
            }
        }
    }

    fn begin(
        plan: Plan,
        backend: Arc<dyn Backend>,
        dataset: Arc<dyn Dataset>,
        folder: Option<&RunFolder>,
        origin: Origin,
        across: Across,
    ) -> Result<Self, JobError> {
        let Origin { standing, params, state, kept, children, meta, path, skipped, means } = origin;
        let at = standing.as_ref().map(|s| s.at).unwrap_or_default();
        let body = match plan.hub() {
            Some(hub) => {
                let from = join::Standing { at, children: &children, params: &params, state: &state };
                let parts = JoinParts::new(&plan, hub, &backend, &*dataset, &from, across)?;
                Body::Join(Box::new(parts))
            }
            None => {
                let group = group(&plan, backend, &*dataset, at, means, kept, across);
                let state: Vec<&[f32]> = state.iter().map(Vec::as_slice).collect();
                let scale =
                    standing.as_ref().and_then(|s| s.scale).map_or(Scale::UNKNOWN, Scale::from_number);
                group.arena.load(at.step, &params, &state, scale)?;
                Body::Group(group)
            }
        };
        checkpoint::set_aside(&skipped)?;
        let rounds: Vec<u64> = children.iter().map(|child| child.steps.div_ceil(plan.period())).collect();
        let records = folder.map(|folder| -> Result<_, JobError> {
            let mut log = EventLog::open_truncated_to(&folder.events(), at.step, &rounds)?;
            log.append(&match &path {
                Some(path) => Event::Resumed { step: at.step, checkpoint: path.display().to_string() },
                None => Event::Started {
                    word: plan.word().to_string(),
                    seed: plan.seed(),
                    fingerprint: plan.fingerprint(),
                    parameters: meta.layout.parameters(),
                    workers: plan.workers(),
                },
            })?;
            log.sync()?;
            Ok(Records { staleness: folder.staleness_json(), log, meta, checkpoints: folder.checkpoints() })
        });
        Ok(Self {
            plan: Arc::new(plan),
            body,
            dataset,
            records: records.transpose()?,
            first: at.step,
            loss: standing.and_then(|s| s.loss),
            resumed: path,
            skipped,
            board: Arc::default(),
        })
    }

    /// Steps committed before it begins.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Steps of the whole run; with a join, updates of its centre.
    pub fn total_steps(&self) -> u64 {
        match &self.body {
            Body::Group(group) => group.total_steps,
            Body::Join(_) => self.plan.updates(self.dataset.len()),
        }
    }

    /// Starts the actors, trains, and writes the last checkpoint. `join` is called once all actors are there, and gives
    /// back who wants to be told of committed steps.
    ///
    /// # Errors
    /// If the last checkpoint or the log cannot be written. A training that fails is a [`Report`].
    pub async fn run(
        self,
        system: &mut System,
        join: impl FnOnce(&mut System, JobHandle) -> Result<Vec<Listener>, String>,
    ) -> Result<Report, JobError> {
        let keep = self.plan.topology().checkpoint.keep as usize;
        let (log, checkpointer, staleness) = match self.records {
            None => (None, None, None),
            Some(Records { log, meta, checkpoints, staleness }) => {
                let names = self.plan.buffers();
                let spawn = Spawn::named("checkpointer").own_thread().restart(Restart::at_most(3));
                let make = move || Checkpointer::new(checkpoints.clone(), keep, meta.clone(), names.clone());
                (Some(log), Some(system.start(spawn, make)), Some(staleness))
            }
        };
        let recorder = {
            let (board, checkpointer) = (self.board.clone(), checkpointer.clone());
            let (mut log, first) = (Some(log), self.first);
            let spawn = Spawn::named("recorder").own_thread().mailbox(1024);
            system.start(spawn, move || {
                // No restart: the log has one owner.
                let log = log.take().expect("a recorder is made once");
                Recorder::new(log, board.clone(), checkpointer.clone(), first)
            })
        };
        let restarts = self.plan.topology().job.restarts;
        let feeder = feeder(&self.plan, &self.dataset);
        let (head, others) = match self.body {
            Body::Join(parts) => parts.start(system, &feeder, &recorder)?,
            Body::Group(group) => {
                let coordinator = start_group(system, &group, &feeder, &recorder, Some(&recorder), restarts);
                (Head::Group(coordinator), vec![])
            }
        };
        let own = join(system, JobHandle(Some(head.clone()))).map_err(JobError::UserActor)?;
        for listener in others.into_iter().chain(own) {
            recorder.ask(Listen(listener), PROMPT).await?;
        }
        let (done, end) = dae_actor::reply("coordinator");
        let train = Train { first: self.first, done };
        match &head {
            Head::Group(coordinator) => coordinator.ask(train, PROMPT).await?,
            Head::Join(coordinator) => coordinator.ask(train, PROMPT).await?,
            Head::Outpost(outpost) => outpost.ask(train, PROMPT).await?,
        }
        // Training takes as long as it takes; each of its steps has a bound of its own.
        let mut end = end.within(Duration::from_secs(1 << 31)).await?;
        let step = self.first;
        if end.step == step {
            end.loss = end.loss.or(self.loss);
        }
        if let (Some(tally), Some(path)) = (&end.tally, staleness) {
            write_staleness(&path, tally, &self.plan.word().to_string());
        }
        let standing = self.resumed.map(|path| Stood { step, path });
        finish(end, standing, &recorder, checkpointer.as_ref(), &self.board).await
    }
}

/// What is known of staleness is worth a file and a picture, and no failure.
fn write_staleness(path: &Path, tally: &Tally, word: &str) {
    let written = serde_json::to_vec_pretty(tally)
        .map_err(|e| e.to_string())
        .and_then(|json| write_atomic(path, &json).map_err(|e| e.to_string()))
        .and_then(|()| lateness(&path.with_extension("png"), tally, word).map_err(|e| e.to_string()));
    if let Err(cause) = written {
        tracing::warn!(cause, "no staleness.json, or no picture of it");
    }
}
