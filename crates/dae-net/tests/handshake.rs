//! Who is let in, who is not, and that both sides are told why in one sentence.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dae_net::{
    Address, Cluster, ClusterKey, Endpoint, Hello, Identity, Link, LinkError, NodeId, Purpose, Side,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

const DEADLINE: Duration = Duration::from_secs(10);
const PREAMBLE_BYTES: usize = 40;

fn endpoint(cluster: &Cluster) -> Endpoint {
    Endpoint::new(Arc::new(Identity::generate().unwrap()), cluster.clone())
}

fn hello(name: &str) -> Hello {
    Hello::new(name, 1, Purpose::Node)
}

/// What becomes of a dial and of its acceptance.
async fn meet(
    dialler: &Endpoint,
    acceptor: &Endpoint,
    answer: Result<Hello, String>,
) -> (Result<Link, LinkError>, Result<Link, LinkError>) {
    let mut listener = acceptor.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).await.unwrap();
    let at = listener.address().clone();
    let accepting = async {
        let incoming = listener.accept().await.unwrap();
        acceptor.accept(incoming, |_| answer, DEADLINE).await
    };
    tokio::join!(dialler.dial(&at, hello("ann"), DEADLINE), accepting)
}

/// The sentence of a refusal, and whose it was.
fn refusal(end: Result<Link, LinkError>) -> (Side, String) {
    match end {
        Err(LinkError::Refused { by, why }) => (by, why),
        other => panic!("no refusal: {other:?}"),
    }
}

#[tokio::test]
async fn another_cluster_and_another_key_are_told_to_both() {
    let (key, other_key) = (ClusterKey::generate().unwrap(), ClusterKey::generate().unwrap());
    let lab = endpoint(&Cluster::keyed("lab", &key));
    let cases = [
        (Cluster::keyed("den", &key), "another cluster than", "`--cluster`"),
        (Cluster::keyed("lab", &other_key), "another key for cluster `lab`", "same key file"),
        (Cluster::loopback("lab"), "another key for cluster `lab`", "same key file"),
    ];
    for (cluster, what, remedy) in cases {
        let stranger = endpoint(&cluster);
        for (dialler, acceptor) in [(&lab, &stranger), (&stranger, &lab)] {
            let (dialled, accepted) = meet(dialler, acceptor, Ok(hello("bob"))).await;
            for end in [dialled, accepted] {
                let (by, why) = refusal(end);
                assert!(by == Side::Us && why.contains(what) && why.contains(remedy), "{why}");
            }
        }
    }
}

#[tokio::test]
async fn a_peer_that_is_not_admitted_is_told_why() {
    let cluster = Cluster::loopback("lab");
    let why = "the job's program is another: b41e and not 77d2\x1b[2J";
    let (dialled, accepted) = meet(&endpoint(&cluster), &endpoint(&cluster), Err(why.to_owned())).await;
    assert_eq!(refusal(accepted), (Side::Us, why.to_owned()));
    // What the peer says cannot steer a terminal.
    assert_eq!(refusal(dialled), (Side::Peer, why.replace('\x1b', " ")));
}

#[tokio::test]
async fn a_name_that_is_too_much_is_refused_by_the_side_that_has_it() {
    let cluster = Cluster::loopback("lab");
    let (dialled, accepted) = meet(&endpoint(&cluster), &endpoint(&cluster), Ok(hello("a\nb"))).await;
    assert!(refusal(accepted).1.contains("printable"));
    let (by, why) = refusal(dialled);
    assert!(by == Side::Peer && why.contains("printable"), "{why}");
}

/// An acceptor at the end of a stream that the test holds the other end of.
fn accepting(cluster: &Cluster) -> (DuplexStream, tokio::task::JoinHandle<Result<Link, LinkError>>) {
    let (ours, theirs) = duplex(1 << 16);
    let acceptor = endpoint(cluster);
    let accepted = tokio::spawn(async move { acceptor.accept(theirs, |_| Ok(hello("bob")), DEADLINE).await });
    (ours, accepted)
}

/// A dialler at the end of a stream that the test holds the other end of, after its preamble.
async fn dialled(
    cluster: &Cluster,
) -> (DuplexStream, tokio::task::JoinHandle<Result<Link, LinkError>>, Vec<u8>) {
    let (mut ours, theirs) = duplex(1 << 16);
    let dialler = endpoint(cluster);
    let dialling = tokio::spawn(async move { dialler.dial_over(theirs, None, hello("ann"), DEADLINE).await });
    let mut preamble = vec![0; PREAMBLE_BYTES];
    ours.read_exact(&mut preamble).await.unwrap();
    (ours, dialling, preamble)
}

#[tokio::test]
async fn other_versions_are_told_on_both_sides() {
    let cluster = Cluster::loopback("lab");
    let newer = |preamble: &[u8]| [&preamble[..4], &[2, 0, 9, 0], &preamble[8..]].concat();

    let (mut peer, accepted) = accepting(&cluster);
    let mut preamble = vec![0; PREAMBLE_BYTES];
    peer.read_exact(&mut preamble).await.unwrap();
    peer.write_all(&newer(&preamble)).await.unwrap();
    let (by, why) = refusal(accepted.await.unwrap());
    assert!(
        by == Side::Us && why.contains("1 to 1 and the peer in 2 to 9; update dae on this side"),
        "{why}"
    );

    let (mut peer, dialled, preamble) = dialled(&cluster).await;
    peer.write_all(&newer(&preamble)).await.unwrap();
    let (by, why) = refusal(dialled.await.unwrap());
    assert!(by == Side::Us && why.contains("update dae on this side"), "{why}");
}

#[tokio::test]
async fn who_copies_the_tags_but_lacks_the_key_is_told_by_the_verdict() {
    let cluster = Cluster::keyed("lab", &ClusterKey::generate().unwrap());
    let (mut peer, accepted) = accepting(&cluster);
    let mut preamble = vec![0; PREAMBLE_BYTES];
    peer.read_exact(&mut preamble).await.unwrap();
    peer.write_all(&preamble).await.unwrap();
    peer.write_all(&[7; 48]).await.unwrap();
    assert_eq!(peer.read_u8().await.unwrap(), 1);
    let (by, why) = refusal(accepted.await.unwrap());
    assert!(by == Side::Us && why.contains("did not prove the cluster's key"), "{why}");

    let (mut peer, ended, preamble) = dialled(&cluster).await;
    peer.write_all(&preamble).await.unwrap();
    peer.write_all(&[1]).await.unwrap();
    let (by, why) = refusal(ended.await.unwrap());
    assert!(by == Side::Peer && why.contains("did not prove the cluster's key"), "{why}");

    let (mut peer, ended, preamble) = dialled(&cluster).await;
    peer.write_all(&preamble).await.unwrap();
    let mut first = [0; 48];
    peer.read_exact(&mut first).await.unwrap();
    peer.write_all(&[0; 97]).await.unwrap();
    assert_eq!(peer.read_u8().await.unwrap(), 1);
    let (by, why) = refusal(ended.await.unwrap());
    assert!(by == Side::Us && why.contains("the peer did not prove"), "{why}");
}

#[tokio::test]
async fn a_recorded_handshake_opens_nothing() {
    let cluster = Cluster::keyed("lab", &ClusterKey::generate().unwrap());
    let (mut to_dialler, _dialling, preamble) = dialled(&cluster).await;
    let (mut to_acceptor, accepted) = accepting(&cluster);
    let mut theirs = vec![0; PREAMBLE_BYTES];
    to_acceptor.read_exact(&mut theirs).await.unwrap();
    to_dialler.write_all(&theirs).await.unwrap();
    let mut first = [0; 48];
    to_dialler.read_exact(&mut first).await.unwrap();
    // Live, the dialler's first message is good enough; against another acceptor, it is worth nothing.
    to_acceptor.write_all(&[&preamble[..], &first].concat()).await.unwrap();
    assert_eq!(to_acceptor.read_u8().await.unwrap(), 0);
    drop(to_acceptor);
    assert!(matches!(accepted.await.unwrap(), Err(LinkError::Lost { .. })));

    let (mut again, refused) = accepting(&cluster);
    again.write_all(&[&preamble[..], &first].concat()).await.unwrap();
    assert_eq!(refusal(refused.await.unwrap()).0, Side::Us);
}

#[tokio::test]
async fn a_cluster_without_a_key_keeps_to_its_machine() {
    let endpoint = endpoint(&Cluster::loopback("lab"));
    let beyond = Address::Tcp("192.0.2.1:7".parse().unwrap());
    let listened = endpoint.listen(&Address::Tcp("0.0.0.0:0".parse().unwrap())).await.map(|_| ());
    let dialled = endpoint.dial(&beyond, hello("ann"), DEADLINE).await.map(|_| ());
    for refused in [listened, dialled] {
        let error = refused.unwrap_err().to_string();
        assert!(error.contains("has no key") && error.contains("dae-node key new"), "{error}");
    }
}

#[tokio::test]
async fn a_silent_peer_costs_the_deadline_and_no_more() {
    let cluster = Cluster::loopback("lab");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = Address::Tcp(silent.local_addr().unwrap());
    let start = Instant::now();
    let error = endpoint(&cluster).dial(&at, hello("ann"), Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(error.to_string(), format!("the handshake with {at} took longer than 50ms"));
    assert!(start.elapsed() < Duration::from_secs(5));

    let (_silent, theirs) = duplex(64);
    let accepted = endpoint(&cluster).accept(theirs, |_| Ok(hello("bob")), Duration::from_millis(50)).await;
    assert!(matches!(accepted, Err(LinkError::Deadline { .. })));
}

/// Accepts whoever comes, for as long as the test runs.
async fn node(cluster: &Cluster) -> (SocketAddr, NodeId) {
    let node = endpoint(cluster);
    let id = node.identity.id();
    let mut listener = node.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).await.unwrap();
    let at = listener.address().socket_addr().unwrap();
    tokio::spawn(async move {
        let mut links = Vec::new();
        while let Ok(incoming) = listener.accept().await {
            links.push(node.accept(incoming, |_| Ok(hello("bob")), DEADLINE).await);
        }
    });
    (at, id)
}

#[tokio::test]
async fn of_many_addresses_the_one_with_the_right_peer_is_used() {
    let cluster = Cluster::loopback("lab");
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_at = silent.local_addr().unwrap();
    let (stranger_at, _) = node(&Cluster::loopback("den")).await;
    let (wrong_at, wrong_id) = node(&cluster).await;
    let (right_at, right_id) = node(&cluster).await;
    let ann = endpoint(&cluster);

    let all = [dead, silent_at, stranger_at, wrong_at, right_at];
    let link = ann.dial_any(&all, Some(right_id), hello("ann"), DEADLINE).await.unwrap();
    assert_eq!((link.peer.id, link.peer.address), (right_id, Some(right_at)));

    let without = &all[..4];
    let error =
        ann.dial_any(without, Some(right_id), hello("ann"), Duration::from_millis(300)).await.unwrap_err();
    let told = error.to_string();
    let causes = [
        format!("none of 4 addresses led to the peer: {dead}: cannot connect to {dead}: "),
        format!("{silent_at}: the handshake with {silent_at} took longer than"),
        format!("{stranger_at}: refused by this side: the peer belongs to another cluster than `lab`"),
        format!("{wrong_at}: node {wrong_id} answers there, and node {right_id} was looked for"),
    ];
    let places: Vec<_> =
        causes.iter().map(|cause| told.find(cause).unwrap_or_else(|| panic!("{told}"))).collect();
    assert!(places.is_sorted(), "{told}");
}
