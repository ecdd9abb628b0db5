//! Multicast DNS between two machines (network namespaces on a bridge), as avahi's own tools see it, and by avahi.
//! Needs root, and says so where it has none.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use dae_net::{Announcement, CANDIDATES, Candidate, Discovery, Mdns, NodeId, Running};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{interval, timeout};

/// Two machines, n1 and n2, at 10.77.0.1 and 10.77.0.2. All of it goes with the last process in it.
const TWO_MACHINES: &str = "
mount -t tmpfs tmpfs /run
ip link add br0 type bridge && ip link set br0 up
for i in 1 2; do
    ip netns add n$i
    ip link add v$i type veth peer name eth0 netns n$i
    ip link set v$i master br0 up
    ip -n n$i link set lo up
    ip -n n$i addr add 10.77.0.$i/24 dev eth0
    ip -n n$i link set eth0 up
done
";
/// One machine with a network of its own, and the daemons of avahi on it.
const AVAHI: &str = "
mount -t tmpfs tmpfs /run
ip link set lo up
ip link add eth0 type veth peer name v0 && ip link set v0 up
ip addr add 10.77.0.1/24 dev eth0 && ip link set eth0 up
mkdir -p /run/dbus /run/avahi-daemon
cat > /run/dbus/dae.conf <<END
<busconfig><type>system</type><listen>unix:path=/run/dbus/dae</listen><auth>EXTERNAL</auth>
<policy context='default'><allow user='*'/><allow own='*'/><allow send_type='method_call'/><allow send_type='signal'/>
<allow send_requested_reply='true'/><allow receive_requested_reply='true'/></policy></busconfig>
END
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=/run/dbus/dae
dbus-daemon --config-file=/run/dbus/dae.conf --fork
avahi-daemon --no-drop-root --no-chroot --no-rlimits --daemonize
";

fn me(number: u8, port: u16) -> (SocketAddr, Announcement) {
    let at = SocketAddr::from(([10, 77, 0, number], port));
    let name = format!("node{number}");
    let me = Announcement {
        name,
        id: NodeId([number; 32]),
        tag: [7; 16],
        port,
        addresses: vec![at.ip()],
        versions: (1, 1),
    };
    (at, me)
}

fn start(discovery: Box<dyn Discovery>, me: Announcement) -> (mpsc::Receiver<Candidate>, Running) {
    let (sender, found) = mpsc::channel(CANDIDATES);
    (found, discovery.start(me, sender).unwrap())
}

/// Takes what is found, in any order, until all of `wanted` are among it.
async fn find(found: &mut mpsc::Receiver<Candidate>, wanted: &[SocketAddr]) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    let search = async {
        while !wanted.iter().all(|each| all.iter().any(|found| found.addresses.contains(each))) {
            all.push(found.recv().await.unwrap());
        }
    };
    let found = timeout(Duration::from_secs(10), search).await;
    assert!(found.is_ok(), "{wanted:?} were not all found: {all:?}");
    all
}

/// Runs `script` in namespaces of its own and then, within, the test `inner` of this program as `run` says.
fn within(needs: &[&str], script: &str, run: &str, inner: &str) -> Option<String> {
    let has = |program: &str| {
        Command::new("which").arg(program).stdout(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    let root = rustix::process::geteuid().is_root();
    if let Some(missing) = needs.iter().find(|program| !has(program)) {
        println!("skipped: needs {missing}");
        return None;
    }
    if !root {
        println!("skipped: needs root");
        return None;
    }
    let script = format!("set -e\n{script}\n{run}");
    let output = Command::new("unshare")
        .args(["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", &script])
        .env(
            "TEST",
            format!("{} --ignored --exact --nocapture {inner}", env::current_exe().unwrap().display()),
        )
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(said)
}

#[test]
fn two_machines_that_start_at_once_see_each_other_within_a_second() {
    let rounds = 7;
    let run = format!(
        "for round in $(seq {rounds}); do
            export ROUND=$round
            ME=1 ip netns exec n1 $TEST & first=$!
            ME=2 ip netns exec n2 $TEST
            wait $first
        done"
    );
    let Some(said) = within(&["unshare", "ip"], TWO_MACHINES, &run, "inner_one_of_two_machines") else {
        return;
    };
    let mut took: Vec<u64> =
        said.lines().filter_map(|line| line.split_once("FOUND ")?.1.trim().parse().ok()).collect();
    took.sort_unstable();
    println!("milliseconds until the other was seen: {took:?}");
    assert_eq!(took.len(), 2 * rounds, "{said}");
    assert!(took[rounds] < 1000 && took[2 * rounds - 1] < 2000, "{took:?}");
}

#[tokio::test]
#[ignore = "run by the test of two machines"]
async fn inner_one_of_two_machines() {
    let number: u8 = env::var("ME").unwrap().parse().unwrap();
    let began = Instant::now();
    let (mut found, running) = start(Box::new(Mdns::new()), me(number, 7946).1);
    find(&mut found, &[me(3 - number, 7946).0]).await;
    println!("FOUND {}", began.elapsed().as_millis());
    // The other one may still have to hear this one.
    let has_found = |number: u8| PathBuf::from(format!("/run/round-{}-{number}", env::var("ROUND").unwrap()));
    fs::write(has_found(number), "").unwrap();
    let mut ticks = interval(Duration::from_millis(10));
    while !has_found(3 - number).exists() && began.elapsed() < Duration::from_secs(5) {
        ticks.tick().await;
    }
    drop(running);
}

#[test]
fn avahi_browse_sees_what_mdns_announces() {
    let needs = ["unshare", "ip", "dbus-daemon", "avahi-daemon", "avahi-browse"];
    within(&needs, AVAHI, "$TEST", "inner_avahi_browse_sees_it");
}

#[tokio::test]
#[ignore = "run by the test of avahi-browse"]
async fn inner_avahi_browse_sees_it() {
    let (_found, running) = start(Box::new(Mdns::new()), me(1, 7946).1);
    let seen = browse(|text| text.contains("7946")).await;
    let line = seen.lines().find(|line| line.starts_with('=')).unwrap();
    assert!(line.contains("node1-01010101;_dae._tcp;local;dae-01010101.local;10.77.0.1;7946"), "{line}");
    let tag = format!("\"tag={}\"", "07".repeat(16));
    assert!(line.contains("\"v=1-1\"") && line.contains(&tag) && line.contains("\"a=10.77.0.1\""), "{line}");
    // The goodbye takes it away at once; without it the records would stay for more than a minute.
    drop(running);
    browse(|text| !text.contains("node1")).await;
}

/// What avahi-browse prints, asked until it is as `wanted`.
async fn browse(wanted: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        // Not on this thread: what is announced needs it.
        let asked =
            spawn_blocking(|| Command::new("avahi-browse").args(["-rpt", "_dae._tcp"]).output().unwrap());
        let output = asked.await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if wanted(&text) {
            return text;
        }
        assert!(Instant::now() < deadline, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(feature = "avahi")]
mod avahi {
    use super::*;
    use dae_net::Avahi;

    #[test]
    fn avahi_finds_and_is_found() {
        let needs = ["unshare", "ip", "dbus-daemon", "avahi-daemon", "avahi-browse"];
        within(&needs, AVAHI, "$TEST", "avahi::inner_avahi_and_mdns");
    }

    #[tokio::test]
    #[ignore = "run by the test of avahi"]
    async fn inner_avahi_and_mdns() {
        let ((first, one), (second, two), (third, three)) = (me(1, 7001), me(2, 7002), me(3, 7003));
        let stranger = Announcement { tag: [8; 16], ..me(4, 7004).1 };
        let (mut by_avahi, running) = start(Box::new(Avahi), one);
        let (mut also_by_avahi, _running) = start(Box::new(Avahi), two);
        let (mut by_mdns, _running_too) = start(Box::new(Mdns::on("eth0")), three);
        let (_, _other_cluster) = start(Box::new(Avahi), stranger);
        let began = Instant::now();
        let seen = find(&mut by_avahi, &[second, third]).await;
        find(&mut also_by_avahi, &[first, third]).await;
        find(&mut by_mdns, &[first, second]).await;
        println!("avahi and mdns found each other after {:?}", began.elapsed());
        let mine_or_strangers = |each: &Candidate| [7001, 7004].contains(&each.addresses[0].port());
        assert!(seen.iter().all(|each| each.source == "avahi" && !mine_or_strangers(each)), "{seen:?}");
        let seen = browse(|text| text.contains("7001")).await;
        assert!(seen.contains("node1-01010101") && seen.contains("\"a=10.77.0.1\""), "{seen}");
        let stopping = Instant::now();
        drop(running);
        assert!(stopping.elapsed() < Duration::from_secs(1), "{:?}", stopping.elapsed());
        browse(|text| !text.contains("node1")).await;
    }

    #[tokio::test]
    async fn avahi_says_what_to_do_where_there_is_no_daemon() {
        let (sender, _found) = mpsc::channel(1);
        // On a machine with avahi-daemon it starts, and that is as good.
        if let Err(error) = Box::new(Avahi).start(me(1, 7946).1, sender) {
            assert!(error.to_string().contains("start avahi-daemon"), "{error}");
        }
    }
}
