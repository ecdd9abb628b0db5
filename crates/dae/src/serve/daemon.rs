//! The daemon, as its host speaks to it.

use crate::cli::ServeArgs;
use crate::exit::Failure;
use crate::progress::{Speed, say};
use crate::signals;
use dae_actor::{ActorRef, ActorRow, ActorState, Peer, Registry, Spawn, System};
use dae_cluster::protocol::hosts::{
    ActorLine, Assignment, Enlist, Enlisted, FACT_JOB, FACT_TOKEN, HOST, HostDone, HostProgress, NODE,
    Outcome, Progress, TOKEN,
};
use dae_cluster::{HostActor, NodeActor};
use dae_net::{Address, Cluster, Endpoint, Hello, Identity, NodeId, Purpose};
use dae_train::board::Board;
use dae_train::exit::Exit;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How long the daemon may take to answer what needs no work.
const PROMPT: Duration = Duration::from_secs(10);
/// How long the other hosts of the job may take to be started.
const ALL_THERE: Duration = Duration::from_secs(300);
/// How often the daemon is told how far it is.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// The daemon, as its host speaks to it. If it goes before the end, this process goes at once.
pub(super) struct Daemon {
    node: ActorRef<NodeActor>,
    job: String,
    token: String,
    stopped: watch::Receiver<Option<String>>,
    watch: JoinHandle<()>,
}

impl Daemon {
    /// Dials the daemon's socket and lets it speak to this host.
    pub(super) async fn dial(args: &ServeArgs, system: &mut System) -> Result<Self, Failure> {
        let unreachable = |cause: &dyn std::fmt::Display| Failure {
            exit: Exit::Unreachable,
            report: miette::miette!(
                help = "daemons start this command for the hosts of a job; to run one by hand, use `run`",
                "the daemon at {} cannot be spoken to: {cause}",
                args.socket.display()
            ),
        };
        let token = std::env::var(TOKEN).map_err(|e| unreachable(&format!("{TOKEN}: {e}")))?;
        let identity = Identity::generate().map_err(|e| unreachable(&e))?;
        let endpoint = Endpoint::new(Arc::new(identity), Cluster::loopback(cluster(&args.socket)));
        let mut hello = Hello::new("host", u64::from(std::process::id()), Purpose::Host);
        hello.facts.insert(FACT_JOB.into(), args.job.clone());
        hello.facts.insert(FACT_TOKEN.into(), token.clone());
        let link = endpoint.dial(&Address::Unix(args.socket.clone()), hello, PROMPT).await;
        let link = link.map_err(|e| unreachable(&e))?;

        let (stop, stopped) = watch::channel(None);
        let actors = system.actors();
        let host = system.start(Spawn::named(HOST), move || {
            let (stop, actors) = (stop.clone(), actors.clone());
            HostActor::new(
                move |why| {
                    // The first reason is the one to tell.
                    stop.send_if_modified(|first| first.is_none() && first.replace(why.to_owned()).is_none());
                },
                move || actors.rows().into_iter().map(line).collect(),
            )
        });
        let registry = Registry::new();
        registry.publish(&host).map_err(|e| unreachable(&e))?;
        let peer = Peer::over(link, registry);
        let node = peer.actor(NODE);
        let watch = tokio::task::spawn_local(async move {
            say(&format!("the daemon has gone ({}): this host goes with it", peer.closed().await));
            signals::leave(Exit::Unreachable);
        });
        Ok(Self { node, job: args.job.clone(), token, stopped, watch })
    }

    /// Says that this host is ready, and waits until all are.
    pub(super) async fn enlist(
        &self,
        identity: NodeId,
        bulk_addresses: Vec<SocketAddr>,
    ) -> Result<Assignment, Failure> {
        let program_sha256 = own_hash().map_err(|e| Failure::failed(format!("this program's file: {e}")))?;
        let enlist = Enlist {
            job: self.job.clone(),
            token: self.token.clone(),
            pid: std::process::id(),
            program_sha256,
            identity: identity.0,
            bulk_addresses,
        };
        let failed = |e| Failure::failed(format!("the daemon did not take this host: {e}"));
        let enlisted = self.node.ask(enlist, PROMPT).await.map_err(failed)?;
        match enlisted.within(ALL_THERE).await.map_err(failed)? {
            Enlisted::Assigned(assignment) => Ok(*assignment),
            Enlisted::Refused { why } => Err(Failure::failed(why)),
        }
    }

    /// Told why, once the job is to stop in order.
    pub(super) fn stopped(&self) -> impl Future<Output = String> + 'static {
        let mut stopped = self.stopped.clone();
        async move {
            match stopped.wait_for(Option::is_some).await {
                Ok(why) => why.clone().unwrap_or_default(),
                // The actor has gone, with the system.
                Err(_) => std::future::pending().await,
            }
        }
    }

    /// Whether the job was told to stop.
    pub(super) fn has_stopped(&self) -> bool {
        self.stopped.borrow().is_some()
    }

    /// Tells the daemon how far it is, until it is dropped.
    pub(super) async fn follow(&self, board: &Board, total: u64, speed: &mut Speed) -> Infallible {
        let mut ticks = tokio::time::interval(TELL_EVERY);
        loop {
            ticks.tick().await;
            self.progress(board, total, speed);
        }
    }

    /// Tells the daemon how far it is.
    pub(super) fn progress(&self, board: &Board, total: u64, speed: &mut Speed) {
        let now = board.read();
        let samples_per_s = speed.of(now.samples);
        self.tell(Progress { step: now.step, total, loss: now.loss, samples_per_s });
    }

    /// Tells the daemon that it is so far.
    pub(super) fn tell(&self, progress: Progress) {
        // One that is not taken is made up for by the next.
        let _ = self.node.tell(HostProgress { job: self.job.clone(), progress });
    }

    /// Tells how it ended, and waits until the daemon knows.
    pub(super) async fn done(&self, outcome: Outcome) {
        let done = self.node.ask(HostDone { job: self.job.clone(), outcome }, PROMPT).await;
        self.watch.abort();
        if let Err(e) = done {
            say(&format!("the daemon was not told how it ended: {e}"));
        }
    }
}

/// The cluster of a daemon's socket: the folder it lies in is called so.
fn cluster(socket: &Path) -> &str {
    socket.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default()
}

fn line(row: ActorRow) -> ActorLine {
    let ActorRow { name, kind, depth, bound, restarts, state } = row;
    let state = match state {
        ActorState::Running => "running".into(),
        ActorState::Stopped(why) => why.to_string(),
    };
    ActorLine { name, kind, depth, bound, restarts, state }
}

/// The SHA-256 of this very program, in hex.
fn own_hash() -> std::io::Result<String> {
    let mut hash = Sha256::new();
    // Not its path, where another one may lie by now.
    let mut file = File::open("/proc/self/exe")?;
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            bytes => hash.update(&piece[..bytes]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
