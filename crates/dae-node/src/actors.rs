//! `dae-node actors`: the actors of all daemons and hosts of a cluster.

use dae_cluster::client::Client;
use dae_cluster::protocol::jobs::ActorRows;
use serde_json::json;

use crate::ask;
use crate::cluster_args::ShowArgs;
use crate::exit::Failure;
use crate::follow::say;
use crate::table::{table, versioned};

/// Lists the actors.
pub fn actors(args: &ShowArgs) -> Result<Vec<u8>, Failure> {
    let rows = ask::about_jobs(&args.daemon, async |client: Client| {
        client.actors().await.map_err(ask::job_failure)
    })?;
    if args.json {
        return versioned(&json!({ "processes": rows.processes, "silent": rows.silent }));
    }
    rows.silent.iter().for_each(|silent| say(&format!("no answer from {silent}")));
    Ok(show(&rows))
}

fn show(rows: &ActorRows) -> Vec<u8> {
    let all =
        rows.processes.iter().flat_map(|process| process.actors.iter().map(move |actor| (process, actor)));
    let row = all.map(|(process, actor)| {
        [
            process.node.clone(),
            process.job.clone().unwrap_or_else(|| "-".into()),
            process.pid.to_string(),
            actor.name.clone(),
            actor.kind.clone(),
            format!("{}/{}", actor.depth, actor.bound),
            actor.restarts.to_string(),
            actor.state.clone(),
        ]
    });
    table(["NODE", "JOB", "PROCESS", "ACTOR", "KIND", "MAILBOX", "RESTARTS", "STATE"], row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dae_cluster::protocol::hosts::ActorLine;
    use dae_cluster::protocol::jobs::ProcessActors;

    #[test]
    fn an_actor_is_one_line() {
        let actor = ActorLine {
            name: "worker-0".into(),
            kind: "gradient-worker".into(),
            depth: 2,
            bound: 64,
            restarts: 1,
            state: "running".into(),
        };
        let process = ProcessActors { node: "n1".into(), job: None, pid: 7, actors: vec![actor] };
        let text = show(&ActorRows { processes: vec![process], silent: Vec::new() });
        let text = String::from_utf8(text).expect("text");
        let line: Vec<_> = text.lines().nth(1).expect("a row").split_whitespace().collect();
        assert_eq!(line, ["n1", "-", "7", "worker-0", "gradient-worker", "2/64", "1", "running"]);
    }
}
