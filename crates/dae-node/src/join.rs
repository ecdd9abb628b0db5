//! `dae-node join`: the daemon.

use std::io::Write;

use dae_cluster::daemon::{self, Backend, DaemonError, Settings};

use crate::cluster_args::{JoinArgs, Way};
use crate::exit::Failure;
use dae_train::exit::Exit;

/// Runs the daemon until it is told to leave.
pub fn join(args: JoinArgs) -> Result<Vec<u8>, Failure> {
    let discovery = args.discovery.iter().map(|way| match way {
        Way::Mdns => Backend::Mdns,
        Way::Avahi => Backend::Avahi,
        Way::Seeds => Backend::Seeds,
    });
    let settings = Settings {
        cluster: args.reach.cluster,
        name: args.name,
        key_file: args.reach.key_file,
        seeds: args.seeds,
        advertise: args.advertise,
        iface: args.reach.iface,
        listen: args.reach.listen,
        discovery: discovery.collect(),
        ..Settings::default()
    };
    let ready = |line: &str| {
        let mut stdout = std::io::stdout().lock();
        // Whoever started it may read it or not.
        let _ = writeln!(stdout, "{line}").and_then(|()| stdout.flush());
    };
    daemon::run(&settings, ready).map(|()| Vec::new()).map_err(|error| {
        let exit = match error {
            DaemonError::Settings { .. } => Exit::Usage,
            _ => Exit::Failed,
        };
        Failure::new(exit, miette::miette!("{error}"))
    })
}
