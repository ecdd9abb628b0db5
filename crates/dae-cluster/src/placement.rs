//! Which nodes a job's hosts go to. A pure function of what is wanted and what there is.

use crate::protocol::jobs::Demand;
use crate::protocol::{NodeInfo, NodeState};

/// Nodes told of in an error; the rest are counted.
const TOLD: usize = 16;

/// Why a job has no place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// Nothing is wanted.
    #[error("a job needs at least one node, with at least one worker of one thread: {0} were asked for")]
    Nothing(String),
    /// The user names nodes that are not there.
    #[error("placement.nodes names {missing}, not in the cluster now; it has {present}")]
    Unknown {
        /// Who is named.
        missing: String,
        /// Who is there.
        present: String,
    },
    /// The node where the run's folder lies is not among those the user names.
    #[error(
        "placement.nodes leaves out {home}, where the job is started and its run folder lies: add {home} to it, or \
         start the job on {others}"
    )]
    HomeLeftOut {
        /// The node.
        home: String,
        /// Those that are named.
        others: String,
    },
    /// The node where the run's folder lies has no room.
    #[error(
        "a host needs {need} on {home}, where the job is started and its run folder lies; it has {has}: end what runs \
         there, start the job on another node, or lower the number of workers"
    )]
    HomeFull {
        /// The demand, worked out.
        need: String,
        /// The node.
        home: String,
        /// What it has.
        has: String,
    },
    /// Too few nodes have room.
    #[error("{wanted} nodes with {need} each are wanted, {fit} have that: {rows}")]
    TooFew {
        /// How many are wanted.
        wanted: u32,
        /// The demand, worked out.
        need: String,
        /// How many would do.
        fit: usize,
        /// What each node has.
        rows: String,
    },
}

/// Names the nodes a job's hosts go to, in the order of their ranks: the home node, then those with most free cores.
///
/// # Errors
/// If the demand cannot be met now; the error does the arithmetic.
pub fn place(demand: &Demand, home: &str, nodes: &[NodeInfo]) -> Result<Vec<String>, PlacementError> {
    let Demand { nodes: wanted, workers_per_node, threads_per_worker, only } = demand;
    let cores = workers_per_node.saturating_mul(*threads_per_worker);
    if *wanted == 0 || cores == 0 {
        let asked =
            format!("{wanted} nodes, {workers_per_node} workers each, {threads_per_worker} threads each");
        return Err(PlacementError::Nothing(asked));
    }
    let alive = || nodes.iter().filter(|node| node.state == NodeState::Alive);
    let missing: Vec<_> =
        only.iter().filter(|name| !alive().any(|node| node.name == **name)).cloned().collect();
    if !missing.is_empty() {
        let present: Vec<_> = alive().map(|node| node.name.clone()).collect();
        return Err(PlacementError::Unknown { missing: list(&missing), present: list(&present) });
    }
    if !only.is_empty() && !only.iter().any(|name| name == home) {
        return Err(PlacementError::HomeLeftOut { home: home.into(), others: list(only) });
    }
    let need = format!("{cores} cores free (workers x threads: {workers_per_node} x {threads_per_worker})");
    let mut allowed: Vec<&NodeInfo> =
        alive().filter(|node| only.is_empty() || only.contains(&node.name)).collect();
    allowed.sort_by_key(|node| (node.name != home, std::cmp::Reverse(node.cores_free), node.name.clone()));
    if let Some(first) = allowed.first().filter(|node| node.name == home && node.cores_free < cores) {
        return Err(PlacementError::HomeFull { need, home: home.into(), has: has(first) });
    }
    let mut fit: Vec<_> =
        allowed.iter().filter(|node| node.cores_free >= cores).map(|node| node.name.clone()).collect();
    let count = usize::try_from(*wanted).unwrap_or(usize::MAX);
    if fit.len() < count {
        let rows: Vec<_> = allowed.iter().map(|node| format!("{} has {}", node.name, has(node))).collect();
        return Err(PlacementError::TooFew { wanted: *wanted, need, fit: fit.len(), rows: list(&rows) });
    }
    fit.truncate(count);
    Ok(fit)
}

/// What a node has, and who has the rest.
fn has(node: &NodeInfo) -> String {
    let free = format!("{} of {} cores free", node.cores_free, node.cores);
    let hosts: Vec<_> = node.hosts.iter().map(|host| format!("{} with {}", host.job, host.threads)).collect();
    if hosts.is_empty() { free } else { format!("{free} (taken by {})", list(&hosts)) }
}

fn list(items: &[String]) -> String {
    match items.len() {
        0 => "nobody".into(),
        many if many > TOLD => format!("{} and {} more", items[..TOLD].join(", "), many - TOLD),
        _ => items.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::HostRow;
    use proptest::prelude::*;

    fn node(name: &str, cores: u32, free: u32) -> NodeInfo {
        let taken = HostRow { job: "old-1".into(), pid: 1, threads: cores - free };
        NodeInfo {
            name: name.into(),
            id: String::new(),
            generation: 1,
            addresses: Vec::new(),
            cores,
            cores_free: free,
            memory: 0,
            memory_free: 0,
            gpus: Vec::new(),
            state: NodeState::Alive,
            phi: None,
            reason: String::new(),
            since: 0,
            hosts: if free < cores { vec![taken] } else { Vec::new() },
            version: String::new(),
        }
    }

    fn demand(nodes: u32, workers_per_node: u32) -> Demand {
        Demand { nodes, workers_per_node, threads_per_worker: 1, only: Vec::new() }
    }

    fn refusal(demand: &Demand, nodes: &[NodeInfo]) -> String {
        place(demand, "n1", nodes).expect_err("no place").to_string()
    }

    #[test]
    fn home_comes_first_then_the_emptiest() {
        let nodes = [node("n3", 4, 2), node("n1", 2, 2), node("n2", 4, 4), node("n4", 4, 4)];
        assert_eq!(place(&demand(3, 2), "n1", &nodes).expect("room"), ["n1", "n2", "n4"]);
        assert_eq!(place(&demand(1, 2), "n1", &nodes).expect("room"), ["n1"]);
    }

    #[test]
    fn a_demand_that_cannot_be_met_is_refused_with_the_arithmetic() {
        let nodes = [node("n1", 2, 2), node("n2", 4, 1), node("n3", 2, 2)];
        assert_eq!(
            refusal(&demand(3, 2), &nodes),
            "3 nodes with 2 cores free (workers x threads: 2 x 1) each are wanted, 2 have that: n1 has 2 of 2 cores free, \
             n3 has 2 of 2 cores free, n2 has 1 of 4 cores free (taken by old-1 with 3)"
        );
        let full = refusal(&demand(1, 3), &nodes);
        assert!(full.contains("3 cores free") && full.contains("it has 2 of 2 cores free"), "{full}");
        assert!(refusal(&demand(0, 1), &nodes).contains("0 nodes"));
        assert!(refusal(&demand(2, u32::MAX), &nodes).contains("4294967295 cores free"));
    }

    #[test]
    fn named_nodes_are_the_only_ones() {
        let nodes = [node("n1", 2, 2), node("n2", 8, 8), node("n3", 2, 2)];
        let only =
            |names: &[&str]| Demand { only: names.iter().map(|n| (*n).into()).collect(), ..demand(2, 1) };
        assert_eq!(place(&only(&["n3", "n1"]), "n1", &nodes).expect("room"), ["n1", "n3"]);
        assert!(
            refusal(&only(&["n1", "n9"]), &nodes).starts_with("placement.nodes names n9, not in the cluster")
        );
        assert!(refusal(&only(&["n2", "n3"]), &nodes).contains("leaves out n1"));
        assert!(refusal(&only(&["n1"]), &nodes).contains("2 nodes with 1 cores free"));
    }

    #[test]
    fn nodes_that_left_do_not_count() {
        let nodes = [node("n1", 2, 2), NodeInfo { state: NodeState::Suspected, ..node("n2", 2, 2) }];
        assert!(refusal(&demand(2, 1), &nodes).contains("1 have that"));
    }

    proptest! {
        #[test]
        fn whoever_is_placed_has_room(wanted in 1u32..6, workers in 1u32..5, free in prop::collection::vec(0u32..9, 1..7)) {
            let nodes: Vec<_> = free.iter().enumerate().map(|(i, free)| node(&format!("n{}", i + 1), 9, *free)).collect();
            let enough = nodes.iter().filter(|node| node.cores_free >= workers).count() >= wanted as usize;
            match place(&demand(wanted, workers), "n1", &nodes) {
                Ok(placed) => {
                    prop_assert_eq!(placed.len(), wanted as usize);
                    prop_assert_eq!(placed[0].as_str(), "n1");
                    let mut once = placed.clone();
                    once.sort();
                    once.dedup();
                    prop_assert_eq!(once.len(), placed.len());
                    let roomy = |name: &String| nodes.iter().any(|node| node.name == *name && node.cores_free >= workers);
                    prop_assert!(placed.iter().all(roomy));
                }
                Err(_) => prop_assert!(!enough || free[0] < workers),
            }
        }
    }
}
