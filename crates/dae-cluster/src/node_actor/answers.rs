//! What it answers to others.

use dae_actor::{Accepts, Body, Context, Handler, Remote, Reply, reply};

use super::NodeActor;
use crate::Jobs;
use crate::protocol::{
    Farewell, Leave, ListNodes, NodeInfo, NodeStatus, Nodes, NotReached, ShowNode, ShowStatus,
};

impl Remote for NodeActor {
    fn accepts(list: &mut Accepts<Self>) {
        list.later::<ListNodes, Nodes>("list-nodes");
        list.message::<ShowNode>("show-node");
        list.message::<ShowStatus>("show-status");
        list.message::<NotReached>("not-reached");
        list.message::<Farewell>("farewell");
        list.message::<Leave>("leave");
        Jobs::accepts(list);
    }
}

impl Body for ListNodes {}
impl Body for ShowNode {}
impl Body for NodeInfo {}
impl Body for ShowStatus {}
impl Body for NotReached {}
impl Body for Farewell {}
impl Body for Leave {}

impl Handler<ListNodes> for NodeActor {
    fn handle(&mut self, _: ListNodes, context: &mut Context<'_, Self>) -> Reply<Nodes> {
        let (to, answer) = reply(Self::NAME);
        context.spawn(self.survey(), |node, described, _| {
            for info in described {
                // Its own row is made afresh.
                if let Ok(id) = info.id.parse() {
                    node.described.insert(id, info);
                }
            }
            let (cluster, answered_by) = (node.me.cluster.clone(), node.me.name.clone());
            to.send(Nodes { cluster, answered_by, nodes: node.table() });
        });
        answer
    }
}

impl Handler<ShowNode> for NodeActor {
    fn handle(&mut self, _: ShowNode, _: &mut Context<'_, Self>) -> NodeInfo {
        self.own_info()
    }
}

impl Handler<ShowStatus> for NodeActor {
    fn handle(&mut self, _: ShowStatus, _: &mut Context<'_, Self>) -> NodeStatus {
        let own = |(place, why)| NotReached { by: self.me.name.clone(), place, why };
        let mut declined: Vec<_> = self.mesh.declined().into_iter().map(own).collect();
        declined.extend_from_slice(self.diary.all_unreached());
        NodeStatus {
            cluster: self.me.cluster.clone(),
            node: self.own_info(),
            pid: std::process::id(),
            listens: self.me.listens,
            loopback_only: self.me.loopback_only,
            discovery: self.me.discovery.clone(),
            joined: u32::try_from(self.joined.len()).unwrap_or(u32::MAX),
            declined,
            events: self.diary.events(),
        }
    }
}

impl Handler<NotReached> for NodeActor {
    fn handle(&mut self, told: NotReached, _: &mut Context<'_, Self>) {
        let line = format!(
            "{} cannot reach this node: {}; give the address that others reach it by with --advertise, or let TCP \
             and UDP through",
            told.by, told.why
        );
        if self.diary.unreached(told) {
            self.tell_people(line);
        }
    }
}
