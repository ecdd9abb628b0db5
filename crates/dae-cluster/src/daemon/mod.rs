//! A daemon: put together, ready, ended.
//!
//! | module | what it holds |
//! |---|---|
//! | `settings` | [`Settings`], [`DaemonError`]: what it is told, and why it may not start |
//! | `state` | what it remembers from start to start |
//! | `ground` | the names, keys and sockets it stands on |
//! | `doors` | who is let in |
//! | `signals` | the signals that tell it to leave |
//! | `neighbours` | daemons of this user on this machine, found by their sockets |
mod doors;
mod ground;
mod neighbours;
mod settings;
mod signals;
mod state;

pub use settings::{Backend, DaemonError, Settings};

use std::sync::Arc;
use std::time::Duration;

use dae_actor::{ActorRef, Registry, Restart, Spawn, Stopped, System};
use dae_net::{Announcement, CANDIDATES, Discovery, LINK_VERSIONS, Mdns, Membership, Myself, Running, Seeds};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::node_actor::{Me, NodeActor, Setup};
use crate::protocol::Leave;
use ground::Ground;
use neighbours::Neighbours;
use signals::Signals;

/// How long leaving may take before the process ends anyway.
const LEAVE: Duration = Duration::from_secs(15);
/// Messages that wait for the daemon's actor.
const MAILBOX: usize = 4096;

/// A daemon at work.
pub struct Daemon {
    node: ActorRef<NodeActor>,
    me: Arc<Me>,
    /// Dropped in this order: first nobody is told of this node any more, then nobody is let in. With the door for this
    /// machine the name goes.
    _discovery: Vec<Running>,
    doors: Vec<JoinHandle<()>>,
}

/// Runs a daemon until it is told to leave, by a signal or a client. `ready` is given the line that says so.
///
/// # Errors
/// If it cannot start, or its actor fails.
pub fn run(settings: &Settings, ready: impl FnOnce(&str)) -> Result<(), DaemonError> {
    let ran = System::run(async |mut system| {
        // Before anything is there that would have to be cleared away.
        let mut signals = Signals::listen()?;
        let daemon = tokio::select! {
            daemon = Box::pin(Daemon::start(&mut system, settings)) => daemon?,
            () = signals.leave() => return Ok(()),
        };
        ready(&daemon.line());
        tokio::select! {
            () = signals.leave() => daemon.leave().await,
            stopped = daemon.node.stopped() => {
                daemon.close().await;
                ended(stopped)
            }
        }
    });
    ran.map_err(|error| DaemonError::Io { what: "no runtime".into(), error })?
}

impl Daemon {
    /// Starts one. Any number can live in a process, each with settings of its own.
    ///
    /// # Errors
    /// If what it is told does not go together, or the system refuses something.
    pub async fn start(system: &mut System, settings: &Settings) -> Result<Self, DaemonError> {
        let Ground { me, cluster, endpoint, door, local_endpoint, own_door, datagrams, sockets } =
            Ground::prepare(settings).await?;
        let me = Arc::new(me);
        let id = endpoint.identity.id();
        let advertise = me.addresses.first().copied().unwrap_or(me.listens);
        let myself = Myself {
            id,
            name: me.name.clone(),
            generation: me.generation,
            advertise,
            facts: Default::default(),
        };
        let membership = Membership::start(&cluster, myself, datagrams).await?;
        let members = membership.members();

        let announcement = Announcement {
            name: me.name.clone(),
            id,
            tag: cluster.tag(),
            port: advertise.port(),
            addresses: me.addresses.iter().map(|address| address.ip()).collect(),
            versions: LINK_VERSIONS,
        };
        let (finds, found) = mpsc::channel(CANDIDATES);
        let mut discovery = Vec::new();
        for backend in settings.backends() {
            let backend = start_with(backend, settings)?;
            discovery.push(backend.start(announcement.clone(), finds.clone())?);
        }
        if me.loopback_only {
            let own = own_door.claim.socket().to_owned();
            let neighbours = Neighbours { sockets, own, endpoint: local_endpoint.clone() };
            discovery.push(Box::new(neighbours).start(announcement, finds)?);
        }

        let registry = Registry::new();
        let setup = Setup {
            me: me.clone(),
            endpoint: endpoint.clone(),
            registry: registry.clone(),
            membership,
            found,
            stderr: settings.stderr.clone(),
        };
        // It is never made anew, since its connections would be gone: a panic ends the daemon, which says so.
        let mut setup = Some(setup);
        let spawn = Spawn::named(NodeActor::NAME).mailbox(MAILBOX).restart(Restart::NEVER);
        let node = system.start(spawn, move || {
            NodeActor::new(setup.take().unwrap_or_else(|| unreachable!("it is made once")))
        });
        registry.publish(&node).map_err(|error| DaemonError::Failed { cause: error.to_string() })?;
        let doors = vec![
            doors::others(door, endpoint, me.clone(), members, registry.clone(), node.clone()),
            doors::own(own_door, local_endpoint, me.clone(), registry, node.clone()),
        ];
        Ok(Self { node, me, _discovery: discovery, doors })
    }

    /// What is said once it is ready.
    pub fn line(&self) -> String {
        let Me { name, id, cluster, discovery, addresses, .. } = &*self.me;
        let id: String = id.chars().take(8).collect();
        let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
        let only = if self.me.loopback_only { ", for this machine only" } else { "" };
        format!(
            "node {name} ({id}) of cluster {cluster} listens on {}{only}; found by {}",
            addresses.join(" and "),
            discovery.join(" and ")
        )
    }

    /// Who it is.
    pub fn me(&self) -> &Me {
        &self.me
    }

    /// Its actor.
    pub fn node(&self) -> &ActorRef<NodeActor> {
        &self.node
    }

    /// Says goodbye to all, ends its hosts, and ends.
    ///
    /// # Errors
    /// If its actor has failed.
    pub async fn leave(self) -> Result<(), DaemonError> {
        // Whether it is told or has stopped already, it stops.
        drop(self.node.tell(Leave {}));
        let stopped = tokio::time::timeout(LEAVE, self.node.stopped()).await;
        self.close().await;
        match stopped {
            Ok(stopped) => ended(stopped),
            Err(_) => Err(DaemonError::Failed { cause: format!("it did not end within {LEAVE:?}") }),
        }
    }
}

impl Daemon {
    /// Lets nobody in any more, and gives the name back.
    async fn close(mut self) {
        self.doors.iter().for_each(JoinHandle::abort);
        for door in std::mem::take(&mut self.doors) {
            // It ends by being aborted.
            let _ = door.await;
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.doors.iter().for_each(JoinHandle::abort);
    }
}

fn ended(stopped: Stopped) -> Result<(), DaemonError> {
    match stopped {
        Stopped::InOrder => Ok(()),
        other => Err(DaemonError::Failed { cause: other.to_string() }),
    }
}

fn start_with(backend: Backend, settings: &Settings) -> Result<Box<dyn Discovery>, DaemonError> {
    Ok(match backend {
        Backend::Mdns => Box::new(settings.iface.as_ref().map_or_else(Mdns::new, Mdns::on)),
        #[cfg(feature = "avahi")]
        Backend::Avahi => Box::new(dae_net::Avahi),
        #[cfg(not(feature = "avahi"))]
        Backend::Avahi => {
            return Err(DaemonError::Settings { what: "avahi is not built in".into(), fix: "choose mdns" });
        }
        Backend::Seeds => Box::new(Seeds::new(&settings.seeds, 0)?),
    })
}
