//! Who is let in: other daemons over the network, clients and hosts over the Unix socket.

use std::sync::Arc;
use std::time::Duration;

use dae_actor::{ActorRef, Peer, Registry};
use dae_net::{
    Endpoint, Hello, Incoming, LinkError, Listener, Member, MemberState, Membership, PeerInfo, Purpose,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::ground::OwnDoor;
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
    open(door, (), endpoint, admit, registry, node)
}

/// Lets this user's clients and hosts in.
pub(super) fn own(
    own: OwnDoor,
    endpoint: Endpoint,
    me: Arc<Me>,
    registry: Registry,
    node: ActorRef<NodeActor>,
) -> JoinHandle<()> {
    let admit = move |peer: &PeerInfo| match peer.hello.purpose {
        Purpose::Client | Purpose::Host => Ok(me.hello(Purpose::Node)),
        Purpose::Node | Purpose::Bulk => Err("this socket is for clients and hosts".to_owned()),
    };
    open(own.door, own.claim, endpoint, admit, registry, node)
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
    let known = members.iter().any(|member| member.id == peer.id);
    // This node is one of them.
    if !known && members.iter().filter(there).count() + 1 >= Membership::MOST_NODES {
        let most = Membership::MOST_NODES;
        return Some(format!("cluster {} has {most} nodes, and may have no more", me.cluster));
    }
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

/// Lets peers in at `door` until it is aborted; what is to be `kept` for so long goes after the door.
fn open<K: 'static>(
    door: Listener,
    kept: K,
    endpoint: Endpoint,
    admit: impl Fn(&PeerInfo) -> Result<Hello, String> + 'static,
    registry: Registry,
    node: ActorRef<NodeActor>,
) -> JoinHandle<()> {
    let admit = Arc::new(admit);
    // As one value: its fields go in this order, whether the task has begun or not.
    let both = (door, kept);
    tokio::task::spawn_local(async move {
        let mut both = both;
        loop {
            let Ok(incoming) = both.0.accept().await else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use dae_net::NodeId;
    use std::time::Duration;

    fn member(number: usize) -> Member {
        let mut id = [0; 32];
        id[..8].copy_from_slice(&number.to_le_bytes());
        Member {
            id: NodeId(id),
            name: format!("n{number}"),
            generation: 1,
            address: None,
            facts: Default::default(),
            state: MemberState::Joined,
            why: String::new(),
            phi: None,
            silent_for: Duration::ZERO,
            worth_dialling: false,
        }
    }

    #[test]
    fn a_cluster_that_is_full_lets_in_only_whom_it_knows() {
        let me = Me {
            cluster: "c".into(),
            name: "n0".into(),
            id: member(0).id.to_hex(),
            generation: 1,
            listens: ([127, 0, 0, 1], 1).into(),
            addresses: Vec::new(),
            socket: "s".into(),
            loopback_only: false,
            discovery: Vec::new(),
            since: 0,
        };
        let peer = |number: usize| PeerInfo {
            id: member(number).id,
            hello: Hello::new(&format!("n{number}"), 1, Purpose::Node),
            address: None,
        };
        let mut members: Vec<_> = (1..Membership::MOST_NODES - 1).map(member).collect();
        assert_eq!(refusal(&me, &peer(999), &members), None);
        members.push(member(998));
        let why = refusal(&me, &peer(999), &members).expect("it is full");
        assert!(why.contains(&format!("{} nodes", Membership::MOST_NODES)), "{why}");
        assert_eq!(refusal(&me, &peer(998), &members), None, "it is one of them");
        assert!(refusal(&me, &PeerInfo { id: member(997).id, ..peer(5) }, &members[..9]).is_some());
    }
}
