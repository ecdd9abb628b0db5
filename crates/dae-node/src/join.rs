//! `dae-node join`: the daemon.

use std::io::Write;

use dae_cluster::Stderr;
use dae_cluster::daemon::{self, Backend, DaemonError, Settings};

use crate::cluster_args::{JoinArgs, Way};
use crate::exit::Failure;
use dae_train::exit::Exit;
use tracing_subscriber::EnvFilter;

/// Runs the daemon until it is told to leave.
pub fn join(args: JoinArgs) -> Result<Vec<u8>, Failure> {
    let discovery = args.discovery.iter().map(|way| match way {
        Way::Mdns => Backend::Mdns,
        Way::Avahi => Backend::Avahi,
        Way::Seeds => Backend::Seeds,
    });
    let failed =
        |error: std::io::Error| Failure::new(Exit::Failed, miette::miette!("no thread for stderr: {error}"));
    let stderr = Stderr::new().map_err(failed)?;
    log_to(&stderr);
    let settings = Settings {
        cluster: args.reach.cluster,
        name: args.name,
        key_file: args.reach.key_file,
        seeds: args.seeds,
        advertise: args.advertise,
        iface: args.reach.iface,
        listen: args.reach.listen,
        discovery: discovery.collect(),
        stderr: Some(stderr.clone()),
        ..Settings::default()
    };
    let ready = |line: &str| {
        let mut stdout = std::io::stdout().lock();
        // Whoever started it may read it or not.
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    };
    let ran = daemon::run(&settings, ready);
    stderr.finish();
    ran.map(|()| Vec::new()).map_err(|error| {
        let exit = match error {
            DaemonError::Settings { .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        Failure::new(exit, miette::miette!("{error}"))
    })
}

/// Warnings and errors go to stderr, more of them if `RUST_LOG` says so.
fn log_to(stderr: &Stderr) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let stderr = stderr.clone();
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || stderr.clone());
    // Nobody else sets one up in this process.
    let _ = subscriber.with_ansi(false).without_time().try_init();
}
