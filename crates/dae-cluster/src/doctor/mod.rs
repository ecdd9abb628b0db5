//! What may keep this machine from joining a cluster, each finding with the exact fix. The judging is pure; looking
//! is a few lines beside it.
//!
//! | module | what it holds |
//! |---|---|
//! | `machine` | the key, the clock, the limits, the ports, the addresses |
//! | `multicast` | whether mDNS is heard on UDP 5353 |
mod machine;
mod multicast;

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Serialize;

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing to do.
    Ok,
    /// It works in part.
    Warning,
    /// A join would fail.
    Error,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub topic: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was seen.
    pub what: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Finding {
    /// Nothing to do.
    pub fn ok(topic: &'static str, what: impl Into<String>) -> Self {
        Self { topic, verdict: Verdict::Ok, what: what.into(), fix: None }
    }

    /// It works in part.
    pub fn warning(topic: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { topic, verdict: Verdict::Warning, what: what.into(), fix: Some(fix.into()) }
    }

    /// A join would fail.
    pub fn error(topic: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { topic, verdict: Verdict::Error, what: what.into(), fix: Some(fix.into()) }
    }
}

/// What a join would be given.
#[derive(Debug, Clone, Default)]
pub struct Examined {
    /// The cluster's name.
    pub cluster: String,
    /// The file of the key.
    pub key_file: Option<PathBuf>,
    /// The interface.
    pub iface: Option<String>,
    /// Where it would listen.
    pub listen: Option<SocketAddr>,
}

/// Looks at this machine, for about a second and a half.
pub fn examine(examined: &Examined) -> Vec<Finding> {
    let mut found = vec![machine::key(examined.key_file.as_deref())];
    found.push(machine::sockets(&examined.cluster));
    found.push(machine::port(examined.listen, &machine::running(&examined.cluster)));
    let (addresses, finding) = machine::addresses(examined.iface.as_deref());
    found.push(finding);
    found.push(multicast::listen(&addresses));
    found.push(machine::clock());
    found.push(machine::open_files());
    found
}
