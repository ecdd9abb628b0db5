//! The actors and messages of these tests.

use crate::SOON;
use dae_actor::{Accepts, Actor, Body, Context, Handler, Message, Remote, Reply, ReplyTo, reply};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::Receiver;

/// Keeps what it is told.
#[derive(Default)]
pub struct Log {
    pub seen: Vec<u32>,
    pub owed: Vec<(u32, ReplyTo<u32>)>,
    pub gate: Option<Receiver<()>>,
}

impl Actor for Log {
    const KIND: &'static str = "log";
}

impl Remote for Log {
    fn accepts(list: &mut Accepts<Self>) {
        list.message::<Add>("add").message::<Seen>("seen").message::<Block>("block").message::<Turn>("turn");
        list.message::<Stop>("stop").later::<Promise, u32>("promise").message::<Keep>("keep");
    }
}

macro_rules! message {
    ($(#[$doc:meta])* $name:ident $fields:tt -> $reply:ty) => {
        $(#[$doc])*
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name $fields
        impl Body for $name {}
        impl Message for $name {
            type Reply = $reply;
        }
    };
}

message!(
    /// Panics at thirteen.
    Add { pub n: u32 } -> u64
);
message!(Seen {} -> Vec<u32>);
message!(
    /// Blocks until the gate is opened.
    Block {} -> ()
);
message!(Stop {} -> ());
message!(
    /// Answered when it is kept.
    Promise { pub n: u32 } -> Reply<u32>
);
message!(
    /// Answers all promises, the latest first; or drops them.
    Keep { pub all: bool } -> u64
);

impl Handler<Add> for Log {
    fn handle(&mut self, Add { n }: Add, _: &mut Context<'_, Self>) -> u64 {
        assert_ne!(n, 13, "thirteen");
        self.seen.push(n);
        self.seen.len() as u64
    }
}

impl Handler<Seen> for Log {
    fn handle(&mut self, _: Seen, _: &mut Context<'_, Self>) -> Vec<u32> {
        self.seen.clone()
    }
}

impl Handler<Block> for Log {
    fn handle(&mut self, _: Block, _: &mut Context<'_, Self>) {
        if let Some(gate) = &self.gate {
            gate.recv_timeout(SOON).unwrap();
        }
    }
}

impl Handler<Stop> for Log {
    fn handle(&mut self, _: Stop, context: &mut Context<'_, Self>) {
        context.stop();
    }
}

impl Handler<Promise> for Log {
    fn handle(&mut self, Promise { n }: Promise, _: &mut Context<'_, Self>) -> Reply<u32> {
        let (to, later) = reply("log");
        self.owed.push((n, to));
        later
    }
}

impl Handler<Keep> for Log {
    fn handle(&mut self, Keep { all }: Keep, _: &mut Context<'_, Self>) -> u64 {
        let owed = std::mem::take(&mut self.owed);
        let promises = owed.len() as u64;
        owed.into_iter().rev().filter(|_| all).for_each(|(n, to)| to.send(10 * n));
        promises
    }
}

/// Bulk there and back, each byte turned.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    pub by: u8,
    #[serde(skip)]
    pub slices: Vec<Vec<u8>>,
}

impl Body for Turn {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.slices)
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        self.slices = parts;
        Ok(())
    }
}

impl Message for Turn {
    type Reply = Turn;
}

impl Handler<Turn> for Log {
    fn handle(&mut self, mut turn: Turn, _: &mut Context<'_, Self>) -> Turn {
        turn.slices.iter_mut().flatten().for_each(|byte| *byte = byte.wrapping_add(turn.by));
        turn
    }
}

/// The same name seen through another type, which has other words.
pub struct Impostor;

impl Actor for Impostor {
    const KIND: &'static str = "impostor";
}

impl Remote for Impostor {
    fn accepts(list: &mut Accepts<Self>) {
        list.message::<Add>("subtract").message::<Seen>("add").message::<Turn>("block");
    }
}

impl Handler<Add> for Impostor {
    fn handle(&mut self, _: Add, _: &mut Context<'_, Self>) -> u64 {
        0
    }
}

impl Handler<Seen> for Impostor {
    fn handle(&mut self, _: Seen, _: &mut Context<'_, Self>) -> Vec<u32> {
        vec![]
    }
}

impl Handler<Turn> for Impostor {
    fn handle(&mut self, turn: Turn, _: &mut Context<'_, Self>) -> Turn {
        turn
    }
}

impl Handler<Block> for Impostor {
    fn handle(&mut self, _: Block, _: &mut Context<'_, Self>) {}
}
