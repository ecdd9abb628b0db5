//! Messages that are answered.

use crate::cast::{Add, Block, Impostor, Keep, Log, Promise, Seen, Turn};
use crate::{SOON, links, pair, pair_within};
use dae_actor::{
    ActorState, AskError, Peer, PeerLimits, PublishError, Registry, Restart, Spawn, Stopped, System,
};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

#[test]
fn two_nodes_in_one_process_answer_each_other() {
    System::run(|mut system| async move {
        let (to_bert, to_anna) = links().await;
        let (registries, mut logs) = ([Registry::new(), Registry::new()], vec![]);
        for (registry, n) in registries.iter().zip([1, 2]) {
            // The same name on both nodes.
            let log = system.start(Spawn::named("log"), move || Log { seen: vec![n], ..Log::default() });
            registry.publish(&log).unwrap();
            logs.push(log);
        }
        let [anna_has, bert_has] = registries;
        let (bert, anna) = (Peer::over(to_bert, anna_has), Peer::over(to_anna, bert_has));
        assert_eq!((&*bert.info().hello.name, &*anna.info().hello.name), ("bert", "anna"));
        let (at_bert, at_anna) = (bert.actor::<Log>("log"), anna.actor::<Log>("log"));
        assert_eq!(at_bert.status().name(), "log@bert");
        let both = tokio::join!(at_bert.ask(Seen {}, SOON), at_anna.ask(Seen {}, SOON));
        assert_eq!(both, (Ok(vec![2]), Ok(vec![1])));
    })
    .unwrap();
}

#[test]
fn a_far_ask_ends_at_its_deadline_and_is_then_not_handled() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (open, gate) = sync_channel(8);
        let mut gate = Some(gate);
        let here = system
            .start(Spawn::named("slow").own_thread(), move || Log { gate: gate.take(), ..Log::default() });
        pair.registry.publish(&here).unwrap();
        let slow = pair.bert.actor::<Log>("slow");
        slow.tell(Block {}).unwrap();
        let (start, deadline) = (Instant::now(), Duration::from_millis(30));
        let answer = slow.ask(Add { n: 1 }, deadline).await;
        assert_eq!(answer, Err(AskError::Deadline { name: "slow@bert".into(), deadline }));
        assert!(start.elapsed() >= deadline);
        // Nor one whose asker left early, long before its deadline.
        tokio::select! {
            biased;
            _ = slow.ask(Add { n: 2 }, SOON) => panic!("it is blocked"),
            () = tokio::task::yield_now() => {}
        }
        // The news of that has arrived once this has, which comes after it.
        let log = pair.log(&mut system, Spawn::named("quick")).1;
        assert_eq!(log.ask(Add { n: 1 }, SOON).await, Ok(1));
        open.send(()).unwrap();
        assert_eq!(slow.ask(Seen {}, SOON).await, Ok(vec![]), "nobody waited for them any more");
    })
    .unwrap();
}

#[test]
fn asking_nobody_names_who_there_is() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let nobody = pair.bert.actor::<Log>("nobody");
        let why = |error| match error {
            Err(AskError::Refused { name, why }) if name == "nobody@bert" => why,
            other => panic!("{other:?}"),
        };
        let said = "nobody of that name is published there; there is: ";
        assert_eq!(why(nobody.ask(Seen {}, SOON).await), format!("{said}nobody"));
        let logs: Vec<_> =
            (10..30).map(|n| pair.log(&mut system, Spawn::named(format!("log-{n}")))).collect();
        let some: Vec<_> = (10..18).map(|n| format!("log-{n}")).collect();
        assert_eq!(why(nobody.ask(Seen {}, SOON).await), format!("{said}{}, 12 more", some.join(", ")));
        assert_eq!(
            nobody.stopped().await,
            Stopped::Unreachable(format!("{said}{}, 12 more", some.join(", ")))
        );
        assert!(pair.registry.withdraw("log-10") && !pair.registry.withdraw("log-10"));
        let gone = logs[0].1.ask(Seen {}, SOON).await;
        assert!(matches!(gone, Err(AskError::Refused { .. })), "{gone:?}");
    })
    .unwrap();
}

#[test]
fn a_message_of_another_kind_or_shape_is_refused() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (_, log) = pair.log(&mut system, Spawn::named("log"));
        let impostor = pair.bert.actor::<Impostor>("log");
        let why = |why: &str| AskError::Refused { name: "log@bert".into(), why: why.into() };
        let kinds = "it accepts no `subtract`; it accepts: add, seen, block, turn, stop, promise, keep";
        assert_eq!(impostor.ask(Add { n: 1 }, SOON).await, Err(why(kinds)));
        let Err(AskError::Refused { why: shape, .. }) = impostor.ask(Seen {}, SOON).await else { panic!() };
        assert!(shape.contains("cannot be read") && shape.contains("missing field `n`"), "{shape}");
        let parts = impostor.ask(Turn { by: 1, slices: vec![vec![1]] }, SOON).await.map(drop);
        assert!(matches!(parts, Err(AskError::Refused { .. })), "{parts:?}");
        assert_eq!(log.ask(Add { n: 1 }, SOON).await, Ok(1), "the link goes on");
    })
    .unwrap();
}

#[test]
fn a_panic_is_told_over_a_link() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (here, log) = pair.log(&mut system, Spawn::named("log").restart(Restart::at_most(1)));
        let (bad, after) = tokio::join!(log.ask(Add { n: 13 }, SOON), log.ask(Add { n: 2 }, SOON));
        let Err(AskError::Panicked { name, cause }) = bad else { panic!("{bad:?}") };
        assert_eq!(name, "log@bert");
        assert!(cause.contains("thirteen") && cause.contains("cast.rs:"), "{cause}");
        assert_eq!(after, Ok(1), "a fresh instance answered what was waiting");
        let rows = pair.registry.rows();
        assert_eq!((rows[0].restarts, &rows[0].state, rows.len()), (1, &ActorState::Running, 1));
        let again = log.ask(Add { n: 13 }, SOON).await;
        assert!(matches!(again, Err(AskError::Panicked { .. })), "{again:?}");
        let Err(AskError::Stopped { why, .. }) = log.ask(Add { n: 1 }, SOON).await else {
            panic!("it answered")
        };
        assert_eq!(Some(why), here.status().stopped());
        assert_eq!(system.actors().rows(), pair.registry.rows());
    })
    .unwrap();
}

#[test]
fn a_far_reply_may_come_later_or_be_dropped() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (_, log) = pair.log(&mut system, Spawn::named("log"));
        let mut promises = vec![];
        for n in 1..4 {
            promises.push(log.ask(Promise { n }, SOON).await.unwrap());
        }
        assert_eq!(log.ask(Keep { all: true }, SOON).await, Ok(3));
        for (promise, n) in promises.into_iter().zip(1..) {
            assert_eq!(promise.within(SOON).await, Ok(10 * n));
        }
        let (broken, late) = (log.ask(Promise { n: 4 }, SOON).await, Duration::from_millis(20));
        assert_eq!(log.ask(Keep { all: false }, SOON).await, Ok(1));
        assert_eq!(broken.unwrap().within(SOON).await, Err(AskError::Dropped { name: "log@bert".into() }));
        let never = log.ask(Promise { n: 5 }, SOON).await.unwrap().within(late).await;
        assert_eq!(never, Err(AskError::Deadline { name: "log@bert".into(), deadline: late }));
    })
    .unwrap();
}

#[test]
fn what_nobody_waits_for_is_let_go_on_the_far_side() {
    System::run(|mut system| async move {
        let pair = pair_within(PeerLimits { in_flight: 2, ..PeerLimits::default() }).await;
        let (_, log) = pair.log(&mut system, Spawn::named("log").mailbox(1000));
        // Were they kept, the far side would read no more after the fourth.
        for n in 0..100 {
            let promise = log.ask(Promise { n }, SOON).await.unwrap();
            // Once this is answered, the promise was made.
            log.ask(Seen {}, SOON).await.unwrap();
            drop(promise);
            assert!(tokio::time::timeout(Duration::ZERO, log.stopped()).await.is_err());
        }
        assert_eq!(log.ask(Keep { all: true }, SOON).await, Ok(100));
    })
    .unwrap();
}

#[test]
fn bulk_travels_beside_the_message() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (_, log) = pair.log(&mut system, Spawn::named("log").own_thread());
        let slices = |by: u8| vec![vec![by; 300_000], vec![], (by..100 + by).collect()];
        let turned = log.ask(Turn { by: 3, slices: slices(0) }, SOON).await.unwrap();
        assert!(turned == Turn { by: 3, slices: slices(3) });
        assert_eq!((pair.bert.bulk_bytes(), pair.anna.bulk_bytes()), (300_100, 300_100));
        let many = log.ask(Turn { by: 0, slices: vec![vec![]; 1025] }, SOON).await.map(drop);
        let why = "it has 1025 parts, and at most 1024 may travel (`Limits::parts`)".into();
        assert_eq!(many, Err(AskError::Refused { name: "log@bert".into(), why }));
    })
    .unwrap();
}

#[test]
fn a_name_is_published_once() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (first, far) = pair.log(&mut system, Spawn::named("log"));
        let second = system.start(Spawn::named("log"), Log::default);
        assert_eq!(pair.registry.publish(&second), Err(PublishError::Taken("log".into())));
        assert_eq!(pair.registry.publish(&far), Err(PublishError::Elsewhere("log@bert".into())));
        first.end(SOON).await.unwrap();
        let stopped = far.ask(Seen {}, SOON).await;
        assert_eq!(stopped, Err(AskError::Stopped { name: "log@bert".into(), why: Stopped::InOrder }));
        pair.registry.publish(&second).unwrap();
        assert_eq!(far.ask(Add { n: 1 }, SOON).await, Ok(1), "the name means the second one now");
    })
    .unwrap();
}
