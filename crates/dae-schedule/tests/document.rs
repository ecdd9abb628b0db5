//! Every word of `docs/schedules.md`: what it calls good checks, what it calls bad gives the code it is labelled with.

use std::collections::BTreeSet;

use dae_schedule::{Checkpoint, Facts, Layers, check};

fn document() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schedules.md");
    std::fs::read_to_string(path).expect(path)
}

/// The blocks marked `schedule`: what stands behind the mark, and the words, one a line.
fn blocks(document: &str) -> Vec<(Vec<&str>, Vec<&str>)> {
    let mut blocks: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    let mut open = false;
    for line in document.lines() {
        match line.strip_prefix("```") {
            Some(mark) => {
                open = !open && mark.starts_with("schedule");
                if open {
                    blocks.push((mark.split_whitespace().skip(1).collect(), Vec::new()));
                }
            }
            None if open => blocks.last_mut().expect("opened").1.push(line),
            None => {}
        }
    }
    blocks
}

/// The facts that a mark states, such as `workers=16` or `bits`.
fn facts(mark: &[&str]) -> Facts {
    let mut facts = Facts::default();
    for fact in mark {
        let (name, value) = fact.split_once('=').unwrap_or((fact, ""));
        let number = || Some(value.parse().expect(fact));
        match name {
            "workers" => facts.workers = number(),
            "nodes" => facts.nodes = number(),
            "layers" => facts.layers = number(),
            "batch" => facts.batch = Some(value.parse().expect(fact)),
            "grain" => facts.grain = Some(value.parse().expect(fact)),
            "parameters" => facts.parameters = Some(value.parse().expect(fact)),
            "memory" => facts.node_memory = Some(value.parse().expect(fact)),
            "bits" => facts.bits = Some(true),
            "statistics" => facts.batch_statistics = Some(true),
            "checkpoint" => facts.checkpoint = Some(Checkpoint::default()),
            "matrices" => {
                let side = |text: &str| text.parse().expect(fact);
                let sides =
                    |matrix: &str| matrix.split_once('x').map(|(rows, columns)| (side(rows), side(columns)));
                facts.matrices = Some(value.split(',').map(|matrix| sides(matrix).expect(fact)).collect());
            }
            _ => panic!("no such fact: {fact}"),
        }
    }
    facts
}

#[test]
fn blocks_are_as_they_are_labelled() {
    let document = document();
    let mut shown = BTreeSet::new();
    for (mark, words) in blocks(&document) {
        assert!(!words.is_empty(), "an empty block: {mark:?}");
        let (code, known) =
            mark.split_first().map_or((None, Facts::default()), |(code, rest)| (Some(*code), facts(rest)));
        for word in words {
            let checked = check(word, &known);
            let codes: BTreeSet<_> = checked.problems.iter().map(|problem| problem.code).collect();
            assert_eq!(codes, code.into_iter().collect(), "{word}: {:#?}", checked.problems);
            for problem in &checked.problems {
                assert!(
                    word.get(problem.at.clone()).is_some_and(|culprit| !culprit.is_empty()),
                    "{word}: {problem:?}"
                );
                assert!(!problem.message.is_empty() && !problem.help.is_empty(), "{word}: {problem:?}");
            }
            shown.extend(codes);
        }
    }
    let rules = (1..=16).filter(|rule| *rule != 9).map(|rule| format!("E{rule:02}"));
    let missing: Vec<_> = rules.filter(|rule| !shown.contains(rule.as_str())).collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
}

#[test]
fn the_methods_are_words() {
    let document = document();
    let table = document.split("## The field's methods as words").nth(1).expect("the table");
    let rows = table
        .split("\n## ")
        .next()
        .unwrap_or_default()
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'));
    let mut words = 0;
    for row in rows {
        let word = row.split('`').nth(1).expect(row).replace("\\|", "|");
        let checked = check(&word, &Facts::default());
        assert!(checked.is_ok(), "{word}: {:#?}", checked.problems);
        // The hybrid's momentum at a stale centre is what its authors chose; the warning about it stands.
        let warned: Vec<_> = checked.problems.iter().map(|problem| problem.code).collect();
        assert!(
            warned.is_empty() || warned == ["E14"] && word.contains("join 6 @cluster sync=async"),
            "{word}: {warned:?}"
        );
        words += 1;
    }
    assert!(words >= 20, "{words} words");
}

#[test]
fn the_long_form_is_the_word_it_seems() {
    let document = document();
    let text = document.split("    [[schedule.layer]]").skip(1).fold(String::new(), |text, layer| {
        let table = layer.lines().skip(1).take_while(|line| line.starts_with("    ")).map(str::trim);
        text + "[[layer]]\n" + &table.collect::<Vec<_>>().join("\n") + "\n"
    });
    let read: std::collections::BTreeMap<String, Layers> = toml::from_str(&text).expect("the long form");
    let word = "split 2 @node overlap | step adamw(1e-3, wd=0) clip=1 | join 3 sync=quorum(2,drop)";
    assert_eq!(read["layer"].0.to_string(), word);
}
