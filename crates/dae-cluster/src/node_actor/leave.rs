//! Saying goodbye.

use std::time::Duration;

use dae_actor::{Context, Handler};
use tokio::task::JoinSet;

use super::NodeActor;
use crate::protocol::{Farewell, Leave};

/// How long the others have to hear it.
const FAREWELL: Duration = Duration::from_millis(500);
/// How long the own hosts have to end.
const HOSTS: Duration = Duration::from_secs(10);

impl Handler<Leave> for NodeActor {
    /// The actor stops once it has said goodbye to all and its hosts have ended; the daemon ends with it.
    fn handle(&mut self, _: Leave, context: &mut Context<'_, Self>) {
        if std::mem::replace(&mut self.leaving, true) {
            return;
        }
        self.tell_people(format!("{} leaves cluster {}", self.me.name, self.me.cluster));
        let hosts = self.end_hosts("the daemon leaves");
        let nodes: Vec<_> = self.joined.values().map(|joined| joined.node.clone()).collect();
        let id = self.me.id.clone();
        let over = async move {
            // First the hosts: the others hear how their jobs ended before this node goes.
            let ended = tokio::time::timeout(HOSTS, hosts).await.is_ok();
            let mut telling = JoinSet::new();
            for node in nodes {
                let farewell = Farewell { id: id.clone() };
                telling.spawn(async move { node.ask(farewell, FAREWELL).await });
            }
            while telling.join_next().await.is_some() {}
            ended
        };
        context.spawn(over, |node, ended, context| {
            if !ended {
                node.tell_people("some hosts have not ended in time; they are killed with this process");
            }
            context.stop();
        });
    }
}

impl Handler<Farewell> for NodeActor {
    fn handle(&mut self, Farewell { id }: Farewell, _: &mut Context<'_, Self>) {
        // Whoever says it holds the cluster's key; a name that is none is nobody's.
        let Ok(id) = id.parse() else { return };
        let Some(member) = self.member(id) else { return };
        self.membership.goodbye(id, member.generation);
        self.close(id, "the node has said goodbye");
        self.mesh.forget(id);
    }
}
