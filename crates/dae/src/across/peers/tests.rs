//! Exchanges over loopback, each node on a thread of its own.

use super::super::line::PIECE;
use super::*;
use dae_collective::Phase;
use dae_net::{Address, Cluster, Endpoint, Hello, Identity, Purpose};
use std::net::Ipv4Addr;

const PATIENCE: Duration = Duration::from_secs(20);

fn tag(step: u64) -> Tag {
    Tag::new(1, step, Phase::Sums)
}

/// Every node's links to all others.
fn mesh(nodes: usize, patience: Duration, how: Parts) -> Vec<LinkPeers> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let names: Vec<_> = (0..nodes).map(|n| format!("n{n}")).collect();
    let mut links: Vec<Vec<Option<Link>>> = (0..nodes).map(|_| (0..nodes).map(|_| None).collect()).collect();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async {
        let hello = || Hello::new("n", 0, Purpose::Bulk);
        let identity = Arc::new(Identity::generate().unwrap());
        let endpoint = Endpoint::new(identity, Cluster::job([7; 32]));
        let mut listener = endpoint.listen(&Address::Tcp((Ipv4Addr::LOCALHOST, 0).into())).await.unwrap();
        let to = listener.address().clone();
        for (a, b) in (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b))) {
            let accept = async {
                let incoming = listener.accept().await.unwrap();
                endpoint.accept(incoming, |_| Ok(hello()), PATIENCE).await.unwrap()
            };
            let (dialled, accepted) = tokio::join!(endpoint.dial(&to, hello(), PATIENCE), accept);
            (links[a][b], links[b][a]) = (Some(dialled.unwrap()), Some(accepted));
        }
        let ends = links.into_iter().enumerate();
        ends.map(|(n, links)| LinkPeers::new(n, &names, links, (patience, how)).unwrap()).collect()
    })
}

fn two() -> (LinkPeers, LinkPeers) {
    two_with(Parts::Sealed)
}

fn two_with(how: Parts) -> (LinkPeers, LinkPeers) {
    let mut ends = mesh(2, PATIENCE, how);
    let b = ends.pop().unwrap();
    (ends.pop().unwrap(), b)
}

/// What node `from` sends to node `to`: as many bytes as that, told apart.
fn bytes(from: usize, to: usize, many: usize) -> Vec<u8> {
    (0..many).map(|i| ((i % 251) ^ (from * 16 + to)) as u8).collect()
}

/// One exchange, in which node a sends `lengths(a, b)` bytes to node b.
fn exchange(end: &mut LinkPeers, at: Tag, lengths: impl Fn(usize, usize) -> usize) -> Result<(), Broken> {
    exchange_some(end, at, |a, b| Some(lengths(a, b)))
}

/// The same, if any.
fn exchange_some(
    end: &mut LinkPeers,
    at: Tag,
    lengths: impl Fn(usize, usize) -> Option<usize>,
) -> Result<(), Broken> {
    let (me, nodes) = (end.node(), end.nodes());
    let some = |from: usize, to: usize| lengths(from, to).filter(|_| from != to);
    let sent: Vec<_> = (0..nodes).map(|n| bytes(me, n, some(me, n).unwrap_or(0))).collect();
    let heads: Vec<_> = (0..nodes).map(|n| [me as u8, n as u8]).collect();
    let mut got: Vec<_> = (0..nodes).map(|n| (vec![0; 2], vec![0; some(n, me).unwrap_or(0)])).collect();
    let parts = heads.iter().zip(&sent).enumerate();
    let out: Vec<_> = parts.map(|(n, (head, body))| some(me, n).map(|_| Outgoing { head, body })).collect();
    let rooms = got.iter_mut().enumerate();
    let mut into: Vec<_> =
        rooms.map(|(n, (head, body))| some(n, me).map(|_| Incoming { head, body })).collect();
    end.exchange(at, &out, &mut into)?;
    for (n, (head, body)) in got.iter().enumerate() {
        if let Some(length) = some(n, me) {
            assert_eq!((&head[..], body), (&[n as u8, me as u8][..], &bytes(n, me, length)));
        }
    }
    Ok(())
}

fn cause(outcome: Result<(), Broken>) -> String {
    let Err(Broken::Node { node, cause }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(node, "n1");
    cause
}

#[test]
fn parts_of_every_length_cross_each_other() {
    let lengths = [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 3];
    let ends: Vec<_> = [Parts::Sealed, Parts::Plain]
        .into_iter()
        .flat_map(|how| mesh(2, PATIENCE, how))
        .map(|mut end| {
            thread::spawn(move || {
                for (step, (x, y)) in lengths.iter().flat_map(|x| lengths.map(|y| (*x, y))).enumerate() {
                    exchange(&mut end, tag(step as u64), |from, _| [x, y][from]).unwrap();
                }
            })
        })
        .collect();
    ends.into_iter().for_each(|end| end.join().unwrap());
}

#[test]
fn many_nodes_never_wait_for_each_other_in_a_circle() {
    // Far more than sockets hold, on every link and one way round a ring.
    const LONG: usize = 16 << 20;
    let ends: Vec<_> = [Parts::Sealed, Parts::Plain]
        .into_iter()
        .flat_map(|how| mesh(4, PATIENCE, how))
        .map(|mut end| {
            thread::spawn(move || {
                exchange(&mut end, tag(1), |_, _| LONG / 4).unwrap();
                let ring = |from, to| if (from + 1) % 4 == to { LONG } else { 1 };
                exchange(&mut end, tag(2), ring).unwrap();
                let ring = |from: usize, to: usize| ((from + 1) % 4 == to).then_some(LONG);
                exchange_some(&mut end, tag(3), ring).unwrap();
                // Who only sends runs ahead as far as sockets go.
                (4..9).for_each(|n| {
                    exchange_some(&mut end, tag(n), |a, b| (a < b).then_some(LONG / 4)).unwrap()
                });
            })
        })
        .collect();
    ends.into_iter().for_each(|end| end.join().unwrap());
}

#[test]
fn who_has_gone_is_named_at_once() {
    let (mut a, b) = two();
    drop(b);
    assert!(cause(exchange(&mut a, tag(1), |_, _| 5)).contains("lost"));
}

#[test]
fn a_last_word_is_heard_whatever_was_under_way() {
    // Before the exchange; within it, while this side receives; and while it sends more than the other will take.
    for (mine, theirs, sent) in [(1, 1, 0), (1, 9 * PIECE, 4), (99 * PIECE, 9 * PIECE, 4)] {
        let (mut a, mut b) = two();
        let leaves = thread::spawn(move || {
            let body = bytes(1, 0, theirs);
            let out = Outgoing { head: &[1, 0], body: &body };
            let mut turn = Turn::new(b.lines[0].as_mut().unwrap(), tag(1), Some(out), None);
            // It leaves wherever this comes to, most likely within a frame.
            (0..sent).for_each(|_| assert!(turn.go_on().is_ok()));
            b.abort("out of cheese");
        });
        let failed = exchange(&mut a, tag(1), |from, _| [mine, theirs][from]);
        leaves.join().unwrap();
        assert_eq!(cause(failed), "out of cheese", "{mine} {theirs} {sent}");
    }
}

#[test]
fn who_leaves_within_plain_parts_is_missed_and_never_passes_for_whole() {
    let (mut a, mut b) = two_with(Parts::Plain);
    let leaves = thread::spawn(move || {
        let body = bytes(1, 0, PIECE);
        let out = Outgoing { head: &[1, 0], body: &body };
        let mut turn = Turn::new(b.lines[0].as_mut().unwrap(), tag(1), Some(out), None);
        assert!(turn.go_on().is_ok() && !turn.is_done());
        b.abort("out of cheese");
    });
    let failed = exchange(&mut a, tag(1), |from, _| [1, PIECE][from]);
    leaves.join().unwrap();
    assert!(cause(failed).contains("lost"));
    // Between two parts its words are heard.
    let (mut a, mut b) = two_with(Parts::Plain);
    let leaves = thread::spawn(move || b.abort("out of cheese"));
    assert_eq!(cause(exchange(&mut a, tag(1), |_, _| 1)), "out of cheese");
    leaves.join().unwrap();
}

#[test]
fn who_is_elsewhere_is_told_apart() {
    let apart = |other: Tag, length: usize| {
        let (mut a, mut b) = two();
        let there = thread::spawn(move || exchange(&mut b, other, |_, _| length));
        let said = cause(exchange(&mut a, tag(1), |_, _| 3));
        drop(a);
        assert!(there.join().unwrap().is_err());
        said
    };
    let here = tag(1);
    let others = [
        Tag { generation: 2, ..here },
        Tag { step: 2, ..here },
        Tag { phase: Phase::State, ..here },
        Tag { bucket: 2, ..here },
        Tag { round: 2, ..here },
    ];
    for other in others {
        let said = format!("it sent 3 bytes of {other}, where this node waits for 3 bytes of {here}");
        assert_eq!(apart(other, 3), said);
    }
    assert!(apart(here, 4).contains("it sent 4 bytes"));
}

#[test]
fn a_silent_node_is_given_up() {
    let mut ends = mesh(2, Duration::from_millis(30), Parts::Sealed);
    let _silent = ends.pop().unwrap();
    let mut a = ends.pop().unwrap();
    assert!(cause(exchange(&mut a, tag(1), |_, _| 1)).contains("30ms"));
}
