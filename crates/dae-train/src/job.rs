//! A training run on this machine: puts the actors together, trains, and says how it ended.

use crate::actors::{
    AllReduceCoordinator, Checkpointer, DataLoader, End, Ended, GradientWorker, Group, Listen, Listener,
    Recorder, Save, Stop, Sync, Train,
};
use crate::backend::{Backend, BackendError};
use crate::board::Board;
use crate::checkpoint::{self, CheckpointError, Meta};
use crate::data::{Corruption, CorruptionKind, Dataset, Feeder, Sampler, Shares};
use crate::optimizer::Rule;
use crate::run_folder::{DiskError, Event, EventLog, RunFolder};
use crate::topology::{Plan, Topology};
use dae_actor::{ActorRef, AskError, Restart, Spawn, System};
use dae_collective::{Arena, ArenaError};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Answers that need no work come within this.
const PROMPT: Duration = Duration::from_secs(60);
/// Longer than any disk should take for one checkpoint.
const SAVED_BY: Duration = Duration::from_secs(600);

/// Why a run could not be started or brought to its end.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The model.
    #[error("the model cannot compute: {0}")]
    Backend(#[from] BackendError),
    /// The checkpoints.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A resume under another topology.
    #[error(
        "the checkpoint {} was written under another topology:\n  {}\nput these back to go on from it, or begin anew \
         in another folder with --run-dir",
        .path.display(), .differences.join("\n  ")
    )]
    OtherTopology {
        /// The checkpoint.
        path: PathBuf,
        /// What differs, a line each.
        differences: Vec<String>,
    },
    /// A resume with a model of other tensors.
    #[error("the checkpoint {} holds other tensors than this model: {difference}", .path.display())]
    OtherModel {
        /// The checkpoint.
        path: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// The shared memory.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// An actor.
    #[error(transparent)]
    Actor(#[from] AskError),
    /// All checkpoints are damaged.
    #[error("none of the {} checkpoints can be read, the newest since: {}", .0.len(), .0.first().map_or(String::new(), |(_, e)| e.to_string()))]
    NoneValid(Vec<(PathBuf, CheckpointError)>),
    /// A user's own actor.
    #[error("an actor cannot be started: {0}")]
    UserActor(String),
    /// The operating system.
    #[error("the actors' runtime cannot be started: {0}")]
    Runtime(std::io::Error),
}

/// A run about to begin: memory filled, nothing started.
pub struct Job {
    plan: Arc<Plan>,
    group: Arc<Group>,
    dataset: Arc<dyn Dataset>,
    log: EventLog,
    meta: Meta,
    checkpoints: PathBuf,
    first: u64,
    /// The checkpoint it goes on from.
    pub resumed: Option<PathBuf>,
    /// Checkpoints that were passed over since they are damaged, with what is wrong with them.
    pub skipped: Vec<(PathBuf, CheckpointError)>,
    /// Where its progress can be read.
    pub board: Arc<Board>,
}

/// What a run's other actors hold of it.
#[derive(Clone)]
pub struct JobHandle(ActorRef<AllReduceCoordinator>);

impl JobHandle {
    /// Asks all workers to stop together after the step they are in; the state is saved, and the run can be resumed.
    pub fn stop(&self, why: impl Into<String>) {
        if let Err(e) = self.0.tell(Stop { why: why.into() }) {
            tracing::warn!(cause = %e, "the request to stop was not taken");
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Report {
    /// How.
    pub how: Ended,
    /// Committed steps.
    pub step: u64,
    /// The loss of the last one.
    pub loss: Option<f64>,
    /// Samples a second, the first ten steps left out.
    pub samples_per_s: Option<f64>,
    /// How often the group was formed anew.
    pub restarts: u64,
    /// How often each rank was the slowest to compute, since this process began.
    pub slowest: Vec<u64>,
    /// The last checkpoint, if it was written at the end.
    pub checkpoint: Option<PathBuf>,
    /// The parameters at the end, flat, where they can be trusted.
    pub params: Option<Vec<f32>>,
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
        let group = group(&plan, backend, &*dataset);
        let layout = group.backend.layout();
        let found =
            if resume { checkpoint::newest_valid(&folder.checkpoints())? } else { Default::default() };
        if found.checkpoint.is_none() && !found.skipped.is_empty() {
            return Err(JobError::NoneValid(found.skipped));
        }
        let first = match (&found.checkpoint, &found.path) {
            (Some(checkpoint), Some(path)) => {
                agree(&plan, &group, checkpoint, path)?;
                let state: Vec<&[f32]> = checkpoint.state.iter().map(Vec::as_slice).collect();
                group.arena.load(checkpoint.meta.step, &checkpoint.params, &state)?;
                checkpoint.meta.step
            }
            _ => {
                let mut params = vec![0.0; layout.len()];
                group.backend.initialise(plan.seed(), &mut params)?;
                let zeros = vec![0.0; layout.len()];
                let state: Vec<&[f32]> = group.rule.state_names().iter().map(|_| zeros.as_slice()).collect();
                group.arena.load(0, &params, &state)?;
                0
            }
        };
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
        let meta = Meta {
            step: 0,
            cursor: 0,
            seed: plan.seed(),
            fingerprint: plan.fingerprint(),
            topology: plan.topology().to_toml(),
            word: plan.word().to_string(),
            optimizer: plan.optimizer().to_string(),
            loss: None,
            layout: layout.clone(),
            version: checkpoint::VERSION,
        };
        Ok(Self {
            plan: Arc::new(plan),
            group,
            dataset,
            log,
            meta,
            checkpoints: folder.checkpoints(),
            first,
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
        for listener in join(system, JobHandle(coordinator.clone())).map_err(JobError::UserActor)? {
            recorder.ask(Listen(listener), PROMPT).await?;
        }
        let (done, end) = dae_actor::reply("coordinator");
        coordinator.ask(Train { first: self.first, done }, PROMPT).await?;
        // Training takes as long as it takes; each of its steps has a bound of its own.
        let end = end.within(Duration::from_secs(1 << 31)).await?;
        finish(&group, end, &recorder, &checkpointer, &self.board).await
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
            let (feeder, shares, total) = (feeder.clone(), group.shares, group.total_samples);
            let loader = system.start(spawn, move || DataLoader::new(rank, feeder.clone(), shares, total));
            let spawn = Spawn::named(format!("worker {rank}")).own_thread().restart(restart);
            let (group, recorder) = (group.clone(), (rank == 0).then(|| recorder.clone()));
            system.start(spawn, move || {
                GradientWorker::new(rank, group.clone(), loader.clone(), recorder.clone())
            })
        })
        .collect()
}

/// Writes down how it ended: the log first, then the checkpoint.
async fn finish(
    group: &Group,
    end: End,
    recorder: &ActorRef<Recorder>,
    checkpointer: &ActorRef<Checkpointer>,
    board: &Board,
) -> Result<Report, JobError> {
    let params = end.snapshot.as_ref().map(|s| s.params().to_vec());
    let step = match &end.snapshot {
        Some(snapshot) => snapshot.step,
        None => group.arena.committed().unwrap_or_default(),
    };
    if let Err(cause) = recorder.ask(Sync, SAVED_BY).await? {
        tracing::error!(cause, "the log of events is not whole");
    }
    let checkpoint = match end.snapshot {
        Some(snapshot) => Some(checkpointer.ask(Save { snapshot, loss: end.loss }, SAVED_BY).await??),
        None => None,
    };
    if let Some(path) = &checkpoint {
        recorder.ask(Event::Checkpoint { step, path: path.display().to_string() }, PROMPT).await?;
    }
    let last = match &end.how {
        Ended::Finished => Event::Finished { step, loss: end.loss.unwrap_or(f64::NAN) },
        Ended::Stopped(why) => Event::Stopped { step, reason: why.clone() },
        Ended::Failed(cause) => Event::Failed { step, cause: cause.clone() },
    };
    recorder.ask(last, PROMPT).await?;
    Ok(Report {
        how: end.how,
        step,
        loss: end.loss,
        samples_per_s: end.pace.map(|p| p.samples as f64 / p.seconds),
        restarts: end.restarts,
        slowest: board.read().slowest,
        checkpoint,
        params,
    })
}

fn group(plan: &Plan, backend: Arc<dyn Backend>, dataset: &dyn Dataset) -> Arc<Group> {
    let topology = plan.topology();
    let rule = Rule::new(plan.optimizer());
    let stall = Duration::from_secs(topology.job.stall_timeout_s);
    let states = rule.state_names().len();
    let model = &topology.model;
    Arc::new(Group {
        arena: Arena::new(backend.layout().len(), states, plan.workers(), stall),
        rule,
        base_rate: plan.optimizer().lr(),
        learning_rate: plan.learning_rate().clone(),
        clip: plan.clip(),
        shares: Shares { workers: plan.workers(), accum: plan.accum(), batch: plan.batch() },
        total_samples: plan.total_samples(dataset.len()),
        total_steps: plan.steps(dataset.len()),
        checkpoint_every: topology.checkpoint.every,
        prefetch: topology.data.prefetch as usize,
        features: dataset.features(),
        with_mask: model.emphasis_corrupted != model.emphasis_clean,
        stall,
        pin: topology.placement.pin,
        backend,
    })
}

/// The samples of a run, in its order, corrupted as its topology says.
pub fn feeder(plan: &Plan, dataset: &Arc<dyn Dataset>) -> Feeder {
    let sampler = Sampler::new(plan.seed(), plan.samples(dataset.len()), plan.topology().data.shuffle);
    Feeder::new(dataset.clone(), sampler, corruption(plan.topology()), plan.seed())
}

/// The corruption a topology asks for.
pub fn corruption(topology: &Topology) -> Corruption {
    let section = &topology.data.corruption;
    let kind = match section.kind.as_str() {
        "masking" => CorruptionKind::Masking,
        "salt_and_pepper" => CorruptionKind::SaltAndPepper,
        "gaussian" => CorruptionKind::Gaussian,
        _ => CorruptionKind::None,
    };
    Corruption { kind, level: section.level as f32, fresh: section.fresh }
}

/// Whether a run may go on from a checkpoint.
fn agree(
    plan: &Plan,
    group: &Group,
    checkpoint: &checkpoint::Checkpoint,
    path: &std::path::Path,
) -> Result<(), JobError> {
    let path = || path.to_owned();
    if checkpoint.meta.fingerprint != plan.fingerprint() {
        let there = Topology::from_str("the checkpoint's topology", &checkpoint.meta.topology, &[]);
        let differences = match there {
            Ok(there) => plan.differences(&there.topology),
            Err(_) => vec!["its topology cannot be read by this version".into()],
        };
        return Err(JobError::OtherTopology { path: path(), differences });
    }
    let (here, there) = (group.backend.layout(), &checkpoint.meta.layout);
    if here != there {
        let pairs = here.tensors().iter().zip(there.tensors());
        let difference = pairs
            .filter(|(a, b)| a != b)
            .map(|(a, b)| format!("{} {:?} here, {} {:?} there", a.name, a.shape, b.name, b.shape))
            .next()
            .unwrap_or_else(|| format!("{} here, {} there", here.tensors().len(), there.tensors().len()));
        return Err(JobError::OtherModel { path: path(), difference });
    }
    if checkpoint.state_names != group.rule.state_names() {
        let difference = format!("optimizer state {:?}", checkpoint.state_names);
        return Err(JobError::OtherModel { path: path(), difference });
    }
    Ok(())
}
