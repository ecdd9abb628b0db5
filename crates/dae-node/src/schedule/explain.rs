//! What a schedule is.

use std::path::{Path, PathBuf};

use dae_schedule::Schedule;
use dae_schedule::explain::{Explanation, explain as explained, picture};
use dae_train::exit::Exit;
use dae_train::run_folder::write_atomic;
use serde_json::json;

use super::given::{Given, notes};
use crate::exit::Failure;
use crate::schedule_args::ScheduleExplainArgs;
use crate::table::versioned;

/// Explains each word of a schedule.
pub fn explain(args: &ScheduleExplainArgs) -> Result<Vec<u8>, Failure> {
    let given = Given::read(&args.schedule, &args.figures)?;
    let tell = |word| explained(word, &given.facts, &given.figures);
    let told: Vec<Explanation> = given
        .schedule
        .words()
        .map(tell)
        .collect::<Result<_, _>>()
        .map_err(|refused: Vec<_>| given.refused(&refused))?;
    if let Some(file) = &args.svg {
        for (at, (word, told)) in given.schedule.words().zip(&told).enumerate() {
            write(&numbered(file, at), &picture(word, &told.cost))?;
        }
    }
    if args.json {
        return versioned(&json!({ "schedule": given.schedule, "supposed": given.supposed, "words": told }));
    }
    Ok((show(&given.schedule, &told) + &notes(&given.supposed)).into_bytes())
}

/// The second word of a phase has a file of its own: `a.svg`, `a-2.svg`.
fn numbered(file: &Path, at: usize) -> PathBuf {
    let (stem, extension) = (file.file_stem(), file.extension());
    match (at, stem) {
        (0, _) | (_, None) => file.to_owned(),
        (at, Some(stem)) => {
            let stem = stem.to_string_lossy();
            let name = format!("{stem}-{}", at + 1);
            let named = file.with_file_name(name);
            extension.map_or(named.clone(), |extension| {
                let mut whole = named.into_os_string();
                whole.push(".");
                whole.push(extension);
                whole.into()
            })
        }
    }
}

/// Writes a picture.
pub fn write(file: &Path, svg: &str) -> Result<(), Failure> {
    write_atomic(file, svg.as_bytes()).map_err(|error| Failure::new(Exit::Failed, miette::miette!("{error}")))
}

fn show(schedule: &Schedule, told: &[Explanation]) -> String {
    let parts: Vec<String> = told.iter().map(ToString::to_string).collect();
    match schedule {
        Schedule::Word(_) => parts.concat(),
        Schedule::Phase(phase) => {
            let then = format!("\nwhen {} holds, from the parameters of the first:\n", phase.until);
            parts.join(&then)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::schedule_args::ScheduleCommand;
    use clap::Parser;

    fn told(more: &[&str]) -> Result<String, Failure> {
        let words = ["dae-node", "schedule", "explain"].iter().chain(more);
        let Command::Schedule(ScheduleCommand::Explain(args)) =
            Cli::try_parse_from(words).expect("parsed").command
        else {
            panic!("another command");
        };
        explain(&args).map(|bytes| String::from_utf8(bytes).expect("text"))
    }

    #[test]
    fn a_topology_is_explained_and_drawn() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, svg) = (folder.path().join("t.toml"), folder.path().join("p.svg"));
        let topology = "[data]\nbatch = 32\n[schedule]\nword = \"split 2 | step adam\"\n";
        std::fs::write(&file, topology).expect("written");
        let text =
            told(&[file.to_str().expect("UTF-8"), "--svg", svg.to_str().expect("UTF-8")]).expect("explained");
        assert!(text.contains("exact to rounding") && !text.contains("micro-batch; --batch"), "{text}");
        assert!(std::fs::read_to_string(svg).expect("drawn").contains("split 2"));
    }

    #[test]
    fn both_words_of_a_phase_are_told_and_drawn() {
        let folder = tempfile::tempdir().expect("a folder");
        let svg = folder.path().join("p.svg");
        let phase = "phase step>=500: [split 8 | step sgd(.1)]; [step sgd(.1) | every 16 | join 8]";
        let text = told(&[phase, "--svg", svg.to_str().expect("UTF-8")]).expect("explained");
        assert!(text.contains("when step>=500 holds") && text.contains("approximate"), "{text}");
        assert!(folder.path().join("p-2.svg").is_file());
        let json = told(&[phase, "--json"]).expect("explained");
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!((json["version"].as_u64(), json["words"].as_array().map(Vec::len)), (Some(1), Some(2)));
    }

    #[test]
    fn a_picture_that_cannot_be_written_is_a_failure() {
        assert!(told(&["step adam", "--svg", "/proc/none/p.svg"]).is_err());
    }
}
