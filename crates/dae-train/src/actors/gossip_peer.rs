//! The gossip peer: a child's mailbox among its neighbours'.

use super::parameter_server::{Load, Push, Shown};
use super::seat::{Ear, Note, Part};
use crate::gossip::{Act, Letter, Mailbox, Mix, Task};
use dae_actor::{Actor, ActorRef, Context, Handler, Message, ReplyTo, TellError};
use std::collections::VecDeque;

/// Holds what a child of a gossip has come to, on a thread of its own: it hands that out, takes what came of it, and mixes it
/// with what its neighbours send, all in the order the coordinator says.
pub struct GossipPeer {
    index: usize,
    mailbox: Mailbox,
    /// Where the child hears of it.
    child: Ear,
    /// All peers, once they are there.
    peers: Vec<ActorRef<Self>>,
    /// Who waits to be shown what is held, the first to have asked first.
    shows: VecDeque<ReplyTo<Shown>>,
}

impl GossipPeer {
    /// Peer number `index`, whose child hears of it there.
    pub fn new(index: usize, mailbox: Mailbox, child: Ear) -> Self {
        Self { index, mailbox, child, peers: Vec::new(), shows: VecDeque::new() }
    }

    fn perform(&mut self, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Send { to, letter } => self.send(to, letter),
                Act::Serve { round, copy, params } => {
                    let finite = self.mailbox.holding().finite();
                    let part = Part { shard: 0, version: round, round, copy, finite, numbers: params };
                    self.child.tell(Note::Part(part));
                }
                Act::Show => {
                    if let Some(to) = self.shows.pop_front() {
                        to.send(self.shown());
                    }
                }
            }
        }
    }

    fn shown(&self) -> Shown {
        let holding = self.mailbox.holding();
        Shown {
            params: holding.parameters().to_vec(),
            own: vec![holding.mass().to_vec()],
            weight: Some(holding.weight()),
            finite: holding.finite(),
            ..Shown::nothing()
        }
    }

    fn send(&self, to: usize, letter: Letter) {
        let Some(peer) = self.peers.get(to) else { return self.fail(format!("there is no peer {to}")) };
        // One that has gone away has ended the run.
        if let Err(TellError::Full(_)) = peer.tell(letter) {
            self.fail(format!("peer {to} of the gossip does not read what it is sent"));
        }
    }

    /// Ends the run, by way of the child.
    fn fail(&self, cause: String) {
        self.child.tell(Note::Over(cause));
    }

    fn done(&mut self, done: Result<Vec<Act>, String>) {
        match done {
            Ok(acts) => self.perform(acts),
            Err(cause) => self.fail(cause),
        }
    }
}

impl Actor for GossipPeer {
    const KIND: &'static str = "gossip-peer";
}

/// Tells a peer who the others are, itself among them, in order.
pub struct Acquaint(pub Vec<ActorRef<GossipPeer>>);

impl Message for Acquaint {
    type Reply = ();
}

impl Handler<Acquaint> for GossipPeer {
    fn handle(&mut self, Acquaint(peers): Acquaint, _: &mut Context<'_, Self>) {
        self.peers = peers;
    }
}

/// What a peer is to do next.
pub enum Turn {
    /// Mix.
    Mix(Mix),
    /// Hand the child what it begins this round from.
    Serve {
        /// The round.
        round: u64,
        /// Whether the child's state is to be copied first, for a checkpoint.
        copy: bool,
    },
    /// Say what it has come to.
    Show(ReplyTo<Shown>),
}

impl Message for Turn {
    type Reply = ();
}

impl Handler<Turn> for GossipPeer {
    fn handle(&mut self, turn: Turn, _: &mut Context<'_, Self>) {
        let task = match turn {
            Turn::Mix(mix) => Task::Mix(mix),
            Turn::Serve { round, copy } => Task::Serve { round, copy },
            Turn::Show(to) => {
                self.shows.push_back(to);
                Task::Show
            }
        };
        let acts = self.mailbox.told(task);
        self.perform(acts);
    }
}

impl Message for Letter {
    type Reply = ();
}

impl Handler<Letter> for GossipPeer {
    fn handle(&mut self, letter: Letter, _: &mut Context<'_, Self>) {
        let done = self.mailbox.received(letter);
        self.done(done);
    }
}

impl Handler<Push> for GossipPeer {
    fn handle(&mut self, push: Push, _: &mut Context<'_, Self>) {
        if push.child != self.index || push.raw {
            return;
        }
        // A child pushes to its own peer as it does to a centre without a `wire`.
        let Load::Numbers(numbers) = push.load else {
            return self.fail(format!("what child {} pushed is not numbers", push.child));
        };
        let done = self.mailbox.pushed(push.round, numbers);
        self.done(done);
    }
}
