//! An explanation for people.

use std::fmt::{self, Display, Formatter};

use super::explanation::Explanation;
use super::quantity::{bytes, count, seconds};
use crate::cost::{Chosen, Cost, Staleness};

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        line(f, "word", &self.word)?;
        if self.normal != self.word {
            line(f, "normal", &self.normal)?;
        }
        line(f, "trains", self.verdict.badge)?;
        for why in &self.verdict.why {
            line(f, "", &format!("- {why}"))?;
        }
        if let Some(synchronous) = &self.synchronous {
            line(f, "nearest", &synchronous.word)?;
            line(f, "", &format!("({})", synchronous.says))?;
        }
        self.write_tree(f)?;
        self.write_actors(f)?;
        write_cost(f, &self.cost)
    }
}

fn line(f: &mut Formatter<'_>, name: &str, text: &str) -> fmt::Result {
    writeln!(f, "{name:<12}{text}")
}

impl Explanation {
    fn write_tree(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nthe tree, from the outside in")?;
        for (depth, branch) in self.tree.iter().enumerate() {
            let stem =
                if depth == 0 { String::new() } else { format!("{}\u{2514} ", "  ".repeat(depth - 1)) };
            writeln!(f, "  {stem}{}: {}", branch.item, branch.says)?;
        }
        Ok(())
    }

    fn write_actors(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nactors")?;
        for actor in &self.actors {
            writeln!(f, "  {:>6} {:<24}{}; {}", actor.count, actor.kind, actor.place, actor.does)?;
        }
        Ok(())
    }
}

fn write_cost(f: &mut Formatter<'_>, cost: &Cost) -> fmt::Result {
    if !cost.places.is_empty() {
        writeln!(f, "\nplaces")?;
    }
    for place in &cost.places {
        let why = if place.said { "as it says" } else { "the nearest that fits" };
        let some = match place.on_one_node {
            some if some > 1 && some < place.children => format!(", {some} on each node"),
            _ => String::new(),
        };
        writeln!(f, "  {}: @{}{some} ({why})", place.item, place.place)?;
    }
    if !cost.all_reduces.is_empty() {
        writeln!(f, "\nall-reduces")?;
    }
    cost.all_reduces.iter().try_for_each(|chosen| write_chosen(f, chosen))?;
    writeln!(f, "\nsent in a step")?;
    if cost.traffic.is_empty() {
        writeln!(f, "  nothing")?;
    }
    for traffic in &cost.traffic {
        writeln!(
            f,
            "  {:<8} {} in {} messages; {} by each end, {} at the busiest",
            traffic.link,
            bytes(traffic.sent_bytes),
            count(traffic.messages),
            bytes(traffic.endpoint_bytes),
            bytes(traffic.busiest_bytes)
        )?;
    }
    writeln!(f)?;
    line(f, "staleness", &staleness(&cost.staleness))?;
    let memory = &cost.memory;
    let centre = match memory.centre_bytes {
        0.0 => String::new(),
        held => format!(", {} each shard of the centre", bytes(held)),
    };
    let held = (bytes(memory.worker_bytes), bytes(memory.node_bytes));
    line(f, "memory", &format!("{} a worker, {} a node{centre}", held.0, held.1))?;
    let step = format!(
        "{} expected, {} samples/s, idle {:.0} %",
        seconds(cost.step_s),
        count(cost.samples_per_s.round()),
        100.0 * cost.idle_share
    );
    line(f, "step", &step)
}

fn write_chosen(f: &mut Formatter<'_>, chosen: &Chosen) -> fmt::Result {
    let why = if chosen.said { "as it says" } else { "the cheapest" };
    let others: Vec<String> = chosen
        .expected
        .iter()
        .filter(|(way, _)| *way != chosen.algorithm)
        .map(|(way, s)| format!("{} {}", way.name(), seconds(*s)))
        .collect();
    let Chosen { item, place, over, algorithm, .. } = chosen;
    let name = algorithm.name();
    let size = bytes(chosen.bytes);
    let took = seconds(chosen.seconds);
    writeln!(
        f,
        "  {item}: {name} over {over} @{place}, {size} at a time, {took} ({why}; {})",
        others.join(", ")
    )
}

/// How old parameters may be, as a sentence.
fn staleness(staleness: &Staleness) -> String {
    match staleness.bound {
        Some(0) => "none: contributions are computed with the newest parameters".into(),
        Some(bound) => format!("{:.1} updates on average, at most {bound}", staleness.mean),
        None => format!("{:.1} updates on average, without a bound", staleness.mean),
    }
}
