//! The frames of a link, byte for byte.

use super::*;

/// One line each: what it is, the kind, and the header in hexadecimal.
const GOLDEN: &str = include_str!("../../tests/golden/frames.txt");

fn letter() -> Letter {
    Letter { body: header_of(&std::collections::BTreeMap::from([("n", 7)])).unwrap(), parts: vec![] }
}

fn frames() -> Vec<(&'static str, Frame, Incoming)> {
    let (to, kind) = (|| "log".to_owned(), || "add".to_owned());
    let second = Duration::from_secs(1);
    let told = |why: Why| (failure(9, why.clone()), Incoming::Failure { id: 9, why });
    let ended = |why: Stopped| (stopped(9, why.clone()), Incoming::Stopped { id: 9, why });
    let cause = || "thirteen (panicked at a.rs:1:2)".to_owned();
    let named = |name, (frame, incoming)| (name, frame, incoming);
    vec![
        ("tell", tell("log", "add", letter()), Incoming::Tell { to: to(), kind: kind(), letter: letter() }),
        (
            "ask",
            ask(1 << 32, "log", "add", second, letter()),
            Incoming::Ask {
                id: 1 << 32,
                to: to(),
                kind: kind(),
                deadline: second + Duration::from_millis(1),
                letter: letter(),
            },
        ),
        ("answer", answer(9, letter()), Incoming::Answer { id: 9, letter: letter() }),
        named("failure-full", told(Why::Full(64))),
        named("failure-panicked", told(Why::Panicked(cause()))),
        named("failure-stopped", told(Why::Stopped(Stopped::InOrder))),
        named("failure-dropped", told(Why::Dropped)),
        named("failure-refused", told(Why::Refused("nobody".into()))),
        ("watch", watch(9, "log"), Incoming::Watch { id: 9, to: to() }),
        named("stopped-in-order", ended(Stopped::InOrder)),
        named("stopped-panicked", ended(Stopped::Panicked(cause()))),
        named("stopped-unreachable", ended(Stopped::Unreachable("gone".into()))),
        ("forget", forget(9), Incoming::Forget { id: 9 }),
        ("goodbye", goodbye("enough"), Incoming::Goodbye { why: "enough".into() }),
    ]
}

#[test]
fn every_frame_is_what_it_was() {
    let line = |name: &str, frame: &Frame| {
        let hex: String = frame.header.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{name} {} {hex}\n", frame.kind)
    };
    let lines: String = frames().iter().map(|(name, frame, _)| line(name, frame)).collect();
    assert_eq!(lines, GOLDEN, "\n{lines}");
}

#[test]
fn every_frame_is_read_back() {
    for (name, frame, incoming) in frames() {
        assert_eq!(read(frame), Ok(incoming), "{name}");
    }
}

#[test]
fn causes_are_cut_between_characters() {
    let long = "ä".repeat(CAUSE_BYTES);
    for frame in [
        failure(1, Why::Panicked(long.clone())),
        failure(1, Why::Refused(long.clone())),
        failure(1, Why::Stopped(Stopped::Panicked(long.clone()))),
        stopped(1, Stopped::Unreachable(long.clone())),
        goodbye(&long),
    ] {
        assert!((CAUSE_BYTES..CAUSE_BYTES + 64).contains(&frame.header.len()));
        assert!(read(frame).is_ok());
    }
}

#[test]
fn what_may_not_travel_is_told_with_its_limit() {
    let limits = Limits { header_bytes: 100, parts: 2, part_bytes: 50, total_bytes: 150 };
    let frame = |header: usize, parts: &[usize]| Frame {
        kind: 1,
        header: vec![0; header],
        parts: parts.iter().map(|bytes| vec![0; *bytes]).collect(),
    };
    assert_eq!(fits(&frame(68, &[50]), &limits), Ok(()));
    for (frame, limit) in [
        (frame(101, &[]), "header_bytes"),
        (frame(1, &[1, 1, 1]), "parts"),
        (frame(1, &[51]), "part_bytes"),
        (frame(69, &[50, 8]), "total_bytes"),
    ] {
        assert!(fits(&frame, &limits).unwrap_err().ends_with(&format!("(`Limits::{limit}`)")));
        assert!(dae_net::encode(&frame, &limits).is_err(), "the link says the same");
    }
}
