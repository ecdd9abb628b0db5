//! A schedule looked at by itself.
//!
//! | module | what it holds |
//! |---|---|
//! | `given` | a schedule, facts and figures as they were given |
//! | `measured` | figures that were measured, in place of those that are supposed |
//! | `explain` | what it is |
//! | `cost` | what it costs |
//! | `compare` | what several cost, side by side |
//! | `plot` | that as a picture |
pub mod compare;
pub mod cost;
pub mod explain;
mod given;
mod measured;
mod plot;

pub use given::Given;

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use dae_schedule::{Checked, Facts, Layers, Schedule, Severity, Word, check, not_yet_run};
use dae_train::exit::Exit;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::schedule_args::ScheduleCheckArgs;
use crate::schedule_problem::{Problems, warn};
use crate::table::versioned;

/// The largest file that is read, in bytes: a topology, or a word alone.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Checks a schedule and shows what it is.
pub fn check_schedule(args: &ScheduleCheckArgs) -> Result<Vec<u8>, Failure> {
    let Source { name, text, .. } = source(&args.schedule)?;
    let facts = Facts {
        workers: args.workers,
        nodes: args.nodes,
        batch: args.batch,
        grain: args.grain,
        ..Facts::default()
    };
    let checked = check(&text, &facts);
    let output = if args.json { versioned(&as_json(&checked, &text))? } else { Vec::new() };
    let problems = Problems::of(&name, &text, &checked.problems);
    match &checked.schedule {
        Some(schedule) => {
            if !args.json {
                warn(&problems);
            }
            Ok(if args.json { output } else { show(schedule, &text).into_bytes() })
        }
        None if args.json => {
            crate::print(&output)?;
            Err(Failure::new(Exit::Invalid, problems))
        }
        None => Err(Failure::new(Exit::Invalid, problems)),
    }
}

/// A schedule as it was given.
pub struct Source {
    /// What it is called in messages.
    pub name: String,
    /// The word.
    pub text: String,
    /// The topology it is from, if it is from one.
    pub topology: Option<String>,
}

/// The schedule of a file if there is one of this name, or the argument itself.
pub fn source(argument: &str) -> Result<Source, Failure> {
    let path = Path::new(argument);
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if !is_toml && !path.is_file() {
        return Ok(Source { name: "schedule".into(), text: argument.to_owned(), topology: None });
    }
    let unread = |exit, why: String| Failure::new(exit, miette::miette!("{argument}: {why}"));
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES).read_to_string(&mut text))
        .map_err(|error| unread(Exit::Failed, format!("cannot be read: {}", reason(&error))))?;
    let name = argument.to_owned();
    if !is_toml {
        return Ok(Source { name, text, topology: None });
    }
    let word = written(&text).map_err(|why| unread(Exit::Invalid, why))?;
    Ok(Source { name, text: word, topology: Some(text) })
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::InvalidData => "it is not text".into(),
        _ => error.to_string(),
    }
}

/// The word of a topology file, which holds it in one of two forms.
fn written(text: &str) -> Result<String, String> {
    #[derive(Deserialize)]
    struct Topology {
        schedule: Option<Section>,
    }
    #[derive(Deserialize)]
    struct Section {
        word: Option<String>,
        layer: Option<Layers>,
    }
    let topology: Topology = toml::from_str(text).map_err(|error| error.to_string())?;
    match topology.schedule {
        Some(Section { word: Some(word), layer: None }) => Ok(word),
        Some(Section { word: None, layer: Some(layers) }) => Ok(layers.0.to_string()),
        Some(Section { word: Some(_), layer: Some(_) }) => {
            Err("[schedule] has a `word` and `layer` tables; keep one of the two".into())
        }
        _ => {
            Err("it has no `word` and no `layer` under [schedule]; add one, such as word = \"step adam\""
                .into())
        }
    }
}

/// What of it is not yet run, each thing named once.
fn waiting(text: &str) -> Vec<String> {
    let mut found: Vec<String> = not_yet_run(text)
        .iter()
        .filter_map(|problem| text.get(problem.at.clone()).map(str::to_owned))
        .collect();
    found.dedup();
    found
}

fn show(schedule: &Schedule, text: &str) -> String {
    let waiting = waiting(text);
    let runs = match waiting.as_slice() {
        [] => "yes".to_owned(),
        missing => format!("not yet: {}", missing.join(", ")),
    };
    let on_each = schedule.words().map(Word::workers_per_node).max().unwrap_or(1);
    let lines = [
        ("schedule", schedule.to_string()),
        ("normal", schedule.normal().to_string()),
        ("hash", format!("{:016x}", schedule.hash())),
        ("workers", schedule.workers().to_string()),
        ("nodes", schedule.nodes().to_string()),
        ("on each", format!("{on_each} of the workers")),
        ("runs", runs),
    ];
    let mut shown = String::new();
    for (name, value) in lines {
        // Writing to a String cannot fail.
        let _ = writeln!(shown, "{name:<11}{value}");
    }
    shown + "ok\n"
}

fn as_json(checked: &Checked, text: &str) -> Value {
    let problems: Vec<Value> = checked
        .problems
        .iter()
        .map(|problem| {
            json!({
                "code": problem.code,
                "severity": if problem.severity == Severity::Error { "error" } else { "warning" },
                "start": problem.at.start,
                "end": problem.at.end,
                "message": problem.message,
                "help": problem.help,
            })
        })
        .collect();
    let Some(schedule) = &checked.schedule else {
        return json!({ "ok": false, "problems": problems });
    };
    json!({
        "ok": true,
        "schedule": schedule,
        "normal": schedule.normal(),
        "hash": format!("{:016x}", schedule.hash()),
        "workers": schedule.workers(),
        "nodes": schedule.nodes(),
        "workers_per_node": schedule.words().map(Word::workers_per_node).max(),
        "not_yet_run": waiting(text),
        "problems": problems,
    })
}
