//! What discovery and membership tell, and the clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dae_actor::Context;
use dae_net::{MemberEvent, MemberNews, MemberState};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::NodeActor;
use crate::mesh::Source;

/// How often it is looked whom to dial again.
const TICK: Duration = Duration::from_millis(100);

impl NodeActor {
    pub(super) fn listen_to_discovery(&mut self, context: &mut Context<'_, Self>) {
        let Some(mut found) = self.found.take() else { return };
        let next = async move { (found.recv().await, found) };
        context.spawn(next, |node, (candidate, found), context| {
            let Some(candidate) = candidate else { return };
            let source = Source::Discovery(candidate.source);
            node.mesh.found(source, &candidate.label, &candidate.addresses, Instant::now());
            node.dial(context);
            node.found = Some(found);
            node.listen_to_discovery(context);
        });
    }

    pub(super) fn listen_to_membership(&mut self, context: &mut Context<'_, Self>) {
        self.next_news(self.membership.events(), context);
    }

    fn next_news(&mut self, mut events: Receiver<MemberNews>, context: &mut Context<'_, Self>) {
        let next = async move { (events.recv().await, events) };
        context.spawn(next, |node, (news, events), context| {
            match news {
                Ok(news) => node.hear(&news, context),
                // The table is always whole; only sentences are lost.
                Err(RecvError::Lagged(lost)) => {
                    node.tell_people(format!("{lost} events went by too fast to be told"))
                }
                Err(RecvError::Closed) => return,
            }
            node.next_news(events, context);
        });
    }

    fn hear(&mut self, news: &MemberNews, context: &mut Context<'_, Self>) {
        let (id, name) = (news.id, &news.name);
        self.since.insert(id, seconds());
        let at = self.joined.get(&id).map_or(String::new(), |joined| format!(" at {}", joined.address));
        match &news.event {
            MemberEvent::Joined => self.tell_people(format!("{name} ({id}) has joined{at}")),
            MemberEvent::Suspected { why } => self.tell_people(format!("{name} is suspected: {why}")),
            MemberEvent::Returned { after: MemberState::Left } => {
                self.tell_people(format!("{name} has returned{at}"))
            }
            MemberEvent::Returned { .. } => self.tell_people(format!("{name} is suspected no longer")),
            MemberEvent::Left { why } => {
                self.tell_people(format!("{name} has left: {why}"));
                // The connection to a later start of it is none of this.
                if self.joined.get(&id).is_some_and(|joined| joined.generation <= news.generation) {
                    self.close(id, "this node counts as gone");
                }
                self.on_node_left(name, why, context);
            }
        }
    }

    pub(super) fn tick(&mut self, context: &mut Context<'_, Self>) {
        let now = Instant::now();
        self.meet_worthy(now);
        self.dial(context);
        if let Some(report) = self.diary.declined(self.mesh.declined(), !self.joined.is_empty(), now) {
            self.tell_people(report);
        }
        let wait = tokio::time::sleep_until(tokio::time::Instant::now() + TICK);
        context.spawn(wait, |node, (), context| {
            if !node.leaving {
                node.tick(context);
            }
        });
    }

    /// Nodes that others speak of and that nobody has told this daemon about.
    fn meet_worthy(&mut self, now: Instant) {
        let members = self.membership.members();
        let rows = members.borrow();
        let worthy =
            rows.iter().filter(|member| member.worth_dialling && !self.joined.contains_key(&member.id));
        for member in worthy {
            if let Some(address) = member.address {
                self.mesh.heard_of(member.id, &member.name, address, now);
            }
        }
        // What is known of nodes nobody remembers goes with them.
        self.described.retain(|id, _| rows.iter().any(|member| member.id == *id));
        self.since.retain(|id, _| rows.iter().any(|member| member.id == *id));
    }
}

/// Seconds since 1970.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
