//! Training speed, by turns: a machine drifts, and alternating rounds let every contender see the same drift.
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::contender::{Contender, Field, SIZES};
use super::table::{Measured, table};
use super::two_nodes::TwoNodes;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use crate::{progress, step, tasks};

/// Samples a second on the MNIST autoencoder.
#[derive(Args)]
pub struct Train {
    /// A Python virtual environment with torch 2.11.0 and numpy, to measure PyTorch DDP too
    #[arg(long, value_name = "VENV")]
    peers: Option<PathBuf>,
    /// Where ddp_dae.py lies, if not in xtask/peers
    #[arg(long, value_name = "DIR", requires = "peers")]
    peers_dir: Option<PathBuf>,
    /// MNIST's IDX files, if not where `dae-node data fetch mnist` puts them
    #[arg(long, value_name = "DIR")]
    mnist: Option<PathBuf>,
    /// Nodes of one worker each, in network namespaces, which takes root; 1 measures one node with one worker and with two
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=2))]
    nodes: u32,
    /// How often everything is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

impl Train {
    /// Builds, measures by turns, prints.
    pub fn run(&self, workspace: &Workspace) -> Outcome {
        tasks::build(workspace)?;
        step::run(workspace.cargo(&["build", "--release", "-p", "dae-torch", "--example", "bare_loop"]))?;
        let mnist = self.mnist.clone().map_or_else(|| fetch_mnist(workspace), Ok)?;
        let python = self.peers.as_ref().map(|venv| venv.join("bin").join("python"));
        let scripts = self.peers_dir.clone().unwrap_or_else(|| workspace.root().join("xtask").join("peers"));
        let peers = python.as_deref().map(|python| (python, scripts.as_path()));
        let nodes = (self.nodes > 1).then(|| TwoNodes::up(workspace)).transpose()?;
        let field = Field { workspace, mnist: &mnist, peers, nodes };
        let measured = self.measure(&field)?;
        eprint!("\n{}", table(&measured));
        Ok(())
    }

    fn measure(&self, field: &Field) -> Outcome<Vec<Measured>> {
        let contenders = contenders(self.nodes, field.peers.is_some());
        let total = u64::from(self.rounds) * (SIZES.len() * contenders.len()) as u64;
        let bar = progress::count("measuring", total);
        let mut all = Vec::new();
        for round in 0..self.rounds {
            for size in SIZES {
                for &who in &contenders {
                    let speed = bar.suspend(|| who.measure(size, field))?;
                    let line = json!({
                        "what": "train", "tool": who.name(), "workers": who.workers(), "hidden": size.hidden,
                        "code": size.code, "batch": size.batch, "steps": size.steps, "round": round,
                        "samples_per_s": speed,
                    });
                    bar.suspend(|| println!("{line}"));
                    all.push(Measured { who, size, round, speed });
                    bar.inc(1);
                }
            }
        }
        bar.finish_and_clear();
        Ok(all)
    }
}

fn contenders(nodes: u32, peers: bool) -> Vec<Contender> {
    let (mut all, peer) = match nodes {
        1 => (vec![Contender::Dae(1), Contender::Dae(2), Contender::BareLoop], Contender::Ddp),
        _ => (vec![Contender::Dae(2), Contender::DaeNodes, Contender::DaeNodesZero], Contender::DdpNodes),
    };
    if peers {
        all.push(peer);
    }
    all
}

/// `dae-node data fetch` ends with the folder of what it fetched.
fn fetch_mnist(workspace: &Workspace) -> Outcome<PathBuf> {
    let mut command = workspace.program("dae-node");
    command.args(["data", "fetch", "mnist"]);
    let printed = step::read(command)?;
    let folder = printed.lines().rev().map(|line| Path::new(line.trim())).find(|path| path.is_dir());
    folder.map(Path::to_owned).ok_or_else(|| {
        Failure::says("`dae-node data fetch mnist` did not print its folder: name the folder of MNIST's IDX files with --mnist")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ddp_is_measured_only_where_it_can_run() {
        assert!(contenders(1, true).contains(&Contender::Ddp));
        assert!(!contenders(1, false).contains(&Contender::Ddp));
        assert!(contenders(2, true).contains(&Contender::DdpNodes));
        assert!(!contenders(2, false).contains(&Contender::DdpNodes));
    }
}
