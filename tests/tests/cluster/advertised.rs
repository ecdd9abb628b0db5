//! Which addresses are told to others.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use crate::rig::{Lan, ip};

const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);

/// Asks the network for `_dae._tcp.local.` and returns every answer about it that comes within this time.
fn heard(for_how_long: Duration, me: Ipv4Addr) -> Vec<Vec<u8>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 5353)).unwrap();
    socket.join_multicast_v4(&GROUP, &me).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    // One question: PTR, class IN.
    let mut question = vec![0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    question.extend(b"\x04_dae\x04_tcp\x05local\x00\x00\x0c\x00\x01");
    let (start, mut all, mut buffer) = (Instant::now(), vec![], [0; 9000]);
    let mut asked = 0;
    while start.elapsed() < for_how_long {
        if asked < start.elapsed().as_secs() + 1 {
            asked += 1;
            socket.send_to(&question, (GROUP, 5353)).unwrap();
        }
        let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
        let packet = &buffer[..length];
        let is_answer = length > 12 && packet[2] & 0x80 != 0;
        if is_answer && from.ip() != me && packet.windows(5).any(|w| w == b"\x04_dae") {
            all.push(packet.to_vec());
        }
    }
    all
}

/// The address records (A) with this address in a packet: the length and the address behind it.
fn holds(packets: &[Vec<u8>], address: [u8; 4]) -> bool {
    let record = [[0, 4].as_slice(), &address].concat();
    packets.iter().any(|packet| packet.windows(record.len()).any(|w| w == record))
}

/// A container engine's bridge and loopback are told to nobody, over mDNS or otherwise; nor do they lead to a join.
#[test]
fn neither_loopback_nor_container_bridges() {
    let Some(lan) = Lan::of(3) else { return };
    for place in [1, 2] {
        // The same address on both machines, as container engines have it.
        let at = lan.name(place);
        ip(&format!("-n {at} link add docker0 type bridge"));
        ip(&format!("-n {at} addr add 172.17.0.1/16 dev docker0"));
        ip(&format!("-n {at} link set docker0 up"));
        ip(&format!("-n {at} addr add 127.0.1.1/8 dev lo"));
    }
    let mut daemons = [lan.start(1, &[]), lan.start(2, &[])];
    for daemon in &mut daemons {
        daemon.until_it_sees(2, Duration::from_secs(10));
    }
    lan.route_multicast(3);
    let packets = lan.inside(3, || heard(Duration::from_millis(1500), Ipv4Addr::new(10, 87, 0, 3)));
    assert!(holds(&packets, [10, 87, 0, 1]) && holds(&packets, [10, 87, 0, 2]), "{packets:?}");
    assert!(!holds(&packets, [172, 17, 0, 1]), "the bridge is told: {packets:?}");
    assert!(!holds(&packets, [127, 0, 0, 1]) && !holds(&packets, [127, 0, 1, 1]), "{packets:?}");
    assert!(packets.iter().all(|packet| packet.len() < 1400), "answers stay small");
    for daemon in &daemons {
        let nodes = daemon.ask("nodes").unwrap()["nodes"].to_string();
        assert!(!nodes.contains("127.") && !nodes.contains("172.17") && !nodes.contains("[::1]:"), "{nodes}");
    }
}

/// Two networks: the interface that was named is used, and the other is told to nobody.
#[test]
fn an_interface_can_be_chosen() {
    let Some(lan) = Lan::of(2) else { return };
    for place in [1, 2] {
        let at = lan.name(place);
        ip(&format!("-n {at} link add side type veth peer name far-side"));
        ip(&format!("-n {at} addr add 10.88.0.{place}/24 dev side"));
        ip(&format!("-n {at} link set side up"));
        ip(&format!("-n {at} link set far-side up"));
    }
    let mut daemons = [lan.start(1, &["--iface", "eth0"]), lan.start(2, &["--iface", "eth0"])];
    for daemon in &mut daemons {
        daemon.until_it_sees(2, Duration::from_secs(10));
        let nodes = daemon.ask("nodes").unwrap()["nodes"].to_string();
        assert!(!nodes.contains("10.88.0."), "{nodes}");
    }
    // Left to themselves they find out which of the two networks leads to the other.
    drop(daemons);
    let mut daemons = [lan.start(1, &[]), lan.start(2, &[])];
    for daemon in &mut daemons {
        daemon.until_it_sees(2, Duration::from_secs(10));
    }
}

/// An address at which nobody can be reached: the node is told so, with what to do.
#[test]
fn an_address_that_leads_nowhere_does_not_join() {
    let Some(lan) = Lan::of(2) else { return };
    let mut first = lan.start(1, &["--listen", "0.0.0.0:7946"]);
    first.ready();
    let wrong = ["--discovery", "seeds", "--seed", "10.87.0.1:7946", "--advertise", "10.87.0.77"];
    let mut second = lan.start(2, &wrong);
    second.ready();
    second.told(&["10.87.0.77", "--advertise"], std::time::UNIX_EPOCH, Duration::from_secs(20));
    assert_ne!(first.judges("n2").as_deref(), Some("alive"));
}
