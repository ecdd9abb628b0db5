//! What a schedule costs.

use std::fmt::Write;

use dae_schedule::cost::{Chosen, Cost, Straggler, Traffic};
use dae_schedule::explain::{bytes, count, seconds};
use serde_json::json;

use super::given::{Given, notes};
use crate::exit::Failure;
use crate::schedule_args::ScheduleCostArgs;
use crate::table::versioned;

/// Predicts what each word of a schedule costs.
pub fn cost(args: &ScheduleCostArgs) -> Result<Vec<u8>, Failure> {
    let given = Given::read(&args.schedule, &args.figures)?;
    let costs = given.costs()?;
    if args.json {
        return versioned(&json!({ "schedule": given.schedule, "supposed": given.supposed, "words": costs }));
    }
    let slow = given.figures.straggler != Straggler::None;
    let shown: Vec<String> = costs.iter().map(|cost| show(cost, slow)).collect();
    Ok((shown.join("\n") + &notes(&given.supposed)).into_bytes())
}

/// How old what gradients are computed with is, in a few words.
pub fn staleness(cost: &Cost) -> String {
    let staleness = &cost.staleness;
    match staleness.bound {
        Some(0) => "none".into(),
        Some(bound) => format!("{:.1}, at most {bound}", staleness.mean),
        None => format!("{:.1}, no bound", staleness.mean),
    }
}

fn show(cost: &Cost, slow: bool) -> String {
    let mut lines = vec![
        ("word", cost.word.clone()),
        ("workers", format!("{}, {} on each of {} nodes", cost.workers, cost.workers_per_node, cost.nodes)),
        ("step", step(cost, slow)),
    ];
    if cost.steps_per_round > 1 {
        lines.push(("round", format!("{} for {} steps", seconds(cost.round_s), cost.steps_per_round)));
    }
    lines.push((
        "samples",
        format!("{} a step, {} a second", count(cost.samples_per_step), count(cost.samples_per_s.round())),
    ));
    if cost.useful_share < 1.0 {
        lines.push(("dropped", format!("{:.1} % of what is computed", 100.0 * (1.0 - cost.useful_share))));
    }
    for traffic in &cost.traffic {
        lines.push(("sent", sent(traffic)));
    }
    for chosen in &cost.all_reduces {
        lines.push(("all-reduce", all_reduce(chosen)));
    }
    lines.push(("staleness", staleness(cost)));
    let memory = &cost.memory;
    lines.push((
        "memory",
        format!("{} a worker, {} a node", bytes(memory.worker_bytes), bytes(memory.node_bytes)),
    ));
    let mut text = String::new();
    for (name, value) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:<12}{value}");
    }
    text
}

fn step(cost: &Cost, slow: bool) -> String {
    let slowdown = match slow {
        true => format!(", {:.2} times as long as without stragglers", cost.slowdown),
        false => String::new(),
    };
    let (step, computing) = (seconds(cost.step_s), seconds(cost.compute_s));
    format!("{step}, of which {computing} computing; idle {:.0} %{slowdown}", 100.0 * cost.idle_share)
}

fn sent(traffic: &Traffic) -> String {
    format!(
        "{}: {} a step by each end, {} at the busiest; {} in {} messages by all",
        traffic.link,
        bytes(traffic.endpoint_bytes),
        bytes(traffic.busiest_bytes),
        bytes(traffic.sent_bytes),
        count(traffic.messages)
    )
}

fn all_reduce(chosen: &Chosen) -> String {
    let others: Vec<String> =
        chosen.expected.iter().map(|(way, s)| format!("{} {}", way.name(), seconds(*s))).collect();
    let why = if chosen.said { "as the word says" } else { "the cheapest" };
    let (name, over, place) = (chosen.algorithm.name(), chosen.over, chosen.place);
    format!("{name} over {over} @{place}, {why}: {}", others.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::schedule_args::ScheduleCommand;
    use clap::Parser;
    use serde_json::Value;

    fn priced(more: &[&str]) -> String {
        let words = ["dae-node", "schedule", "cost"].iter().chain(more);
        let Command::Schedule(ScheduleCommand::Cost(args)) =
            Cli::try_parse_from(words).expect("parsed").command
        else {
            panic!("another command");
        };
        String::from_utf8(cost(&args).expect("priced")).expect("text")
    }

    const THOUSAND: [&str; 7] = [
        "split 1000 @cluster | step adam",
        "--nodes",
        "1000",
        "--link",
        "10gbe",
        "--model-params",
        "2800000",
    ];

    #[test]
    fn a_thousand_nodes_as_json() {
        let json: Value =
            serde_json::from_str(&priced(&[&THOUSAND[..], &["--json"]].concat())).expect("JSON");
        assert_eq!((&json["version"], &json["words"][0]["nodes"]), (&Value::from(1), &Value::from(1000)));
        let sent = json["words"][0]["traffic"][0]["endpoint_bytes"].as_f64().expect("a number");
        assert!((sent - 2.0 * 999.0 / 1000.0 * 11.2e6).abs() < 1.0, "{sent}");
    }

    #[test]
    fn text_tells_what_was_supposed_and_what_was_dropped() {
        let text = priced(&THOUSAND);
        assert!(
            text.contains("supposed    128 samples in a micro-batch") && !text.contains("dropped"),
            "{text}"
        );
        let quorum = ["step raw | join 8 sync=quorum(7,drop) outer=adam", "--straggler", "one:4"];
        let text = priced(&quorum);
        assert!(text.contains("dropped     ") && text.contains("without stragglers"), "{text}");
    }
}
