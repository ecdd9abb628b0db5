//! Messages to an actor in another process, by turns: ours, Ray's, Monarch's, and what loopback TCP itself can do.
//!
//! | module | what it holds |
//! |---|---|
//! | [`contender`] | how each of them is started and what it answers |
//! | [`loopback`] | the limit: bare bytes over loopback TCP |
//! | [`mod@table`] | medians and ratios |
mod contender;
mod loopback;
mod table;

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;
use crate::{progress, step};
use contender::{Contender, Field};
use table::{Measured, table};

/// Asks to an actor in another process, one by one and in flight together, and parts of 64 MiB.
#[derive(Args)]
pub struct Actor {
    /// A Python virtual environment with `ray numpy`, `torchmonarch` or both, to measure those too
    #[arg(long, value_name = "VENV")]
    peers: Option<PathBuf>,
    /// Where ray_actor.py and monarch_actor.py lie, if not in xtask/peers
    #[arg(long, value_name = "DIR", requires = "peers")]
    peers_dir: Option<PathBuf>,
    /// How often everything is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

impl Actor {
    /// Builds, measures by turns, prints.
    pub fn run(&self, workspace: &Workspace) -> Outcome {
        step::run(workspace.cargo(&["build", "--release", "-p", "dae-actor", "--example", "bench_actor"]))?;
        let python = self.peers.as_ref().map(|venv| venv.join("bin").join("python"));
        let scripts = self.peers_dir.clone().unwrap_or_else(|| workspace.root().join("xtask").join("peers"));
        let peers = python.as_deref().map(|python| (python, scripts.as_path()));
        let field = Field { workspace, peers };
        let measured = self.measure(&field, &contenders(&field)?)?;
        eprint!("\n{}", table(&measured));
        Ok(())
    }

    fn measure(&self, field: &Field, contenders: &[Contender]) -> Outcome<Vec<Measured>> {
        let bar = progress::count("measuring", u64::from(self.rounds) * contenders.len() as u64);
        let mut all = Vec::new();
        for round in 0..self.rounds {
            for &who in contenders {
                let figures = bar.suspend(|| who.measure(field))?;
                let line = json!({
                    "what": "actor", "tool": who.name(), "round": round, "ask_us": figures.ask_us,
                    "pipelined_per_s": figures.pipelined_per_s, "part_gb_per_s": figures.part_gb_per_s,
                });
                bar.suspend(|| println!("{line}"));
                all.push(Measured { who, round, figures });
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Ok(all)
    }
}

/// Ours and the limit always; a peer where the environment has it. An environment with neither is a mistake.
fn contenders(field: &Field) -> Outcome<Vec<Contender>> {
    let mut all = vec![Contender::Dae, Contender::Loopback];
    let Some((python, _)) = field.peers else { return Ok(all) };
    for peer in [Contender::Ray, Contender::Monarch] {
        if peer.is_installed(python) {
            all.push(peer);
        } else {
            eprintln!("{} is not measured: {} cannot import it", peer.name(), python.display());
        }
    }
    if all.len() == 2 {
        let python = python.display();
        return Err(Failure::says(format!(
            "{python} has neither of the peers: `{python} -m pip install ray numpy torchmonarch`"
        )));
    }
    Ok(all)
}
