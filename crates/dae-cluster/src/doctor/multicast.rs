//! Whether mDNS is heard: a question is sent to the group, and for a second everything on UDP 5353 is counted.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, socket, sockopt};

use super::Finding;

const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
const PORT: u16 = 5353;
const PATIENCE: Duration = Duration::from_secs(1);
/// Who floods the port is not listened to for ever.
const MOST_PACKETS: usize = 10_000;
const TOPIC: &str = "multicast";

/// `PTR _dae._tcp.local`, as any mDNS browser asks (RFC 6762).
const QUESTION: &[u8] = b"\0\0\0\0\0\x01\0\0\0\0\0\0\x04_dae\x04_tcp\x05local\0\0\x0c\0\x01";

pub(super) fn listen(addresses: &[IpAddr]) -> Finding {
    let v4 = addresses.iter().find_map(|address| match address {
        IpAddr::V4(v4) => Some(*v4),
        IpAddr::V6(_) => None,
    });
    let Some(own) = v4 else {
        return Finding::warning(
            TOPIC,
            "no IPv4 address to listen at",
            "use --seed ADDR:PORT if the nodes do not find each other",
        );
    };
    match heard(own) {
        Ok(from) => judge(own, &from, addresses),
        Err(error) => Finding::error(
            TOPIC,
            format!("UDP {PORT} cannot be opened for {GROUP} at {own}: {error}"),
            "let Avahi do it (--discovery avahi, with a daemon built with that feature), or use --seed ADDR:PORT",
        ),
    }
}

/// Who was heard in a second.
fn heard(own: Ipv4Addr) -> io::Result<BTreeSet<IpAddr>> {
    let raw = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // Avahi, a daemon of ours or a browser may have the port: all of them share it.
    sockopt::set_socket_reuseaddr(&raw, true)?;
    sockopt::set_socket_reuseport(&raw, true)?;
    bind(&raw, &SocketAddr::from(([0, 0, 0, 0], PORT)))?;
    let udp = UdpSocket::from(raw);
    udp.join_multicast_v4(&GROUP, &own)?;
    sockopt::set_ip_multicast_if(&udp, &own)?;
    udp.send_to(QUESTION, (GROUP, PORT))?;
    let (end, mut from, mut packet) = (Instant::now() + PATIENCE, BTreeSet::new(), [0; 9000]);
    for _ in 0..MOST_PACKETS {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        udp.set_read_timeout(Some(left))?;
        match udp.recv_from(&mut packet) {
            Ok((_, sender)) => drop(from.insert(sender.ip())),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                break;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(from)
}

fn judge(own: Ipv4Addr, from: &BTreeSet<IpAddr>, addresses: &[IpAddr]) -> Finding {
    let others: Vec<_> = from.iter().filter(|ip| !addresses.contains(ip) && !ip.is_loopback()).collect();
    match (others.first(), from.is_empty()) {
        (Some(first), _) => Finding::ok(
            TOPIC,
            format!("on UDP {PORT} at {own} {} other machines were heard, {first} among them", others.len()),
        ),
        (None, false) => Finding::warning(
            TOPIC,
            format!(
                "on UDP {PORT} at {own} this machine alone was heard: there is no other, or multicast is dropped on the way"
            ),
            format!(
                "allow UDP {PORT} to {GROUP} in firewalls and switches (IGMP snooping), or use --seed ADDR:PORT"
            ),
        ),
        (None, true) => Finding::error(
            TOPIC,
            format!("nothing was heard on UDP {PORT} at {own}, not even this machine's own question"),
            format!("allow UDP {PORT} to {GROUP} in this machine's firewall, or use --seed ADDR:PORT"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn hearing_others_oneself_or_nobody_are_three_things() {
        let own = Ipv4Addr::new(10, 0, 0, 1);
        let set =
            |ips: &[&str]| ips.iter().map(|ip| ip.parse().expect("an address")).collect::<BTreeSet<_>>();
        let mine = [IpAddr::V4(own)];
        let verdict = |ips: &[&str]| judge(own, &set(ips), &mine).verdict;
        assert_eq!(verdict(&["10.0.0.1", "10.0.0.2"]), Verdict::Ok);
        assert_eq!(verdict(&["10.0.0.1"]), Verdict::Warning);
        assert_eq!(verdict(&[]), Verdict::Error);
        for finding in [judge(own, &set(&["10.0.0.1"]), &mine), judge(own, &set(&[]), &mine)] {
            assert!(finding.fix.is_some_and(|fix| fix.contains("UDP 5353") && fix.contains("--seed")));
        }
    }

    #[test]
    fn the_question_is_a_well_formed_packet() {
        assert_eq!(QUESTION.len(), 12 + 5 + 5 + 6 + 1 + 4);
        assert_eq!(&QUESTION[12..17], b"\x04_dae");
    }
}
