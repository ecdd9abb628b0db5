//! A peer that has the key and sends anything.

use crate::bounds::raw_ask;
use crate::cast::{Add, Log};
use crate::{SOON, links};
use dae_actor::{Peer, Registry, Spawn, System};
use dae_net::{Frame, header_of, read_header};
use proptest::collection::vec;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Sends the frames to a node with a log; gives why the link ended, and what the node said last.
fn hear(frames: Vec<Frame>) -> (Option<String>, Option<Frame>) {
    System::run(|mut system| async move {
        let (mut raw, to_anna) = links().await;
        let registry = Registry::new();
        let log = system.start(Spawn::named("log"), Log::default);
        registry.publish(&log).unwrap();
        let anna = Peer::over(to_anna, registry);
        for frame in &frames {
            if raw.sender.feed(frame).await.is_err() {
                break;
            }
        }
        // If it still listens, this is answered.
        let _ = raw.sender.send(&raw_ask(u64::MAX, 77)).await;
        let mut last = None;
        while let Ok(Ok(Some(frame))) = tokio::time::timeout(SOON, raw.receiver.recv()).await {
            let answered = frame.kind == 18
                && frame.header.windows(9).any(|w| w == [0xcf, 255, 255, 255, 255, 255, 255, 255, 255]);
            last = Some(frame);
            if answered {
                break;
            }
        }
        // The actor is well, whatever came.
        log.ask(Add { n: 1 }, SOON).await.unwrap();
        (anna.why_closed(), last)
    })
    .unwrap()
}

fn said(last: Option<Frame>) -> String {
    let last = last.unwrap();
    assert_eq!(last.kind, 23);
    read_header::<BTreeMap<String, String>>(&last.header).unwrap().remove("why").unwrap()
}

#[test]
fn what_cannot_be_read_ends_the_link_and_is_told() {
    let frame = |kind, header: &[u8]| Frame { kind, header: header.to_vec(), parts: vec![] };
    let with_parts =
        Frame { parts: vec![vec![1]], ..frame(22, &header_of(&BTreeMap::from([("id", 1)])).unwrap()) };
    for (frames, why) in [
        (vec![frame(99, &[0x80])], "a frame of kind 99 means nothing between actors"),
        (vec![frame(16, &[])], "the header is not"),
        (vec![frame(17, &[0xc1])], "begins no value"),
        (vec![frame(22, &header_of(&BTreeMap::from([("ID", 1)])).unwrap())], "unknown field `ID`"),
        (vec![with_parts], "a frame of kind 22 came with 1 parts"),
        (vec![raw_watch(7), raw_watch(7)], "asked twice under the number 7"),
    ] {
        let (closed, last) = hear(frames);
        let (closed, said) = (closed.unwrap(), said(last));
        assert!(said.starts_with("anna ") && said.contains(why), "{said}");
        assert_eq!(closed, format!("closed on this side: {said}"));
    }
}

fn raw_watch(id: u64) -> Frame {
    #[derive(serde::Serialize)]
    struct Watch<'a> {
        id: u64,
        to: &'a str,
    }
    Frame { kind: 20, header: header_of(&Watch { id, to: "log" }).unwrap(), parts: vec![] }
}

#[test]
fn answers_that_nobody_waits_for_do_no_harm() {
    let id = |id: u64| header_of(&BTreeMap::from([("id", id)])).unwrap();
    let frames = (0..50).map(|n| Frame { kind: 22, header: id(n), parts: vec![] }).collect();
    let (closed, last) = hear(frames);
    assert_eq!((closed, last.map(|frame| frame.kind)), (None, Some(18)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn garbage_never_panics_and_never_hangs(
        garbage in vec((14_u16..26, vec(any::<u8>(), 0..40), vec(vec(any::<u8>(), 0..3), 0..3)), 0..8),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        good in 0_u64..4,
    ) {
        let mut frames: Vec<_> = (0..good).map(|id| raw_ask(id, 5)).collect();
        for (frame, (at, bits)) in frames.iter_mut().zip(flips) {
            let at = at.index(frame.header.len());
            frame.header[at] ^= bits;
        }
        frames.extend(garbage.into_iter().map(|(kind, header, parts)| Frame { kind, header, parts }));
        let (closed, last) = hear(frames);
        match closed {
            Some(why) => prop_assert!(why.contains("anna "), "{why}"),
            None => prop_assert_eq!(last.map(|frame| frame.kind), Some(18)),
        }
    }
}
