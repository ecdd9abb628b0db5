//! What a daemon is told at its start, and why it may not start.

use std::net::SocketAddr;
use std::path::PathBuf;

use dae_net::{DiscoveryError, InterfaceError, KeyError, LinkError, MembershipError};

use crate::{SocketError, Stderr};

/// A way to find other nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Multicast DNS, spoken by this process.
    Mdns,
    /// Multicast DNS by avahi-daemon.
    Avahi,
    /// Addresses that were given.
    Seeds,
}

/// What a daemon is told.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The cluster's name.
    pub cluster: String,
    /// The node's name; the machine's if there is none.
    pub name: Option<String>,
    /// The file of the cluster's key; without one the daemon serves this machine only.
    pub key_file: Option<PathBuf>,
    /// `host:port` of nodes to join.
    pub seeds: Vec<String>,
    /// Addresses that others reach this machine by; port 0 stands for the one it listens at.
    pub advertise: Vec<SocketAddr>,
    /// The interface whose addresses are advertised.
    pub iface: Option<String>,
    /// Where to listen; port 0 for a free one.
    pub listen: Option<SocketAddr>,
    /// How to find others; empty for mDNS, and seeds if there are any.
    pub discovery: Vec<Backend>,
    /// The folder for sockets, in place of the user's runtime folder.
    pub runtime_dir: Option<PathBuf>,
    /// The folder for identities, in place of the user's state folder.
    pub state_dir: Option<PathBuf>,
    /// Where people are told what happens, at once; without it, only those who ask are told.
    pub stderr: Option<Stderr>,
}

/// Why a daemon did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// What it was told does not go together.
    #[error("{what}; {fix}")]
    Settings {
        /// What.
        what: String,
        /// What to do.
        fix: &'static str,
    },
    /// The key or the identity.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The socket for clients.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The addresses of this machine.
    #[error(transparent)]
    Interfaces(#[from] InterfaceError),
    /// It cannot listen.
    #[error("{0}; end what has the port (`ss -ltunp` shows it), or choose another --listen")]
    Listen(LinkError),
    /// It cannot listen for datagrams.
    #[error(
        "cannot listen at UDP {at}: {error}; end what has the port (`ss -ltunp` shows it), or choose another --listen"
    )]
    Datagrams {
        /// Where.
        at: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// Gossip did not start.
    #[error(transparent)]
    Membership(#[from] MembershipError),
    /// A way to find others did not start.
    #[error(transparent)]
    Discovery(#[from] DiscoveryError),
    /// The system refuses something else.
    #[error("{what}: {error}")]
    Io {
        /// What.
        what: String,
        /// Why.
        error: std::io::Error,
    },
    /// Its own actor failed.
    #[error("the daemon failed, which is a defect of it: {cause}")]
    Failed {
        /// The first panic, with its place.
        cause: String,
    },
}

impl Settings {
    /// Whether the daemon may serve other machines, and whether the rest agrees with that.
    ///
    /// # Errors
    /// If it was told two things that do not go together.
    pub fn check(&self) -> Result<(), DaemonError> {
        let settings = |what: String, fix| Err(DaemonError::Settings { what, fix });
        if self.key_file.is_none() {
            let key = "make a key by `dae-node key new FILE`, copy FILE to each machine, and join with --key-file FILE";
            let beyond = |address: &&SocketAddr| !address.ip().is_loopback();
            if let Some(address) = self.listen.iter().chain(&self.advertise).find(beyond) {
                return settings(
                    format!("without a key, only this machine is served, and {} is beyond it", address.ip()),
                    key,
                );
            }
            if let Some(seed) = self.seeds.first() {
                return settings(
                    format!("without a key, only this machine is served, and {seed} is to be joined"),
                    key,
                );
            }
            if !self.discovery.is_empty() || self.iface.is_some() {
                return settings(
                    "without a key, only this machine is served, and nobody else is looked for".into(),
                    key,
                );
            }
        }
        if self.discovery.contains(&Backend::Seeds) && self.seeds.is_empty() && self.listen.is_none() {
            return settings(
                "--discovery seeds, but neither a --seed nor a --listen by which others could name this node"
                    .into(),
                "give --seed HOST:PORT, or --listen ADDR:PORT",
            );
        }
        if self.discovery.contains(&Backend::Avahi) && cfg!(not(feature = "avahi")) {
            return settings(
                "--discovery avahi: this program was built without it".into(),
                "build it with `--features avahi`, or choose --discovery mdns",
            );
        }
        if let Some(address) =
            self.advertise.iter().find(|a| a.ip().is_unspecified() || a.ip().is_multicast())
        {
            return settings(
                format!("--advertise {}: no machine has this address", address.ip()),
                "give one that others can reach",
            );
        }
        if self.key_file.is_some()
            && let Some(address) = self.advertise.iter().find(|a| a.ip().is_loopback())
            && self.listen.is_none_or(|listen| !listen.ip().is_loopback())
        {
            return settings(
                format!("--advertise {}: every machine would take it for itself", address.ip()),
                "give one that others can reach",
            );
        }
        Ok(())
    }

    /// The backends to start, in order.
    pub(super) fn backends(&self) -> Vec<Backend> {
        let mut backends = self.discovery.clone();
        if backends.is_empty() && self.key_file.is_some() {
            backends.push(Backend::Mdns);
        }
        if !self.seeds.is_empty() && !backends.contains(&Backend::Seeds) {
            backends.push(Backend::Seeds);
        }
        backends
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(settings: &Settings) -> String {
        settings.check().expect_err("does not go together").to_string()
    }

    #[test]
    fn without_a_key_nothing_beyond_this_machine() {
        let at = |text: &str| text.parse().expect("an address");
        for settings in [
            Settings { listen: Some(at("0.0.0.0:0")), ..Settings::default() },
            Settings { listen: Some(at("10.0.0.1:7946")), ..Settings::default() },
            Settings { advertise: vec![at("10.0.0.1:0")], ..Settings::default() },
            Settings { seeds: vec!["10.0.0.1:7946".into()], ..Settings::default() },
            Settings { discovery: vec![Backend::Mdns], ..Settings::default() },
        ] {
            let refusal = refusal(&settings);
            assert!(refusal.contains("without a key") && refusal.contains("dae-node key new"), "{refusal}");
        }
        let fine = Settings { listen: Some(at("127.0.0.1:7946")), ..Settings::default() };
        assert!(fine.check().is_ok() && fine.backends().is_empty());
    }

    #[test]
    fn with_a_key_mdns_unless_told_otherwise_and_seeds_if_there_are_any() {
        let keyed = Settings { key_file: Some("key".into()), ..Settings::default() };
        assert_eq!(keyed.backends(), [Backend::Mdns]);
        let seeded = Settings { seeds: vec!["a:1".into()], ..keyed.clone() };
        assert_eq!(seeded.backends(), [Backend::Mdns, Backend::Seeds]);
        let only = Settings { discovery: vec![Backend::Seeds], ..seeded };
        assert_eq!(only.backends(), [Backend::Seeds]);
        assert!(refusal(&Settings { seeds: Vec::new(), ..only }).contains("--seed"));
        let loopback = Settings { advertise: vec![([127, 0, 0, 1], 0).into()], ..keyed };
        assert!(refusal(&loopback).contains("take it for itself"));
    }
}
