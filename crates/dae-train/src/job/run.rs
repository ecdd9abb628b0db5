//! A run: prepared, then trained.

use super::assemble::{feeder, group};
use super::origin::{agree, inherited};
use super::report::{PROMPT, Standing, finish};
use super::{JobError, JobHandle, Report};
use crate::actors::{
    AllReduceCoordinator, Checkpointer, DataLoader, GradientWorker, Group, Listen, Listener, Recorder,
    TakenUp, Train,
};
use crate::backend::Backend;
use crate::board::Board;
use crate::checkpoint::{self, CheckpointError, Meta};
use crate::data::{Dataset, Feeder};
use crate::run_folder::{Event, EventLog, RunFolder};
use crate::topology::Plan;
use dae_actor::{ActorRef, Restart, Spawn, System};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A run about to begin: memory filled, nothing started.
pub struct Job {
    plan: Arc<Plan>,
    group: Arc<Group>,
    dataset: Arc<dyn Dataset>,
    log: EventLog,
    meta: Meta,
    checkpoints: PathBuf,
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
        let found =
            if resume { checkpoint::newest_valid(&folder.checkpoints())? } else { Default::default() };
        let taken_up =
            found.checkpoint.as_ref().map(|c| TakenUp { step: c.meta.step, cursor: c.meta.cursor });
        let group = group(&plan, backend, &*dataset, taken_up.unwrap_or_default());
        let layout = group.backend.layout();
        if found.checkpoint.is_none() && !found.skipped.is_empty() {
            return Err(JobError::NoneValid(found.skipped));
        }
        let meta = Meta {
            step: 0,
            cursor: 0,
            seed: plan.seed(),
            samples: plan.samples(dataset.len()) as u64,
            shape: dataset.shape().to_vec(),
            fingerprint: plan.fingerprint(),
            topology: plan.topology().to_toml(),
            word: plan.word().to_string(),
            optimizer: plan.optimizer().to_string(),
            loss: None,
            layout: layout.clone(),
            version: checkpoint::VERSION,
        };
        let first = match (&found.checkpoint, &found.path) {
            (Some(checkpoint), Some(path)) => {
                agree(&plan, &group, &meta, checkpoint, path)?;
                let state: Vec<&[f32]> = checkpoint.state.iter().map(Vec::as_slice).collect();
                group.arena.load(checkpoint.meta.step, &checkpoint.params, &state)?;
                checkpoint.meta.step
            }
            _ => {
                let params = match &plan.topology().model.init {
                    Some(run) => inherited(&group, Path::new(run))?,
                    None => {
                        let mut params = vec![0.0; layout.len()];
                        group.backend.initialise(plan.seed(), &mut params)?;
                        params
                    }
                };
                let zeros = vec![0.0; layout.len()];
                let state: Vec<&[f32]> = group.rule.state_names().iter().map(|_| zeros.as_slice()).collect();
                group.arena.load(0, &params, &state)?;
                0
            }
        };
        checkpoint::set_aside(&found.skipped)?;
        let mut log = EventLog::open_truncated_to(&folder.events(), first)?;
        log.append(&match &found.path {
            Some(path) => Event::Resumed { step: first, checkpoint: path.display().to_string() },
            None => Event::Started {
                word: plan.word().to_string(),
                seed: plan.seed(),
                fingerprint: plan.fingerprint(),
                parameters: layout.parameters(),
                workers: plan.workers(),
            },
        })?;
        log.sync()?;
        Ok(Self {
            plan: Arc::new(plan),
            group,
            dataset,
            log,
            meta,
            checkpoints: folder.checkpoints(),
            first,
            loss: found.checkpoint.and_then(|c| c.meta.loss),
            resumed: found.path,
            skipped: found.skipped,
            board: Arc::default(),
        })
    }

    /// Steps committed before it begins.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Steps of the whole run.
    pub fn total_steps(&self) -> u64 {
        self.group.total_steps
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
        let group = self.group.clone();
        let checkpointer = self.start_checkpointer(system);
        let recorder = {
            let (board, checkpointer) = (self.board.clone(), checkpointer.clone());
            let (mut log, first) = (Some(self.log), self.first);
            let spawn = Spawn::named("recorder").own_thread().mailbox(1024);
            system.start(spawn, move || {
                // No restart: the log has one owner.
                let log = log.take().expect("a recorder is made once");
                Recorder::new(log, board.clone(), checkpointer.clone(), first)
            })
        };
        let restarts = self.plan.topology().job.restarts;
        let workers = start_workers(system, &group, &feeder(&self.plan, &self.dataset), &recorder, restarts);
        let coordinator = {
            let (group, recorder) = (group.clone(), recorder.clone());
            system.start(Spawn::named("coordinator"), move || {
                AllReduceCoordinator::new(group.clone(), workers.clone(), recorder.clone(), restarts)
            })
        };
        for listener in join(system, JobHandle(Some(coordinator.clone()))).map_err(JobError::UserActor)? {
            recorder.ask(Listen(listener), PROMPT).await?;
        }
        let (done, end) = dae_actor::reply("coordinator");
        coordinator.ask(Train { first: self.first, done }, PROMPT).await?;
        // Training takes as long as it takes; each of its steps has a bound of its own.
        let end = end.within(Duration::from_secs(1 << 31)).await?;
        let (step, loss) = (self.first, self.loss);
        let standing = self.resumed.map(|path| Standing { step, path, loss });
        finish(end, standing, &recorder, &checkpointer, &self.board).await
    }

    fn start_checkpointer(&self, system: &mut System) -> ActorRef<Checkpointer> {
        let (folder, meta, group) = (self.checkpoints.clone(), self.meta.clone(), self.group.clone());
        let keep = self.plan.topology().checkpoint.keep as usize;
        let spawn = Spawn::named("checkpointer").own_thread().restart(Restart::at_most(3));
        system.start(spawn, move || Checkpointer::new(folder.clone(), keep, meta.clone(), group.clone()))
    }
}

fn start_workers(
    system: &mut System,
    group: &Arc<Group>,
    feeder: &Feeder,
    recorder: &ActorRef<Recorder>,
    restarts: u32,
) -> Vec<ActorRef<GradientWorker>> {
    (0..group.shares.workers)
        .map(|rank| {
            let restart = Restart::at_most(restarts);
            // Room for every buffer of this feed and of the one before, and for the message that begins it.
            let spawn = Spawn::named(format!("loader {rank}"))
                .own_thread()
                .restart(restart)
                .mailbox(2 * (group.prefetch + 2));
            let (feeder, all) = (feeder.clone(), group.clone());
            let loader = system.start(spawn, move || DataLoader::new(rank, feeder.clone(), all.clone()));
            let spawn = Spawn::named(format!("worker {rank}")).own_thread().restart(restart);
            let (group, recorder) = (group.clone(), (rank == 0).then(|| recorder.clone()));
            system.start(spawn, move || {
                GradientWorker::new(rank, group.clone(), loader.clone(), recorder.clone())
            })
        })
        .collect()
}
