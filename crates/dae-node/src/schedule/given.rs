//! A schedule, facts and figures as they were given on the command line.

use dae_schedule::cost::{Cost, Facts, Figures, Refused, cost};
use dae_schedule::{Schedule, check};
use dae_train::exit::Exit;
use dae_train::topology::Topology;
use serde::Deserialize;

use super::measured::Measured;
use super::{Source, source};
use crate::exit::Failure;
use crate::schedule_args::FiguresArgs;
use crate::schedule_problem::{Problems, warn};

/// A schedule that is sound, and what it is priced for.
#[derive(Debug)]
pub struct Given {
    pub schedule: Schedule,
    pub facts: Facts,
    pub figures: Figures,
    /// What was not said, and is supposed.
    pub supposed: Vec<String>,
}

impl Given {
    /// Reads a word or a file; warnings go to stderr.
    pub fn read(argument: &str, args: &FiguresArgs) -> Result<Self, Failure> {
        let Source { name, text, topology } = source(argument)?;
        let checked = check(&text, &dae_schedule::Facts::default());
        let problems = Problems::of(&name, &text, &checked.problems);
        let Some(schedule) = checked.schedule else { return Err(Failure::new(Exit::Invalid, problems)) };
        warn(&problems);
        let beside = match topology {
            Some(text) => Beside::read(&text)
                .map_err(|why| Failure::new(Exit::Invalid, miette::miette!("{argument}: {why}")))?,
            None => Beside::default(),
        };
        let (facts, mut supposed) = beside.facts(args);
        let measured = Measured::read(&args.measured)?;
        supposed.extend(measured.other_model(&facts));
        let figures = figures(args, &measured, facts.batch);
        Ok(Self { schedule, facts, figures, supposed })
    }

    /// What each of its words costs.
    pub fn costs(&self) -> Result<Vec<Cost>, Failure> {
        let price = |word| cost(word, &self.facts, &self.figures);
        self.schedule.words().map(price).collect::<Result<_, _>>().map_err(|refused| self.refused(&refused))
    }

    /// The failure in which all is told that there is no answer for.
    pub fn refused(&self, refused: &[Refused]) -> Failure {
        let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
        Failure::new(
            Exit::Invalid,
            miette::miette!("`{}` cannot be priced:\n{}", self.schedule, lines.join("\n")),
        )
    }
}

/// What was supposed, a line each for people; nothing if all was said.
pub fn notes(supposed: &[String]) -> String {
    supposed.iter().map(|what| format!("supposed    {what}\n")).collect()
}

/// What was said goes before what was measured, and that before what is usual.
fn figures(args: &FiguresArgs, measured: &Measured, batch: u64) -> Figures {
    let usual = Figures::default();
    let said_s = args.compute_ms.map(|ms| ms / 1e3);
    let figures = Figures {
        compute_s: said_s.or_else(|| measured.compute_s(batch)).unwrap_or(usual.compute_s),
        memory_bytes_per_s: measured.memory_bytes_per_s.unwrap_or(usual.memory_bytes_per_s),
        straggler: args.straggler,
        ..usual
    };
    match args.link.or(measured.link) {
        Some(link) => figures.over(link),
        None => figures,
    }
}

/// What a topology says beside its schedule.
#[derive(Debug, Default, Deserialize)]
struct Beside {
    #[serde(default)]
    data: DataSection,
    #[serde(default)]
    model: ModelSection,
}

#[derive(Debug, Default, Deserialize)]
struct DataSection {
    batch: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
struct ModelSection {
    kind: Option<String>,
    layers: Option<Vec<u32>>,
}

/// Layers that a topology may have here; a check of the topology itself tells more.
const MOST_LAYERS: usize = 10_000;

impl Beside {
    fn read(text: &str) -> Result<Self, String> {
        let beside: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        match beside.model.layers.as_ref().is_some_and(|layers| layers.len() > MOST_LAYERS) {
            true => Err(format!("model.layers has more than {MOST_LAYERS} numbers; give fewer")),
            false => Ok(beside),
        }
    }

    fn facts(&self, args: &FiguresArgs) -> (Facts, Vec<String>) {
        let stock = Topology::default();
        let mut supposed = Vec::new();
        let batch = args.batch.or(self.data.batch.map(u64::from)).unwrap_or_else(|| {
            supposed.push(format!("{} samples in a micro-batch; --batch says otherwise", stock.data.batch));
            u64::from(stock.data.batch)
        });
        // Only one kind of model is its layers.
        let layers = match self.model.kind.as_deref() {
            None | Some("mlp") => self.model.layers.as_ref(),
            Some(_) => None,
        };
        let facts = match (args.model_params, layers) {
            (Some(params), _) => Facts::of_params(params, batch),
            (None, Some(layers)) => Facts::of_layers(layers, batch),
            (None, None) => {
                let facts = Facts::of_layers(&stock.model.layers, batch);
                let many = facts.params;
                supposed.push(format!("a model of {many} parameters; --model-params says otherwise"));
                facts
            }
        };
        (Facts { nodes: args.nodes, workers_per_node: args.workers_per_node, ..facts }, supposed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::schedule_args::ScheduleCommand;
    use clap::Parser;

    fn args(more: &[&str]) -> FiguresArgs {
        let words = ["dae-node", "schedule", "cost", "step adam"].iter().chain(more);
        match Cli::try_parse_from(words).expect("parsed").command {
            Command::Schedule(ScheduleCommand::Cost(cost)) => cost.figures,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_said_goes_before_what_the_topology_says_and_that_before_what_is_stock() {
        let topology = "[data]\nbatch = 7\nshuffle = true\n[model]\nlayers = [4, 2, 4]\n";
        let beside = Beside::read(topology).expect("read");
        let (facts, supposed) = beside.facts(&args(&[]));
        assert_eq!((facts.batch, facts.params, supposed.len()), (7, 4 * 2 + 2 + 2 * 4 + 4, 0));
        let (facts, _) = beside.facts(&args(&["--batch", "9", "--model-params", "100"]));
        assert_eq!((facts.batch, facts.params), (9, 100));
        let (facts, supposed) = Beside::default().facts(&args(&[]));
        assert_eq!((facts.batch, facts.params, supposed.len()), (128, 870_224, 2));
        let conv = Beside::read("[model]\nkind = \"conv\"\n").expect("read");
        assert_eq!(conv.facts(&args(&[])).1.len(), 2);
    }

    #[test]
    fn options_are_read_or_refused() {
        let args = args(&["--link", "1ms,1e6", "--straggler", "p:0.125,4", "--compute-ms", "3"]);
        assert_eq!((args.link.map(|link| link.latency_s), args.compute_ms), (Some(1e-3), Some(3.0)));
        for wrong in [["--link", "ethernet"], ["--straggler", "p:2,4"], ["--nodes", "-1"], ["--batch", "x"]] {
            let words = ["dae-node", "schedule", "cost", "step adam"].iter().chain(&wrong);
            assert_eq!(Cli::try_parse_from(words).expect_err("refused").exit_code(), 2);
        }
    }

    #[test]
    fn what_has_no_answer_is_a_failure_that_says_why() {
        let price =
            |word: &str, more: &[&str]| Given::read(word, &args(more)).and_then(|given| given.costs());
        let failure = price("split 8 @cluster | step adam", &["--nodes", "4"]).expect_err("too few nodes");
        assert!(failure.report.to_string().contains("8 nodes"), "{}", failure.report);
        assert!(price("step adam", &["--compute-ms", "nan"]).is_err());
        assert!(price("step adam", &["--model-params", "0", "--compute-ms", "0"]).is_err());
        assert!(price("split 8 | stpe adam", &[]).is_err());
        assert_eq!(
            price("phase step>=5: [split 8 | step sgd]; [step sgd | join 8]", &[]).expect("two").len(),
            2
        );
    }
}
