//! A sealed link in memory, for two nodes in one process.

use crate::{Peer, PeerLimits, Registry};
use dae_net::{Cluster, Endpoint, Hello, Identity, Link, Listener, Purpose};
use std::sync::Arc;
use std::time::Duration;

/// Longer than two ends in one process take to prove themselves.
const SOON: Duration = Duration::from_secs(10);

/// One end of a sealed link in memory, the twin of one over a network: between two nodes in one process, each on a thread
/// of its own. All that is said over it is encoded and sealed.
pub struct MemoryLink(Link);

impl MemoryLink {
    /// Both ends of a link between nodes of these names, in their order.
    ///
    /// # Errors
    /// If the system has no random numbers for the keys of both.
    pub async fn pair([dials, listens]: [&str; 2]) -> Result<[Self; 2], String> {
        let (here, there) = (endpoint()?, endpoint()?);
        let hello = |name| Hello::new(name, 1, Purpose::Bulk);
        let mut listener = Listener::memory();
        let address = listener.address().clone();
        let accept = async { there.accept(listener.accept().await?, |_| Ok(hello(listens)), SOON).await };
        let (dialled, accepted) = tokio::join!(here.dial(&address, hello(dials), SOON), accept);
        Ok([Self(dialled.map_err(|e| e.to_string())?), Self(accepted.map_err(|e| e.to_string())?)])
    }

    /// Talks over it, as [`Peer::with_limits`] does.
    ///
    /// # Panics
    /// As [`Peer::over`].
    pub fn serve(self, registry: Registry, limits: PeerLimits) -> Peer {
        Peer::with_limits(self.0, registry, limits)
    }
}

fn endpoint() -> Result<Endpoint, String> {
    let identity = Identity::generate().map_err(|e| e.to_string())?;
    Ok(Endpoint::new(Arc::new(identity), Cluster::loopback("memory")))
}
