//! `dae-node nodes`: who is in the cluster.

use std::time::{SystemTime, UNIX_EPOCH};

use dae_cluster::client::Client;
use dae_cluster::protocol::{NodeInfo, NodeState, Nodes};

use crate::ask;
use crate::cluster_args::ShowArgs;
use crate::exit::Failure;
use crate::table::{ago, bytes, table, versioned};

/// Asks a daemon for all nodes.
pub fn nodes(args: &ShowArgs) -> Result<Vec<u8>, Failure> {
    let nodes = ask::daemon(&args.daemon, async |client: Client| client.nodes().await)?;
    if args.json { versioned(&nodes) } else { Ok(show(&nodes, now())) }
}

fn show(nodes: &Nodes, now: u64) -> Vec<u8> {
    let headings =
        ["NAME", "STATE", "PHI", "ADDRESS", "CORES FREE", "MEMORY FREE", "GPUS", "HOSTS", "SINCE", "WHY"];
    table(headings, nodes.nodes.iter().map(|node| row(node, now)))
}

fn row(node: &NodeInfo, now: u64) -> [String; 10] {
    [
        node.name.clone(),
        state(node.state).to_owned(),
        node.phi.map_or("-".into(), |phi| format!("{phi:.1}")),
        node.addresses.first().map_or("-".into(), ToString::to_string),
        format!("{}/{}", node.cores_free, node.cores),
        format!("{}/{}", bytes(node.memory_free), bytes(node.memory)),
        node.gpus.len().to_string(),
        node.hosts.len().to_string(),
        ago(now.saturating_sub(node.since)),
        node.reason.clone(),
    ]
}

/// A state in a word.
pub fn state(state: NodeState) -> &'static str {
    match state {
        NodeState::Alive => "alive",
        NodeState::Suspected => "suspected",
        NodeState::Left => "left",
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_one_line() {
        let node = NodeInfo {
            name: "n1".into(),
            id: "ab".repeat(32),
            generation: 1,
            addresses: vec![([10, 0, 0, 1], 7946).into()],
            cores: 8,
            cores_free: 6,
            memory: 2 << 30,
            memory_free: 1 << 30,
            gpus: vec!["H200".into()],
            state: NodeState::Suspected,
            phi: Some(5.25),
            reason: "silent for 1.6 s".into(),
            since: 40,
            hosts: Vec::new(),
            version: "0.1.0".into(),
        };
        let nodes = Nodes { cluster: "c".into(), answered_by: "n2".into(), nodes: vec![node] };
        let text = String::from_utf8(show(&nodes, 100)).expect("text");
        let line: Vec<_> = text.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!(line[..5], ["n1", "suspected", "5.2", "10.0.0.1:7946", "6/8"]);
        assert!(text.ends_with("1 min  silent for 1.6 s\n"), "{text}");
        let json = versioned(&nodes).expect("written");
        let value: serde_json::Value = serde_json::from_slice(&json).expect("read");
        assert_eq!((&value["version"], &value["nodes"][0]["state"]), (&1.into(), &"suspected".into()));
    }
}
