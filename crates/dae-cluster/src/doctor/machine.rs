//! The key, the sockets, the ports, the addresses, the clock, the limits.

use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use dae_actor::System;
use dae_net::{ClusterKey, Interface, advertised};
use rustix::process::{Resource, getrlimit};

use super::Finding;
use crate::Sockets;
use crate::client::Client;

/// A node needs a few files for each peer, each client and each host.
const FEW_FILES: u64 = 1024;
/// 2024 and 2100, roughly, in seconds since 1970.
const SANE: std::ops::Range<u64> = 1_700_000_000..4_100_000_000;

pub(super) fn key(file: Option<&Path>) -> Finding {
    match file {
        None => Finding::warning(
            "key",
            "none is given: a daemon would serve this machine only",
            "`dae-node key new FILE` on one machine, copy FILE to the others, and join with `--key-file FILE`",
        ),
        Some(file) => match ClusterKey::read(file) {
            Ok(_) => Finding::ok("key", format!("{} holds one that only you can read", file.display())),
            Err(error) => {
                Finding::error("key", error.to_string(), "as it says; `dae-node key new` makes one")
            }
        },
    }
}

pub(super) fn sockets(cluster: &str) -> Finding {
    let topic = "daemon";
    match Sockets::of(cluster).and_then(|sockets| sockets.look().map(|()| sockets)) {
        Err(error) => Finding::error(topic, error.to_string(), "as it says"),
        Ok(sockets) => match sockets.names() {
            none if none.is_empty() => Finding::ok(
                topic,
                format!(
                    "none of cluster {cluster} runs here; {} can hold its socket",
                    sockets.folder().display()
                ),
            ),
            names => {
                Finding::ok(topic, format!("of cluster {cluster} on this machine: {}", names.join(", ")))
            }
        },
    }
}

/// Where the daemons of the cluster on this machine listen, by their names.
pub(super) fn running(cluster: &str) -> Vec<(String, SocketAddr)> {
    let names = Sockets::of(cluster).map(|sockets| sockets.names()).unwrap_or_default();
    if names.is_empty() {
        return Vec::new();
    }
    let asked = System::run(async |_| {
        let mut found = Vec::new();
        for name in names {
            // Whoever does not answer listens nowhere that matters.
            if let Ok(client) = Client::connect(cluster, Some(&name)).await
                && let Ok(status) = client.status().await
            {
                found.push((name, status.listens));
            }
        }
        found
    });
    asked.unwrap_or_default()
}

pub(super) fn port(listen: Option<SocketAddr>, running: &[(String, SocketAddr)]) -> Finding {
    let topic = "ports";
    let at = listen.unwrap_or(SocketAddr::from(([0, 0, 0, 0], 0)));
    let bound = TcpListener::bind(at).and_then(|tcp| {
        let at = tcp.local_addr()?;
        UdpSocket::bind(at).map(|_udp| at)
    });
    match bound {
        Ok(_) if at.port() == 0 => {
            Finding::ok(topic, "TCP and UDP can be bound; a free port is chosen at each start")
        }
        Ok(at) => Finding::ok(topic, format!("{at} is free for TCP and UDP")),
        Err(_) if let Some((name, own)) = running.iter().find(|(_, own)| own.port() == at.port()) => {
            Finding::ok(
                topic,
                format!("{at} is taken by {name}, this cluster's daemon here, which listens at {own}"),
            )
        }
        Err(error) => Finding::error(
            topic,
            format!("{at} cannot be bound for TCP and UDP: {error}"),
            "end what has it (`ss -ltunp` shows it), or choose another --listen",
        ),
    }
}

pub(super) fn addresses(iface: Option<&str>) -> (Vec<IpAddr>, Finding) {
    let topic = "addresses";
    let judged =
        Interface::list().map_err(Into::into).and_then(|list| advertised(&list, iface).map(|a| (a, list)));
    match judged {
        Err(error) => (Vec::new(), Finding::error(topic, error.to_string(), "as it says")),
        Ok((addresses, list)) => {
            let text = |addresses: &[IpAddr]| {
                addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            };
            let passed: Vec<_> = (list.iter())
                .filter_map(|i| Some(format!("{} on {} is {}", i.address, i.name, i.refusal()?)))
                .collect();
            let passed =
                if passed.is_empty() { String::new() } else { format!(" (not: {})", passed.join(", ")) };
            let what = format!("peers would be given {}{passed}", text(&addresses));
            (addresses, Finding::ok(topic, what))
        }
    }
}

pub(super) fn clock() -> Finding {
    judge_clock(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

fn judge_clock(seconds: u64) -> Finding {
    if SANE.contains(&seconds) {
        return Finding::ok("clock", "is plausible; nodes need not agree on the time");
    }
    let year = 1970 + seconds / 31_556_952;
    Finding::warning(
        "clock",
        format!(
            "it is the year {year} here: a new start of a node may pass for an old one, and logs mislead"
        ),
        "`timedatectl set-ntp true`, or set it by `date -s`",
    )
}

pub(super) fn open_files() -> Finding {
    judge_open_files(getrlimit(Resource::Nofile).current)
}

fn judge_open_files(limit: Option<u64>) -> Finding {
    match limit {
        Some(limit) if limit < FEW_FILES => Finding::warning(
            "limits",
            format!("a process may open {limit} files only; each peer, client and host takes some"),
            format!(
                "`ulimit -n {FEW_FILES}` before the join, or LimitNOFILE={FEW_FILES} in its systemd unit"
            ),
        ),
        Some(limit) => Finding::ok("limits", format!("a process may open {limit} files")),
        None => Finding::ok("limits", "a process may open any number of files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    #[test]
    fn the_clock_is_judged_by_the_year() {
        assert_eq!(judge_clock(1_790_000_000).verdict, Verdict::Ok);
        let old = judge_clock(0);
        assert!(old.verdict == Verdict::Warning && old.what.contains("the year 1970"), "{old:?}");
        assert_eq!(judge_clock(u64::MAX).verdict, Verdict::Warning);
    }

    #[test]
    fn few_files_are_a_warning_with_the_command() {
        assert_eq!(judge_open_files(Some(1024)).verdict, Verdict::Ok);
        assert_eq!(judge_open_files(None).verdict, Verdict::Ok);
        let few = judge_open_files(Some(256));
        assert!(few.fix.is_some_and(|fix| fix.contains("ulimit -n 1024")));
    }

    #[test]
    fn a_port_that_is_taken_is_an_error() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("bound");
        let finding = port(taken.local_addr().ok(), &[]);
        assert!(finding.verdict == Verdict::Error && finding.what.contains("127.0.0.1:"), "{finding:?}");
        assert_eq!(port(None, &[]).verdict, Verdict::Ok);
        let udp_only = UdpSocket::bind("127.0.0.1:0").expect("bound");
        assert_eq!(port(udp_only.local_addr().ok(), &[]).verdict, Verdict::Error);
    }

    #[test]
    fn a_port_that_the_own_daemon_has_is_fine() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("bound");
        let at = taken.local_addr().expect("an address");
        let finding = port(Some(at), &[("n1".into(), at)]);
        assert!(finding.verdict == Verdict::Ok && finding.what.contains("n1"), "{finding:?}");
    }

    #[test]
    fn a_key_that_is_missing_or_open_to_others_is_told_with_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        assert_eq!(key(None).verdict, Verdict::Warning);
        let missing = key(Some(&file));
        assert!(missing.verdict == Verdict::Error && missing.what.contains("key"), "{missing:?}");
        ClusterKey::generate().and_then(|key| key.write_new(&file)).expect("written");
        assert_eq!(key(Some(&file)).verdict, Verdict::Ok);
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("set");
        assert!(key(Some(&file)).what.contains("chmod 600"));
    }

    #[test]
    fn an_interface_that_is_not_there_is_an_error() {
        assert_eq!(addresses(Some("nowhere0")).1.verdict, Verdict::Error);
    }
}
