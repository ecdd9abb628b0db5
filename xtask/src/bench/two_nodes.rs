//! Two nodes on this machine, as `cluster/local.sh` makes them: a namespace and a daemon each, on one bridge.
use std::process::{Command, Stdio};

use crate::failure::{Failure, Outcome};
use crate::step;
use crate::workspace::Workspace;

/// The cluster's name; beside one that a user may have up.
pub const CLUSTER: &str = "bench";
/// The address of the first node.
pub const FIRST: &str = "10.87.0.1";
/// The address of the second.
pub const SECOND: &str = "10.87.0.2";
/// The network both are in.
pub const LAN: &str = "10.87.0.0/24";

/// Two nodes that are up until this is dropped.
pub struct TwoNodes<'a> {
    workspace: &'a Workspace,
}

impl<'a> TwoNodes<'a> {
    /// Brings them up.
    pub fn up(workspace: &'a Workspace) -> Outcome<Self> {
        step::run(script(workspace, &["up", "2"]))?;
        Ok(Self { workspace })
    }

    /// A command to run where node 1 or 2 is.
    pub fn command(&self, node: u32, program: &Command) -> Command {
        let mut command = script(self.workspace, &["exec", &format!("n{node}")]);
        command.arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        command
    }

    /// Runs one program on each node, side by side; what the first prints.
    pub fn both(&self, first: &Command, second: &Command) -> Outcome<String> {
        let mut other = self.command(2, second);
        other.stdin(Stdio::null()).stdout(Stdio::null());
        let mut other = other.spawn().map_err(|e| Failure::says(format!("cannot start on node n2: {e}")))?;
        let read = step::read(self.command(1, first));
        if read.is_err() {
            // It would wait for the first one. It may have ended by itself.
            let _ = other.kill();
        }
        let ended = other.wait().map_err(|e| Failure::says(format!("cannot wait for node n2: {e}")))?;
        let text = read?;
        if ended.success() { Ok(text) } else { Err(Failure::says("the program on node n2 failed")) }
    }
}

impl Drop for TwoNodes<'_> {
    fn drop(&mut self) {
        if let Err(failure) = step::run(script(self.workspace, &["down"])) {
            eprintln!("{failure}");
        }
    }
}

fn script(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = Command::new(workspace.root().join("cluster").join("local.sh"));
    command.args(arguments).env("DAE_LOCAL_NAME", CLUSTER).current_dir(workspace.root());
    command
}
