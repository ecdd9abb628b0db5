//! Peers without the key, many and loud: no panic, bounded memory, and who has the key still gets in.
#![allow(clippy::unwrap_used)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dae_net::{Address, Cluster, ClusterKey, Endpoint, Frame, Hello, Identity, LinkError, Purpose};

const DEADLINE: Duration = Duration::from_secs(10);

fn endpoint(cluster: &Cluster) -> Endpoint {
    Endpoint::new(Arc::new(Identity::generate().unwrap()), cluster.clone())
}

/// A node of its own thread that echoes the frames of whoever has the key.
fn echo(cluster: &Cluster) -> (SocketAddr, Arc<AtomicUsize>) {
    let node = endpoint(cluster);
    let refused = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&refused);
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut listener = node.listen(&Address::Tcp("127.0.0.1:0".parse().unwrap())).await.unwrap();
            tell.send(listener.address().socket_addr().unwrap()).unwrap();
            loop {
                let incoming = listener.accept().await.unwrap();
                let (node, counter) = (node.clone(), Arc::clone(&counter));
                tokio::spawn(async move {
                    let hello = Hello::new("echo", 1, Purpose::Node);
                    match node.accept(incoming, |_| Ok(hello), DEADLINE).await {
                        Ok(mut link) => {
                            while let Ok(Some(frame)) = link.receiver.recv().await {
                                link.sender.send(&frame).await.unwrap();
                            }
                        }
                        Err(_) => drop(counter.fetch_add(1, Ordering::Relaxed)),
                    }
                });
            }
        });
    });
    (told.recv().unwrap(), refused)
}

/// How long it takes to get in and get an answer.
fn visit(cluster: &Cluster, at: SocketAddr) -> Result<Duration, LinkError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let start = Instant::now();
    runtime.block_on(async {
        let mut link =
            endpoint(cluster).dial(&at.into(), Hello::new("good", 1, Purpose::Node), DEADLINE).await?;
        let frame = Frame { kind: 9, ..Frame::default() };
        link.sender.send(&frame).await?;
        assert_eq!(link.receiver.recv().await?, Some(frame));
        Ok(start.elapsed())
    })
}

/// Bytes of this process in memory.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    4096 * status.split(' ').nth(1).unwrap().parse::<usize>().unwrap()
}

/// Bytes without a pattern.
fn garbage(length: usize, mut seed: u32) -> Vec<u8> {
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        seed as u8
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn a_crowd_without_the_key_costs_little_and_keeps_nobody_out() {
    let cluster = Cluster::keyed("lab", &ClusterKey::generate().unwrap());
    let (at, refused) = echo(&cluster);
    visit(&cluster, at).unwrap();
    let before = resident();

    // 1,000 that connect and wait, a third of them after a proper preamble; all stay open at this end.
    let mut crowd = Vec::new();
    let mut slowest = Duration::ZERO;
    for number in 0..1000 {
        let mut one = TcpStream::connect(at).unwrap();
        if number % 3 == 0 {
            let mut preamble = [0; 40];
            // Those who were turned out at once find nothing to read.
            if one.read_exact(&mut preamble).is_ok() {
                let _ = one.write_all(&preamble);
            }
        }
        crowd.push(one);
        if number % 50 == 49 {
            slowest = slowest.max(visit(&cluster, at).unwrap());
        }
    }
    // 1,000,000 bytes of garbage, in one piece and in many.
    let noise = garbage(500_000, 7);
    let _ = TcpStream::connect(at).unwrap().write_all(&noise);
    for piece in noise.chunks(5000) {
        let _ = TcpStream::connect(at).unwrap().write_all(piece);
    }
    slowest = slowest.max(visit(&cluster, at).unwrap());

    let grown = resident().saturating_sub(before);
    eprintln!("grown by {grown} bytes; the slowest visit took {slowest:?}; refused {refused:?}");
    assert!(grown <= 8 << 20, "memory grew by {grown} bytes");
    assert!(slowest < Duration::from_secs(1), "a good peer waited {slowest:?}");
    assert!(refused.load(Ordering::Relaxed) >= 900, "{refused:?}");
}
