//! What a host measures with the other hosts of its job, in place of training.

use super::{Daemon, Fault, Place};
use crate::exit::Failure;
use dae_cluster::protocol::hosts::{HostSpot, Outcome, Progress};
use dae_cluster::protocol::{Bench, Finding, Work};
use dae_collective::{Algorithm, Broken, Peers, Probed, Timed};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// A node that moves nothing for so long is lost. While two are measured all others wait.
const LOST: Duration = Duration::from_secs(60);
/// How long a sum of one size is tried, in seconds, and how often at least and at most.
const TRIED_S: f64 = 0.5;
const ROUNDS: (usize, usize) = (3, 200);
/// How long the word that the job is to end may be under way, when others that have heard it have left already.
const UNDER_WAY: Duration = Duration::from_secs(2);
/// How often the daemon is told how far it is.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// This host's part, from meeting the others to its end; who drops it need not wait for what is under way. The first writes what is found to stdout, which is the job's log.
pub(super) async fn measure(mut place: Place, bench: Bench, daemon: &Daemon) -> Result<Outcome, Fault> {
    Work::Bench(bench.clone()).check().map_err(Failure::failed)?;
    let lane = place.meet(1).await?.pop().unwrap_or_default();
    let mut peers = place.peers(lane, LOST, bench.plain).map_err(Failure::failed)?;
    let first = place.me() == 0;
    let (total, done) = (steps(&bench, place.hosts().len()), Arc::new(AtomicU64::new(0)));
    let (end, ended) = oneshot::channel();
    let count = done.clone();
    let measure = move || {
        let found = |finding: &Finding| {
            if first && let Ok(line) = serde_json::to_string(finding) {
                // Nobody reads it once the daemon is gone, and then this host goes with it.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
            if !matches!(finding, Finding::Auto { .. }) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        // Nobody waits for it once the job is stopped.
        drop(end.send(all(&mut peers, &bench, found)));
    };
    std::thread::Builder::new().name("bench".into()).spawn(measure).map_err(Failure::failed)?;
    let tell = || {
        let step = done.load(Ordering::Relaxed);
        daemon.tell(Progress { step, total, loss: None, samples_per_s: 0.0 });
    };
    let follow = async {
        let mut ticks = tokio::time::interval(TELL_EVERY);
        loop {
            ticks.tick().await;
            tell();
        }
    };
    let measured = tokio::select! {
        measured = ended => measured,
        () = follow, if first => return Err(Failure::failed("it never ends").into()),
    };
    if first {
        tell();
    }
    match measured {
        Ok(Ok(())) => Ok(Outcome::Done),
        Ok(Err(broken)) => {
            tokio::time::sleep_until(Instant::now() + UNDER_WAY).await;
            Err(fault(&broken, place.hosts()))
        }
        Err(_) => Err(Failure::failed("the thread that measures failed").into()),
    }
}

/// Findings that there will be, those that only say what follows from others left out.
fn steps(bench: &Bench, nodes: usize) -> u64 {
    (1 + nodes * (nodes - 1) / 2 + bench.sizes.len() * Algorithm::ALL.len()) as u64
}

/// Measures all there is; each finding is told on every host.
fn all(peers: &mut dyn Peers, bench: &Bench, mut found: impl FnMut(&Finding)) -> Result<(), Broken> {
    let nodes = peers.nodes();
    let names: Vec<_> = (0..nodes).map(|node| peers.name(node).to_owned()).collect();
    let probed = Probed::probe(peers, 1)?;
    let agreed = probed.agreed;
    found(&Finding::Together {
        latency_s: agreed.latency_s,
        message_s: agreed.message_s,
        seconds_per_byte: agreed.seconds_per_byte,
    });
    let mut timed = Timed::new(peers);
    for a in 0..nodes {
        for b in a + 1..nodes {
            let cost = timed.link([a, b])?;
            found(&Finding::Link {
                nodes: [names[a].clone(), names[b].clone()],
                latency_s: cost.latency_s,
                seconds_per_byte: cost.seconds_per_byte,
            });
        }
    }
    for bytes in &bench.sizes {
        let size = usize::try_from(*bytes).unwrap_or(usize::MAX);
        for algorithm in Algorithm::ALL {
            let expected_s = agreed.all_reduce_s(algorithm, nodes, size);
            let rounds = rounds(expected_s);
            let times = timed.all_reduce(algorithm, size, rounds)?;
            found(&Finding::AllReduce {
                bytes: *bytes,
                algorithm: algorithm.name().into(),
                rounds: rounds as u64,
                median_s: times.median_s,
                fastest_s: times.fastest_s,
                expected_s,
            });
        }
        let choice = probed.choose(size);
        let (algorithm, why) = (choice.algorithm.name().into(), choice.reason);
        found(&Finding::Auto { bytes: *bytes, algorithm, why });
    }
    Ok(())
}

/// How often what is expected to take so long is done: on all hosts as often, for they expect the same.
fn rounds(expected_s: f64) -> usize {
    // What costs nothing is done most often.
    ((TRIED_S / expected_s.max(1e-9)) as usize).clamp(ROUNDS.0, ROUNDS.1)
}

fn fault(broken: &Broken, hosts: &[HostSpot]) -> Fault {
    let lost = match broken {
        Broken::Node { node, .. } => Some(node.as_str()),
        _ => None,
    };
    Fault::felt(Failure::failed(broken), lost, hosts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dae_collective::MemoryPeers;

    #[test]
    fn all_hosts_find_the_same_and_no_less_than_was_said() {
        let names = ["a", "b", "c"].map(String::from);
        let bench = Bench { sizes: vec![4, 4 << 10], plain: false };
        let threads: Vec<_> = MemoryPeers::mesh(&names, Duration::from_secs(20))
            .into_iter()
            .map(|mut peers| {
                let bench = bench.clone();
                std::thread::spawn(move || {
                    let mut findings = Vec::new();
                    all(&mut peers, &bench, |finding| findings.push(finding.clone())).unwrap();
                    findings
                })
            })
            .collect();
        let found: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(found.iter().all(|findings| *findings == found[0]), "{found:?}");
        let links = found[0].iter().filter_map(|finding| match finding {
            Finding::Link { nodes: [a, b], .. } => Some(format!("{a}{b}")),
            _ => None,
        });
        assert_eq!(links.collect::<Vec<_>>(), ["ab", "ac", "bc"]);
        let autos = found[0].iter().filter(|finding| matches!(finding, Finding::Auto { .. })).count();
        assert_eq!((autos, found[0].len() as u64 - 2), (2, steps(&bench, 3)));
    }

    #[test]
    fn what_takes_long_is_done_less_often() {
        assert_eq!([0.0, 1e-4, 0.01, 5.0, f64::INFINITY].map(rounds), [200, 200, 50, 3, 3]);
        assert_eq!(rounds(f64::NAN), 200);
    }
}
