//! Who is measured, how each is started, and how its answer is read.
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::bench::two_nodes::{FIRST, LAN, SECOND, TwoNodes};
use crate::failure::{Failure, Outcome};
use crate::step;
use crate::workspace::Workspace;

/// Bytes of f32 that are summed.
pub const SIZES: [u64; 4] = [4 << 10, 256 << 10, 4 << 20, 64 << 20];

/// Who is measured, always with two workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// Ours in one process.
    Arena,
    /// Ours over sealed links between two nodes.
    Sealed,
    /// Ours between two nodes, numbers as they are.
    Plain,
    /// gloo between two nodes.
    Gloo,
    /// OpenMPI through shared memory.
    MpiShm,
    /// OpenMPI over TCP between two nodes.
    MpiNodes,
    /// OpenMPI over loopback TCP.
    MpiTcp,
}

/// Where the contenders find what they need.
pub struct Field<'a> {
    /// For our program.
    pub workspace: &'a Workspace,
    /// Two nodes, where the machine lets us make them.
    pub nodes: Option<TwoNodes<'a>>,
    /// The Python program and the folder of the peers' scripts.
    pub peers: Option<(&'a Path, &'a Path)>,
    /// The compiled MPI program.
    pub mpi: Option<&'a Path>,
    /// The script by which OpenMPI starts its part on the second node.
    pub mpi_agent: &'a Path,
}

impl Contender {
    /// Its name in the JSON lines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Arena => "dae_arena",
            Self::Sealed => "dae_sealed",
            Self::Plain => "dae_plain",
            Self::Gloo => "gloo",
            Self::MpiShm => "mpi_shm",
            Self::MpiNodes => "mpi_nodes",
            Self::MpiTcp => "mpi_tcp",
        }
    }

    /// Runs it once; the median microseconds at each of the [`SIZES`].
    pub fn measure(self, field: &Field) -> Outcome<[f64; 4]> {
        let text = match self {
            Self::Arena => {
                let mut command = field.workspace.program("dae-host");
                command.args(["bench-allreduce", "--workers", "2"]);
                step::read(command)?
            }
            Self::Sealed => two_hosts(field, &[])?,
            Self::Plain => two_hosts(field, &["--plain"])?,
            Self::Gloo => {
                let (python, scripts) =
                    field.peers.ok_or_else(|| Failure::says("gloo takes --peers VENV"))?;
                let program = |rank: &str| {
                    let mut command = Command::new(python);
                    command.arg(scripts.join("allreduce_gloo.py")).args(["--rank", rank, "--master", FIRST]);
                    command.env("GLOO_SOCKET_IFNAME", "eth0");
                    command
                };
                nodes(field)?.both(&program("0"), &program("1"))?
            }
            Self::MpiShm => step::read(mpirun(field, &[])?)?,
            Self::MpiNodes => {
                let agent = field.mpi_agent.display().to_string();
                let (hosts, lan) = (format!("{FIRST}:1,{SECOND}:1"), LAN);
                let options = ["--mca", "plm", "rsh", "--mca", "plm_rsh_agent", &agent, "--host", &hosts];
                let network = ["--mca", "oob_tcp_if_include", lan, "--mca", "btl_tcp_if_include", lan];
                // It would bind the one worker of each node to the first core.
                let rest = ["--bind-to", "none", "--mca", "btl", "tcp,self"];
                let command = mpirun(field, &[&options[..], &network, &rest].concat())?;
                step::read(nodes(field)?.command(1, &command))?
            }
            Self::MpiTcp => step::read(mpirun(field, &["--mca", "btl", "tcp,self"])?)?,
        };
        medians_in(&text)
    }
}

/// Our own program on both nodes.
fn two_hosts(field: &Field, options: &[&str]) -> Outcome<String> {
    let program = |how: &str| {
        let mut command = field.workspace.program("dae-host");
        command.args(["bench-allreduce", how, &format!("{FIRST}:4700")]).args(options);
        command
    };
    nodes(field)?.both(&program("--listen"), &program("--dial"))
}

fn nodes<'a>(field: &'a Field) -> Outcome<&'a TwoNodes<'a>> {
    field.nodes.as_ref().ok_or_else(|| Failure::says("two nodes take root: run it with sudo"))
}

fn mpirun(field: &Field, options: &[&str]) -> Outcome<Command> {
    let program = field.mpi.ok_or_else(|| Failure::says("OpenMPI takes --mpi"))?;
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "-n", "2"]).args(options).arg(program);
    Ok(command)
}

/// One line of JSON for each size.
fn medians_in(text: &str) -> Outcome<[f64; 4]> {
    let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let median = |bytes: u64| {
        let line = lines.iter().find(|line| line["bytes"].as_u64() == Some(bytes))?;
        line["median_us"].as_f64().filter(|us| us.is_finite() && *us > 0.0)
    };
    let mut all = [0.0; 4];
    for (median_us, bytes) in all.iter_mut().zip(SIZES) {
        *median_us = median(bytes).ok_or_else(|| {
            Failure::says(format!(
                "a measurement lacks `median_us` for {bytes} bytes: run its command by hand to see why"
            ))
        })?;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_has_its_line() {
        let line = |bytes: u64| format!("{{\"bytes\": {bytes}, \"median_us\": {}}}", bytes as f64 / 1e3);
        let text = SIZES.map(line).join("\nsomething else\n");
        assert_eq!(medians_in(&text).unwrap(), SIZES.map(|bytes| bytes as f64 / 1e3));
        assert!(medians_in(&line(4096)).is_err());
        assert!(medians_in(&text.replace("4.096", "0")).is_err());
    }
}
