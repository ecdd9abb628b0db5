//! What stragglers cost, in virtual time: eight workers, of which some are slow.

use super::models::Slope;
use super::words::begun;
use crate::oracle::dice::chance;
use crate::oracle::{Setting, even};

const WORKERS: usize = 8;

/// Units of time for as many applied pushes as one round of all workers makes, after a start-up that is left out.
fn round_time(word: &str, duration: &dyn Fn(usize, u64) -> f64) -> f64 {
    let mut run = begun(word, Setting { duration, ..Setting::new(&Slope { alike: true }, 1) });
    let from = run.rounds(100)[99].time;
    let before = run.log().len();
    let to = run.rounds(3000)[2999].time;
    let applied = run.log()[before..].iter().filter(|push| push.applied.is_some()).count();
    (to - from) * WORKERS as f64 / applied as f64
}

/// The time of a round of the word.
fn update_time(word: &str, duration: &dyn Fn(usize, u64) -> f64) -> f64 {
    let mut run = begun(word, Setting { duration, ..Setting::new(&Slope { alike: true }, 1) });
    let from = run.rounds(100)[99].time;
    (run.rounds(3000)[2999].time - from) / 3000.0
}

/// The last worker takes four times as long, always.
fn one_is_slow(worker: usize, _step: u64) -> f64 {
    if worker == WORKERS - 1 { 4.0 } else { 1.0 }
}

/// Every step takes four times as long by a chance of 1 in 8.
fn now_and_then(worker: usize, step: u64) -> f64 {
    if chance(11, worker as u64, step) < 0.125 { 4.0 } else { 1.0 }
}

#[test]
fn without_stragglers_all_are_ideal() {
    for sync in ["bsp", "ssp(3)", "async", "quorum(7,drop)", "quorum(4,keep)"] {
        let time = round_time(&format!("step sgd(.1) | join 8 sync={sync}"), &even);
        let ideal = if sync == "quorum(7,drop)" { 8.0 / 7.0 } else { 1.0 };
        assert!((time - ideal).abs() < 0.01, "{sync}: {time}");
    }
}

#[test]
fn one_that_is_always_slow_holds_up_all_but_quorum_and_async() {
    let time = |sync: &str| update_time(&format!("step sgd(.1) | join 8 sync={sync}"), &one_is_slow);
    let (bsp, ssp, quorum) = (time("bsp"), time("ssp(3)"), time("quorum(7,drop)"));
    let rate = 1.0 / round_time("step sgd(.1) | join 8 sync=async", &one_is_slow);
    println!(
        "one always 4x slower: bsp {bsp:.3}, ssp(3) {ssp:.3}, quorum(7,drop) {quorum:.3}; async rate {rate:.4}"
    );
    assert!((bsp - 4.0).abs() < 0.01, "{bsp}");
    assert!((ssp - 4.0).abs() < 0.01, "{ssp}");
    assert!(quorum <= 1.15, "{quorum}");
    assert!(rate >= 0.85 * 7.25 / 8.0, "{rate}");
}

#[test]
fn slack_hides_stragglers_that_come_and_go() {
    let time = |sync: &str| update_time(&format!("step sgd(.1) | join 8 sync={sync}"), &now_and_then);
    let (bsp, ssp) = (time("bsp"), time("ssp(3)"));
    println!("each step 4x slower by 1 in 8: bsp {bsp:.3}, ssp(3) {ssp:.3}");
    // 1 + 3 (1 - (7/8)^8) = 2.97.
    assert!((bsp - 2.9).abs() < 0.29, "{bsp}");
    assert!((ssp - 1.64).abs() < 0.164, "{ssp}");
}
