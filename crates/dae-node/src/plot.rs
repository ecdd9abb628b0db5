//! The learning curves of several runs in one picture.

use std::path::{Path, PathBuf};

use dae_schedule::cost::{Cost, Straggler, Traffic};
use dae_train::exit::Exit;
use dae_train::picture::{PictureError, Series, learning_curves};
use dae_train::run_folder::{Past, PastError};
use miette::miette;

use crate::cli::{Along, PlotArgs};
use crate::exit::Failure;
use crate::schedule::Given;
use crate::schedule::compare::network_bytes;
use crate::schedule_args::FiguresArgs;
use crate::table::table;

/// Draws them, and prints a line for each.
pub fn plot(args: &PlotArgs) -> Result<Vec<u8>, Failure> {
    let runs = args.runs.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>, _>>()?;
    let rates = args.runs.iter().zip(&runs).map(|(folder, run)| run.rate(folder, args));
    let rates = rates.collect::<Result<Vec<_>, _>>()?;
    let names = names(&args.runs);
    let series: Vec<Series> = runs
        .iter()
        .zip(&rates)
        .zip(&names)
        .map(|((run, rate), name)| Series {
            label: format!("{name}: {}", run.0.word),
            points: run.0.steps.iter().map(|step| (rate.at(step.step, step.samples), step.loss)).collect(),
        })
        .collect();
    let title = args.title.clone().unwrap_or_else(|| title(args));
    learning_curves(&args.out, &series, args.x.quantity(), &title).map_err(undrawn)?;
    let rows = runs.iter().zip(&series).zip(names).map(|((run, series), name)| run.row(name, series));
    let mut text = table(["RUN", "STEPS", "SAMPLES", "SAMPLES/S", "LOSS", "WORD"], rows);
    text.extend(format!("drawn in {}\n", args.out.display()).as_bytes());
    Ok(text)
}

/// What the picture is called if nobody says.
fn title(args: &PlotArgs) -> String {
    match (args.x, args.nodes) {
        (Along::Bytes, Some(nodes)) => format!("training loss over what passes between {nodes} nodes"),
        (Along::Bytes, None) => "training loss over what all workers send".into(),
        _ => "training loss".into(),
    }
}

fn undrawn(error: PictureError) -> Failure {
    let exit = if matches!(error, PictureError::Kind(_)) { Exit::Usage } else { Exit::Failed };
    Failure::new(exit, miette!("{error}"))
}

/// What a run has left behind.
struct Run(Past);

impl Run {
    fn read(folder: &Path) -> Result<Self, Failure> {
        Past::read(folder).map(Self).map_err(|error| {
            let exit = if matches!(error, PastError::Disk(_)) { Exit::Failed } else { Exit::Usage };
            Failure::new(exit, miette!("{error}"))
        })
    }

    fn rate(&self, folder: &Path, args: &PlotArgs) -> Result<Rate, Failure> {
        let usage = |why: &str| Failure::new(Exit::Usage, miette!("{}: {why}", folder.display()));
        match args.x {
            Along::Steps => Ok(Rate::Step),
            Along::Samples => Ok(Rate::Sample(1.0)),
            Along::Seconds => match self.0.samples_per_s {
                Some(pace) => Ok(Rate::Sample(1.0 / pace)),
                None => Err(usage(
                    "its summary.json tells no pace, which is known once a run has ended and made more than ten steps in one go; use --x samples",
                )),
            },
            Along::Bytes => {
                let topology = folder.join("topology.toml");
                let topology =
                    topology.to_str().ok_or_else(|| usage("the path is not UTF-8; rename the folder"))?;
                match Given::read(topology, &figures(args.nodes))?.costs()?.as_slice() {
                    [cost] if sent(cost) > 0.0 => Ok(Rate::Sample(sent(cost) / cost.samples_per_step)),
                    [_] => Err(usage("one worker sends nothing; leave the run out, or use --x samples")),
                    _ => Err(usage(
                        "a `phase` has no one rate of bytes; leave the run out, or use --x samples",
                    )),
                }
            }
        }
    }

    fn row(&self, name: String, series: &Series) -> [String; 6] {
        let Past { word, steps, samples_per_s } = &self.0;
        let last = steps.last();
        [
            name,
            last.map_or(0, |step| step.step).to_string(),
            last.map_or(0, |step| step.samples).to_string(),
            samples_per_s.map_or("-".into(), |pace| format!("{pace:.0}")),
            series.end().map_or("-".into(), |loss| format!("{loss:.4}")),
            word.clone(),
        ]
    }
}

/// How far along the axis a run is after so many steps or samples.
enum Rate {
    Step,
    /// So much a sample.
    Sample(f64),
}

impl Rate {
    fn at(&self, step: u64, samples: u64) -> f64 {
        match self {
            Self::Step => step as f64,
            Self::Sample(each) => samples as f64 * each,
        }
    }
}

/// The bytes that all workers send in a step: between nodes if anything goes there, or else to each other.
fn sent(cost: &Cost) -> f64 {
    let all: f64 = cost.traffic.iter().map(|traffic| traffic.sent_bytes).sum();
    let between = |traffic: &&Traffic| matches!(traffic.link, "rack" | "cluster");
    match network_bytes(cost) > 0.0 {
        true => cost.traffic.iter().filter(between).map(|traffic| traffic.sent_bytes).sum(),
        false => all,
    }
}

/// Bytes depend on neither links nor computing, but for the algorithm that is cheapest over them.
fn figures(nodes: Option<u32>) -> FiguresArgs {
    FiguresArgs {
        nodes,
        workers_per_node: None,
        link: None,
        measured: Vec::new(),
        straggler: Straggler::None,
        model_params: None,
        batch: None,
        compute_ms: None,
    }
}

/// What the legend calls the runs: the names of their folders, or the paths as given where these are not all different.
fn names(runs: &[PathBuf]) -> Vec<String> {
    let name = |run: &PathBuf| run.file_name().unwrap_or(run.as_os_str()).to_string_lossy().into_owned();
    let short: Vec<String> = runs.iter().map(name).collect();
    let same = |run: &String| short.iter().filter(|other| *other == run).count() > 1;
    let whole = |run: &PathBuf| run.display().to_string();
    short.iter().zip(runs).map(|(short, run)| if same(short) { whole(run) } else { short.clone() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;
    use std::fs;

    const TOPOLOGY: &str = "[model]\nlayers = [4, 2, 4]\n[data]\nbatch = 8\n[schedule]\nword = \"WORD\"\n";

    /// A folder as a run of two workers leaves it.
    fn run(folder: &Path, word: &str, pace: bool) -> String {
        fs::create_dir_all(folder).expect("made");
        let mut events = format!("{{\"type\":\"started\",\"word\":\"{word}\"}}\n");
        for step in 1..=20 {
            events += &format!(
                "{{\"type\":\"step\",\"step\":{step},\"loss\":{},\"samples\":{}}}\n",
                1.0 / f64::from(step),
                16 * step
            );
        }
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
        write("events.ndjson", &events);
        write("topology.toml", &TOPOLOGY.replace("WORD", word));
        if pace {
            write("summary.json", "{\"samples_per_s\": 160}");
        }
        folder.to_str().expect("UTF-8").to_owned()
    }

    fn plotted(more: &[&str]) -> Result<String, String> {
        let words = ["dae-node", "plot"].iter().chain(more);
        let Command::Plot(args) = Cli::try_parse_from(words).map_err(|error| error.to_string())?.command
        else {
            panic!("another command");
        };
        let text = plot(&args).map_err(|failure| failure.report.to_string())?;
        Ok(String::from_utf8(text).expect("text"))
    }

    #[test]
    fn runs_are_drawn_along_each_axis() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = run(&folder.path().join("first"), "split 2 | step adam(1e-3)", true);
        let second = run(&folder.path().join("second"), "step sgd(0.1) | every 4 | join 2", true);
        let out = folder.path().join("curves.svg");
        let out = out.to_str().expect("UTF-8");
        // 2 (2 - 1) n bytes are sent in each of 20 steps.
        let bytes = 20 * 2 * 4 * (4 * 2 + 2 + 2 * 4 + 4);
        assert_eq!(bytes, 3520);
        for (x, axis) in [
            ("steps", "step"),
            ("samples", "samples"),
            ("seconds", "time, in seconds"),
            ("bytes", "sent, in bytes"),
        ] {
            let text = plotted(&[&first, &second, "--x", x, "--out", out]).expect("drawn");
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines[1].starts_with("first ") && lines[2].starts_with("second "), "{text}");
            assert!(
                lines[1].contains("20  ") && lines[1].contains("320") && lines[1].contains("160"),
                "{text}"
            );
            assert!(lines[2].ends_with("join 2") && lines[3].ends_with("curves.svg"), "{text}");
            let svg = fs::read_to_string(out).expect("drawn");
            for words in
                [axis, "first: split 2 | step adam(1e-3)", "second: step sgd(0.1) | every 4 | join 2"]
            {
                assert!(svg.contains(words), "{words}: {svg}");
            }
        }
        let read = |run: &str| Run::read(Path::new(run)).expect("read");
        let args = |x| PlotArgs { runs: vec![], x, nodes: None, title: None, out: PathBuf::new() };
        let far = |run: &str, x| read(run).rate(Path::new(run), &args(x)).expect("a rate").at(20, 320);
        assert_eq!((far(&first, Along::Steps), far(&first, Along::Samples)), (20.0, 320.0));
        assert_eq!((far(&first, Along::Seconds), far(&first, Along::Bytes)), (2.0, f64::from(bytes)));
        assert_eq!(far(&second, Along::Bytes), f64::from(bytes / 4));
    }

    #[test]
    fn between_nodes_is_what_counts_where_there_are_several() {
        let folder = tempfile::tempdir().expect("a folder");
        let hybrid = run(&folder.path().join("a"), "split 2 | step sgd(0.1) | every 4 | join 2", true);
        let rate = |nodes| {
            let args = PlotArgs { runs: vec![], x: Along::Bytes, nodes, title: None, out: PathBuf::new() };
            let run = Run::read(Path::new(&hybrid)).expect("read");
            run.rate(Path::new(&hybrid), &args).expect("a rate").at(0, 32)
        };
        let n = f64::from(4 * (4 * 2 + 2 + 2 * 4 + 4));
        assert_eq!(rate(Some(2)), 2.0 * n / 4.0);
        assert!(rate(None) > 2.0 * 2.0 * n);
    }

    #[test]
    fn what_cannot_be_drawn_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let going = run(&folder.path().join("going"), "step adam(1e-3)", false);
        let going = going.as_str();
        let out = folder.path().join("x.png");
        let out = out.to_str().expect("UTF-8");
        let nowhere = folder.path().join("nowhere");
        let nowhere = nowhere.to_str().expect("UTF-8");
        let here = folder.path().to_str().expect("UTF-8");
        for (arguments, why) in [
            (vec![nowhere], "there is no folder"),
            (vec![here], "holds no run"),
            (vec![going, "--x", "seconds"], "tells no pace"),
            (vec![going, "--x", "bytes"], "sends nothing"),
            (vec![going, "--out", "x.gif"], ".png or .svg"),
            (vec![], "RUN"),
        ] {
            let error = plotted(
                &[&["--out", out][..2 * usize::from(!arguments.contains(&"--out"))], &arguments].concat(),
            )
            .expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
        assert!(!Path::new(out).exists());
    }

    #[test]
    fn names_are_short_where_they_differ() {
        let named = |runs: &[&str]| names(&runs.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(named(&["runs/a", "runs/b/"]), ["a", "b"]);
        assert_eq!(named(&["one/a", "two/a", "two/b"]), ["one/a", "two/a", "b"]);
        assert_eq!(named(&["."]), ["."]);
    }
}
