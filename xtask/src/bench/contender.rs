//! Who is measured, how each is started, and how its answer is read.
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::two_nodes::{self, TwoNodes};
use crate::failure::{Failure, Outcome};
use crate::step;
use crate::workspace::Workspace;

/// One size of the model 784-hidden-code-hidden-784 and how long it is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Width of the two hidden layers.
    pub hidden: u32,
    /// Width of the code.
    pub code: u32,
    /// Samples of each worker in a step.
    pub batch: u32,
    /// Steps that are timed.
    pub steps: u32,
}

/// Small, middle, large: from overhead to arithmetic.
pub const SIZES: [Size; 3] = [
    Size { hidden: 512, code: 64, batch: 128, steps: 150 },
    Size { hidden: 1024, code: 128, batch: 128, steps: 100 },
    Size { hidden: 2048, code: 256, batch: 128, steps: 100 },
];

/// Who is measured. Every worker has one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// This project with that many workers on one node.
    Dae(u32),
    /// The same steps in a plain loop on `dae-torch`, without an actor.
    BareLoop,
    /// PyTorch DDP over gloo with two processes.
    Ddp,
    /// This project on two nodes with a worker each.
    DaeNodes,
    /// The same, where each node applies the optimizer to its own part: `zero=1`.
    DaeNodesZero,
    /// PyTorch DDP over gloo with its two processes on the same two nodes.
    DdpNodes,
}

/// Where the contenders find what they need.
pub struct Field<'a> {
    /// For our programs.
    pub workspace: &'a Workspace,
    /// The folder of MNIST's IDX files.
    pub mnist: &'a Path,
    /// The Python program and the folder of the peers' scripts.
    pub peers: Option<(&'a Path, &'a Path)>,
    /// Two nodes, where two are measured.
    pub nodes: Option<TwoNodes<'a>>,
}

impl Contender {
    /// Its name in the JSON lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dae(_) => "dae",
            Self::BareLoop => "bare_loop",
            Self::Ddp => "ddp_gloo",
            Self::DaeNodes => "dae_nodes",
            Self::DaeNodesZero => "dae_zero",
            Self::DdpNodes => "ddp_nodes",
        }
    }

    /// How many workers share a step.
    pub fn workers(self) -> u32 {
        match self {
            Self::Dae(workers) => workers,
            Self::BareLoop => 1,
            Self::Ddp | Self::DaeNodes | Self::DaeNodesZero | Self::DdpNodes => 2,
        }
    }

    /// Runs it once; samples a second.
    pub fn measure(self, size: Size, field: &Field) -> Outcome<f64> {
        match self {
            Self::Dae(workers) => {
                measure_dae(&format!("split {workers} | step adam(1e-3)"), size, field, &[])
            }
            Self::DaeNodes | Self::DaeNodesZero => {
                let zero = u8::from(self == Self::DaeNodesZero);
                let word = format!("split 1 @node | split 2 @cluster | step adam(1e-3) zero={zero}");
                measure_dae(&word, size, field, &["--cluster", two_nodes::CLUSTER])
            }
            Self::BareLoop => {
                let mut command = field.workspace.program("examples/bare_loop");
                command.arg("--mnist").arg(field.mnist).args(arguments(size, self.workers()));
                speed_in(&step::read(command)?)
            }
            Self::Ddp => speed_in(&step::read(ddp(size, field)?)?),
            Self::DdpNodes => {
                let nodes = field.nodes.as_ref().ok_or_else(|| Failure::says("two nodes take --nodes 2"))?;
                let rank = |rank: &str| -> Outcome<Command> {
                    let mut command = ddp(size, field)?;
                    command.args(["--rank", rank, "--master", &format!("{}:29513", two_nodes::FIRST)]);
                    command.env("GLOO_SOCKET_IFNAME", "eth0");
                    Ok(command)
                };
                speed_in(&nodes.both(&rank("0")?, &rank("1")?)?)
            }
        }
    }
}

fn ddp(size: Size, field: &Field) -> Outcome<Command> {
    let (python, scripts) = field.peers.ok_or_else(|| {
        Failure::says("PyTorch DDP needs a virtual environment with torch and numpy: name it with --peers")
    })?;
    let mut command = Command::new(python);
    command.arg(scripts.join("ddp_dae.py")).arg("--mnist").arg(field.mnist).args(arguments(size, 2));
    Ok(command)
}

fn measure_dae(word: &str, size: Size, field: &Field, more: &[&str]) -> Outcome<f64> {
    let folder =
        tempfile::tempdir().map_err(|e| Failure::file("make a folder in", &std::env::temp_dir(), e))?;
    let run = folder.path().join("run");
    let mut command = field.workspace.program("dae-node");
    command.args(["run", "examples/mnist-mlp/topology.toml"]).args(more);
    for setting in settings(word, size, more.is_empty()) {
        command.arg("--set").arg(setting);
    }
    command.arg("--run-dir").arg(&run);
    step::read(command)?; // what the run prints is not a measurement
    let summary = run.join("summary.json");
    speed_in(&fs::read_to_string(&summary).map_err(|e| Failure::file("read", &summary, e))?)
}

fn settings(word: &str, size: Size, one_node: bool) -> [String; 6] {
    let Size { hidden, code, batch, steps } = size;
    [
        format!("model.layers=[784,{hidden},{code},{hidden},784]"),
        format!("schedule.word=\"{word}\""),
        // A run leaves its first ten steps out of its pace; the others time so many after a warm-up of ten.
        format!("job.steps={}", steps + 10),
        format!("data.batch={batch}"),
        "checkpoint.every=0".to_owned(),
        // Each worker stays on its core, as the bare loop does: what the scheduler moves is not what is compared. The first
        // workers of two nodes would stay on one and the same.
        format!("placement.pin={one_node}"),
    ]
}

fn arguments(size: Size, workers: u32) -> [String; 10] {
    let pairs = [
        ("--hidden", size.hidden),
        ("--code", size.code),
        ("--batch", size.batch),
        ("--steps", size.steps),
        ("--workers", workers),
    ];
    std::array::from_fn(|i| if i % 2 == 0 { pairs[i / 2].0.to_owned() } else { pairs[i / 2].1.to_string() })
}

/// The field `samples_per_s` of the whole text, or of its last line that is JSON.
fn speed_in(text: &str) -> Outcome<f64> {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).ok();
    parsed(text)
        .or_else(|| text.lines().rev().find_map(parsed))
        .and_then(|value| value["samples_per_s"].as_f64())
        .filter(|speed| speed.is_finite() && *speed > 0.0)
        .ok_or_else(|| {
            Failure::says("a measurement has no positive `samples_per_s`: run its command by hand to see why")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_told_the_whole_size() {
        assert_eq!(
            settings("split 2 | step adam(1e-3)", SIZES[0], true),
            [
                "model.layers=[784,512,64,512,784]",
                "schedule.word=\"split 2 | step adam(1e-3)\"",
                "job.steps=160",
                "data.batch=128",
                "checkpoint.every=0",
                "placement.pin=true",
            ]
        );
    }

    #[test]
    fn the_others_are_told_the_same() {
        let all = arguments(SIZES[2], 2).join(" ");
        assert_eq!(all, "--hidden 2048 --code 256 --batch 128 --steps 100 --workers 2");
    }

    #[test]
    fn the_speed_is_read_from_a_file_or_from_the_last_line() {
        assert_eq!(speed_in("{\n\"samples_per_s\": 12.5\n}").unwrap(), 12.5);
        assert_eq!(speed_in("loading\n{\"samples_per_s\": 7}\nbye\n").unwrap(), 7.0);
        for bad in ["", "{}", "{\"samples_per_s\": 0}", "{\"samples_per_s\": \"fast\"}"] {
            assert!(speed_in(bad).is_err(), "{bad}");
        }
    }
}
