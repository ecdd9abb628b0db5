//! What a link holds at most.

use crate::cast::{Add, Block, Log, Promise, Turn};
use crate::{SOON, links, pair_within};
use dae_actor::{AskError, Peer, PeerLimits, Registry, Spawn, System, TellError};
use dae_net::{Frame, header_of};
use serde::Serialize;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

#[derive(Serialize)]
struct RawAsk<'a> {
    id: u64,
    to: &'a str,
    kind: &'a str,
    deadline_ms: u64,
    #[serde(serialize_with = "bytes")]
    body: Vec<u8>,
}

fn bytes<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

pub fn raw_ask(id: u64, n: u32) -> Frame {
    let body = header_of(&Add { n }).unwrap();
    let header = header_of(&RawAsk { id, to: "log", kind: "add", deadline_ms: 10_000, body }).unwrap();
    Frame { kind: 17, header, parts: vec![] }
}

#[test]
fn asks_without_an_answer_are_bounded() {
    System::run(|mut system| async move {
        let pair = pair_within(PeerLimits { in_flight: 3, ..PeerLimits::default() }).await;
        let (_, log) = pair.log(&mut system, Spawn::named("log"));
        let mut promises = vec![];
        for n in 0..3 {
            promises.push(log.ask(Promise { n }, SOON).await.unwrap());
        }
        let Err(AskError::Refused { why, .. }) = log.ask(Add { n: 1 }, SOON).await else { panic!("it went") };
        assert_eq!(why, "3 asks to bert are without an answer (`PeerLimits::in_flight`)");
        promises.pop();
        assert_eq!(log.ask(Add { n: 1 }, SOON).await, Ok(1));
    })
    .unwrap();
}

#[test]
fn bytes_that_wait_are_bounded_on_both_sides() {
    System::run(|mut system| async move {
        let limits = PeerLimits { held_bytes: 100_000, ..PeerLimits::default() };
        let pair = pair_within(limits).await;
        let (open, gate) = sync_channel(8);
        let mut gate = Some(gate);
        let here = system
            .start(Spawn::named("slow").own_thread(), move || Log { gate: gate.take(), ..Log::default() });
        pair.registry.publish(&here).unwrap();
        let slow = pair.bert.actor::<Log>("slow");
        let turn = || Turn { by: 0, slices: vec![vec![0; 60_000]] };
        slow.tell(Block {}).unwrap();
        // Nobody writes meanwhile.
        slow.tell(turn()).unwrap();
        slow.tell(turn()).unwrap();
        let Err(TellError::Full(back)) = slow.tell(turn()) else { panic!("it went") };
        assert_eq!(back, turn(), "with its bulk");
        // The two that went wait there.
        while here.status().depth() < 3 {
            tokio::task::yield_now().await;
        }
        let Err(AskError::Refused { why, .. }) = slow.ask(turn(), SOON).await else { panic!("it went") };
        assert!(
            why.ends_with("bytes of your messages wait to be handled (`PeerLimits::held_bytes` is 100000)"),
            "{why}"
        );
        open.send(()).unwrap();
        while here.status().depth() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(slow.ask(turn(), SOON).await, Ok(turn()), "there is room again");
    })
    .unwrap();
}

#[test]
fn a_peer_that_asks_and_never_reads_is_not_read_any_more() {
    System::run(|mut system| async move {
        let (mut raw, to_anna) = links().await;
        let registry = Registry::new();
        let log = system.start(Spawn::named("log").mailbox(10_000), Log::default);
        registry.publish(&log).unwrap();
        let limits = PeerLimits { in_flight: 50, ..PeerLimits::default() };
        let anna = Peer::with_limits(to_anna, registry, limits);
        // Answers of 8 KB each, so that the pipe back is soon full.
        let mut sent = 0_u64;
        let body = "x".repeat(8000);
        while let Ok(ok) =
            tokio::time::timeout(Duration::from_millis(200), raw.sender.send(&raw_unknown(sent, &body))).await
        {
            ok.unwrap();
            sent += 1;
            assert!(sent < 2000, "it reads whatever comes");
        }
        // One in the making, and what the pipes hold beside the bound.
        assert!(sent > 100, "{sent}");
        assert_eq!(anna.why_closed(), None);
        // Once the answers are read it goes on.
        for _ in 0..100 {
            assert_eq!(raw.receiver.recv().await.unwrap().unwrap().kind, 19);
        }
    })
    .unwrap();
}

/// An ask whose refusal is as long as its `kind`.
fn raw_unknown(id: u64, kind: &str) -> Frame {
    let header = header_of(&RawAsk { id, to: "log", kind, deadline_ms: 10_000, body: vec![] }).unwrap();
    Frame { kind: 17, header, parts: vec![] }
}
