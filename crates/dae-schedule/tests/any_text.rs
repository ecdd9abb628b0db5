//! Any text gives an answer: no panic, no long wait, and every problem stands within the text.

use std::time::{Duration, Instant};

use dae_schedule::{MAX_WORD_BYTES, parse};
use proptest::prelude::*;

/// Parses, and checks what must be true of every answer.
fn answer(text: &str) {
    let Err(problems) = parse(text) else { return };
    assert!(!problems.is_empty(), "refused without a reason: {text:?}");
    for problem in problems {
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
