//! Links and actors that end.

use crate::cast::{Add, Log, Promise, Seen, Stop};
use crate::{SOON, links, pair};
use dae_actor::{AskError, Peer, Registry, Spawn, Stopped, System, TellError};
use std::time::Duration;

#[test]
fn a_link_that_is_lost_fails_what_is_pending_with_the_reason() {
    System::run(|_| async move {
        let (to_bert, mut raw) = links().await;
        let bert = Peer::over(to_bert, Registry::new());
        let log = bert.actor::<Log>("log");
        let promise = log.ask(Promise { n: 1 }, SOON).await.unwrap();
        let lost = async {
            // Both have arrived and nobody answers.
            for _ in 0..3 {
                raw.receiver.recv().await.unwrap().unwrap();
            }
            drop(raw);
        };
        let (asked, watched, ()) = tokio::join!(log.ask(Seen {}, SOON), log.stopped(), lost);
        let Err(AskError::Unreachable { name, why }) = asked else { panic!("{asked:?}") };
        assert_eq!(name, "log@bert");
        assert!(why.starts_with("the link to bert broke: the connection was lost"), "{why}");
        assert_eq!(
            promise.within(SOON).await,
            Err(AskError::Unreachable { name: name.clone(), why: why.clone() })
        );
        assert_eq!(watched, Stopped::Unreachable(why.clone()));
        assert_eq!((bert.closed().await, bert.why_closed()), (why.clone(), Some(why.clone())));
        assert_eq!(log.status().stopped(), Some(Stopped::Unreachable(why.clone())));
        assert!(matches!(log.tell(Add { n: 1 }), Err(TellError::Unreachable(Add { n: 1 }, w)) if w == why));
        assert_eq!(log.ask(Seen {}, SOON).await, Err(AskError::Unreachable { name, why }));
    })
    .unwrap();
}

#[test]
fn a_link_that_is_closed_says_why_on_both_sides() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (_, log) = pair.log(&mut system, Spawn::named("log"));
        // What was queued before is still handled.
        (0..50).for_each(|n| log.tell(Add { n }).unwrap());
        let (here, there) = (pair.bert.clone(), pair.anna.clone());
        here.close("the job is done");
        assert_eq!(here.closed().await, "closed on this side: the job is done");
        assert_eq!(there.closed().await, "anna closed the link: the job is done");
        let kept = system.actors().rows();
        assert_eq!(kept[0].name, "log");
        let seen = pair.registry.rows();
        assert_eq!(seen[0].depth, 0, "all were handled");
    })
    .unwrap();
}

#[test]
fn a_far_side_that_takes_no_farewell_holds_nobody_up() {
    System::run(|_| async move {
        let (to_bert, raw) = links().await;
        let bert = Peer::over(to_bert, Registry::new());
        let log = bert.actor::<Log>("log");
        // Nobody reads there, and memory holds only so much of it.
        while log.tell(Add { n: 1 }).is_ok() {}
        tokio::task::yield_now().await;
        while log.tell(Add { n: 1 }).is_ok() {}
        bert.close("enough");
        let why = tokio::time::timeout(Duration::from_secs(5), bert.closed()).await.unwrap();
        assert_eq!(why, "closed on this side, and bert took no farewell");
        drop(raw);
    })
    .unwrap();
}

#[test]
fn who_watches_a_far_actor_learns_of_its_end() {
    System::run(|mut system| async move {
        let pair = pair().await;
        let (_, calm) = pair.log(&mut system, Spawn::named("calm"));
        let (here, wild) = pair.log(&mut system, Spawn::named("wild").own_thread());
        let (end, asked) = tokio::join!(calm.stopped(), calm.ask(Stop {}, SOON));
        assert_eq!((end, asked), (Stopped::InOrder, Ok(())));
        let (end, asked) = tokio::join!(wild.stopped(), wild.ask(Add { n: 13 }, SOON));
        assert!(matches!(&end, Stopped::Panicked(cause) if cause.contains("thirteen")), "{end:?}");
        assert!(matches!(asked, Err(AskError::Panicked { .. })), "{asked:?}");
        assert_eq!(Some(&end), here.status().stopped().as_ref());
        assert_eq!(wild.stopped().await, end, "one that has ended is told at once");
    })
    .unwrap();
}

#[test]
fn a_thread_that_ends_takes_its_links_with_it() {
    let (alive, ended) = std::sync::mpsc::sync_channel(1);
    let far = System::run(|_| async move {
        let (to_bert, raw) = links().await;
        let bert = Peer::over(to_bert, Registry::new());
        let log = bert.actor::<Log>("log");
        alive.send(raw).unwrap();
        log
    })
    .unwrap();
    drop(ended);
    let why = Stopped::Unreachable("the thread that served the link ended".into());
    assert_eq!(far.status().stopped(), Some(why));
}
