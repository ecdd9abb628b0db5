//! The promises of docs/runtime-semantics.md, one test each, on real threads.

#![allow(clippy::unwrap_used)]
use dae_actor::{
    Actor, ActorRef, AskError, Context, Handler, Message, Restart, Spawn, Stopped, System, TellError,
};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(10);

struct Log {
    seen: Vec<u32>,
    gate: Option<Receiver<()>>,
}

impl Actor for Log {
    const KIND: &'static str = "log";
}

struct Add(u32);
impl Message for Add {
    type Reply = usize;
}
impl Handler<Add> for Log {
    fn handle(&mut self, Add(n): Add, _: &mut Context<'_, Self>) -> usize {
        assert_ne!(n, 13, "thirteen");
        self.seen.push(n);
        self.seen.len()
    }
}

struct Seen;
impl Message for Seen {
    type Reply = Vec<u32>;
}
impl Handler<Seen> for Log {
    fn handle(&mut self, _: Seen, _: &mut Context<'_, Self>) -> Vec<u32> {
        self.seen.clone()
    }
}

/// Blocks the actor until its gate is opened.
struct Block;
impl Message for Block {
    type Reply = ();
}
impl Handler<Block> for Log {
    fn handle(&mut self, _: Block, _: &mut Context<'_, Self>) {
        if let Some(gate) = &self.gate {
            gate.recv_timeout(SOON).unwrap();
        }
    }
}

struct Later(u32);
impl Message for Later {
    type Reply = ();
}
impl Handler<Later> for Log {
    fn handle(&mut self, Later(n): Later, context: &mut Context<'_, Self>) {
        context.spawn(async move { n * 2 }, |log, doubled, _| log.seen.push(doubled));
    }
}

fn log(system: &mut System, spawn: Spawn) -> ActorRef<Log> {
    system.start(spawn.own_thread(), || Log { seen: vec![], gate: None })
}

fn gated(system: &mut System, spawn: Spawn) -> (ActorRef<Log>, SyncSender<()>) {
    let (open, gate) = sync_channel(8);
    let mut gate = Some(gate);
    (system.start(spawn.own_thread(), move || Log { seen: vec![], gate: gate.take() }), open)
}

#[test]
fn messages_of_one_sender_keep_their_order() {
    System::run(|mut system| async move {
        let log = log(&mut system, Spawn::named("log").mailbox(1000));
        for n in 20..520 {
            log.tell(Add(n)).unwrap();
        }
        assert_eq!(log.ask(Seen, SOON).await.unwrap(), (20..520).collect::<Vec<_>>());
    })
    .unwrap();
}

#[test]
fn a_full_mailbox_hands_the_message_back() {
    System::run(|mut system| async move {
        let (log, open) = gated(&mut system, Spawn::named("log").mailbox(4));
        log.tell(Block).unwrap();
        let full = (0..100).find_map(|n| match log.tell(Add(n)) {
            Err(TellError::Full(Add(back))) => Some((n, back)),
            _ => None,
        });
        let (n, back) = full.expect("a bound");
        // Three waiting and the one it is at.
        assert_eq!((n, back, log.status().depth()), (3, 3, 4));
        assert!(matches!(log.ask(Seen, SOON).await, Err(AskError::Full { bound: 4, .. })));
        open.send(()).unwrap();
    })
    .unwrap();
}

#[test]
fn an_ask_ends_at_its_deadline() {
    System::run(|mut system| async move {
        let (log, open) = gated(&mut system, Spawn::named("slow"));
        log.tell(Block).unwrap();
        let start = Instant::now();
        let deadline = Duration::from_millis(30);
        let answer = log.ask(Add(1), deadline).await;
        assert_eq!(answer, Err(AskError::Deadline { name: "slow".into(), deadline }));
        assert!(start.elapsed() >= deadline);
        open.send(()).unwrap();
        assert_eq!(log.ask(Seen, SOON).await, Ok(vec![]), "nobody waited for it any more");
    })
    .unwrap();
}

#[test]
fn a_panic_is_told_and_the_actor_starts_anew_with_its_mailbox() {
    System::run(|mut system| async move {
        let log = log(&mut system, Spawn::named("log").restart(Restart::at_most(1)));
        log.tell(Add(1)).unwrap();
        let (bad, after) = tokio::join!(log.ask(Add(13), SOON), log.ask(Add(2), SOON));
        let Err(AskError::Panicked { name, cause }) = bad else { panic!("{bad:?}") };
        assert_eq!(name, "log");
        assert!(cause.contains("thirteen") && cause.contains("semantics.rs:"), "{cause}");
        assert_eq!(after, Ok(1), "a fresh instance answered what was waiting");
        assert_eq!(log.status().panics(), 1);
        assert!(log.status().first_cause().unwrap().contains("thirteen"));
    })
    .unwrap();
}

#[test]
fn the_limit_of_restarts_stops_it_for_good() {
    System::run(|mut system| async move {
        let log = log(&mut system, Spawn::named("log").restart(Restart::at_most(2)));
        for _ in 0..3 {
            assert!(matches!(log.ask(Add(13), SOON).await, Err(AskError::Panicked { .. })));
        }
        assert!(matches!(log.stopped().await, Stopped::Panicked(cause) if cause.contains("thirteen")));
        let Err(AskError::Stopped { why: Stopped::Panicked(_), .. }) = log.ask(Add(1), SOON).await else {
            panic!("it answered")
        };
        assert!(matches!(log.tell(Add(1)), Err(TellError::Stopped(Add(1), Stopped::Panicked(_)))));
    })
    .unwrap();
}

#[test]
fn a_factory_that_panics_is_a_failure_like_any_other() {
    System::run(|mut system| async move {
        let log: ActorRef<Log> = system.start(Spawn::named("stillborn").own_thread(), || panic!("no memory"));
        assert!(matches!(log.stopped().await, Stopped::Panicked(cause) if cause.contains("no memory")));
    })
    .unwrap();
}

#[test]
fn a_future_hands_its_output_back_in_a_turn() {
    System::run(|mut system| async move {
        let log = log(&mut system, Spawn::named("log"));
        log.ask(Later(21), SOON).await.unwrap();
        let start = Instant::now();
        while log.ask(Seen, SOON).await.unwrap() != [42] {
            assert!(start.elapsed() < SOON);
        }
    })
    .unwrap();
}

#[test]
fn an_end_in_order_handles_what_came_before() {
    System::run(|mut system| async move {
        let log = log(&mut system, Spawn::named("log"));
        let seen = log.clone();
        for n in 0..5 {
            log.tell(Add(n)).unwrap();
        }
        let (all, end) = tokio::join!(seen.ask(Seen, SOON), log.end(SOON));
        assert_eq!((all, end), (Ok(vec![0, 1, 2, 3, 4]), Ok(Stopped::InOrder)));
        assert!(matches!(log.tell(Add(9)), Err(TellError::Stopped(..))));
    })
    .unwrap();
}

#[test]
fn two_systems_live_in_one_process() {
    let threads: Vec<_> = (0..2)
        .map(|i| {
            std::thread::spawn(move || {
                System::run(|mut system| async move {
                    let log = log(&mut system, Spawn::named(format!("log-{i}")));
                    log.ask(Add(i), SOON).await
                })
                .unwrap()
            })
        })
        .collect();
    for t in threads {
        assert_eq!(t.join().unwrap(), Ok(1));
    }
}

#[test]
fn a_reply_may_come_later_or_be_dropped() {
    System::run(|_| async move {
        let (to, later) = dae_actor::reply("oracle");
        to.send(42);
        assert_eq!(later.within(SOON).await, Ok(42));
        let (to, never) = dae_actor::reply::<u32>("oracle");
        drop(to);
        assert_eq!(never.within(SOON).await, Err(AskError::Dropped { name: "oracle".into() }));
    })
    .unwrap();
}

/// Never comes back from its first message, until it is let go.
struct Stuck(Receiver<()>);

impl Actor for Stuck {
    const KIND: &'static str = "stuck";
}

impl Handler<Block> for Stuck {
    fn handle(&mut self, _: Block, _: &mut Context<'_, Self>) {
        // The first is met by the test, which then knows that it is here.
        self.0.recv_timeout(SOON).unwrap();
        self.0.recv_timeout(SOON).unwrap();
    }
}

#[test]
fn an_actor_that_never_comes_back_is_left_behind_and_named() {
    let (meet, gate) = sync_channel(0);
    let mut gate = Some(gate);
    let run = System::run_within(Duration::from_millis(50), |mut system| {
        let meet = meet.clone();
        async move {
            let stuck = system
                .start(Spawn::named("stuck").own_thread(), move || Stuck(gate.take().expect("made once")));
            let well = log(&mut system, Spawn::named("well"));
            stuck.tell(Block).unwrap();
            meet.send(()).unwrap();
            let answer = well.ask(Add(1), SOON).await;
            well.end(SOON).await.unwrap();
            answer
        }
    });
    assert_eq!(run.unwrap(), (Ok(1), vec!["stuck".to_owned()]));
    meet.send(()).unwrap();
}
