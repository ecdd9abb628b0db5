//! [`Neighbours`]: finds the other daemons of this user on this machine, by their sockets.

use std::path::PathBuf;
use std::time::Duration;

use dae_net::{
    Address, Announcement, Candidate, Discovery, DiscoveryError, Endpoint, Hello, Purpose, Running,
};
use tokio::sync::mpsc;

use crate::Sockets;
use crate::node_actor::addresses;

const PATIENCE: Duration = Duration::from_secs(1);

/// Asks each daemon that has a socket in the folder where it is reached. Once is enough: each daemon has its socket
/// before it asks, so of two that start at once the later finds the earlier.
pub(super) struct Neighbours {
    pub(super) sockets: Sockets,
    pub(super) own: PathBuf,
    pub(super) endpoint: Endpoint,
}

impl Discovery for Neighbours {
    fn name(&self) -> &'static str {
        "sockets"
    }

    fn start(
        self: Box<Self>,
        me: Announcement,
        found: mpsc::Sender<Candidate>,
    ) -> Result<Running, DiscoveryError> {
        let asking = tokio::spawn(async move {
            for name in self.sockets.names() {
                let socket = self.sockets.socket(&name);
                if socket == self.own {
                    continue;
                }
                let hello = Hello::new(&me.name, 0, Purpose::Client);
                // Whoever does not answer is dead, or comes to this daemon by itself.
                let Ok(link) = self.endpoint.dial(&Address::Unix(socket), hello, PATIENCE).await else {
                    continue;
                };
                let addresses = addresses(&link.peer.hello);
                if !addresses.is_empty() {
                    let _ = found.send(Candidate { source: "sockets", addresses, label: name }).await;
                }
            }
        });
        Ok(Running::new("sockets", move || asking.abort()))
    }
}
