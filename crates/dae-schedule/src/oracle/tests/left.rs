//! The laws of the items left of `step`.

use proptest::prelude::*;

use super::words::{alike, folds, hold, on, same, step, word};

/// `accum 1` = `split 1` = `tensor 1` = nothing, whatever stands around: bits.
pub(super) fn g1(cases: u32) -> Result<(), String> {
    let one = prop::sample::select(vec![
        "accum 1",
        "split 1",
        "split 1 wire=int8",
        "split 1 order=exact",
        "tensor 1",
        "tensor 3",
        "pipe 2",
    ]);
    hold(
        cases,
        (any::<bool>().prop_flat_map(folds), step(), one, 0..4_usize, on(true)),
        |(items, step, one, at, on)| {
            let mut longer = items.clone();
            longer.insert(at.min(items.len()), one.to_owned());
            // In a word that is not exact, an exact item of one would make it so.
            prop_assume!(one != "split 1 order=exact" || items.iter().any(|item| item.contains("exact")));
            let [a, b] = [items, longer].map(|items| on.run(&format!("{} | {step}", word(&items)), 4));
            same(&a, &b)
        },
    )
}

/// `accum a | accum b` = `accum ab`, the same for split: bits with order=exact, else a tolerance.
pub(super) fn g2(cases: u32) -> Result<(), String> {
    let case = (any::<bool>(), any::<bool>(), 1..4_u32, 1..4_u32, step(), on(true));
    hold(cases, case, |(space, exact, a, b, step, on)| {
        let order = if exact { " order=exact" } else { "" };
        let (apart, merged) = if space {
            (
                format!("accum 2 | split {a}{order} | split {b}{order}"),
                format!("accum 2 | split {}{order}", a * b),
            )
        } else {
            (format!("accum {a} | accum {b} | split 2{order}"), format!("accum {} | split 2{order}", a * b))
        };
        let [a, b] = [apart, merged].map(|fold| on.run(&format!("{fold} | {step}"), 4));
        if exact { same(&a, &b) } else { alike(&a, &b) }
    })
}

/// `split n | accum k` = `accum k | split n`: bits with order=exact, else a tolerance.
pub(super) fn g3(cases: u32) -> Result<(), String> {
    hold(cases, (any::<bool>(), 1..5_u32, 1..5_u32, step(), on(true)), |(exact, n, k, step, on)| {
        let order = if exact { " order=exact" } else { "" };
        let a = on.run(&format!("split {n}{order} | accum {k} | {step}"), 4);
        let b = on.run(&format!("accum {k} | split {n}{order} | {step}"), 4);
        if exact { same(&a, &b) } else { alike(&a, &b) }
    })
}

/// `accum k | split n` on grain g = one batch of k n g; and with order=exact any k and n of one product: bits.
pub(super) fn g4(cases: u32) -> Result<(), String> {
    hold(cases, (any::<bool>(), 1..5_u32, 1..5_u32, step(), on(true)), |(exact, n, k, step, on)| {
        let order = if exact { " order=exact" } else { "" };
        let cut = on.run(&format!("accum {k} | split {n}{order} | {step}"), 4);
        let whole = super::words::On { batch: on.batch * u64::from(k * n), ..on };
        alike(&cut, &whole.run(&step, 4))?;
        if exact {
            same(&cut, &on.run(&format!("split {} order=exact | {step}", k * n), 4))?;
        }
        Ok(())
    })
}

/// Every schedule of a pipeline that is empty after each step = `accum m`: bits.
pub(super) fn g5(cases: u32) -> Result<(), String> {
    let sched = prop::sample::select(vec!["gpipe", "1f1b"]);
    hold(cases, (1..5_u32, 1..5_u32, sched, step(), on(true)), |(p, micro, sched, step, on)| {
        let piped = on.run(&format!("pipe {p} micro={micro} sched={sched} | split 2 | {step}"), 4);
        same(&piped, &on.run(&format!("accum {micro} | split 2 | {step}"), 4))
    })
}

/// How an all-reduce is made changes nothing: bits. (That its algorithms agree is for the collectives to show.)
pub(super) fn g7(cases: u32) -> Result<(), String> {
    let how = prop::sample::select(vec![
        "algo=ring",
        "algo=halving",
        "algo=doubling",
        "bucket=1KiB",
        "overlap",
        "@node",
    ]);
    hold(cases, (2..5_u32, how, step(), on(true)), |(n, how, step, on)| {
        same(&on.run(&format!("split {n} {how} | {step}"), 4), &on.run(&format!("split {n} | {step}"), 4))
    })
}

/// `zero=z` changes nothing: bits.
pub(super) fn g8(cases: u32) -> Result<(), String> {
    let step = super::words::optimizer();
    hold(cases, (any::<bool>().prop_flat_map(folds), step, 1..4_u32, on(true)), |(items, step, zero, on)| {
        let [a, b] = [0, zero].map(|zero| on.run(&format!("{} | step {step} zero={zero}", word(&items)), 4));
        same(&a, &b)
    })
}
