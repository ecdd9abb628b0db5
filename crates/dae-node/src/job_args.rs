//! Options of the commands about jobs.

use clap::Args;
use std::time::Duration;

use crate::cluster_args::{DaemonArgs, cluster_name, node_name};

/// `run`, over the nodes of a cluster.
#[derive(Debug, Args)]
pub struct SpreadArgs {
    /// Run it over the nodes of this cluster; a daemon of it must run on this machine (`dae-node join`)
    #[arg(long, value_name = "NAME", value_parser = cluster_name)]
    pub cluster: Option<String>,
    /// The daemon to speak to, if several of the cluster run on this machine [default: the first by name]
    #[arg(long, value_name = "NAME", value_parser = node_name, requires = "cluster")]
    pub node: Option<String>,
    /// How long hosts that were asked to stop may take to save, before they are killed
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds, requires = "cluster")]
    pub grace: Duration,
    /// Let Ctrl-C stop the job; without this it only leaves the job, which goes on
    #[arg(long, requires = "cluster")]
    pub stop_on_interrupt: bool,
}

/// A job, and the daemon that is asked about it.
#[derive(Debug, Args)]
pub struct JobArgs {
    /// The job's id, as `run --cluster` and `jobs` tell it
    #[arg(value_name = "JOB")]
    pub job: String,
    /// Whom to ask.
    #[command(flatten)]
    pub daemon: DaemonArgs,
}

/// `attach`.
#[derive(Debug, Args)]
pub struct AttachArgs {
    /// To what.
    #[command(flatten)]
    pub job: JobArgs,
    /// Let Ctrl-C stop the job; without this it only leaves the job, which goes on
    #[arg(long)]
    pub stop_on_interrupt: bool,
}

/// `logs`.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Of what.
    #[command(flatten)]
    pub job: JobArgs,
    /// Go on until the job ends
    #[arg(long, short)]
    pub follow: bool,
}

/// `stop`.
#[derive(Debug, Args)]
pub struct StopArgs {
    /// What.
    #[command(flatten)]
    pub job: JobArgs,
    /// Kill its hosts at once, saving nothing
    #[arg(long)]
    pub now: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let fine = seconds.filter(|grace| *grace <= Duration::from_secs(3_600));
    fine.ok_or_else(|| "a number of seconds from 0 to 3600 is needed".into())
}
