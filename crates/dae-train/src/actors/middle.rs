//! What a coordinator's children have between them: the shards of a centre, or a mailbox each.

use super::gossip_peer::Turn;
use super::parameter_server::{Shown, Task};
use super::{GossipPeer, ParameterServer};
use crate::centre::{Arrival, Turns};
use crate::gossip::{Mix, Pairs};
use dae_actor::{Actor, ActorRef, Handler, Message, ReplyTo, Status};
use std::future::Future;
use std::time::Duration;

/// What the children have between them.
#[derive(Clone)]
pub enum Middle {
    /// The shards of a join's centre, which all do the same.
    Centre(Vec<ActorRef<ParameterServer>>),
    /// A gossip's peers, one a child, and who meets whom where they wait for nobody.
    Peers(Vec<ActorRef<GossipPeer>>, Option<Pairs>),
}

impl Middle {
    /// A child begins a round; with `copy` its state is copied first.
    pub(super) fn serve(&self, child: usize, round: u64, copy: bool) -> Result<(), String> {
        match self {
            Self::Centre(servers) => all(servers, || Task::Serve { child, round, copy }),
            Self::Peers(peers, _) => tell(&peers[child], Turn::Serve { round, copy }),
        }
    }

    /// These children begin their rounds, with whether their state is copied first, and the fragments of a centre take turns
    /// in them. Where they are the `first` of all, the children stand at the centre.
    pub(super) fn take_turns(
        &self,
        turns: Turns,
        begun: &[(usize, u64, bool)],
        first: bool,
    ) -> Result<(), String> {
        let Self::Centre(servers) = self else { return Ok(()) };
        for &(child, round, copy) in begun.iter().filter(|_| first) {
            all(servers, || Task::Lend { child })?;
            // It had pushed the last fragment, and not taken it up.
            if let (Some(last), true) = (servers.last(), round > 0 && turns.delay > 0) {
                tell(last, Task::Serve { child, round, copy })?;
            }
        }
        let given: Vec<_> = begun.iter().map(|(child, ..)| *child).collect();
        all(servers, || Task::Fire { rate: 1.0, given: given.clone() })?;
        let serve = |&(child, round, copy): &_| all(servers, || Task::Serve { child, round, copy });
        begun.iter().try_for_each(serve)
    }

    /// A centre moves to this version by what these children have pushed, at `rate` times its learning rate; peers meet.
    pub(super) fn fire(&self, rate: f32, version: u64, given: &[Arrival]) -> Result<(), String> {
        match self {
            Self::Centre(servers) => {
                let given: Vec<_> = given.iter().map(|each| each.child).collect();
                all(servers, || Task::Fire { rate, given: given.clone() })
            }
            Self::Peers(_, Some(pairs)) => {
                let meet = |each: &Arrival| pairs.meet(version, each.child, each.round);
                given.iter().flat_map(meet).try_for_each(|mix| self.mix(mix))
            }
            // They mix when they are told to.
            Self::Peers(_, None) => Ok(()),
        }
    }

    /// What a child has pushed to a centre is let go of.
    pub(super) fn forget(&self, child: usize) -> Result<(), String> {
        match self {
            Self::Centre(servers) => all(servers, || Task::Forget { child }),
            Self::Peers(..) => Ok(()),
        }
    }

    /// A peer mixes.
    pub(super) fn mix(&self, mix: Mix) -> Result<(), String> {
        match self {
            Self::Centre(_) => Ok(()),
            Self::Peers(peers, _) => tell(&peers[mix.peer], Turn::Mix(mix)),
        }
    }

    /// Asks all what they have come to, once they have done what they were told before.
    pub(super) fn shown(&self, bound: Duration) -> impl Future<Output = Result<Vec<Shown>, String>> + use<> {
        let asked: Vec<_> = match self {
            Self::Centre(servers) => servers.iter().map(|server| ask(server, Task::Show)).collect(),
            Self::Peers(peers, _) => peers.iter().map(|peer| ask(peer, Turn::Show)).collect(),
        };
        async move {
            let mut all = Vec::new();
            for (asked, shown) in asked {
                asked?;
                all.push(shown.within(bound).await.map_err(|e| e.to_string())?);
            }
            Ok(all)
        }
    }

    /// For each of them a wait until it ends, which it does not while the run goes well; then why.
    pub(super) fn ends(&self) -> Vec<std::pin::Pin<Box<dyn Future<Output = String>>>> {
        match self {
            Self::Centre(servers) => servers.iter().map(|server| ended(server.clone())).collect(),
            Self::Peers(peers, _) => peers.iter().map(|peer| ended(peer.clone())).collect(),
        }
    }
}

fn all<M: Message>(servers: &[ActorRef<ParameterServer>], what: impl Fn() -> M) -> Result<(), String>
where
    ParameterServer: Handler<M>,
{
    servers.iter().try_for_each(|server| tell(server, what()))
}

fn tell<A: Actor + Handler<M>, M: Message>(actor: &ActorRef<A>, what: M) -> Result<(), String> {
    actor.tell(what).map_err(|e| account(actor.status(), e.to_string()))
}

fn ask<A: Actor + Handler<M>, M: Message>(
    actor: &ActorRef<A>,
    what: impl Fn(ReplyTo<Shown>) -> M,
) -> (Result<(), String>, dae_actor::Reply<Shown>) {
    let (to, shown) = dae_actor::reply(actor.status().name());
    (actor.tell(what(to)).map_err(|e| e.to_string()), shown)
}

fn ended<A: Actor>(actor: ActorRef<A>) -> std::pin::Pin<Box<dyn Future<Output = String>>> {
    Box::pin(async move {
        let why = actor.stopped().await;
        account(actor.status(), why.to_string())
    })
}

/// What went wrong with an actor, preferring its own account of it.
pub(super) fn account(status: &Status, seen: String) -> String {
    format!("{}: {}", status.name(), status.latest_cause().unwrap_or(seen))
}
