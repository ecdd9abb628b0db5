//! The rules of check: the code, the text under the caret, and the fix; and that they are silent where all is well.

use dae_schedule::{Checkpoint, Facts, Severity, check, memory_per_node, parse};

/// Checks a word and compares its problems: whether it warns only, the code, the culprit, a part of the fix.
#[track_caller]
fn found(text: &str, facts: &Facts, expected: &[(bool, &str, &str, &str)]) {
    let checked = check(text, facts);
    let found: Vec<_> = checked
        .problems
        .iter()
        .map(|problem| (problem.severity == Severity::Warning, problem.code, &text[problem.at.clone()]))
        .collect();
    let wanted: Vec<_> = expected.iter().map(|(warns, code, culprit, _)| (*warns, *code, *culprit)).collect();
    assert_eq!(found, wanted, "{text}: {:#?}", checked.problems);
    for (problem, (.., fix)) in checked.problems.iter().zip(expected) {
        assert!(problem.help.contains(fix), "{text}: {fix}: {}", problem.help);
    }
    assert_eq!(checked.is_ok(), expected.iter().all(|(warns, ..)| *warns), "{text}");
}

fn none() -> Facts {
    Facts::default()
}

#[test]
fn e01_sorts() {
    found("step adam | accum 4", &none(), &[(false, "E01", "accum 4", "use `every k` there")]);
    found("every 4 | step sgd", &none(), &[(false, "E01", "every 4", "right of `step`")]);
    found("join 4", &none(), &[(false, "E01", "join 4", "step adam(1e-3) | join 4")]);
    found("step adam | pipe 2", &none(), &[(false, "E01", "pipe 2", "left of `step`")]);
    found("step raw", &none(), &[(false, "E01", "step raw", "join 4 outer=adam")]);
    found("step raw | join 4 sync=ssp(1) | gossip 2", &none(), &[]);
}

#[test]
fn e02_workers_and_nodes() {
    let workers = |n| Facts { workers: Some(n), ..none() };
    found("split 4 @node | step sgd | join 4 @cluster", &workers(16), &[]);
    let fix = "`split 4 | join 3`";
    found("split 5 @node | step sgd | join 3", &workers(12), &[(false, "E02", "join 3", fix)]);
    found("accum 2 | split 3 | step sgd", &workers(4), &[(true, "E02", "split 3", "`split 4`")]);
    found("step sgd", &workers(4), &[(true, "E02", "step sgd", "split 4 |")]);
    found("split 2 | step sgd", &workers(0), &[(false, "E02", "split 2", "multiply to as many")]);
    found("split 2 | step sgd", &workers(u32::MAX), &[(true, "E02", "split 2", "multiply to as many")]);
    let nodes = Facts { nodes: Some(2), ..none() };
    let word = "split 2 @node | split 3 @cluster | step sgd";
    found(
        word,
        &nodes,
        &[(false, "E02", "cluster", "@node")].map(|(w, c, _, h)| (w, c, "split 3 @cluster", h)),
    );
    found("split 2 @node | split 2 @rack | step sgd", &nodes, &[]);
}

#[test]
fn e03_grains() {
    let facts = |batch, grain| Facts { batch: Some(batch), grain: Some(grain), ..none() };
    let word = "accum 4 | split 8 | step sgd";
    found(word, &facts(256, 8), &[]);
    found(word, &facts(250, 8), &[(false, "E03", "split 8", "256 samples")]);
    found(word, &facts(300, 8), &[(false, "E03", "split 8", "256 or 512")]);
    found(word, &facts(0, 0), &[(false, "E03", "split 8", "32 samples")]);
    found("step sgd", &facts(7, 2), &[(false, "E03", "step sgd", "6 or 8")]);
    // A join's children step by themselves.
    found("step sgd | join 3", &facts(10, 1), &[]);
    found(word, &facts(u64::MAX, u64::MAX), &[]);
}

#[test]
fn e04_fragments() {
    found("step sgd | every 8 | join 4 frag=4 delay=1 mix=1", &none(), &[]);
    found("step sgd | every 4 | every 2 | join 4 frag=8", &none(), &[]);
    found("step sgd | join 4 frag=2", &none(), &[(false, "E04", "frag=2", "`every 2`")]);
    found("step sgd | every 10 | join 2 frag=4", &none(), &[(false, "E04", "frag=4", "8 or 12")]);
    found("step sgd | every 3 | join 2 frag=4", &none(), &[(false, "E04", "frag=4", "make 4 rounds")]);
    found("step sgd | every 8 | join 2 frag=2 delay=4", &none(), &[(false, "E04", "delay=4", "`delay=3`")]);
    found("step sgd | join 2 delay=1", &none(), &[(false, "E04", "delay=1", "leave `delay` out")]);
    // The rounds of an inner join are not the outer one's.
    found("step sgd | every 4 | join 2 | join 2 frag=4", &none(), &[(false, "E04", "frag=4", "`every 4`")]);
    found("step sgd | every 2 | join 2 mix=1.1", &none(), &[(false, "E04", "1.1", "from 0 to 1")]);
    found("step sgd | every 2 | join 2 frag=0", &none(), &[(false, "E04", "0", "4")]);
    // Nothing is said about rounds that were not understood.
    found(
        "step sgd | every x | join 2 frag=4",
        &none(),
        &[(false, "S01", "every", "`every 4`"), (false, "S02", "x", "no attributes")],
    );
}

#[test]
fn e05_quorums() {
    found("step sgd | join 4 sync=quorum(4)", &none(), &[]);
    found("step sgd | join 4 sync=quorum(k=3,late=drop)", &none(), &[]);
    found(
        "step sgd | join 4 sync=quorum(5,keep)",
        &none(),
        &[(false, "E05", "sync=quorum(5,keep)", "quorum(4)")],
    );
    found("step sgd | join 4 sync=quorum(3)", &none(), &[(false, "E05", "sync=quorum(3)", "quorum(3,keep)")]);
    found("step sgd | join 4 sync=quorum(0,drop)", &none(), &[(false, "E05", "0", "4")]);
    found("step sgd | join 4 sync=quorum(3,dorp)", &none(), &[(false, "E05", "dorp", "`drop`")]);
    found("step sgd | join 4 sync=ssp(-1)", &none(), &[(false, "E05", "-1", "4")]);
}

#[test]
fn e06_what_cannot_be_added() {
    found("split 8 wire=topk(.1) | step sgd | join 2 wire=int4", &none(), &[]);
    found("split 8 wire=int8 algo=ring | step sgd", &none(), &[]);
    found("split 8 algo=ring wire=int4 | step sgd", &none(), &[(false, "E06", "wire=int4", "`algo=direct`")]);
}

#[test]
fn e07_low_rank() {
    let facts = |matrices: &[(u64, u64)]| Facts { matrices: Some(matrices.to_vec()), ..none() };
    let word = "split 2 wire=powersgd(4) | step sgd";
    found(word, &facts(&[(784, 512), (64, 32)]), &[]);
    found(word, &facts(&[(784, 512), (8, 8)]), &[(true, "E07", "wire=powersgd(4)", "lower rank")]);
    found(word, &facts(&[(8, 8), (u64::MAX, 1)]), &[(false, "E07", "wire=powersgd(4)", "wire=int8")]);
    found("split 2 wire=int8 | step sgd", &facts(&[(8, 8)]), &[]);
}

#[test]
fn e08_bits() {
    let word = "split 2 order=exact | step sgd | join 4 sync=ssp(2)";
    found(word, &none(), &[(false, "E08", "order=exact", "virtual time")]);
    found(word, &Facts { virtual_time: Some(true), ..none() }, &[]);
    let bits = Facts { bits: Some(true), ..none() };
    found(
        "step sgd | join 4 sync=quorum(3,drop)",
        &bits,
        &[(false, "E08", "sync=quorum(3,drop)", "`sync=bsp`")],
    );
    found("step sgd | join 4 sync=quorum(4,drop) | join 2 sync=ssp(0) | gossip 2", &bits, &[]);
}

#[test]
fn e10_connected() {
    found("step sgd | gossip 8 graph=hops(2,3)", &none(), &[]);
    found("step sgd | gossip 1 graph=hops(2)", &none(), &[]);
    found("step sgd | gossip 9 graph=hops(3,6)", &none(), &[(false, "E10", "graph=hops(3,6)", "such as 1")]);
}

#[test]
fn e11_batch_statistics() {
    let facts = Facts { batch_statistics: Some(true), ..none() };
    found("split 1 | tensor 2 | step sgd | join 4", &facts, &[]);
    found("accum 2 | split 2 | step sgd", &facts, &[(false, "E11", "accum 2", "by layer")]);
    found("pipe 2 micro=4 | step sgd", &facts, &[(false, "E11", "pipe 2 micro=4", "by layer")]);
}

#[test]
fn e12_not_synchronous_adam() {
    found("step adam | join 4", &none(), &[(true, "E12", "join 4", "`split 4` left of `step`")]);
    found("step adamw | every 1 | join 4", &none(), &[(true, "E12", "join 4", "every h")]);
    found("step adam | every 2 | join 4", &none(), &[]);
    found("step sgd | join 4", &none(), &[]);
    found("step adam | join 4 outer=nesterov(.7,.9)", &none(), &[]);
}

#[test]
fn e13_stages() {
    let facts = Facts { layers: Some(6), ..none() };
    found("pipe 3 micro=4 | step sgd", &facts, &[]);
    found("pipe 7 | step sgd", &facts, &[(false, "E13", "pipe 7", "`pipe 6`")]);
    found("pipe 4 | step sgd", &facts, &[(true, "E13", "pipe 4", "`pipe 3`")]);
    found(
        "pipe 2 | step sgd",
        &Facts { layers: Some(0), ..none() },
        &[(false, "E13", "pipe 2", "fewer stages")],
    );
}

#[test]
fn e14_staleness() {
    found("step sgd | join 2 sync=async outer=nesterov(.7,.9)", &none(), &[]);
    let outer = "outer=nesterov(.7,.9)";
    found(
        &format!("step sgd | join 6 sync=async {outer}"),
        &none(),
        &[(true, "E14", outer, "`stale=lr/tau`")],
    );
    found("step sgd | join 6 sync=async outer=nesterov(.7,.5)", &none(), &[]);
    found("step sgd | join 6 sync=async outer=nesterov(.7,.9) stale=lr/tau", &none(), &[]);
    found("step raw | join 6 sync=ssp(2) outer=adam", &none(), &[]);
    found("step raw | join 6 sync=ssp(4) outer=adam", &none(), &[(true, "E14", "outer=adam", "ssp(2)")]);
    found("step raw | join 6 outer=adam", &none(), &[]);
}

#[test]
fn e15_checkpoints() {
    let plain = Facts { checkpoint: Some(Checkpoint::default()), ..none() };
    let all = Facts { checkpoint: Some(Checkpoint { residuals: true, moments: true }), ..none() };
    let word = "split 4 wire=int8 | step adam | every 4 | join 4";
    found(word, &all, &[]);
    found(
        word,
        &plain,
        &[(false, "E15", "wire=int8", "`wire=f32`"), (false, "E15", "join 4", "without momentum")],
    );
    found("split 4 | step adam", &plain, &[]);
    found("step sgd | every 4 | join 4", &plain, &[]);
}

#[test]
fn e16_memory() {
    let facts = |node_memory| Facts { parameters: Some(1000), node_memory: Some(node_memory), ..none() };
    // Four workers with a parameter, a gradient and two moments of 4 bytes each.
    let word = "split 4 @node | step adam";
    found(word, &facts(4 * 16_000), &[]);
    found(word, &facts(4 * 16_000 - 1), &[(false, "E16", "split 4 @node", "`zero=1`")]);
    let needs = |text: &str| memory_per_node(parse(text).unwrap().word().unwrap(), 1000, 100);
    assert_eq!(needs("step sgd"), 8000 + 100);
    assert_eq!(needs("split 4 | step adam zero=3"), 4 * (4000 + 100));
    assert_eq!(needs("split 4 @cluster wire=int8 | step sgd"), 12_000 + 100);
    assert_eq!(needs("pipe 2 micro=8 | step sgd"), 2 * (4000 + 8 * 50));
    assert_eq!(needs("pipe 2 micro=8 sched=1f1b | step sgd"), 2 * (4000 + 2 * 50));
    assert_eq!(needs("step sgd | join 2 @cluster outer=nesterov(.7,.9)"), 8000 + 100 + 8000);
    let huge = memory_per_node(parse("split 65536 | step adam").unwrap().word().unwrap(), u64::MAX, u64::MAX);
    assert_eq!(huge, u64::MAX);
}

#[test]
fn all_rules_speak_at_once_and_in_order() {
    let facts = Facts { workers: Some(8), batch: Some(10), layers: Some(3), ..none() };
    let text = "pipe 4 | split 4 algo=ring wire=topk(.1) | step adam | join 4 sync=quorum(2)";
    found(
        text,
        &facts,
        &[
            (false, "E13", "pipe 4", "`pipe 3`"),
            (false, "E02", "split 4 algo=ring wire=topk(.1)", "the nearest that takes 8 in all"),
            (false, "E03", "split 4 algo=ring wire=topk(.1)", "8 or 12"),
            (false, "E06", "wire=topk(.1)", "`algo=auto`"),
            (false, "E05", "sync=quorum(2)", "quorum(2,drop)"),
        ],
    );
}

#[test]
fn ten_thousand_items_and_overflowing_numbers_are_errors_at_once() {
    let begun = std::time::Instant::now();
    let many = "accum 1 | ".repeat(10_000) + "step sgd";
    assert_eq!(parse(&many).unwrap_err().len(), 1);
    let more_than_fit = "a|".repeat(8000);
    assert_eq!(
        parse(&more_than_fit).unwrap_err().iter().map(|problem| problem.code).collect::<Vec<_>>(),
        ["S07"]
    );
    for text in [
        "accum 99999999999999999999999999 | step sgd",
        "step sgd | every 65536 | every 65536 | join 2 frag=65536 delay=65535",
        "step sgd(1e999)",
        "split 2 bucket=99999999999GiB | step sgd",
        "step sgd | join 65537",
        "phase step>=99999999999999999999: [step sgd]; [step sgd]",
        "phase time>=99999999999999999h: [step sgd]; [step sgd]",
        "pipe 65536 micro=65536 | split 65536 | step sgd",
    ] {
        assert!(parse(text).is_err(), "{text}");
        assert!(!check(text, &Facts { workers: Some(2), batch: Some(2), ..none() }).is_ok(), "{text}");
    }
    assert!(begun.elapsed() < std::time::Duration::from_secs(1), "{:?}", begun.elapsed());
}
