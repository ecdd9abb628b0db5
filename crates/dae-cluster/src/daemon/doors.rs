//! Who is let in: other daemons over the network, clients and hosts over the Unix socket.

use std::sync::Arc;
use std::time::Duration;

use dae_actor::{ActorRef, Peer, Registry};
use dae_net::{Endpoint, Hello, Incoming, LinkError, Listener, Member, MemberState, PeerInfo, Purpose};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::node_actor::{Arrived, Me, NodeActor, TurnedAway, plainly};

/// How long a peer has to prove the key and to introduce itself.
const PATIENCE: Duration = Duration::from_secs(5);
/// With too many open files, so long until the next try.
const BREATH: Duration = Duration::from_millis(100);

/// Lets other daemons of the cluster in.
pub(super) fn others(
    door: Listener,
    endpoint: Endpoint,
    me: Arc<Me>,
    members: watch::Receiver<Vec<Member>>,
    registry: Registry,
    node: ActorRef<NodeActor>,
) -> JoinHandle<()> {
    let admit = move |peer: &PeerInfo| {
        // Released before anything else may want it.
        let refusal = refusal(&me, peer, &members.borrow());
        refusal.map_or_else(|| Ok(me.hello(Purpose::Node)), Err)
    };
    open(door, endpoint, admit, registry, node)
}

/// Lets this user's clients and hosts in.
pub(super) fn own(
    door: Listener,
    endpoint: Endpoint,
    me: Arc<Me>,
    registry: Registry,
    node: ActorRef<NodeActor>,
) -> JoinHandle<()> {
    let admit = move |peer: &PeerInfo| match peer.hello.purpose {
        Purpose::Client | Purpose::Host => Ok(me.hello(Purpose::Node)),
        Purpose::Node | Purpose::Bulk => Err("this socket is for clients and hosts".to_owned()),
    };
    open(door, endpoint, admit, registry, node)
}

/// Why this peer is not let in, if it is not.
fn refusal(me: &Me, peer: &PeerInfo, members: &[Member]) -> Option<String> {
    let name = &peer.hello.name;
    if peer.hello.purpose != Purpose::Node {
        return Some(
            "only daemons are let in here; clients and hosts use the socket on their own machine".into(),
        );
    }
    if peer.id.to_hex() == me.id {
        return None;
    }
    let there = |member: &&Member| matches!(member.state, MemberState::Joined | MemberState::Suspected);
    let twin = members.iter().filter(there).find(|member| member.name == *name && member.id != peer.id);
    let holder = if *name == me.name {
        Some(me.id.chars().take(8).collect())
    } else {
        twin.map(|twin| twin.id.to_string())
    };
    holder.map(|holder: String| {
        format!(
            "a node named `{name}` is in cluster {} already ({holder}); choose another name by --name",
            me.cluster
        )
    })
}

fn open(
    mut door: Listener,
    endpoint: Endpoint,
    admit: impl Fn(&PeerInfo) -> Result<Hello, String> + 'static,
    registry: Registry,
    node: ActorRef<NodeActor>,
) -> JoinHandle<()> {
    let admit = Arc::new(admit);
    tokio::task::spawn_local(async move {
        loop {
            let Ok(incoming) = door.accept().await else {
                tokio::time::sleep_until(tokio::time::Instant::now() + BREATH).await;
                continue;
            };
            let (endpoint, admit) = (endpoint.clone(), admit.clone());
            let (registry, node) = (registry.clone(), node.clone());
            // Their number is bounded by the listener; each ends within the patience.
            tokio::task::spawn_local(async move {
                let from = from(&incoming);
                match endpoint.accept(incoming, |peer| admit(peer), PATIENCE).await {
                    Ok(link) => {
                        let peer = Peer::over(link, registry);
                        // An actor that is too busy to be told is asked by the peer all the same.
                        drop(node.tell(Arrived(peer.clone())));
                        tokio::select! {
                            _ = peer.closed() => {}
                            _ = node.stopped() => peer.close("the daemon has ended"),
                        }
                    }
                    // It came and went, as port scanners do.
                    Err(LinkError::Lost { .. }) => {}
                    Err(error) => drop(node.tell(TurnedAway { from, why: plainly(&error) })),
                }
            });
        }
    })
}

fn from(incoming: &Incoming) -> String {
    let plain = |from: std::net::SocketAddr| std::net::SocketAddr::new(from.ip().to_canonical(), from.port());
    incoming.from().map_or_else(|| "a program on this machine".into(), |from| plain(from).to_string())
}
