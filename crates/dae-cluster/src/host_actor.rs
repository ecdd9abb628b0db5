//! The actor of a host that its daemon speaks to.

use crate::protocol::hosts::{ActorLine, HostActors, ListActors, StopHost};
use dae_actor::{Actor, Context, Handler};

/// What a host does when it is asked to stop, with the reason.
type Stop = Box<dyn FnMut(&str) + Send>;
/// The actors a host runs by now.
type Rows = Box<dyn FnMut() -> Vec<ActorLine> + Send>;

/// The actor of a host that its daemon speaks to; a host publishes it as [`HOST`](crate::protocol::hosts::HOST).
pub struct HostActor {
    stop: Stop,
    rows: Rows,
}

impl HostActor {
    /// One that calls `stop` when the host is to end in order, and `rows` for the actors it runs.
    pub fn new(
        stop: impl FnMut(&str) + Send + 'static,
        rows: impl FnMut() -> Vec<ActorLine> + Send + 'static,
    ) -> Self {
        Self { stop: Box::new(stop), rows: Box::new(rows) }
    }
}

impl Actor for HostActor {
    const KIND: &'static str = "host";
}

impl Handler<StopHost> for HostActor {
    fn handle(&mut self, message: StopHost, _: &mut Context<'_, Self>) {
        (self.stop)(&message.why);
    }
}

impl Handler<ListActors> for HostActor {
    fn handle(&mut self, _: ListActors, _: &mut Context<'_, Self>) -> HostActors {
        let mut actors = (self.rows)();
        actors.truncate(HostActors::MOST);
        HostActors { actors }
    }
}
