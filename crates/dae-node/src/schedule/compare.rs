//! What several schedules cost, side by side.

use dae_schedule::cost::Cost;
use dae_schedule::explain::{bytes, count, seconds};
use serde_json::json;

use super::cost::staleness;
use super::explain::write;
use super::given::{Given, notes};
use super::plot::plot;
use crate::exit::Failure;
use crate::schedule_args::ScheduleCompareArgs;
use crate::table::{table, versioned};

/// Predicts what several schedules cost.
pub fn compare(args: &ScheduleCompareArgs) -> Result<Vec<u8>, Failure> {
    let (mut costs, mut supposed) = (Vec::new(), Vec::new());
    for schedule in &args.schedules {
        let given = Given::read(schedule, &args.figures)?;
        costs.extend(given.costs()?);
        for what in given.supposed {
            if !supposed.contains(&what) {
                supposed.push(what);
            }
        }
    }
    if let Some(file) = &args.plot {
        write(file, &plot(&costs))?;
    }
    if args.json {
        return versioned(&json!({ "supposed": supposed, "words": costs }));
    }
    let headings =
        ["STEP", "SAMPLES/S", "IDLE", "SLOWDOWN", "NETWORK", "MESSAGES", "STALENESS", "MEMORY", "WORD"];
    let mut text = table(headings, costs.iter().map(row));
    text.extend(notes(&supposed).as_bytes());
    Ok(text)
}

/// What one machine sends to others in a step, in bytes.
pub fn network_bytes(cost: &Cost) -> f64 {
    between_nodes(cost).map(|traffic| traffic.endpoint_bytes).sum()
}

fn between_nodes(cost: &Cost) -> impl Iterator<Item = &dae_schedule::cost::Traffic> {
    cost.traffic.iter().filter(|traffic| matches!(traffic.link, "rack" | "cluster"))
}

fn row(cost: &Cost) -> [String; 9] {
    [
        seconds(cost.step_s),
        count(cost.samples_per_s.round()),
        format!("{:.0} %", 100.0 * cost.idle_share),
        format!("{:.2}", cost.slowdown),
        bytes(network_bytes(cost)),
        count(between_nodes(cost).map(|traffic| traffic.messages).sum()),
        staleness(cost),
        bytes(cost.memory.worker_bytes),
        cost.word.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::schedule_args::ScheduleCommand;
    use clap::Parser;

    fn compared(more: &[&str]) -> Result<String, Failure> {
        let words = ["dae-node", "schedule", "compare"].iter().chain(more);
        let Command::Schedule(ScheduleCommand::Compare(args)) =
            Cli::try_parse_from(words).expect("parsed").command
        else {
            panic!("another command");
        };
        compare(&args).map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn rows_are_in_the_order_given() {
        let words = ["split 8 @cluster | step adam", "step sgd(.1) | every 16 | join 8 @cluster"];
        let text = compared(&words).expect("compared");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("STEP") && lines[1].ends_with("split 8 @cluster | step adam(1e-3)"));
        assert!(lines[2].ends_with("join 8 @cluster") && lines.len() == 5, "{text}");
    }

    #[test]
    fn a_plot_has_a_bar_for_each_word() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("p.svg");
        let words = ["split 8 @cluster | step adam", "split 4 | step adam", "step adam"];
        let json = compared(&[&words[..], &["--json", "--plot", file.to_str().expect("UTF-8")]].concat());
        assert!(json.expect("compared").contains("\"version\": 1"));
        let svg = std::fs::read_to_string(file).expect("drawn");
        assert!(words.iter().all(|word| svg.contains(&word.replace("adam", "adam(1e-3)"))), "{svg}");
    }

    #[test]
    fn one_word_is_nothing_to_compare() {
        let parsed = Cli::try_parse_from(["dae-node", "schedule", "compare", "step adam"]);
        assert_eq!(parsed.expect_err("refused").exit_code(), 2);
    }
}
