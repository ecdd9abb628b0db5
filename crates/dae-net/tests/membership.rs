//! Memberships on loopback: they form one set, a silent one leaves everywhere, and who has no key stays out.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dae_net::{
    Cluster, ClusterKey, Member, MemberEvent, MemberNews, MemberState, Membership, Myself, NodeId,
};
use tokio::net::UdpSocket;
use tokio::sync::broadcast;
use tokio::time::timeout;

struct Node {
    id: NodeId,
    address: SocketAddr,
    membership: Membership,
    events: broadcast::Receiver<MemberNews>,
}

fn cluster() -> Cluster {
    Cluster::loopback("membership-test")
}

async fn node_of(cluster: &Cluster, number: u8) -> Node {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap();
    let me = Myself {
        id: NodeId([number; 32]),
        name: format!("node{number}"),
        generation: 1,
        advertise: address,
        facts: BTreeMap::from([("cores".to_owned(), number.to_string())]),
    };
    let id = me.id;
    let membership = Membership::start(cluster, me, socket).await.unwrap();
    let events = membership.events();
    Node { id, address, membership, events }
}

async fn three() -> [Node; 3] {
    let cluster = cluster();
    let nodes = [node_of(&cluster, 1).await, node_of(&cluster, 2).await, node_of(&cluster, 3).await];
    // The second and the third hear of each other through the first.
    nodes[1].membership.meet(nodes[0].address);
    nodes[2].membership.meet(nodes[0].address);
    nodes
}

impl Node {
    async fn until(&self, what: &str, ready: impl FnMut(&Vec<Member>) -> bool) -> Vec<Member> {
        let mut members = self.membership.members();
        let found = timeout(Duration::from_secs(8), members.wait_for(ready)).await;
        found
            .unwrap_or_else(|_| panic!("{}: {what}: {:?}", self.id, self.membership.members().borrow()))
            .unwrap()
            .clone()
    }

    /// Does what the owner of the connections does: dials whoever is worth it.
    async fn join(&self, others: usize) {
        for member in self.until("hears the others", |all| worth_dialling(all) == others).await {
            self.membership.connected(member.id, member.generation, &member.name);
        }
        self.until("has the others", |all| all.iter().all(|each| each.state == MemberState::Joined)).await;
    }

    async fn event_of(&mut self, id: NodeId, wanted: impl Fn(&MemberEvent) -> bool) -> MemberEvent {
        let event = timeout(Duration::from_secs(8), async {
            loop {
                let news = self.events.recv().await.unwrap();
                if news.id == id && wanted(&news.event) {
                    return news.event;
                }
            }
        });
        event.await.unwrap_or_else(|_| panic!("{} has no such news of {id}", self.id))
    }
}

fn worth_dialling(all: &[Member]) -> usize {
    all.iter().filter(|each| each.worth_dialling).count()
}

#[tokio::test]
async fn three_form_one_set_and_a_silent_one_leaves_everywhere() {
    let start = Instant::now();
    let [mut one, mut two, three] = three().await;
    tokio::join!(one.join(2), two.join(2), three.join(2));
    let joined = start.elapsed();
    assert!(joined < Duration::from_secs(1), "{joined:?}");
    let member = one.membership.members().borrow().iter().find(|each| each.id == three.id).unwrap().clone();
    assert_eq!((member.name.as_str(), member.address), ("node3", Some(three.address)));
    assert_eq!(member.facts["cores"], "3");

    let (id, stopped) = (three.id, Instant::now());
    drop(three);
    let mut why = String::new();
    for node in [&mut one, &mut two] {
        let left = node.event_of(id, |event| matches!(event, MemberEvent::Left { .. })).await;
        if let MemberEvent::Left { why: text } = left {
            why = text;
        }
        assert!(why.starts_with("not heard for 2."), "{why}");
    }
    let noticed = stopped.elapsed();
    assert!((Duration::from_millis(1500)..Duration::from_secs(3)).contains(&noticed), "{noticed:?}");
    println!("one set after {joined:?}; a silent node left after {noticed:?}: {why}");
    let members = one.membership.members();
    let state = |id| members.borrow().iter().find(|each| each.id == id).map(|each| each.state);
    assert_eq!((state(two.id), state(id)), (Some(MemberState::Joined), Some(MemberState::Left)));
}

#[tokio::test]
async fn a_node_that_starts_anew_left_and_returned() {
    let cluster = cluster();
    let mut one = node_of(&cluster, 1).await;
    let two = node_of(&cluster, 2).await;
    two.membership.meet(one.address);
    one.join(1).await;
    drop(two.membership);
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let me = Myself {
        id: two.id,
        name: "node2".to_owned(),
        generation: 2,
        advertise: socket.local_addr().unwrap(),
        facts: BTreeMap::new(),
    };
    let anew = Membership::start(&cluster, me, socket).await.unwrap();
    anew.meet(one.address);
    let left = one.event_of(two.id, |event| matches!(event, MemberEvent::Left { .. })).await;
    assert_eq!(left, MemberEvent::Left { why: "it started anew".to_owned() });
    one.join(1).await;
    let returned = one.event_of(two.id, |event| !matches!(event, MemberEvent::Joined)).await;
    assert_eq!(returned, MemberEvent::Returned { after: MemberState::Left });
    anew.say("gpus", "4").await.unwrap();
    one.until("hears the new fact", |all| all.iter().any(|each| each.facts.contains_key("gpus"))).await;
}

#[tokio::test]
async fn who_has_another_key_never_joins_and_garbage_does_no_harm() {
    let key = ClusterKey::generate().unwrap();
    let cluster = Cluster::keyed("membership-test", &key);
    let (one, two) = (node_of(&cluster, 1).await, node_of(&cluster, 2).await);
    let other = ClusterKey::generate().unwrap();
    let wrong = node_of(&Cluster::keyed("membership-test", &other), 3).await;
    let named = node_of(&Cluster::keyed("another name", &key), 4).await;
    wrong.membership.meet(one.address);
    named.membership.meet(one.address);
    let noise = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for bytes in [0, 1, 11, 12, 28, 1400, 60_000] {
        noise.send_to(&vec![0xa5; bytes], one.address).await.unwrap();
    }
    two.membership.meet(one.address);
    tokio::join!(one.join(1), two.join(1));
    // All of it came before the datagrams that let the others join, or soon after.
    let deadline = Instant::now() + Duration::from_secs(4);
    let mut ticks = tokio::time::interval(Duration::from_millis(20));
    while one.membership.garbage() < 7 + 2 * 3 && Instant::now() < deadline {
        ticks.tick().await;
    }
    assert!(one.membership.garbage() >= 7 + 2 * 3, "{}", one.membership.garbage());
    let known: Vec<NodeId> = one.membership.members().borrow().iter().map(|each| each.id).collect();
    assert_eq!(known, [two.id]);
    assert!(wrong.membership.members().borrow().is_empty() && named.membership.members().borrow().is_empty());
}

#[tokio::test]
async fn what_the_connections_tell_is_news_at_once() {
    let [mut one, two, three] = three().await;
    one.join(2).await;
    one.membership.disconnected(two.id, 1, "reset by peer");
    one.membership.lost(two.id, 1, "10.0.0.2:7946 refused the connection");
    one.membership.goodbye(three.id, 1);
    one.membership.goodbye(three.id, 1);
    let suspected = one.event_of(two.id, |event| *event != MemberEvent::Joined).await;
    assert_eq!(suspected, MemberEvent::Suspected { why: "the connection broke: reset by peer".to_owned() });
    let left = one.event_of(two.id, |_| true).await;
    let why = "the connection was lost: 10.0.0.2:7946 refused the connection".to_owned();
    assert_eq!(left, MemberEvent::Left { why });
    let left = one.event_of(three.id, |event| *event != MemberEvent::Joined).await;
    assert_eq!(left, MemberEvent::Left { why: "it said goodbye".to_owned() });
    // The second is still heard, and worth dialling again; the third wants to be gone.
    let all = one.until("has two that left", |all| all.len() == 2).await;
    let worth: Vec<NodeId> = all.iter().filter(|each| each.worth_dialling).map(|each| each.id).collect();
    assert_eq!(worth, [two.id]);
}

#[tokio::test]
async fn facts_that_would_fill_the_datagrams_are_refused() {
    let one = node_of(&cluster(), 1).await;
    let error = one.membership.say("novel", &"x".repeat(1000)).await.unwrap_err().to_string();
    assert!(error.contains("\"novel\" has 1000 bytes"), "{error}");
}
