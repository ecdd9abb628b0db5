//! Messages nobody waits for.

use crate::cast::{Add, Block, Impostor, Log, Seen, Stop};
use crate::{SOON, pair, pair_within};
use dae_actor::{AskError, PeerLimits, Spawn, Stopped, System, TellError};
use std::sync::mpsc::sync_channel;

#[test]
fn messages_of_one_sender_keep_their_order_over_a_link() {
    System::run(|mut system| async move {
        let pair = pair().await;
        // More than the mailbox holds: the log is on the reader's thread and gets its turns in between.
        let (_, log) = pair.log(&mut system, Spawn::named("log").mailbox(16));
        for n in 20..1020 {
            log.tell(Add { n }).unwrap();
        }
        assert_eq!(log.ask(Seen {}, SOON).await, Ok((20..1020).collect()));
    })
    .unwrap();
}

#[test]
fn a_tell_is_full_where_the_queue_of_the_link_is() {
    System::run(|mut system| async move {
        let pair = pair_within(PeerLimits { queued: 4, ..PeerLimits::default() }).await;
        let (_, log) = pair.log(&mut system, Spawn::named("log"));
        // Nobody writes meanwhile: the writer is on this thread.
        let full = (0..100).find_map(|n| match log.tell(Add { n }) {
            Err(TellError::Full(Add { n: back })) => Some((n, back)),
            _ => None,
        });
        assert_eq!(full, Some((4, 4)));
        let Err(AskError::Refused { why, .. }) = log.ask(Seen {}, SOON).await else { panic!("it was asked") };
        assert_eq!(why, "4 messages wait to be written to bert (`PeerLimits::queued`)");
        // It is written in the next turns, and all is well again.
        tokio::task::yield_now().await;
        while log.tell(Add { n: 4 }).is_err() {
            tokio::task::yield_now().await;
        }
        assert_eq!(log.ask(Seen {}, SOON).await, Ok(vec![0, 1, 2, 3, 4]));
    })
    .unwrap();
}

#[test]
fn beyond_a_far_mailbox_tells_are_lost_and_asks_are_refused() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (open, gate) = sync_channel(8);
        let mut gate = Some(gate);
        let spawn = Spawn::named("slow").mailbox(2).own_thread();
        let here = system.start(spawn, move || Log { gate: gate.take(), ..Log::default() });
        pair.registry.publish(&here).unwrap();
        let slow = pair.bert.actor::<Log>("slow");
        slow.tell(Block {}).unwrap();
        (1..6).for_each(|n| slow.tell(Add { n }).unwrap());
        let full = AskError::Full { name: "slow@bert".into(), bound: 2 };
        assert_eq!(slow.ask(Add { n: 7 }, SOON).await, Err(full));
        open.send(()).unwrap();
        while here.status().depth() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(slow.ask(Seen {}, SOON).await, Ok(vec![1]));
    })
    .unwrap();
}

#[test]
fn what_cannot_travel_comes_back() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (here, log) = pair.log(&mut system, Spawn::named("log"));
        let impostor = pair.bert.actor::<Impostor>("log");
        let Err(TellError::Unreachable(Block {}, why)) = impostor.tell(Block {}) else { panic!("it went") };
        assert!(why.ends_with("::Block is not among what the actor's `Remote::accepts` lists"), "{why}");
        assert!(matches!(log.end(SOON).await, Err(AskError::Refused { .. })), "not from here");
        log.tell(Stop {}).unwrap();
        assert_eq!(here.stopped().await, Stopped::InOrder);
        pair.bert.close("enough");
        pair.bert.closed().await;
        let Err(TellError::Unreachable(Add { n: 1 }, why)) = log.tell(Add { n: 1 }) else {
            panic!("it went")
        };
        assert_eq!(why, "closed on this side: enough");
    })
    .unwrap();
}
