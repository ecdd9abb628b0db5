//! A host's place in its job: what it is to do, and with whom.

use super::Daemon;
use crate::across::{LinkPeers, Links, Meeting};
use crate::exit::Failure;
use dae_cluster::protocol::BulkPlace;
use dae_cluster::protocol::hosts::{Assignment, HostSpot};
use dae_net::{Address, Cluster, Endpoint, Identity, Link, LinkError, Listener, Parts};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How long hosts that have all been started may take to meet.
const MEET: Duration = Duration::from_secs(60);

/// A host's place in its job.
pub(super) struct Place {
    /// What it is to do.
    pub(super) assignment: Assignment,
    identity: Arc<Identity>,
    listener: Listener,
}

impl Place {
    /// Enlists this host, and waits until all of the job have been.
    pub(super) async fn enlist(daemon: &Daemon) -> Result<Self, Failure> {
        let identity = Arc::new(Identity::generate().map_err(Failure::failed)?);
        let (listener, reached_at) = listen().await?;
        let assignment = daemon.enlist(identity.id(), reached_at).await?;
        Ok(Self { assignment, identity, listener })
    }

    /// Which of the job's hosts it is.
    pub(super) fn me(&self) -> usize {
        self.assignment.index as usize
    }

    /// All hosts of the job.
    pub(super) fn hosts(&self) -> &[HostSpot] {
        &self.assignment.hosts
    }

    /// What the nodes of all hosts are called.
    pub(super) fn names(&self) -> Vec<String> {
        self.hosts().iter().map(|spot| spot.node.clone()).collect()
    }

    /// Meets all other hosts, with so many links to each.
    pub(super) async fn meet(&mut self, lanes: usize) -> Result<Links, Failure> {
        let endpoint = Endpoint::new(self.identity.clone(), Cluster::job(self.assignment.job_key.0));
        let meeting = Meeting::new(&self.assignment.hosts, self.me(), lanes, endpoint);
        meeting.all(&mut self.listener, MEET).await.map_err(Failure::failed)
    }

    /// The links of one lane, as a collective sees them; `deadline` bounds each wait.
    pub(super) fn peers(
        &self,
        lane: Vec<Option<Link>>,
        deadline: Duration,
        plain: bool,
    ) -> Result<LinkPeers, LinkError> {
        let how = if plain { Parts::Plain } else { Parts::Sealed };
        LinkPeers::new(self.me(), &self.names(), lane, (deadline, how))
    }
}

/// Listens for the other hosts as widely as the daemon does, and says at which addresses they reach it.
async fn listen() -> Result<(Listener, Vec<SocketAddr>), Failure> {
    let place = BulkPlace::from_env().map_err(Failure::failed)?;
    let at = Address::Tcp((place.bind, 0).into());
    let listener = Listener::bind(&at).await.map_err(Failure::failed)?;
    let bound = listener.address().socket_addr();
    let port = bound.ok_or_else(|| Failure::failed("the listener has no address"))?.port();
    Ok((listener, place.reached_at(port)))
}
