//! Each key alone.

use std::path::Path;

use super::*;

#[test]
fn a_typo_in_every_section_names_the_key_that_was_meant() {
    for (section, typo, meant) in [
        ("job", "stpes", "steps"),
        ("data", "bacth", "batch"),
        ("data.corruption", "levle", "level"),
        ("model", "layer", "layers"),
        ("schedule", "wrod", "word"),
        ("checkpoint", "evry", "every"),
        ("placement", "thread", "threads"),
    ] {
        let text = format!("[{section}]\n{typo} = 1");
        refused(
            &text,
            &format!("{section}.{typo}"),
            "unknown-key",
            typo,
            &format!("did you mean `{meant}`?"),
        );
        assert_eq!(compiled(&text).unwrap_err().problems()[0].line(), Some(2));
    }
    #[rustfmt::skip]
    let others = [
        ("[modle]\nkind = 1", "modle", "unknown-section", "modle", "did you mean [model]?"),
        ("steps = 3", "steps", "unknown-section", "steps", "a key of [job]"),
        ("[data]\nlayers = [1, 2]", "data.layers", "unknown-key", "layers", "a key of [model]"),
        ("[data.corrupton]\nlevel = 0.3", "data.corrupton", "unknown-key", "corrupton", "`corruption`"),
        ("[model]\nxylophone = 1", "model.xylophone", "unknown-key", "xylophone", "the keys of [model] are"),
        ("[actors.lodaer]", "actors.lodaer", "unknown-kind", "lodaer", "must register it"),
        ("[actors]\nloader = 1", "actors.loader", "wrong-type", "loader", "[actors.loader]"),
    ];
    all_refused(&others);
}

#[test]
fn types_and_ranges_are_checked_where_they_stand() {
    #[rustfmt::skip]
    let cases = [
        ("[job]\nsteps = 0", "job.steps", "out-of-range", "0", "a whole number from 1"),
        ("[job]\nsteps = 1.5", "job.steps", "wrong-type", "1.5", "a whole number"),
        ("[job]\nname = 3", "job.name", "wrong-type", "3", "name = \"3\""),
        ("[job]\nname = \"a/b\"", "job.name", "out-of-range", "\"a/b\"", "a name"),
        ("[job]\nseed = -1", "job.seed", "out-of-range", "-1", "0 or more"),
        ("[job]\nseed = 18446744073709551615", "job.seed", "out-of-range", "18446744073709551615", "0 or more"),
        ("[job]\nepochs = nan", "job.epochs", "out-of-range", "nan", "a number from"),
        ("[job]\nepochs = 1e999", "job.epochs", "out-of-range", "1e999", "a number from"),
        ("[data]\nbatch = 0", "data.batch", "out-of-range", "0", "from 1 to 1048576"),
        ("[data]\nbatch = 1_048_577", "data.batch", "out-of-range", "1_048_577", "from 1 to 1048576"),
        ("[data]\nshuffle = \"yes\"", "data.shuffle", "wrong-type", "\"yes\"", "true or false"),
        ("[data]\nprefetch = 65", "data.prefetch", "out-of-range", "65", "from 1 to 64"),
        ("[data]\npath = \"\"", "data.path", "out-of-range", "\"\"", "text"),
        ("data = 3", "data", "wrong-type", "data", "[data]"),
        ("[[job]]", "job", "wrong-type", "job", "[job]"),
        ("[data]\noptions = 3", "data.options", "wrong-type", "options", "[data.options]"),
        ("[model]\nlayers = []", "model.layers", "out-of-range", "[]", "2 to 64"),
        ("[model]\nlayers = [784, 0, 784]", "model.layers[1]", "out-of-range", "0", "2 to 64"),
        ("[model]\nlayers = [784, \"a\", 784]", "model.layers[1]", "wrong-type", "\"a\"", "2 to 64"),
        ("[model]\nloss = \"bec\"", "model.loss", "not-allowed", "\"bec\"", "did you mean \"bce\"?"),
        ("[model]\nactivation = 1979-05-27", "model.activation", "wrong-type", "1979-05-27", "\"relu\""),
        ("[checkpoint]\nkeep = 0", "checkpoint.keep", "out-of-range", "0", "from 1"),
        ("[placement]\ndevice = \"cuda\"", "placement.device", "not-available", "\"cuda\"", "\"cpu\""),
    ];
    all_refused(&cases);
}

#[test]
fn all_problems_are_found_at_once_and_in_order() {
    let text = "[job]\nsteps = 0\nsede = 1\n[model]\nlayers = [784, 10]\n[schedule]\nword = \"splt 2 | step adam(1e-3)\"\n[data]\nbatch = -1";
    let keys: Vec<_> = said(compiled(text)).into_iter().map(|(key, ..)| key).collect();
    assert_eq!(
        keys,
        [
            "job.steps",
            "job.sede",
            "data.batch",
            "model.layers",
            "schedule.word"
        ]
    );
    let many: String = (0..1000).map(|i| format!("k{i} = 1\n")).collect();
    let error = compiled(&many).unwrap_err();
    assert_eq!(error.problems().len(), 32);
    assert!(error.to_string().contains("1000 problems"));
}

#[test]
fn a_syntax_error_is_one_problem_with_its_place() {
    let open = read("a = [1,\n\n").unwrap_err();
    assert_eq!(
        (open.problems()[0].line(), open.problems()[0].excerpt()),
        (Some(1), Some(","))
    );
    let error = read("[job]\nsteps = \n").unwrap_err();
    assert_eq!((error.problems().len(), error.problems()[0].line()), (1, Some(2)));
    assert_eq!(
        read("[job]\nsteps = 1\nsteps = 2").unwrap_err().problems()[0].code(),
        "syntax"
    );
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
    let deep = 400_000;
    for text in [
        format!("a = {}", "[".repeat(deep)),
        format!("a = {}1{}", "[".repeat(deep), "]".repeat(deep)),
        format!("{}a = 1", "a.".repeat(deep)),
        format!("[{}a]", "a.".repeat(deep)),
        format!(
            "[model.options]\na = {}1{}",
            "{a=".repeat(deep / 4),
            "}".repeat(deep / 4)
        ),
        format!("[model.options]\na = {}1{}", "[".repeat(20), "]".repeat(20)),
    ] {
        assert!(read(&text).is_err());
    }
}

#[test]
fn overrides_are_read_like_the_file_and_shown_as_typed() {
    let set = |set: &[&str]| {
        let set: Vec<_> = set.iter().map(|s| s.to_string()).collect();
        Topology::from_str(
            "t",
            "[job]\nsteps = 50\n[model]\nkind = \"mine\"\n[model.options]\na = 1",
            &set,
        )
    };
    let t = set(&[
        "job.steps = 7",
        "data.path=/a b/c",
        "model.options.b=true",
        "model.layers=[4, 4]",
    ])
    .unwrap()
    .topology;
    assert_eq!(
        (t.job.steps, t.data.path.as_deref(), t.model.layers),
        (7, Some("/a b/c"), vec![4, 4])
    );
    assert_eq!(t.model.options.keys().collect::<Vec<_>>(), ["a", "b"]);
    let t = set(&["schedule.word=split 2 | step adam(1e-3)", "job.epochs=2"])
        .unwrap()
        .topology;
    assert_eq!(
        (t.schedule.word.as_str(), t.job.epochs, t.job.steps),
        ("split 2 | step adam(1e-3)", Some(2.0), 1000)
    );
    let t = set(&["job.epochs=2", "job.steps=9"]).unwrap().topology;
    assert_eq!((t.job.epochs, t.job.steps), (None, 9));

    let one = |text: &str| {
        let error = set(&[text]).unwrap_err();
        let problem = &error.problems()[0];
        (
            problem.key().to_owned(),
            problem.excerpt().unwrap().to_owned(),
            problem.fix().to_owned(),
        )
    };
    let (key, excerpt, fix) = one("job.stpes=3");
    assert_eq!(
        (key.as_str(), excerpt.as_str(), fix.as_str()),
        ("job.stpes", "stpes", "did you mean `steps`?")
    );
    assert_eq!(one("job.steps=many").1, "many");
    assert_eq!(one("schedule.word=splt 2 | step adam(1e-3)").1, "splt");
    for text in ["", "job.steps", "=3", "job steps=3", "# job.steps=3"] {
        assert_eq!((one(text).0.as_str(), one(text).1.as_str()), ("", text));
    }
    let shown = format!("{:?}", miette::Report::new(set(&["job.stpes=3"]).unwrap_err()));
    assert!(
        shown.contains("--set job.stpes=3") && shown.contains("did you mean `steps`?"),
        "{shown}"
    );
}

#[test]
fn files_that_are_no_topologies() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let reason = |path: &Path| Topology::from_file(path, &[]).unwrap_err().to_string();
    assert!(reason(folder.path()).ends_with("this is a folder"));
    assert!(reason(&folder.path().join("none.toml")).contains("none.toml: "));
    assert!(reason(&write("bytes", b"[job]\xff")).ends_with("not UTF-8 from byte 5 on"));
    assert!(reason(&write("large", &vec![b'\n'; (1 << 20) + 1])).ends_with("larger than 1 MiB"));
    assert_eq!(
        Topology::from_file(&write("empty", b""), &[]).unwrap().topology,
        Topology::default()
    );
}
