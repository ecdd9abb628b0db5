//! Options of the commands that join a cluster, or ask its daemons.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::cli::HostArgs;
use dae_cluster::check_name;

/// The daemon a command speaks to.
#[derive(Debug, Clone, Args)]
pub struct DaemonArgs {
    /// The cluster
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = cluster_name)]
    pub cluster: String,
    /// The daemon to speak to, if several of the cluster run on this machine [default: the first by name]
    #[arg(long, value_name = "NAME", value_parser = node_name)]
    pub node: Option<String>,
}

/// `nodes`, `status`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Whom to ask.
    #[command(flatten)]
    pub daemon: DaemonArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// How a daemon would be reached and reach others.
#[derive(Debug, Clone, Args)]
pub struct ReachArgs {
    /// The cluster
    #[arg(long, value_name = "NAME", default_value = "default", value_parser = cluster_name)]
    pub cluster: String,
    /// The file with the cluster's key, made by `dae-node key new`; without one, the daemon serves this machine only
    #[arg(long, value_name = "FILE", env = "DAE_KEY_FILE")]
    pub key_file: Option<PathBuf>,
    /// The network interface whose addresses are given to others [default: all that lead to other machines]
    #[arg(long, value_name = "NAME")]
    pub iface: Option<String>,
    /// Where to listen, for TCP and UDP; a port is needed only where other daemons name this one as a --seed
    /// [default: a free port on all addresses]
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = address)]
    pub listen: Option<SocketAddr>,
}

/// `join`.
#[derive(Debug, Args)]
pub struct JoinArgs {
    /// Where and how.
    #[command(flatten)]
    pub reach: ReachArgs,
    /// The node's name, unique in the cluster [default: the machine's]
    #[arg(long, value_name = "NAME", value_parser = node_name)]
    pub name: Option<String>,
    /// Where a node of the cluster listens (its --listen with a port), for networks without multicast; repeatable
    #[arg(long = "seed", value_name = "HOST:PORT")]
    pub seeds: Vec<String>,
    /// An address that others reach this machine by, in place of those it would find itself; repeatable
    #[arg(long, value_name = "ADDR[:PORT]", value_parser = address)]
    pub advertise: Vec<SocketAddr>,
    /// How to find other nodes [default: mdns, and seeds if there are any]
    #[arg(long, value_name = "WAYS", value_delimiter = ',')]
    pub discovery: Vec<Way>,
}

/// A way to find nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Multicast DNS, spoken by the daemon itself
    Mdns,
    /// Multicast DNS by avahi-daemon (needs a build with `--features avahi`)
    Avahi,
    /// The addresses given by --seed
    Seeds,
}

/// `key`.
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a cluster key: whoever has it belongs to the cluster and can start programs on its nodes
    New {
        /// The file to write, for its owner alone; must not be there yet
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

/// `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// What a join would be given.
    #[command(flatten)]
    pub reach: ReachArgs,
    /// By what it would train.
    #[command(flatten)]
    pub host: HostArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The name of a cluster.
pub fn cluster_name(text: &str) -> Result<String, String> {
    check_name("cluster", text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// The name of a node.
pub fn node_name(text: &str) -> Result<String, String> {
    check_name("node", text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// An address; port 0 where none is given.
fn address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    (text.parse()).or_else(|_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 0))).map_err(|_| {
        "write an address like 10.0.0.1, 10.0.0.1:7946 or [2001:db8::1]:7946; names are not looked up".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_lack_a_port() {
        for (text, means) in [
            ("10.0.0.1", "10.0.0.1:0"),
            ("10.0.0.1:7946", "10.0.0.1:7946"),
            ("::1", "[::1]:0"),
            ("[::1]", "[::1]:0"),
            ("[::1]:7946", "[::1]:7946"),
        ] {
            assert_eq!(address(text).map(|a| a.to_string()).as_deref(), Ok(means));
        }
        for text in ["", "node1", "node1:7946", "10.0.0.1:", "10.0.0.1:70000", "10.0.0"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
