//! Peers without the key: they cost next to nothing and keep nobody out.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::daemon::Daemon;
use crate::rig::{Lan, poll};

const PORT: u16 = 7946;
const TARGET: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 87, 0, 1)), PORT);
/// What all of it may cost while it lasts.
const ROOM: u64 = 8 << 20;

/// Two joined nodes, the first of them the target, and a place for the attacker.
fn target(lan: &Lan) -> Vec<Daemon> {
    let mut daemons = vec![lan.start(1, &["--listen", &format!("0.0.0.0:{PORT}")]), lan.start(2, &[])];
    for daemon in &mut daemons {
        daemon.until_it_sees(2, Duration::from_secs(10));
    }
    daemons
}

/// The target lives, saw no panic, still has its peer, and takes a new one soon.
fn unharmed(lan: &mut Lan, daemons: &[Daemon], grown: u64) {
    let output = daemons[0].output();
    assert!(!output.contains("panicked"), "{output}");
    assert!(grown <= ROOM, "grew by {} KiB", grown >> 10);
    assert_eq!(daemons[0].judges("n2").as_deref(), Some("alive"));
    let place = lan.add_place();
    let start = Instant::now();
    let mut late = lan.start(place, &[]);
    late.until_it_sees(3, Duration::from_secs(10));
    println!("grew by {} KiB; a new node joined in {:?}", grown >> 10, start.elapsed());
}

/// Bytes that look random, the same each time.
fn garbage(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(next).collect()
}

#[test]
fn a_thousand_connections_without_the_key() {
    let Some(mut lan) = Lan::of(3) else { return };
    let daemons = target(&lan);
    let before = daemons[0].resident();
    let (held, peak) = lan.inside(3, || {
        let mut peak = before;
        let held: Vec<TcpStream> = (0..1000)
            .filter_map(|number| {
                // Some say nothing, some the beginning of a greeting, some garbage.
                let mut stream = TcpStream::connect_timeout(&TARGET, Duration::from_secs(5)).ok()?;
                let said = garbage(number, [0, 3, 40, 2000][number as usize % 4]);
                // It may have been closed already: that is the point.
                let _ = stream.write_all(&said);
                peak = peak.max(daemons[0].resident());
                Some(stream)
            })
            .collect();
        (held, peak)
    });
    println!("{} connections were taken by the kernel", held.len());
    // None of them is kept for long.
    let closed = poll(Duration::from_secs(20), || {
        let is_closed = |stream: &TcpStream| {
            stream.set_nonblocking(true).unwrap();
            match (&mut &*stream).read(&mut [0; 4096]) {
                Ok(0) => true,
                Ok(_) => false,
                Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
            }
        };
        held.iter().all(is_closed).then_some(())
    });
    let peak = peak.max(daemons[0].resident());
    assert!(closed.is_some(), "connections without the key are kept");
    unharmed(&mut lan, &daemons, peak.saturating_sub(before));
}

#[test]
fn a_million_bytes_of_garbage() {
    let Some(mut lan) = Lan::of(3) else { return };
    let daemons = target(&lan);
    let before = daemons[0].resident();
    let peak = lan.inside(3, || {
        let mut peak = before;
        // By TCP, as a stream and in pieces, and in datagrams to the same port.
        for (number, piece) in [1_000_000, 65_536, 1_000, 1].into_iter().enumerate() {
            let Ok(mut stream) = TcpStream::connect_timeout(&TARGET, Duration::from_secs(5)) else {
                continue;
            };
            stream.set_write_timeout(Some(Duration::from_secs(2))).unwrap();
            let bytes = garbage(number as u64, if piece == 1 { 10_000 } else { 1_000_000 });
            // The far end hangs up in the middle of it.
            let _ = bytes.chunks(piece).try_for_each(|piece| stream.write_all(piece));
            peak = peak.max(daemons[0].resident());
        }
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        for number in 0..2000 {
            let length = [0, 1, 11, 12, 28, 29, 100, 508, 1400, 9000][number as usize % 10];
            socket.send_to(&garbage(number, length), TARGET).unwrap();
        }
        peak.max(daemons[0].resident())
    });
    let peak = peak.max(daemons[0].resident());
    unharmed(&mut lan, &daemons, peak.saturating_sub(before));
}

/// The multicast group is open to anybody on the network, too.
#[test]
fn garbage_and_lies_over_mdns() {
    let Some(mut lan) = Lan::of(3) else { return };
    let daemons = target(&lan);
    let before = daemons[0].resident();
    lan.route_multicast(3);
    lan.inside(3, || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 5353)).unwrap();
        let group = (Ipv4Addr::new(224, 0, 0, 251), 5353);
        socket.join_multicast_v4(&group.0, &Ipv4Addr::new(10, 87, 0, 3)).unwrap();
        for number in 0..2000u64 {
            // Half of them have the head of an answer with up to 255 records, and the service's name.
            let mut bytes = vec![0, 0, 0x84, 0, 0, 0, 0, number as u8, 0, 0, 0, number as u8];
            if number % 2 == 0 {
                bytes.extend(b"\x04_dae\x04_tcp\x05local\x00\x00\x0c\x00\x01\x00\x00\x00\x78");
            }
            bytes.extend(garbage(number, number as usize % 1200));
            socket.send_to(&bytes, group).unwrap();
        }
    });
    let grown = daemons[0].resident().saturating_sub(before);
    unharmed(&mut lan, &daemons, grown);
}
