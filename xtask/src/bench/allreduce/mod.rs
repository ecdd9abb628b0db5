//! Sums of gradients with two workers, by turns: ours in one process and between two nodes, gloo's and OpenMPI's.
//!
//! | module | what it holds |
//! |---|---|
//! | [`contender`] | how each of them is started and what it answers |
//! | [`mod@table`] | medians and ratios |
mod contender;
mod table;

use std::path::PathBuf;
use std::process::Command;

use clap::Args;
use serde_json::json;

use super::two_nodes::TwoNodes;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use crate::{progress, step, tasks};
use contender::{Contender, Field, SIZES};
use table::{Measured, table};

/// All-reduce of 4 KiB to 64 MiB with two workers: on one node, and between two (in network namespaces, as root).
#[derive(Args)]
pub struct Allreduce {
    /// A Python virtual environment with torch and numpy, to measure gloo too
    #[arg(long, value_name = "VENV")]
    peers: Option<PathBuf>,
    /// Where allreduce_gloo.py, mpi_allreduce.c and mpi_agent.sh lie, if not in xtask/peers
    #[arg(long, value_name = "DIR")]
    peers_dir: Option<PathBuf>,
    /// Measure OpenMPI too, which Debian's openmpi-bin and libopenmpi-dev bring
    #[arg(long)]
    mpi: bool,
    /// How often everything is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

impl Allreduce {
    /// Builds, measures by turns, prints.
    pub fn run(&self, workspace: &Workspace) -> Outcome {
        tasks::build(workspace)?;
        let scripts = self.peers_dir.clone().unwrap_or_else(|| workspace.root().join("xtask").join("peers"));
        let python = self.peers.as_ref().map(|venv| venv.join("bin").join("python"));
        let folder =
            tempfile::tempdir().map_err(|e| Failure::file("make a folder in", &std::env::temp_dir(), e))?;
        let program = folder.path().join("mpi_allreduce");
        if self.mpi {
            let mut compile = Command::new("mpicc");
            compile.args(["-O3", "-march=native"]).arg(scripts.join("mpi_allreduce.c"));
            compile.arg("-o").arg(&program);
            step::run(compile).map_err(|_| {
                Failure::says("OpenMPI's compiler is missing: apt-get install openmpi-bin libopenmpi-dev")
            })?;
        }
        let nodes = TwoNodes::up(workspace)
            .inspect_err(|e| eprintln!("only one node is measured, for two cannot be made: {e}"))
            .ok();
        let peers = python.as_deref().map(|python| (python, scripts.as_path()));
        let mpi_agent = scripts.join("mpi_agent.sh");
        let mpi = self.mpi.then_some(program.as_path());
        let field = Field { workspace, nodes, peers, mpi, mpi_agent: &mpi_agent };
        let measured = self.measure(&field)?;
        eprint!("\n{}", table(&measured));
        Ok(())
    }

    fn measure(&self, field: &Field) -> Outcome<Vec<Measured>> {
        let contenders = contenders(field.nodes.is_some(), field.peers.is_some(), field.mpi.is_some());
        let bar = progress::count("measuring", u64::from(self.rounds) * contenders.len() as u64);
        let mut all = Vec::new();
        for round in 0..self.rounds {
            for &who in &contenders {
                let medians = bar.suspend(|| who.measure(field))?;
                for (bytes, median_us) in SIZES.into_iter().zip(medians) {
                    let line = json!({
                        "what": "allreduce", "tool": who.name(), "workers": 2, "bytes": bytes, "round": round,
                        "median_us": median_us, "gb_per_s": bytes as f64 / median_us / 1e3,
                    });
                    bar.suspend(|| println!("{line}"));
                }
                all.push(Measured { who, round, medians });
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Ok(all)
    }
}

fn contenders(nodes: bool, peers: bool, mpi: bool) -> Vec<Contender> {
    let all = [
        (Contender::Arena, true),
        (Contender::MpiShm, mpi),
        (Contender::Sealed, nodes),
        (Contender::Plain, nodes),
        (Contender::MpiNodes, nodes && mpi),
        (Contender::MpiTcp, mpi),
        (Contender::Gloo, nodes && peers),
    ];
    all.into_iter().filter_map(|(who, there)| there.then_some(who)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_run_is_left_out() {
        assert_eq!(contenders(false, true, false), [Contender::Arena]);
        assert_eq!(contenders(true, true, true).len(), 7);
    }
}
