//! What people get wrong, and what they are told: code and blamed text, all problems of a word at once.

use dae_schedule::{not_yet_run, parse};

/// Each word with its problems: the code, and the text under the caret.
type Example = (&'static str, &'static [(&'static str, &'static str)]);

const SHAPE: &[Example] = &[
    ("", &[("S01", "")]),
    (" \n", &[("S01", " \n")]),
    ("accum | split | step", &[("S01", "accum"), ("S01", "split"), ("S01", "step")]),
    ("| accum 2 || step adam |", &[("S01", "|"), ("S01", "|"), ("S01", "|")]),
    ("accum 4 split 2 | step adam", &[("S01", "split")]),
    ("accum 4 step adam(1e-3)", &[("S01", "step")]),
    ("accum 4 $ % | 5 | step adam", &[("S01", "$ %"), ("S01", "5")]),
    ("step adam(1e-3", &[("S01", "(")]),
    ("step adam(1e-3 beta1=.9,)", &[("S01", ""), ("S01", ")")]),
    ("step adam(1e-3, 2, eps)", &[("S01", "2"), ("S01", "eps")]),
    ("split 2 @ | step adam clip=", &[("S01", "@"), ("S01", "clip=")]),
    ("step adam clip", &[("S01", "clip")]),
    ("step adam=1e-3", &[("S01", "adam=1e-3")]),
];

const NAMES: &[Example] = &[
    ("acum 4 | Split 2 | step Adam", &[("S02", "acum"), ("S02", "Split"), ("S02", "Adam")]),
    ("accum4 | adam(1e-3)", &[("S02", "accum4"), ("S02", "adam")]),
    ("split 2 odrer=any | step adm", &[("S02", "odrer=any"), ("S02", "adm")]),
    ("split 2 @racks | step adam(bta1=.9)", &[("S02", "racks"), ("S02", "bta1")]),
    ("step adam(1e-3, nesterov, weight_decay=.1)", &[("S02", "nesterov"), ("S02", "weight_decay")]),
    ("accum 2 @node order=any | step adam", &[("S08", "node"), ("S08", "order=any")]),
    ("split 2 clip=1 | step adam 4", &[("S08", "clip=1"), ("S08", "4")]),
    ("step adam lr=1", &[("S08", "lr=1")]),
    ("split 3 @cluster | split 2 @node | split 2 | step adam", &[("S09", "node")]),
];

const NOT_YET: &[Example] = &[
    ("split 8 | step adamw | every 100 | join 4 @cluster outer=nesterov(0.7,0.9)", &[]),
    ("split 8 | step adamw | every 100 | join 4 @rack", &[("S03", "rack")]),
    (
        "pipe 2 micro=8 sched=1f1b | tensor 2 | step adam | gossip 8 graph=exp push",
        &[("S03", "pipe"), ("S03", "tensor")],
    ),
    ("phase step>=500: [split 8 | step sgd(.1)]; [step sgd(.1) | every 16 | join 8]", &[("S03", "phase")]),
    ("step raw | join 8 sync=ssp(3) outer=adam stale=lr/tau", &[]),
    ("split 2 @cluster | step adam | every 4 | join 2", &[("S03", "join")]),
    ("step adam | join 2 | every 4 | join 3", &[("S03", "join")]),
    ("split 2 | step adam | every 3 | gossip 4 graph=hops(1,2) push | every 2", &[]),
    ("step sgd | gossip 2 @cluster sync=async", &[("S03", "cluster")]),
    ("step sgd | gossip 2 | join 2", &[("S03", "join")]),
    ("step sgd | join 2 | gossip 2", &[("S03", "gossip")]),
    ("step raw | join 2 outer=elastic(.1)", &[("S03", "outer=elastic(.1)")]),
    ("step adam | every 8 | join 2 @cluster wire=topk(.1) shards=2", &[]),
    ("step adam | every 8 | join 2 outer=elastic(.1) wire=int8", &[("S03", "wire=int8")]),
    ("step adam | every 8 | join 2 wire=powersgd(2)", &[("S03", "wire=powersgd(2)")]),
    (
        "step adam | every 8 | join 2 frag=2 delay=1 mix=.5 wire=int4 view=shard shards=2",
        &[("S03", "wire=int4"), ("S03", "view=shard")],
    ),
    ("step adam | every 8 | join 2 frag=2 delay=1 mix=.5 wire=int8", &[]),
    ("step adam | every 8 | join 2 sync=async delay=1 mix=.5", &[("S03", "delay=1")]),
    ("step raw | every 8 | join 2 frag=2 mix=.5 outer=adam", &[("S03", "frag=2"), ("S03", "mix=.5")]),
    ("step adam | every 8 | join 2 frag=2 mix=.5 outer=elastic(.1)", &[("S03", "frag=2"), ("S03", "mix=.5")]),
    (
        "split 2 wire=int8 algo=ring bucket=4MiB overlap @rack | step adam zero=2",
        &[
            ("S03", "wire=int8"),
            ("S03", "algo=ring"),
            ("S03", "bucket=4MiB"),
            ("S03", "overlap"),
            ("S03", "rack"),
            ("S03", "zero=2"),
        ],
    ),
    ("split 2 algo=auto wire=f32 order=any @node | step adam zero=0 clip=1", &[]),
];

const NUMBERS: &[Example] = &[
    ("accum 0 | split -1 | accum 1.5 | step adam", &[("S04", "0"), ("S04", "-1"), ("S04", "1.5")]),
    ("split 2 order=none | step adam clip=0", &[("S04", "none"), ("S04", "0")]),
    (
        "step adam(0, beta1=1, beta2=-.1, eps=0, wd=-1)",
        &[("S04", "0"), ("S04", "1"), ("S04", "-.1"), ("S04", "0"), ("S04", "-1")],
    ),
    ("step adam(1e-99, wd=1e99, eps=nan)", &[("S04", "1e-99"), ("S04", "1e99"), ("S04", "nan")]),
    ("step sgd(.1, nesterov)", &[("S04", "nesterov")]),
    ("step sgd(.1, momentum=.9, nesterov=true)", &[("S04", "true")]),
    ("split 99999999999 | step adam", &[("S07", "99999999999")]),
    (
        "accum 65536 | accum 2 | split 300 | split 300 | step adam",
        &[("S07", "accum 2"), ("S07", "split 300")],
    ),
    ("accum 65536 | split 65536 | step adam", &[("S07", "split 65536")]),
];

const TWICE: &[Example] = &[
    (
        "accum 4 4 | split 2 @node @node order=any order=any | step adam",
        &[("S05", "4"), ("S05", "node"), ("S05", "order=any")],
    ),
    (
        "step adam(1e-3, lr=2, wd=0, wd=0) sgd clip=1 clip=1",
        &[("S05", "lr"), ("S05", "wd"), ("S05", "sgd"), ("S05", "clip=1")],
    ),
    ("step sgd(momentum=.9, nesterov, nesterov)", &[("S05", "nesterov")]),
];

const SORTS: &[Example] = &[
    ("accum 2 | split 2", &[("E01", "split 2")]),
    ("step adam | accum 4", &[("E01", "accum 4")]),
    ("step adam | split 4 @node | step sgd", &[("E01", "split 4 @node"), ("E01", "step sgd")]),
    // One text, every kind of problem in it.
    (
        "acum 2 | split 0 wire=int9 | step adam(beta1=2) | accum 3 |",
        &[("S02", "acum"), ("S04", "0"), ("S04", "int9"), ("S04", "2"), ("E01", "accum 3"), ("S01", "|")],
    ),
];

#[test]
fn every_problem_is_found_where_it_is() {
    for (text, expected) in [SHAPE, NAMES, NUMBERS, TWICE, SORTS].concat() {
        let problems = parse(text).expect_err(text);
        let found: Vec<_> =
            problems.iter().map(|problem| (problem.code, &text[problem.at.clone()])).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn what_is_not_yet_run_is_told_where_it_is() {
    for (text, expected) in NOT_YET {
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
        let problems = not_yet_run(text);
        let mut found: Vec<_> =
            problems.iter().map(|problem| (problem.code, &text[problem.at.clone()])).collect();
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn the_help_names_the_fix() {
    for (text, fix) in [
        ("acum 4 | step adam", "did you mean `accum`?"),
        ("accum4 | step adam", "`accum 4`"),
        ("adam(1e-3)", "`step adam`"),
        ("step Adam", "`adam`? Upper and lower case differ"),
        ("step adam(weight_decay=0)", "`wd`"),
        ("step adam | accum 4", "use `every k` there"),
        ("step adam | split 4", "use `join n` there"),
        ("split 2", "`| step adam(1e-3)`"),
        ("split 2 wier=f32 | step adam", "`wire`"),
        ("step banana", "`adam`, `adamw`, `sgd`"),
        ("split 3 @cluster | split 2 @node | step adam", "left of `split 3 @cluster`"),
        ("split 2 @clutser | step adam", "`cluster`"),
        ("step sgd | join 4 async", "`sync=async`"),
        ("step sgd | join 4 nesterov(.7,.9)", "`outer=nesterov(…)`"),
        ("step raw | join 4 adam", "`outer=adam`"),
        ("split 4 ring | step sgd", "`algo=ring`"),
        ("step sgd | join 4 outer=nesterov", "`nesterov(0.7,0.9)`"),
        ("step sgd | join 4 sync=quorum", "`quorum(3,drop)`"),
        ("step sgd | join 4 outer=nestrov(.7,.9)", "`nesterov`"),
        ("step sgd | join 4 sync", "`sync=async`"),
        ("step sgd | join 4 shards=0", "`4`"),
        ("step sgd | gosip 4", "`gossip`"),
        ("allreduce 4 | step sgd", "`split n`"),
        ("step adam | diloco 4", "`step adamw | every 500 | join n outer=nesterov(0.7,0.9)`"),
        ("step sgd | every 4 wire=int8", "move it to `split`"),
        ("split 2 overlap=true | step sgd", "write `overlap` alone"),
        ("split 2 bucket=4MB | step sgd", "`bucket=4MiB`"),
        ("phase step>500: [step sgd]; [step sgd]", "`phase step>=500: [word]; [word]`"),
        ("phase loss>=1: [step sgd]; [step sgd]", "`<=`"),
        ("phase step>=500 [step sgd]; [step sgd]", "`phase step>=500: [word]; [word]`"),
        ("phase steps>=500: [step sgd]; [step sgd]", "`step`"),
        ("phase step>=5: [step sgd] [step sgd]", "write `;` here"),
        ("phase step>=5: [step sgd]; [step sgd", "write `]`"),
        ("phase step>=5 carry=all: [step sgd]; [step sgd]", "`params`, `state`"),
        ("step sgd | phase", "nothing around it"),
    ] {
        let problems = parse(text).expect_err(text);
        assert!(problems.iter().any(|problem| problem.help.contains(fix)), "{text}: {problems:?}");
    }
}

#[test]
fn what_is_right_is_accepted() {
    for (text, printed) in [
        ("step adam", "step adam(1e-3)"),
        ("step sgd", "step sgd(0.01)"),
        ("split 2 @node order=any|step adamw", "split 2 @node | step adamw(1e-3)"),
        (
            "split 1 @node|split 3 @cluster|accum 2|step sgd",
            "split 1 @node | split 3 @cluster | accum 2 | step sgd(0.01)",
        ),
        ("split 2 order = any @device | step sgd( .1 )", "split 2 @device | step sgd(0.1)"),
        ("accum\n4\n|\nstep\nadam(5)\nclip=1.0", "accum 4 | step adam(5) clip=1"),
    ] {
        assert_eq!(parse(text).map(|word| word.to_string()), Ok(printed.to_owned()));
    }
}
