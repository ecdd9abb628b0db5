//! One suite over every transport: what a link promises does not depend on what carries it.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use dae_net::{Address, Cluster, Endpoint, Frame, Hello, Identity, Link, LinkError, Listener, Purpose};
use tempfile::TempDir;

const DEADLINE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug)]
enum Over {
    Tcp,
    TcpV6,
    Unix,
    Memory,
}

const ALL: [Over; 4] = [Over::Tcp, Over::TcpV6, Over::Unix, Over::Memory];

fn endpoint() -> Endpoint {
    Endpoint::new(Arc::new(Identity::generate().unwrap()), Cluster::loopback("test"))
}

async fn listener(over: Over, folder: &TempDir) -> Listener {
    let at = match over {
        Over::Tcp => Address::Tcp("127.0.0.1:0".parse().unwrap()),
        Over::TcpV6 => Address::Tcp("[::1]:0".parse().unwrap()),
        Over::Unix => Address::Unix(folder.path().join("socket")),
        Over::Memory => return Listener::memory(),
    };
    endpoint().listen(&at).await.unwrap()
}

/// Two linked nodes, `ann` who dialled and `bob` who accepted.
async fn pair(over: Over) -> (Link, Link) {
    let folder = tempfile::tempdir().unwrap();
    let mut listener = listener(over, &folder).await;
    let at = listener.address().clone();
    let (ann, bob) = (endpoint(), endpoint());
    let (ann_id, bob_id) = (ann.identity.id(), bob.identity.id());
    let accepting = async {
        let incoming = listener.accept().await.unwrap();
        bob.accept(incoming, |_| Ok(Hello::new("bob", 2, Purpose::Node)), DEADLINE).await.unwrap()
    };
    let dialling = ann.dial(&at, Hello::new("ann", 1, Purpose::Client), DEADLINE);
    let (to_bob, to_ann) = tokio::join!(dialling, accepting);
    let to_bob = to_bob.unwrap();
    assert_eq!((to_bob.peer.id, to_bob.peer.hello.clone()), (bob_id, Hello::new("bob", 2, Purpose::Node)));
    assert_eq!((to_ann.peer.id, to_ann.peer.hello.clone()), (ann_id, Hello::new("ann", 1, Purpose::Client)));
    assert_eq!(to_bob.peer.address, at.socket_addr());
    (to_bob, to_ann)
}

/// Runs a test over every transport, each on a runtime of one thread.
fn over_all<F: Future<Output = ()>>(test: impl Fn(Over) -> F) {
    for over in ALL {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        eprintln!("over {over:?}");
        runtime.block_on(async { tokio::time::timeout(DEADLINE, test(over)).await.unwrap() });
    }
}

/// Frames of all shapes: empty, small, with big parts, with a header longer than a record.
fn shapes() -> Vec<Frame> {
    let bytes = |length: usize| (0..length).map(|at| (at * 31 >> 3) as u8).collect::<Vec<u8>>();
    let small = (0..300).map(|kind| Frame { kind, header: bytes(usize::from(kind) % 90), parts: vec![] });
    let parts =
        [vec![0, 1], vec![65_519 - 16 - 8], vec![65_519], vec![65_520], vec![3_000_000], vec![70_000; 5]];
    let big = parts.iter().map(|lengths| Frame {
        kind: 7,
        header: bytes(9),
        parts: lengths.iter().map(|length| bytes(*length)).collect(),
    });
    let long = Frame { kind: 8, header: bytes(65_536), parts: vec![bytes(10)] };
    std::iter::once(Frame::default()).chain(small).chain(big).chain([long, Frame::default()]).collect()
}

#[test]
fn frames_arrive_as_they_were_sent_both_ways_at_once() {
    over_all(|over| async move {
        let (mut ann, mut bob) = pair(over).await;
        let sent = shapes();
        let feed = async |link: &mut dae_net::LinkSender| {
            for frame in &sent {
                link.feed(frame).await.unwrap();
            }
            link.flush().await.unwrap();
        };
        let take = async |link: &mut dae_net::LinkReceiver| {
            for frame in &sent {
                assert!(link.recv().await.unwrap().unwrap() == *frame);
            }
        };
        tokio::join!(
            feed(&mut ann.sender),
            feed(&mut bob.sender),
            take(&mut ann.receiver),
            take(&mut bob.receiver)
        );
        assert_eq!(bob.receiver.try_next(), Ok(None));
    });
}

#[test]
fn a_goodbye_is_an_end_and_a_vanished_peer_is_an_error() {
    over_all(|over| async move {
        let (mut ann, mut bob) = pair(over).await;
        ann.sender.feed(&Frame { kind: 5, ..Frame::default() }).await.unwrap();
        ann.sender.close().await.unwrap();
        assert_eq!(bob.receiver.recv().await.unwrap().unwrap().kind, 5);
        assert_eq!(bob.receiver.recv().await, Ok(None));
        assert_eq!(bob.receiver.recv().await, Ok(None));

        drop(bob);
        let lost = ann.receiver.recv().await.unwrap_err();
        assert!(matches!(lost, LinkError::Lost { .. }), "{lost}");
        assert_eq!(ann.receiver.recv().await, Err(lost));
    });
}
