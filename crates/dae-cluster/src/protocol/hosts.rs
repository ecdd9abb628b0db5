//! What a daemon and the hosts it started say to each other, over the daemon's Unix socket.
//!
//! The daemon starts `PROGRAM serve --socket PATH --job ID` with [`TOKEN`] and [`BULK_ADDRESS`] in the environment.
//! The host dials the socket ([`Purpose::Host`](dae_net), facts [`FACT_JOB`] and [`FACT_TOKEN`]), publishes a
//! [`HostActor`](crate::HostActor) as [`HOST`], and asks the daemon's [`NODE`] to [`Enlist`] it. The answer comes when
//! every host of the job has enlisted: an [`Assignment`], or why there is none. A host whose link to its daemon ends
//! exits at once.

use super::Work;
use crate::logs::cause;
use dae_actor::{Message, Reply};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;

/// The name under which a daemon publishes its [`NodeActor`](crate::NodeActor).
pub const NODE: &str = "node";
/// The name under which a host publishes its [`HostActor`](crate::HostActor).
pub const HOST: &str = "host";
/// The environment variable that holds the token a host proves its start with.
pub const TOKEN: &str = "DAE_JOB_TOKEN";
/// The environment variable that tells a host where to listen for the others, as a [`BulkPlace`](super::BulkPlace).
pub const BULK_ADDRESS: &str = "DAE_BULK_ADDRESS";
/// The fact of a host's greeting that names its job.
pub const FACT_JOB: &str = "job";
/// The fact of a host's greeting that holds its token.
pub const FACT_TOKEN: &str = "token";

/// Host to daemon: it is ready. Answered when every host of the job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enlist {
    /// The job.
    pub job: String,
    /// The token it was started with.
    pub token: String,
    /// Its process.
    pub pid: u32,
    /// The SHA-256 of its program, in hex: all hosts of a job run the same one.
    pub program_sha256: String,
    /// The public key of its bulk links.
    pub identity: [u8; 32],
    /// Where its bulk listener is to be reached.
    pub bulk_addresses: Vec<SocketAddr>,
}

impl Message for Enlist {
    type Reply = Reply<Enlisted>;
}

/// What comes of enlisting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Enlisted {
    /// The job can begin.
    Assigned(Box<Assignment>),
    /// It cannot; the host exits.
    Refused {
        /// Why: what differs and where, or who is missing.
        why: String,
    },
}

/// A host's part in a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assignment {
    /// Which of `hosts` it is.
    pub index: u32,
    /// All hosts of the job, in the order of their ranks.
    pub hosts: Vec<HostSpot>,
    /// What all of them do.
    pub work: Work,
    /// Where index 0 writes checkpoints and logs; the others write none. `None` where the user gave none.
    pub run_dir: Option<PathBuf>,
    /// Whether to go on from the newest checkpoint in the run's folder.
    pub resume: bool,
    /// The key of the links between the hosts of this job.
    pub job_key: JobKey,
}

/// The key of the links between the hosts of one job.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobKey(pub [u8; 32]);

impl std::fmt::Debug for JobKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JobKey(..)")
    }
}

/// Where one host of a job is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSpot {
    /// The name of its node.
    pub node: String,
    /// The public key of its bulk links.
    pub identity: [u8; 32],
    /// Where its bulk listener is to be reached.
    pub addresses: Vec<SocketAddr>,
    /// The SHA-256 of its program, in hex.
    pub program_sha256: String,
}

/// Host to daemon: how far the job is. Index 0 tells it, a few times a second at most.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProgress {
    /// The job.
    pub job: String,
    /// How far.
    pub progress: Progress,
}

impl Message for HostProgress {
    type Reply = ();
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progress {
    /// Committed steps.
    pub step: u64,
    /// Steps of the whole run.
    pub total: u64,
    /// The loss of that step, once there is one.
    pub loss: Option<f64>,
    /// The speed of all workers together.
    pub samples_per_s: f64,
}

/// Host to daemon: how its part ended. The host exits when it has the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDone {
    /// The job.
    pub job: String,
    /// How.
    pub outcome: Outcome,
}

impl Message for HostDone {
    type Reply = ();
}

/// How a host's part in a job, or the whole job, ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// All steps are done.
    Done,
    /// It was stopped before, in order, with everything saved.
    Stopped {
        /// By whom or why.
        why: String,
    },
    /// It failed.
    Failed {
        /// The first cause.
        cause: String,
        /// The exit code that tells what kind of failure it is (`dae_train::exit`).
        code: u8,
        /// The host (by index) whose loss was the cause, where it failed only because another did. That one's own
        /// words come first, if it has any.
        blames: Option<u32>,
    },
}

impl Outcome {
    /// With words that fit into any message and do nothing to a terminal.
    #[must_use]
    pub fn plain(self) -> Self {
        match self {
            Self::Done => Self::Done,
            Self::Stopped { why } => Self::Stopped { why: cause(&why) },
            Self::Failed { cause: text, code, blames } => Self::Failed { cause: cause(&text), code, blames },
        }
    }
}

/// Daemon to host: end your part in order, and exit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopHost {
    /// Why, for the host's log.
    pub why: String,
}

impl Message for StopHost {
    type Reply = ();
}

/// Daemon to host: the actors you run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListActors {}

impl Message for ListActors {
    type Reply = HostActors;
}

/// The actors of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostActors {
    /// One line an actor, [`MOST`](Self::MOST) at most.
    pub actors: Vec<ActorLine>,
}

impl HostActors {
    /// The most actors a host tells of.
    pub const MOST: usize = 256;
}

/// What is known of one actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActorLine {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: String,
    /// Messages in its mailbox.
    pub depth: u64,
    /// The most that its mailbox holds.
    pub bound: u64,
    /// How often it was restarted.
    pub restarts: u32,
    /// `running`, or why it stopped.
    pub state: String,
}
