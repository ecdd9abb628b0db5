//! A host that trains nothing: it speaks to its daemon as a real one does, and misbehaves on demand. For tests.
//!
//! The job's topology is a list of words: `steps=N` (50), `pace_ms=N` (10), `fail=INDEX` (at half of the steps),
//! `blame=INDEX:OTHER` (fails because of another), `deaf=INDEX` (ignores a stop), `child` (starts a process of its own),
//! `crash=INDEX` (ends without a word).
#![allow(clippy::unwrap_used)]

use dae_actor::{Peer, Registry, Spawn, System};
use dae_cluster::protocol::Work;
use dae_cluster::protocol::hosts::{
    ActorLine, Assignment, Enlist, Enlisted, FACT_JOB, FACT_TOKEN, HOST, HostDone, HostProgress, NODE,
    Outcome, Progress, TOKEN,
};
use dae_cluster::{HostActor, NodeActor};
use dae_net::{Address, Cluster, Endpoint, Hello, Identity, Purpose};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    // Dies with the thread that started it: the daemon's.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    let arguments: Vec<String> = std::env::args().collect();
    let [_, serve, socket, path, job, id] = &arguments[..] else { panic!("{arguments:?}") };
    assert_eq!((serve.as_str(), socket.as_str(), job.as_str()), ("serve", "--socket", "--job"));
    let code = System::run(async |system| serve_daemon(system, path.into(), id.clone()).await).unwrap();
    ExitCode::from(code)
}

async fn serve_daemon(mut system: System, path: PathBuf, job: String) -> u8 {
    let cluster = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
    let endpoint = Endpoint::new(Arc::new(Identity::generate().unwrap()), Cluster::loopback(cluster));
    let token = std::env::var(TOKEN).unwrap();
    let mut hello = Hello::new("host", 0, Purpose::Host);
    hello.facts.insert(FACT_JOB.into(), job.clone());
    hello.facts.insert(FACT_TOKEN.into(), token.clone());
    let link = endpoint.dial(&Address::Unix(path), hello, PATIENCE).await.unwrap();

    let (stop, stopped) = watch::channel(None::<String>);
    let host = system.start(Spawn::named(HOST), move || {
        let stop = stop.clone();
        let tell = move |why: &str| drop(stop.send_replace(Some(why.to_owned())));
        let row = ActorLine {
            name: "worker 0".into(),
            kind: "gradient-worker".into(),
            depth: 2,
            bound: 64,
            restarts: 1,
            state: "running".into(),
        };
        HostActor::new(tell, move || vec![row.clone()])
    });
    let registry = Registry::new();
    registry.publish(&host).unwrap();
    let peer = Peer::over(link, registry);
    let node = peer.actor::<NodeActor>(NODE);
    println!("a host begins");
    let enlist = Enlist {
        job: job.clone(),
        token,
        pid: std::process::id(),
        program_sha256: "fake".into(),
        identity: endpoint.identity.id().0,
        bulk_addresses: vec![([127, 0, 0, 1], 1).into()],
    };
    let enlisted = node.ask(enlist, PATIENCE).await.unwrap().within(PATIENCE).await.unwrap();
    let Enlisted::Assigned(part) = enlisted else {
        println!("refused: {enlisted:?}");
        return 1;
    };
    let outcome = tokio::select! {
        outcome = train(&part, stopped, async |progress| {
            drop(node.tell(HostProgress { job: job.clone(), progress }));
        }) => outcome,
        // Its daemon has gone.
        _ = peer.closed() => return 3,
    };
    let Some(outcome) = outcome else { return 7 };
    node.ask(HostDone { job, outcome }, PATIENCE).await.unwrap();
    0
}

/// Its part of the job; `None` is an end without a word. Its child is for the daemon to end.
#[allow(clippy::zombie_processes)]
async fn train(
    part: &Assignment,
    stopped: watch::Receiver<Option<String>>,
    tell: impl AsyncFn(Progress),
) -> Option<Outcome> {
    let word = |name: &str| {
        let Work::Train(topology) = &part.work else { panic!("{:?}", part.work) };
        let words = topology.split_whitespace();
        words
            .filter_map(|word| word.split_once('=').or(Some((word, ""))))
            .find(|(key, _)| *key == name)
            .map(|w| w.1)
    };
    let number = |name, or: u64| word(name).map_or(or, |value| value.parse().unwrap());
    let mine = |name| word(name).is_some_and(|value| value == part.index.to_string());
    if word("child").is_some() {
        let child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        println!("child {} of {}", child.id(), std::process::id());
    }
    println!("host {} of {} writes to {:?}", part.index, part.hosts.len(), part.run_dir);
    let total = number("steps", 50);
    for step in 1..=total {
        let pause = tokio::time::Instant::now() + Duration::from_millis(number("pace_ms", 10));
        tokio::time::sleep_until(pause).await;
        if part.index == 0 {
            tell(Progress { step, total, loss: Some(1.0 / step as f64), samples_per_s: 1e3 }).await;
        }
        if step == total / 2 && mine("fail") {
            return Some(Outcome::Failed { cause: "out of luck".into(), code: 1, blames: None });
        }
        if step == total / 2 && mine("crash") {
            return None;
        }
        if let Some((me, other)) = word("blame").and_then(|value| value.split_once(':'))
            && step == total / 2
            && me == part.index.to_string()
        {
            let cause = "the link ended".into();
            return Some(Outcome::Failed { cause, code: 3, blames: other.parse().ok() });
        }
        let told = stopped.borrow().clone();
        if let Some(why) = told.filter(|_| !mine("deaf")) {
            println!("host {} stops", part.index);
            return Some(Outcome::Stopped { why });
        }
    }
    println!("all steps are done");
    Some(Outcome::Done)
}
