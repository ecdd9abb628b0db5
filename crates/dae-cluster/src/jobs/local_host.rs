//! A host that this daemon started.

use super::Outbox;
use crate::HostActor;
use crate::host_process::HostProcess;
use crate::protocol::hosts::{Enlisted, StopHost};
use crate::protocol::jobs::StartHost;
use dae_actor::{ActorRef, ReplyTo};
use std::rc::Rc;
use std::time::Instant;
use tokio::sync::watch;

/// A host that this daemon started, until its end is told.
pub(crate) struct LocalHost {
    pub(crate) start: StartHost,
    pub(crate) process: HostProcess,
    pub(crate) outbox: Rc<Outbox>,
    /// Its actor, once it has connected.
    pub(crate) link: Option<ActorRef<HostActor>>,
    /// It has enlisted, and waits for its part.
    pub(crate) waiting: Option<ReplyTo<Enlisted>>,
    /// Why it was told to end.
    pub(crate) ending: Option<String>,
    /// There is no home any more that wants to hear of it.
    pub(crate) orphan: bool,
    /// The number of the latest news.
    pub(crate) batch: u64,
    /// Since when its news cannot be delivered.
    pub(crate) unheard: Option<Instant>,
    /// Goes with it: whoever waits for that learns that its end was told.
    pub(crate) gone: watch::Sender<()>,
}

impl LocalHost {
    pub(crate) fn new(start: StartHost, process: HostProcess, outbox: Rc<Outbox>) -> Self {
        Self {
            start,
            process,
            outbox,
            link: None,
            waiting: None,
            ending: None,
            orphan: false,
            batch: 0,
            unheard: None,
            gone: watch::Sender::new(()),
        }
    }

    /// Ends it: in order, by the best means there is, or at once.
    pub(crate) fn end(&mut self, why: &str, kill: bool) {
        if kill {
            return self.process.kill();
        }
        if self.ending.replace(why.into()).is_some() {
            return;
        }
        if let Some(waiting) = self.waiting.take() {
            return waiting.send(Enlisted::Refused { why: why.into() });
        }
        let told = self.link.as_ref().is_some_and(|link| link.tell(StopHost { why: why.into() }).is_ok());
        if !told {
            self.process.terminate();
        }
    }
}
