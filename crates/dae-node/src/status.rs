//! `dae-node status`: how one daemon is. `dae-node leave`: it ends.

use dae_cluster::client::Client;
use dae_cluster::protocol::NodeStatus;

use crate::ask;
use crate::cluster_args::{DaemonArgs, ShowArgs};
use crate::exit::Failure;
use crate::nodes::now;
use crate::table::{ago, bytes, versioned};

/// Asks a daemon how it is.
pub fn status(args: &ShowArgs) -> Result<Vec<u8>, Failure> {
    let status = ask::daemon(&args.daemon, async |client: Client| client.status().await)?;
    if args.json { versioned(&status) } else { Ok(show(&status, now()).into_bytes()) }
}

/// Tells a daemon to leave, and waits until it has.
pub fn leave(args: &DaemonArgs) -> Result<Vec<u8>, Failure> {
    let name = ask::daemon(args, async |client: Client| client.leave().await)?;
    Ok(format!("{name} has left cluster {}\n", args.cluster).into_bytes())
}

fn show(status: &NodeStatus, now: u64) -> String {
    let node = &status.node;
    let addresses: Vec<_> = node.addresses.iter().map(ToString::to_string).collect();
    let short: String = node.id.chars().take(8).collect();
    let mut lines = vec![
        ("node", format!("{} ({short}) of cluster {}, version {}", node.name, status.cluster, node.version)),
        ("process", format!("{}, for {}", status.pid, ago(now.saturating_sub(node.since)))),
        ("listens", format!("{}, reached at {}", status.listens, addresses.join(", "))),
        ("found by", status.discovery.join(", ")),
        ("joined", format!("{} other nodes", status.joined)),
        ("cores", format!("{} of {} free", node.cores_free, node.cores)),
        ("memory", format!("{} of {} free", bytes(node.memory_free), bytes(node.memory))),
        ("gpus", if node.gpus.is_empty() { "none".into() } else { node.gpus.join(", ") }),
    ];
    lines.extend(node.hosts.iter().map(|host| ("host", format!("job {}, process {}", host.job, host.pid))));
    lines.extend(status.declined.iter().map(|not| ("declined", format!("{}: {}", not.place, not.why))));
    lines.extend(status.events.iter().map(|event| {
        ("event", format!("{} ago: {}", ago(now.saturating_sub(event.at_ms / 1000)), event.what))
    }));
    lines.iter().map(|(name, value)| format!("{name:<10}{value}\n")).collect()
}
