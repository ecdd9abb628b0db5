//! Who is measured, how each is started, and how its answer is read.
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::loopback;
use crate::failure::{Failure, Outcome};
use crate::step;
use crate::workspace::Workspace;

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// An actor of ours in another process, over one sealed TCP link.
    Dae,
    /// Bare bytes over loopback TCP: no actor can be faster.
    Loopback,
    /// A Ray actor.
    Ray,
    /// A Monarch actor.
    Monarch,
}

/// Where the contenders find what they need.
pub struct Field<'a> {
    /// For our program.
    pub workspace: &'a Workspace,
    /// The Python program and the folder of the peers' scripts.
    pub peers: Option<(&'a Path, &'a Path)>,
}

/// What is measured of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The median time of an ask that nothing else is in flight with, in microseconds.
    pub ask_us: f64,
    /// Asks a second with many in flight; a bare connection knows no asks.
    pub pipelined_per_s: Option<f64>,
    /// Gigabytes a second of 64 MiB arguments, one way.
    pub part_gb_per_s: f64,
}

impl Contender {
    /// Its name in the JSON lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dae => "dae",
            Self::Loopback => "loopback",
            Self::Ray => "ray",
            Self::Monarch => "monarch",
        }
    }

    /// Whether Python finds the module this peer needs.
    pub fn is_installed(self, python: &Path) -> bool {
        let import = format!("import {}", self.name());
        let mut command = Command::new(python);
        command.args(["-c", &import]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Runs it once.
    pub fn measure(self, field: &Field) -> Outcome<Figures> {
        match self {
            Self::Dae => figures_in(&step::read(field.workspace.program("examples/bench_actor"))?),
            Self::Loopback => loopback::measure()
                .map_err(|e| Failure::says(format!("cannot measure loopback TCP ({e}): is `lo` up?"))),
            Self::Ray | Self::Monarch => {
                let (python, scripts) =
                    field.peers.ok_or_else(|| Failure::says("a peer takes --peers VENV"))?;
                let mut command = Command::new(python);
                command.arg(scripts.join(format!("{}_actor.py", self.name())));
                figures_in(&step::read(command)?)
            }
        }
    }
}

/// The figures in the last line that is a JSON object.
fn figures_in(text: &str) -> Outcome<Figures> {
    let parsed = |line: &str| serde_json::from_str::<Value>(line).ok().filter(Value::is_object);
    let positive = |value: &Value| value.as_f64().filter(|v| v.is_finite() && *v > 0.0);
    text.lines()
        .rev()
        .find_map(parsed)
        .and_then(|value| {
            Some(Figures {
                ask_us: positive(&value["ask_us"])?,
                pipelined_per_s: Some(positive(&value["pipelined_per_s"])?),
                part_gb_per_s: positive(&value["part_gb_per_s"])?,
            })
        })
        .ok_or_else(|| {
            Failure::says(
                "a measurement lacks `ask_us`, `pipelined_per_s` or `part_gb_per_s`: run its command by hand to see why",
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_json_counts() {
        let line = |ask| format!("{{\"ask_us\": {ask}, \"pipelined_per_s\": 2e5, \"part_gb_per_s\": 1.5}}\n");
        let text = format!("starting\n{}{}bye\n3\n", line(9.0), line(50.5));
        let figures = figures_in(&text).unwrap();
        assert_eq!(figures, Figures { ask_us: 50.5, pipelined_per_s: Some(2e5), part_gb_per_s: 1.5 });
    }

    #[test]
    fn a_figure_that_is_missing_or_none_is_no_measurement() {
        for bad in ["", "{}", "7", "{\"ask_us\": 1, \"pipelined_per_s\": 0, \"part_gb_per_s\": 1}"] {
            assert!(figures_in(bad).is_err(), "{bad}");
        }
    }
}
