//! `dae-node schedule check` as a process: what it prints, where the caret stands, how it ends.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use serde_json::Value;

const HYBRID: &str = "accum 4 | split 2 @node | step adamw(1e-3) | every 20 | join 2 @cluster sync=async \
                      outer=nesterov(0.7,0.9) wire=int8";

fn check(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dae-node"));
    command.args(["schedule", "check"]).args(arguments).env("NO_COLOR", "1").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_good_word_is_shown() {
    let output = check(&[HYBRID]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = text(&output.stdout);
    for line in [
        format!("normal     {HYBRID}"),
        "workers    4".into(),
        "nodes      2".into(),
        "runs       yes".into(),
        "ok".into(),
    ] {
        assert!(shown.lines().any(|each| each == line), "{line}: {shown}");
    }
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_bad_word_is_refused_with_a_caret_under_the_culprit() {
    let output = check(&["step adam | accum 4"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(4), String::new()));
    let said = text(&output.stderr);
    assert!(said.contains("E01") && said.contains("use `every k` there"), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let word = lines.iter().position(|line| line.contains("step adam | accum 4")).expect(&said);
    let column = |line: &str, what: &str| line.find(what).map(|at| line[..at].chars().count());
    let culprit = column(lines[word], "accum").unwrap();
    let under: Vec<char> = lines[word + 1].chars().collect();
    assert!(under[..culprit].iter().all(|each| !"─┬^".contains(*each)), "{said}");
    assert!(under[culprit..culprit + 7].iter().all(|each| "─┬^".contains(*each)), "{said}");
}

#[test]
fn a_warning_is_told_and_passes() {
    let output = check(&["step adam | join 4"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stderr).contains("E12") && text(&output.stdout).ends_with("ok\n"), "{output:?}");
}

#[test]
fn facts_come_from_options() {
    let output = check(&["split 5 | step adam", "--workers", "4", "--batch", "8"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(4) && said.contains("E02") && said.contains("E03"), "{said}");
}

#[test]
fn programs_get_json_with_places() {
    let good: Value = serde_json::from_slice(&check(&[HYBRID, "--json"]).stdout).unwrap();
    assert_eq!((&good["ok"], &good["normal"], &good["workers"]), (&true.into(), &HYBRID.into(), &4.into()));
    let output = check(&["step adam | accum 4", "--json"]);
    assert_eq!(output.status.code(), Some(4));
    let bad: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problem = &bad["problems"][0];
    assert_eq!((&bad["ok"], &problem["code"], &problem["start"]), (&false.into(), &"E01".into(), &12.into()));
}

#[test]
fn files_are_read_as_words_and_as_topologies() {
    let folder = tempfile::tempdir().unwrap();
    let shown = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        let output = check(&[path.to_str().unwrap()]);
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let word = "split 2 | step sgd(0.1)";
    for (name, content) in [
        ("word", "split 2\n| step sgd(.1)\n".to_owned()),
        ("word.toml", format!("[job]\nsteps = 3\n[schedule]\nword = \"{word}\"\n")),
        (
            "layers.toml",
            "[[schedule.layer]]\nitem = \"split\"\nn = 2\n[[schedule.layer]]\nitem = \"step\"\noptimizer = \"sgd(0.1)\"\n"
                .into(),
        ),
    ] {
        let (code, said) = shown(name, &content);
        assert!(code == Some(0) && said.contains(&format!("normal     {word}\n")), "{name}: {said}");
    }
    for (name, content, says) in [
        ("none.toml", "[job]\nsteps = 3\n", "no `word`"),
        (
            "both.toml",
            "[schedule]\nword = \"step sgd\"\n[[schedule.layer]]\nitem = \"step\"\noptimizer = \"sgd\"\n",
            "keep one",
        ),
        ("broken.toml", "[schedule\n", "broken.toml"),
    ] {
        let (code, said) = shown(name, content);
        assert!(code == Some(4) && said.contains(says), "{name}: {said}");
    }
    let missing = check(&[folder.path().join("missing.toml").to_str().unwrap()]);
    assert!(
        missing.status.code() == Some(1) && text(&missing.stderr).contains("no such file"),
        "{missing:?}"
    );
}
