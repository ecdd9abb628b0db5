//! Dialling others, being dialled, losing them.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dae_actor::{ActorRef, Context, Handler, Message, Peer};
use dae_net::{Link, LinkError, NodeId, Purpose, Side};

use super::me::{addresses, list};
use super::{DESCRIBE, NodeActor};
use crate::mesh::{Dial, Outcome};
use crate::protocol::hosts::HOST;
use crate::protocol::{NotReached, ShowNode};
use crate::{HostActor, HostConnected};

/// How long a dial may take, with the proof of both keys.
const DIAL: Duration = Duration::from_secs(3);

/// A node over this daemon's own connection.
pub(super) struct Joined {
    pub(super) peer: Peer,
    pub(super) node: ActorRef<NodeActor>,
    pub(super) name: String,
    pub(super) generation: u64,
    pub(super) address: SocketAddr,
}

/// Somebody proved the key and was admitted.
pub(crate) struct Arrived(pub(crate) Peer);

impl Message for Arrived {
    type Reply = ();
}

/// Somebody was turned away.
pub(crate) struct TurnedAway {
    pub(crate) from: String,
    pub(crate) why: String,
}

impl Message for TurnedAway {
    type Reply = ();
}

impl Handler<TurnedAway> for NodeActor {
    fn handle(&mut self, TurnedAway { from, why }: TurnedAway, _: &mut Context<'_, Self>) {
        if let Some(line) = self.diary.turned_away(&from, &why, Instant::now()) {
            self.tell_people(line);
        }
    }
}

impl Handler<Arrived> for NodeActor {
    fn handle(&mut self, Arrived(peer): Arrived, context: &mut Context<'_, Self>) {
        match peer.info().hello.purpose {
            Purpose::Node => self.dialled_by(peer, context),
            Purpose::Host => {
                let fact = |name: &str| peer.info().hello.facts.get(name).cloned().unwrap_or_default();
                let host = peer.actor::<HostActor>(HOST);
                self.handle(HostConnected { job: fact("job"), token: fact("token"), host }, context);
            }
            // It asks and is answered; nothing is kept of it.
            Purpose::Client | Purpose::Bulk => {}
        }
    }
}

/// An error as a clause of a longer sentence.
pub(crate) fn plainly(error: &LinkError) -> String {
    match error {
        LinkError::NoneReached { tried } => {
            let each: Vec<_> = tried.iter().map(|(at, why)| format!("{at}: {}", plainly(why))).collect();
            each.join("; ")
        }
        LinkError::Connect { why, .. } | LinkError::Refused { by: Side::Us, why } => why.clone(),
        other => other.to_string(),
    }
}

impl NodeActor {
    /// Another daemon has dialled this one: now it is known to be alive, and where it says it is.
    fn dialled_by(&mut self, peer: Peer, context: &mut Context<'_, Self>) {
        let info = peer.info();
        let (id, hello) = (info.id, &info.hello);
        // A start later than the one that is joined: the connection to that leads nowhere any more.
        if self.joined.get(&id).is_some_and(|joined| joined.generation < hello.generation) {
            self.close(id, "the node has started anew");
        }
        self.mesh.greeted(id, &hello.name, &addresses(hello), Instant::now());
        self.diary.reached_by(&hello.name);
        self.arrived.insert(id, peer.clone());
        let closed = async move { peer.closed().await };
        context.spawn(closed, move |node, _, _| {
            // Only if it was not replaced by a later one.
            if node.arrived.get(&id).is_some_and(|peer| peer.why_closed().is_some()) {
                node.arrived.remove(&id);
            }
        });
        self.dial(context);
    }

    /// Begins the dials that are due.
    pub(super) fn dial(&mut self, context: &mut Context<'_, Self>) {
        if self.leaving {
            return;
        }
        for Dial { number, expect, addresses } in self.mesh.due(Instant::now()) {
            let (endpoint, hello) = (self.endpoint.clone(), self.hello());
            let dialled = async move { endpoint.dial_any(&addresses, expect, hello, DIAL).await };
            context.spawn(dialled, move |node, dialled, context| match dialled {
                Ok(link) => node.reached(number, link, context),
                Err(error) => node.not_reached(number, &error),
            });
        }
    }

    fn reached(&mut self, number: u64, link: Link, context: &mut Context<'_, Self>) {
        let id = link.peer.id;
        let Some(address) = link.peer.address.filter(|_| !self.leaving) else { return };
        let (name, generation) = (link.peer.hello.name.clone(), link.peer.hello.generation);
        match self.mesh.reached(number, id, &name, address) {
            Outcome::Joined => {}
            // The link ends here.
            Outcome::Double | Outcome::Myself => return,
        }
        let peer = Peer::over(link, self.registry.clone());
        let node = peer.actor::<NodeActor>(Self::NAME);
        let described = node.clone();
        context.spawn(async move { described.ask(ShowNode {}, DESCRIBE).await }, move |actor, info, _| {
            if let Ok(info) = info {
                actor.described.insert(id, info);
            }
        });
        let closed = peer.clone();
        context.spawn(async move { closed.closed().await }, move |actor, why, context| {
            actor.lost(id, generation, &why, context);
        });
        self.joined.insert(id, Joined { peer, node, name: name.clone(), generation, address });
        self.membership.connected(id, generation, &name);
        self.membership.meet(address);
    }

    fn not_reached(&mut self, number: u64, error: &LinkError) {
        let why = plainly(error);
        let Some(missed) = self.mesh.failed(number, why.clone(), Instant::now()) else { return };
        let id = missed.id;
        // Whoever was a member and cannot be reached at all is one no longer.
        if let Some(member) = self.member(id) {
            self.membership.lost(id, member.generation, &format!("it cannot be reached: {why}"));
        }
        // It has reached this daemon, but not the other way round: only it can say where it really is.
        if let Some(peer) = self.arrived.get(&id).filter(|_| missed.news) {
            let name = peer.info().hello.name.clone();
            let line = format!("{name} has dialled this node, but cannot be dialled back: {why}");
            let told = NotReached { by: self.me.name.clone(), place: list(&missed.addresses), why };
            // If it does not get through, the next failure brings another.
            drop(peer.actor::<NodeActor>(Self::NAME).tell(told));
            self.tell_people(line);
        }
    }

    /// This daemon's own connection ended.
    fn lost(&mut self, id: NodeId, generation: u64, why: &str, context: &mut Context<'_, Self>) {
        // One that this daemon closed itself has gone already.
        let ended = |joined: &Joined| joined.generation == generation && joined.peer.why_closed().is_some();
        if self.leaving || !self.joined.get(&id).is_some_and(ended) {
            return;
        }
        self.joined.remove(&id);
        self.membership.disconnected(id, generation, &format!("its connection ended: {why}"));
        self.mesh.lost(id, Instant::now());
        self.dial(context);
    }

    /// Ends this daemon's own connection.
    pub(super) fn close(&mut self, id: NodeId, why: &str) {
        if let Some(joined) = self.joined.remove(&id) {
            joined.peer.close(why);
            self.mesh.lost(id, Instant::now());
        }
    }
}
