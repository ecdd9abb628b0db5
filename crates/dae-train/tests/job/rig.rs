//! A folder, a topology, and one run in it, watched so that no test can hang.

use crate::linear::Linear;
use crate::log::Log;
use crate::made_up::MadeUp;
use dae_actor::{MemoryLink, Peer, System};
use dae_collective::{MemoryPeers, Peers};
use dae_train::actors::{Ended, Listener};
use dae_train::backend::Backend;
use dae_train::checkpoint::{self, Checkpoint, CheckpointError};
use dae_train::data::Dataset;
use dae_train::job::{Across, Connect, Job, JobError, JobHandle, Report};
use dae_train::run_folder::RunFolder;
use dae_train::topology::{Kinds, Plan, Topology};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Values in a sample: five slices of parameters, so that three workers have unequal ones.
pub const FEATURES: usize = 12;
/// Samples in the dataset.
pub const SAMPLES: usize = 50;
/// Longer than any run here takes on the slowest machine.
pub const HANGS: Duration = Duration::from_secs(120);

/// A topology of this schedule: 60 steps on 50 samples, no periodic checkpoint.
pub fn topology(word: &str) -> Topology {
    let mut topology = Topology::new("test")
        .model("linear")
        .data("made-up")
        .mse()
        .seed(11)
        .steps(60)
        .batch(4)
        .checkpoint_every(0)
        .schedule(word);
    topology.job.stall_timeout_s = 60;
    topology
}

pub fn plan(topology: &Topology) -> Plan {
    let kinds = Kinds::stock().with_model("linear").with_data("made-up");
    topology.clone().compile(&kinds).unwrap()
}

/// What a run left behind, and what it said.
#[derive(Debug)]
pub struct Ran {
    pub report: Report,
    pub log: Log,
    pub resumed: Option<PathBuf>,
    pub skipped: Vec<(PathBuf, CheckpointError)>,
    /// Steps committed before it began.
    pub first: u64,
    /// The actors whose threads had to be left behind.
    pub stuck: Vec<String>,
}

impl Ran {
    /// The parameters at the end, to the bit.
    pub fn bits(&self) -> Vec<u32> {
        self.params().iter().map(|p| p.to_bits()).collect()
    }

    pub fn params(&self) -> &[f32] {
        self.report.params.as_deref().unwrap_or_else(|| panic!("no parameters: {:?}", self.report))
    }

    pub fn finished(self) -> Self {
        assert!(matches!(self.report.how, Ended::Finished), "{:?}", self.report.how);
        assert_eq!(self.stuck, [""; 0]);
        self
    }

    /// Why it failed.
    pub fn failed(&self) -> &str {
        let Ended::Failed(cause) = &self.report.how else { panic!("{:?}", self.report.how) };
        cause
    }

    /// How often the group was formed anew, and the first cause of each.
    pub fn restarts(&self) -> Vec<String> {
        let causes: Vec<_> = self.log.events("restarted").iter().map(|e| e["cause"].to_string()).collect();
        assert_eq!(causes.len() as u64, self.report.restarts);
        causes
    }
}

type Join = Box<dyn FnOnce(&mut System, JobHandle) -> Result<Vec<Listener>, String> + Send>;

/// A run about to begin.
pub struct Rig {
    topology: Topology,
    backend: Arc<dyn Backend>,
    dataset: Arc<dyn Dataset>,
    join: Join,
    patience: Duration,
    peers: Arc<OnceLock<Vec<Peer>>>,
}

impl Rig {
    /// The model and its samples, nobody listening.
    pub fn new(topology: &Topology) -> Self {
        Self {
            topology: topology.clone(),
            backend: Arc::new(Linear::new(FEATURES)),
            dataset: Arc::new(MadeUp::new(SAMPLES, FEATURES)),
            join: Box::new(|_, _| Ok(Vec::new())),
            patience: HANGS,
            peers: Arc::default(),
        }
    }

    /// How long threads may take to end once the run is over.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Hands the far ends of the links for actors to whoever waits for them.
    pub fn peers_to(mut self, place: &Arc<OnceLock<Vec<Peer>>>) -> Self {
        self.peers = place.clone();
        self
    }

    pub fn backend(self, backend: Linear) -> Self {
        self.any_backend(Arc::new(backend))
    }

    pub fn any_backend(mut self, backend: Arc<dyn Backend>) -> Self {
        self.backend = backend;
        self
    }

    pub fn dataset(mut self, dataset: MadeUp) -> Self {
        self.dataset = Arc::new(dataset);
        self
    }

    pub fn join(
        mut self,
        join: impl FnOnce(&mut System, JobHandle) -> Result<Vec<Listener>, String> + Send + 'static,
    ) -> Self {
        self.join = Box::new(join);
        self
    }

    /// One listener, made once there is a handle.
    pub fn listening(self, listener: impl FnOnce(JobHandle) -> Listener + Send + 'static) -> Self {
        self.join(|_, handle| Ok(vec![listener(handle)]))
    }

    /// Hands the handle to whoever waits for it, such as a hook of the model.
    pub fn handle_to(self, place: &Arc<OnceLock<JobHandle>>) -> Self {
        let place = place.clone();
        self.join(move |_, handle| {
            place.set(handle).map_err(|_| "there is a handle already".to_owned())?;
            Ok(Vec::new())
        })
    }

    /// A run of its own, in a folder of its own.
    pub fn run(self) -> Ran {
        Folder::new().run(self).unwrap()
    }
}

/// The folder of one run, or of several that go on from each other.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn events(&self) -> PathBuf {
        self.0.path().join("events.ndjson")
    }

    pub fn checkpoints(&self) -> PathBuf {
        self.0.path().join("checkpoints")
    }

    pub fn checkpoint(&self, step: u64) -> PathBuf {
        self.checkpoints().join(format!("step-{step:010}"))
    }

    /// The steps of the checkpoints there are, the oldest first; asserts that each is whole, and of its step.
    pub fn kept(&self) -> Vec<u64> {
        let Ok(entries) = std::fs::read_dir(self.checkpoints()) else { return Vec::new() };
        let mut steps: Vec<u64> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .map(|name| name.strip_prefix("step-").unwrap_or_else(|| panic!("{name}")).parse().unwrap())
            .collect();
        steps.sort_unstable();
        assert!(steps.iter().all(|s| self.read(*s).meta.step == *s));
        steps
    }

    pub fn read(&self, step: u64) -> Checkpoint {
        checkpoint::read(&self.checkpoint(step)).unwrap()
    }

    /// Begins a run.
    pub fn run(&self, rig: Rig) -> Result<Ran, JobError> {
        self.go(rig, false)
    }

    /// Goes on from the newest valid checkpoint.
    pub fn resume(&self, rig: Rig) -> Result<Ran, JobError> {
        self.go(rig, true)
    }

    /// The same on several nodes, `a`, `b` and so on, of which the first has this folder.
    pub fn nodes(&self, rigs: Vec<Rig>, resume: bool) -> Vec<Result<Ran, JobError>> {
        let plan = plan(&rigs[0].topology);
        let names: Vec<_> = ('a'..).take(rigs.len()).map(String::from).collect();
        let stall = Duration::from_secs(plan.topology().job.stall_timeout_s);
        let mut peers: Vec<Vec<Box<dyn Peers>>> = rigs.iter().map(|_| vec![]).collect();
        for _ in 0..plan.linked_workers() {
            for (node, end) in MemoryPeers::mesh(&names, stall).into_iter().enumerate() {
                peers[node].push(Box::new(end));
            }
        }
        let links = if plan.apart() { star(&names) } else { vec![] };
        let mut links = links.into_iter();
        let running: Vec<_> = rigs
            .into_iter()
            .zip(peers)
            .enumerate()
            .map(|(node, (rig, peers))| {
                let connect = links.next().map(|links| connect(links, rig.peers.clone()));
                let across = Across { node, names: names.clone(), peers, connect };
                let path = (node == 0).then(|| self.0.path().to_owned());
                std::thread::spawn(move || {
                    within(HANGS, move || go(path.as_deref(), rig, resume, Some(across)))
                })
            })
            .collect();
        let ended = |thread: JoinHandle<_>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        running.into_iter().map(|thread| ended(thread).unwrap_or_else(|| panic!("a node hangs"))).collect()
    }

    fn go(&self, rig: Rig, resume: bool) -> Result<Ran, JobError> {
        let path = self.0.path().to_owned();
        let ran = within(HANGS, move || go(Some(&path), rig, resume, None));
        ran.unwrap_or_else(|| panic!("the run hangs"))
    }
}

fn go(path: Option<&Path>, rig: Rig, resume: bool, across: Option<Across>) -> Result<Ran, JobError> {
    let folder = path.map(|path| RunFolder::create(path, resume).unwrap());
    let Rig { topology, backend, dataset, join, patience, .. } = rig;
    let (plan, folder) = (plan(&topology), folder.as_ref());
    let mut job = match (across, folder) {
        (None, Some(folder)) => Job::prepare(plan, backend, dataset, folder, resume),
        (across, _) => Job::prepare_across(plan, backend, dataset, folder, resume, across.unwrap()),
    }?;
    let (resumed, skipped, first) = (job.resumed.clone(), std::mem::take(&mut job.skipped), job.first());
    let run = System::run_within(patience, |mut system| async move { job.run(&mut system, join).await });
    let (report, stuck) = run.unwrap();
    let log = folder.map(|folder| Log::read(&folder.events())).unwrap_or_default();
    Ok(Ran { report: report?, log, resumed, skipped, first, stuck })
}

/// Links for actors between the first of these nodes and all others: for each node, those it has to each.
fn star(names: &[String]) -> Vec<Vec<Option<MemoryLink>>> {
    let none = || names.iter().map(|_| None).collect::<Vec<_>>();
    let mut links: Vec<_> = names.iter().map(|_| none()).collect();
    for (node, name) in names.iter().enumerate().skip(1) {
        let pair = MemoryLink::pair([&names[0], name]);
        let [there, here] = System::run(|_| pair).unwrap().unwrap();
        (links[0][node], links[node][0]) = (Some(there), Some(here));
    }
    links
}

fn connect(links: Vec<Option<MemoryLink>>, place: Arc<OnceLock<Vec<Peer>>>) -> Connect {
    Box::new(move |registry, limits| {
        let serve = |link: Option<MemoryLink>| link.map(|link| link.serve(registry.clone(), limits));
        let peers: Vec<_> = links.into_iter().map(serve).collect();
        let _ = place.set(peers.iter().flatten().cloned().collect());
        peers
    })
}

/// What `body` returns, if it does in time; a panic of its own is passed on.
fn within<T: Send + 'static>(limit: Duration, body: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, outcome) = sync_channel(1);
    let thread = std::thread::spawn(move || drop(done.send(body())));
    match outcome.recv_timeout(limit) {
        Ok(value) => Some(value),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => resume_unwind(thread.join().unwrap_err()),
    }
}

/// Waits on a thread of its own until something is so; whether it was in time.
pub fn until(mut so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !so() {
        if start.elapsed() > HANGS {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

/// How far apart two vectors are, as a part of the second's length.
pub fn apart(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let square = |x: f64| x * x;
    let distance: f64 = a.iter().zip(b).map(|(a, b)| square(f64::from(a - b))).sum();
    let length: f64 = b.iter().map(|b| square(f64::from(*b))).sum();
    (distance / length).sqrt()
}
