//! One suite over every transport: what a link promises does not depend on what carries it.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use dae_net::{
    Address, Cluster, Endpoint, Frame, Hello, Identity, Link, LinkError, Listener, Parts, Purpose,
};
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
    let bytes = |length: usize| (0..length).map(|at| ((at * 31) >> 3) as u8).collect::<Vec<u8>>();
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

#[test]
fn a_link_for_threads_carries_on_where_the_other_was() {
    for (over, how) in ALL.into_iter().flat_map(|over| [Parts::Sealed, Parts::Plain].map(|how| (over, how))) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (mut ann, mut bob) = runtime.block_on(pair(over));
        // Frames before it, in the same record as what comes after for all the receiver knows.
        runtime.block_on(async {
            ann.sender.send(&Frame { kind: 1, ..Frame::default() }).await.unwrap();
            assert_eq!(bob.receiver.recv().await.unwrap().unwrap().kind, 1);
        });
        let entered = runtime.enter();
        let ann = ann.into_bulk(DEADLINE, how);
        if let Over::Memory = over {
            assert!(matches!(ann, Err(LinkError::NoSocket { .. })));
            continue;
        }
        let (mut to_bob, mut from_bob) = ann.unwrap();
        // The first bulk frame arrives before bob's side has become a bulk one.
        let big: Vec<u8> = (0..2_000_001).map(|at| ((at * 13) >> 4) as u8).collect();
        to_bob.send(2, b"head", &[&big[..9], &[]]).unwrap();
        let (mut to_ann, mut from_ann) = bob.into_bulk(DEADLINE, how).unwrap();
        drop(entered);
        let (mut small, mut none) = ([0; 9], [0; 0]);
        assert_eq!(from_ann.recv(&mut [&mut small, &mut none]).unwrap(), (2, b"head".to_vec()));
        assert_eq!(small, big[..9]);

        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..3 {
                    to_bob.send(3, &[], &[&big, &big[7..]]).unwrap();
                }
                to_bob.close().unwrap();
            });
            let (mut one, mut other) = (vec![0; big.len()], vec![0; big.len() - 7]);
            for _ in 0..3 {
                assert_eq!(from_ann.recv(&mut [&mut one, &mut other]).unwrap(), (3, vec![]));
                assert!(one == big && other == big[7..]);
                one.fill(0);
            }
            let end = from_ann.recv(&mut []).unwrap_err();
            assert!(end.to_string().contains("said goodbye"), "{end}");
        });

        to_ann.send(4, &[], &[&[1, 2], &[3]]).unwrap();
        let error = from_bob.recv(&mut [&mut [0; 2], &mut [0; 2]]).unwrap_err();
        assert_eq!(error, LinkError::Parts { found: vec![2, 1], expected: vec![2, 2] });
        assert_eq!(from_bob.recv(&mut []), Err(error));
    }
}

#[test]
fn a_thread_waits_no_longer_than_its_deadline_and_notices_an_end_at_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for over in [Over::Tcp, Over::Unix] {
        let (ann, bob) = runtime.block_on(pair(over));
        let entered = runtime.enter();
        let (_to_bob, mut from_bob) = ann.into_bulk(Duration::from_millis(30), Parts::Sealed).unwrap();
        let error = from_bob.recv(&mut []).unwrap_err();
        assert_eq!(error.to_string(), "waiting for the peer took longer than 30ms");
        drop(bob);

        let (ann, bob) = runtime.block_on(pair(over));
        let (_to_bob, mut from_bob) = ann.into_bulk(DEADLINE, Parts::Sealed).unwrap();
        drop((bob, entered));
        let start = std::time::Instant::now();
        assert!(matches!(from_bob.recv(&mut []), Err(LinkError::Lost { .. })));
        assert!(start.elapsed() < DEADLINE / 2);
    }
}

#[test]
fn a_frame_over_the_limits_is_refused_here_and_the_link_goes_on() {
    over_all(|over| async move {
        let (mut ann, mut bob) = pair(over).await;
        let long = Frame { kind: 1, header: vec![0; 70_000], parts: vec![] };
        assert!(matches!(ann.sender.feed(&long).await, Err(LinkError::Frame(_))));
        ann.sender.send(&Frame { kind: 2, ..Frame::default() }).await.unwrap();
        assert_eq!(bob.receiver.recv().await.unwrap().unwrap().kind, 2);
    });
}

#[test]
fn a_receive_may_be_dropped_and_a_send_within_a_frame_may_not() {
    over_all(|over| async move {
        let (mut ann, mut bob) = pair(over).await;
        let frame = Frame { kind: 3, header: vec![1; 300], parts: vec![vec![2; 40_000]] };
        let sending = async {
            for _ in 0..50 {
                ann.sender.send(&frame).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        let receiving = async {
            let mut got = 0;
            while got < 50 {
                // Polled once and dropped, again and again.
                let polled = tokio::select! { biased; frame = bob.receiver.recv() => Some(frame), () = tokio::task::yield_now() => None };
                if let Some(received) = polled {
                    assert!(received.unwrap().unwrap() == frame);
                    got += 1;
                }
            }
        };
        tokio::join!(sending, receiving);

        let huge = Frame { kind: 4, header: vec![], parts: vec![vec![0; 50_000_000]] };
        let dropped = tokio::select! { biased; sent = ann.sender.send(&huge) => Some(sent), () = tokio::task::yield_now() => None };
        assert_eq!(dropped, None, "so much fits into no socket");
        assert_eq!(ann.sender.flush().await, Err(LinkError::Interrupted));
        assert_eq!(ann.sender.send(&frame).await, Err(LinkError::Interrupted));
    });
}
