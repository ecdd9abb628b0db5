//! The jobs and hosts a daemon looks after.

use crate::NodeActor;
use crate::protocol::HostRow;
use dae_actor::Context;
use std::future::Future;

/// The jobs and hosts a daemon looks after.
#[derive(Debug, Default)]
pub struct Jobs {}

impl Jobs {
    /// This daemon's host processes, for tables and placement.
    pub(crate) fn rows(&self) -> Vec<HostRow> {
        Vec::new()
    }
}

/// What the node actor calls at the turns that matter to jobs.
impl NodeActor {
    /// A node has left the cluster: its hosts are gone.
    pub(crate) fn on_node_left(&mut self, _name: &str, _why: &str, _context: &mut Context<'_, Self>) {}

    /// Ends all hosts of this daemon; the daemon waits for the future, within its patience, before it ends.
    pub(crate) fn end_hosts(&mut self, _why: &str) -> impl Future<Output = ()> + 'static {
        std::future::ready(())
    }
}
