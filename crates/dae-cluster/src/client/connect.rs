//! [`Client`]: a connection to a daemon on this machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dae_actor::{ActorRef, AskError, Peer, Registry};
use dae_net::{Address, Cluster, Endpoint, Hello, Identity, KeyError, LinkError, Purpose};

use crate::protocol::{Leave, ListNodes, NodeStatus, Nodes, ShowStatus};
use crate::{NodeActor, SocketError, Sockets};

/// How long a daemon on this machine has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a daemon may take to leave, with its hosts.
const LEAVING: Duration = Duration::from_secs(15);

/// Why a daemon was not asked, or did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nobody to ask.
    #[error("no daemon of cluster `{cluster}` runs on this machine ({}); start one by `dae-node join --cluster {cluster}`", folder.display())]
    NoDaemon {
        /// The cluster.
        cluster: String,
        /// Where its socket would be.
        folder: PathBuf,
    },
    /// Not the one that was named.
    #[error("no daemon named `{node}` of cluster `{cluster}` runs on this machine; there are: {}", names.join(", "))]
    NoSuchDaemon {
        /// The cluster.
        cluster: String,
        /// Who was named.
        node: String,
        /// Who is there.
        names: Vec<String>,
    },
    /// None of the sockets leads to a daemon.
    #[error("no daemon of cluster `{cluster}` answers on this machine: {}; start one by `dae-node join --cluster {cluster}`", why.join("; "))]
    Dead {
        /// The cluster.
        cluster: String,
        /// What was wrong with each.
        why: Vec<String>,
    },
    /// The folder of the sockets.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// No random numbers for an identity.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The daemon did not answer.
    #[error("the daemon {0}")]
    Ask(#[from] AskError),
    /// It was told to leave and is still there.
    #[error("the daemon {name} has not ended within {LEAVING:?}; its log says why")]
    StillThere {
        /// Its name.
        name: String,
    },
}

/// A connection to a daemon on this machine.
pub struct Client {
    /// The daemon's actor.
    pub node: ActorRef<NodeActor>,
    /// The link to it; when it ends, so has the daemon.
    pub peer: Peer,
    /// The daemon's name.
    pub name: String,
}

impl Client {
    /// Connects to the daemon `node` of the cluster, or to the first by name that answers. Within
    /// [`dae_actor::System::run`] only.
    ///
    /// # Errors
    /// If there is none, or none answers.
    pub async fn connect(cluster: &str, node: Option<&str>) -> Result<Self, ClientError> {
        Self::connect_in(&Sockets::of(cluster)?, cluster, node).await
    }

    /// As [`Client::connect`], with the sockets in another folder.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn connect_in(
        sockets: &Sockets,
        cluster: &str,
        node: Option<&str>,
    ) -> Result<Self, ClientError> {
        let cluster = cluster.to_owned();
        let mut names = sockets.names();
        if names.is_empty() {
            return Err(ClientError::NoDaemon { cluster, folder: sockets.folder().to_owned() });
        }
        // A folder of somebody else's may hold anything that calls itself a daemon.
        sockets.check()?;
        if let Some(node) = node {
            if !names.iter().any(|name| name == node) {
                return Err(ClientError::NoSuchDaemon { cluster, node: node.to_owned(), names });
            }
            names.retain(|name| name == node);
        }
        let endpoint = Endpoint::new(Arc::new(Identity::generate()?), Cluster::loopback(&cluster));
        let mut why = Vec::new();
        for name in names {
            let hello = Hello::new("client", 0, Purpose::Client);
            match endpoint.dial(&Address::Unix(sockets.socket(&name)), hello, PATIENCE).await {
                Ok(link) => {
                    let peer = Peer::over(link, Registry::new());
                    let node = peer.actor::<NodeActor>(NodeActor::NAME);
                    return Ok(Self { node, peer, name });
                }
                Err(LinkError::Connect { .. }) => why.push(format!("{name} left its socket behind")),
                Err(error) => why.push(format!("{name}: {error}")),
            }
        }
        Err(ClientError::Dead { cluster, why })
    }

    /// All nodes of the cluster.
    ///
    /// # Errors
    /// If the daemon does not answer.
    pub async fn nodes(&self) -> Result<Nodes, ClientError> {
        Ok(self.node.ask(ListNodes {}, PATIENCE).await?.within(PATIENCE).await?)
    }

    /// How the daemon is.
    ///
    /// # Errors
    /// If it does not answer.
    pub async fn status(&self) -> Result<NodeStatus, ClientError> {
        Ok(self.node.ask(ShowStatus {}, PATIENCE).await?)
    }

    /// Tells the daemon to leave, and waits until it has; gives its name.
    ///
    /// # Errors
    /// If it is still there after a while.
    pub async fn leave(self) -> Result<String, ClientError> {
        self.node.ask(Leave {}, PATIENCE).await?;
        match tokio::time::timeout(LEAVING, self.peer.closed()).await {
            Ok(_) => Ok(self.name),
            Err(_) => Err(ClientError::StillThere { name: self.name }),
        }
    }
}
