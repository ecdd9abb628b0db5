//! What was measured between nodes, as tables and as JSON.

use dae_schedule::explain::seconds;
use serde_json::{Value, json};

use super::Measured;
use super::found::{Can, Sums, Timed};
use crate::table::{bytes, table};

/// As programs read it.
pub fn as_json(measured: &Measured) -> Value {
    let Measured { cluster, nodes, plain, found } = measured;
    let links = found.links.iter().map(
        |(ends, can)| json!({ "nodes": ends, "latency_s": can.latency_s, "bytes_per_s": can.bytes_per_s }),
    );
    json!({
        "cluster": cluster,
        "nodes": nodes,
        "sealed": !plain,
        "together": found.together.map(|can| json!({
            "latency_s": can.latency_s, "message_s": can.message_s, "bytes_per_s": can.bytes_per_s,
        })),
        "links": links.collect::<Vec<_>>(),
        "all_reduces": found.sizes.iter().map(sums_as_json).collect::<Vec<_>>(),
    })
}

fn sums_as_json(sums: &Sums) -> Value {
    let by = sums.by.iter().map(|timed| {
        json!({
            "algorithm": timed.algorithm,
            "rounds": timed.rounds,
            "median_s": timed.median_s,
            "fastest_s": timed.fastest_s,
            "expected_s": timed.expected_s,
        })
    });
    let auto = sums.auto.as_ref().map(|(algorithm, why)| {
        let median_s = sums.chosen().map(|timed| timed.median_s);
        json!({ "algorithm": algorithm, "median_s": median_s, "why": why })
    });
    json!({ "bytes": sums.bytes, "by": by.collect::<Vec<_>>(), "auto": auto })
}

/// As people read it.
pub fn for_people(measured: &Measured) -> Vec<u8> {
    let Measured { cluster, nodes, plain, found } = measured;
    if let [one] = &nodes[..] {
        let text = format!(
            "{one} is the only node of cluster {cluster} that was asked about: nothing lies between nodes to measure\n\
             what a machine does alone: dae-node bench compute\n"
        );
        return text.into_bytes();
    }
    let how = if *plain { "unsealed" } else { "sealed" };
    let mut text = format!("{} nodes of cluster {cluster}, links {how}\n\n", nodes.len()).into_bytes();
    let row = |name: String, can: &Can| {
        let further = can.message_s.map_or(String::new(), seconds);
        [name, seconds(can.latency_s), rate(can.bytes_per_s), further]
    };
    let links = found.links.iter().map(|(ends, can)| row(ends.join(" "), can));
    let together = found.together.iter().map(|can| row("all at once, the worst".into(), can));
    let headings = ["LINK", "LATENCY", "EACH WAY", "FURTHER MESSAGE"];
    text.extend(table(headings, links.chain(together)));
    if found.sizes.is_empty() {
        return text;
    }
    text.push(b'\n');
    let sums = found.sizes.iter().flat_map(|sums| sums.by.iter().map(|timed| sum(sums, timed)));
    text.extend(table(["ALL-REDUCE", "BY", "TAKES", "FASTEST", "EXPECTED", "TIMES", ""], sums));
    text.push(b'\n');
    for sums in &found.sizes {
        let Some((_, why)) = &sums.auto else { continue };
        text.extend(format!("auto takes {why}\n").into_bytes());
    }
    text
}

fn sum(sums: &Sums, timed: &Timed) -> [String; 7] {
    let is = |other: Option<&Timed>| other.is_some_and(|other| other.algorithm == timed.algorithm);
    let note = match (is(sums.chosen()), is(sums.best())) {
        (true, true) => "auto, and the fastest",
        (true, false) => "auto",
        (false, true) => "the fastest",
        (false, false) => "",
    };
    [
        bytes(sums.bytes),
        timed.algorithm.clone(),
        seconds(timed.median_s),
        seconds(timed.fastest_s),
        seconds(timed.expected_s),
        timed.rounds.to_string(),
        note.to_owned(),
    ]
}

fn rate(bytes_per_s: Option<f64>) -> String {
    bytes_per_s.map_or("too fast to tell".into(), |rate| format!("{:.0} MB/s", rate / 1e6))
}

#[cfg(test)]
mod tests {
    use super::super::found::tests::found;
    use super::*;

    fn measured(nodes: &[&str]) -> Measured {
        let nodes = nodes.iter().map(|name| (*name).to_owned()).collect();
        Measured { cluster: "lab".into(), nodes, plain: false, found: found() }
    }

    #[test]
    fn a_table_has_a_line_for_each_link_and_each_way_to_sum() {
        let text = String::from_utf8(for_people(&measured(&["n1", "n2"]))).expect("text");
        let cells = |of: &str| -> Vec<String> {
            let line = text.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{of}: {text}"));
            line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(String::from).collect()
        };
        assert_eq!(cells("n1 n2"), ["n1 n2", "40.0 us", "too fast to tell"]);
        assert_eq!(cells("the worst"), ["all at once, the worst", "50.0 us", "1074 MB/s", "5.00 us"]);
        assert_eq!(cells("doubling"), ["4.0 KiB", "doubling", "130 us", "90.0 us", "104 us", "200", "auto"]);
        assert_eq!(cells("direct").last().map(String::as_str), Some("the fastest"));
        assert!(text.ends_with("\nauto takes it costs least\n"), "{text}");
    }

    #[test]
    fn programs_get_seconds_and_bytes() {
        let json = as_json(&measured(&["n1", "n2"]));
        assert_eq!(json["links"][0]["nodes"], json!(["n1", "n2"]));
        assert_eq!(json["links"][0]["bytes_per_s"], Value::Null);
        assert_eq!((&json["together"]["message_s"], &json["sealed"]), (&json!(5e-6), &json!(true)));
        let sums = &json["all_reduces"][0];
        assert_eq!((&sums["bytes"], &sums["by"][1]["algorithm"]), (&json!(4096), &json!("ring")));
        assert_eq!(sums["auto"]["median_s"], sums["by"][3]["median_s"]);
    }

    #[test]
    fn one_node_is_told_that_there_is_nothing_to_measure() {
        let text = String::from_utf8(for_people(&measured(&["n1"]))).expect("text");
        assert!(text.contains("nothing lies between nodes"), "{text}");
    }
}
