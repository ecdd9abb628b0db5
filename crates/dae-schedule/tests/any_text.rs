//! Any text gives an answer: no panic, no long wait, and every problem stands within the text.

use std::time::{Duration, Instant};

use dae_schedule::{Checkpoint, Facts, MAX_WORD_BYTES, check, not_yet_run, parse};
use proptest::prelude::*;

/// Parses and checks by every rule, and looks at what must be true of every answer.
fn answer(text: &str) {
    let facts = Facts {
        workers: Some(12),
        nodes: Some(2),
        batch: Some(100),
        grain: Some(3),
        layers: Some(5),
        matrices: Some(vec![(8, 8), (784, 512)]),
        parameters: Some(u64::MAX / 2),
        activations: Some(u64::MAX / 2),
        node_memory: Some(1 << 30),
        batch_statistics: Some(true),
        bits: Some(true),
        virtual_time: Some(false),
        checkpoint: Some(Checkpoint::default()),
    };
    let checked = check(text, &facts);
    match parse(text) {
        Err(problems) => {
            assert!(!problems.is_empty() && !checked.is_ok(), "refused without a reason: {text:?}")
        }
        Ok(schedule) => {
            not_yet_run(text);
            assert_eq!(parse(&schedule.to_string()).as_ref(), Ok(&schedule), "{text:?}");
            assert_eq!(schedule.normal().normal(), schedule.normal(), "{text:?}");
        }
    }
    for problem in checked.problems {
        assert!(text.get(problem.at.clone()).is_some(), "{problem:?} is not within {text:?}");
        assert!(!problem.message.is_empty() && !problem.help.is_empty(), "{problem:?} of {text:?}");
        assert!(problem.message.len() + problem.help.len() < 600, "{problem:?} is too long to be read");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn strings(text in any::<String>()) {
        answer(&text);
    }

    #[test]
    fn bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        answer(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn soups_of_the_language(soup in prop::collection::vec(prop::sample::select(vec![
        "accum", "split", "step", "every", "join", "gossip", "phase", "pipe", "quorum", "hops", "sync", "outer", "drop",
        "frag", "delay", "graph", ">=", ":", "]", "carry", "adam", "sgd", "nesterov", "raw", "clip", "order", "exact", "wire",
        "lr", "wd", "4", "0", "1e-3", "-1", ".", "(", ")", ",", "=", "|", "@", "@node", "[", ";", "/", " ", "\n", "é", "\0",
    ]), 0..40)) {
        answer(&soup.concat());
        answer(&soup.join(" "));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn soups_of_items(soup in prop::collection::vec(prop::sample::select(vec![
        "accum 2", "accum 65536", "split 3 @cluster", "split 65536", "split 2 order=exact algo=ring wire=topk(.1)", "pipe 7 micro=3",
        "pipe 65536 micro=65536", "tensor 2 @node", "step adam zero=3", "step raw", "step sgd(.1) clip=1", "every 4", "every 65536",
        "join 2", "join 65536", "join 4 sync=quorum(2)", "join 6 sync=async outer=nesterov(.7,.9)", "join 3 frag=4 delay=1",
        "join 3 wire=powersgd(4)", "gossip 4 graph=hops(2)", "gossip 3 sync=async push", "phase step>=5: [step sgd", "step sgd]; [step sgd]",
    ]), 0..8)) {
        answer(&soup.join(" | "));
    }
}

#[test]
fn the_longest_texts_are_answered_at_once() {
    let pieces = [
        "(",
        ")",
        "|",
        "@",
        "=",
        ",",
        "a ",
        "a|",
        "1 ",
        "clip ",
        "split ",
        "accum 1|",
        "step adam(",
        "é",
        "x",
        "step adam|",
    ];
    let openings = ["", "step adam(", "step adam clip=", "split ", "phase ", "step adam(lr="];
    for (opening, piece) in openings.iter().flat_map(|opening| pieces.map(|piece| (opening, piece))) {
        let text = opening.to_string() + &piece.repeat((MAX_WORD_BYTES - opening.len()) / piece.len());
        let begun = Instant::now();
        answer(&text);
        // The promise is 50 ms; a busy machine gets some slack, and anything quadratic would still be over it.
        assert!(
            begun.elapsed() < Duration::from_millis(200),
            "{opening:?} and {piece:?}: {:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn a_longer_text_is_refused_unread() {
    let fits = format!("step adam{}", " ".repeat(MAX_WORD_BYTES - 9));
    assert!(parse(&fits).is_ok());
    let codes: Vec<_> = parse(&(fits + " ")).unwrap_err().into_iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["S06"]);
}
