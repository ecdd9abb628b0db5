//! Measures asks of an actor in another process, over a sealed link: one by one, many in flight, and with 64 MiB
//! beside the message. Prints one JSON line for a Unix socket, and one for TCP on the loopback interface.
//!
//! `bench_actor` starts itself once more as `bench_actor serve ADDRESS`, which ends with its standard input.

use dae_actor::{
    Accepts, Actor, ActorRef, Body, Context, Handler, Message, Peer, Registry, Remote, Spawn, System,
};
use dae_net::{Address, Cluster, Endpoint, Hello, Identity, Link, Purpose};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

const DEADLINE: Duration = Duration::from_secs(10);
const ASKS: usize = 20_000;
const IN_FLIGHT: u32 = 1024;
const EACH: u32 = 400;
const PARTS: usize = 16;
const PART_BYTES: usize = 64 << 20;

struct Echo;

impl Actor for Echo {
    const KIND: &'static str = "echo";
}

impl Remote for Echo {
    fn accepts(list: &mut Accepts<Self>) {
        list.message::<Ping>("ping").message::<Part>("part");
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ping {
    n: u32,
}

impl Body for Ping {}

impl Message for Ping {
    type Reply = u32;
}

impl Handler<Ping> for Echo {
    fn handle(&mut self, Ping { n }: Ping, _: &mut Context<'_, Self>) -> u32 {
        n
    }
}

/// Bulk, answered by its length.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl Body for Part {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        vec![std::mem::take(&mut self.bytes)]
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        let [bytes] = <[_; 1]>::try_from(parts).map_err(|p| format!("{} parts, not one", p.len()))?;
        self.bytes = bytes;
        Ok(())
    }
}

impl Message for Part {
    type Reply = u64;
}

impl Handler<Part> for Echo {
    fn handle(&mut self, part: Part, _: &mut Context<'_, Self>) -> u64 {
        part.bytes.len() as u64
    }
}

fn main() -> Outcome {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let folder = tempfile::tempdir()?;
            measure("unix", &folder.path().join("bench.sock").display().to_string())?;
            measure("tcp", "127.0.0.1:0")
        }
        ["serve", address] => System::run(async |system| serve(system, address).await)?,
        _ => Err("usage: bench_actor, or bench_actor serve ADDRESS".into()),
    }
}

fn address(text: &str) -> Address {
    text.parse().map_or_else(|_| Address::Unix(text.into()), Address::Tcp)
}

fn end(name: &str) -> Outcome<(Endpoint, Hello)> {
    let endpoint = Endpoint::new(Arc::new(Identity::generate()?), Cluster::loopback("bench"));
    Ok((endpoint, Hello::new(name, 1, Purpose::Client)))
}

/// Serves one link until standard input ends.
async fn serve(mut system: System, at: &str) -> Outcome {
    let (endpoint, hello) = end("server")?;
    let mut listener = endpoint.listen(&address(at)).await?;
    println!("{}", listener.address());
    let registry = Registry::new();
    registry.publish(&system.start(Spawn::named("echo").mailbox(2 * IN_FLIGHT as usize), || Echo))?;
    let link: Link = endpoint.accept(listener.accept().await?, |_| Ok(hello), DEADLINE).await?;
    let peer = Peer::over(link, registry);
    let (gone, orphaned) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // Nothing is ever written there; it ends with the parent.
        drop(std::io::stdin().read_to_end(&mut Vec::new()));
        // Whoever waited may have ended on its own.
        let _ = gone.send(());
    });
    tokio::select! {
        _ = peer.closed() => {}
        _ = orphaned => {}
    }
    Ok(())
}

fn measure(over: &str, at: &str) -> Outcome {
    let mut server = Command::new(std::env::current_exe()?);
    server.args(["serve", at]).stdin(Stdio::piped()).stdout(Stdio::piped());
    // A host keeps the memory that it frees, so that bulk comes to lie where other bulk lay: `dae_torch::reuse_memory`.
    server.env(
        "GLIBC_TUNABLES",
        "glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824",
    );
    let mut server = server.spawn()?;
    let mut bound = String::new();
    BufReader::new(server.stdout.take().ok_or("no output")?).read_line(&mut bound)?;
    let figures = System::run(async |_| {
        let (endpoint, hello) = end("client")?;
        let link = endpoint.dial(&address(bound.trim()), hello, DEADLINE).await?;
        let peer = Peer::over(link, Registry::new());
        let echo = peer.actor::<Echo>("echo");
        let figures = (ask(&echo).await?, pipeline(&echo).await?, parts(&echo).await?);
        peer.close("done");
        peer.closed().await;
        Ok::<_, Box<dyn Error>>(figures)
    });
    drop(server.stdin.take());
    server.wait()?;
    let (ask_us, pipelined_per_s, part_gb_per_s) = figures??;
    let figures = serde_json::json!({
        "tool": "dae", "over": over, "ask_us": ask_us, "pipelined_per_s": pipelined_per_s,
        "part_gb_per_s": part_gb_per_s,
    });
    println!("{figures}");
    Ok(())
}

/// The median time of one ask after the other.
async fn ask(echo: &ActorRef<Echo>) -> Outcome<f64> {
    let mut times = Vec::with_capacity(ASKS);
    for n in 0..ASKS as u32 {
        let began = Instant::now();
        echo.ask(Ping { n }, DEADLINE).await?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[ASKS / 2].as_secs_f64() * 1e6)
}

/// Asks in a second with many in flight.
async fn pipeline(echo: &ActorRef<Echo>) -> Outcome<f64> {
    let began = Instant::now();
    let mut askers = tokio::task::JoinSet::new();
    for n in 0..IN_FLIGHT {
        let echo = echo.clone();
        askers.spawn_local(async move {
            for k in 0..EACH {
                echo.ask(Ping { n: n + k }, DEADLINE).await?;
            }
            Ok::<_, dae_actor::AskError>(())
        });
    }
    while let Some(asker) = askers.join_next().await {
        asker??;
    }
    Ok(f64::from(IN_FLIGHT * EACH) / began.elapsed().as_secs_f64())
}

/// Gigabytes in a second, one way, from when the part is given away until it is there.
async fn parts(echo: &ActorRef<Echo>) -> Outcome<f64> {
    let mut times = Vec::new();
    for byte in 0..PARTS as u8 {
        let part = Part { bytes: vec![byte + 1; PART_BYTES] };
        let began = Instant::now();
        let bytes = echo.ask(part, DEADLINE).await?;
        times.push(began.elapsed());
        assert_eq!(bytes, PART_BYTES as u64);
    }
    times.sort_unstable();
    Ok(PART_BYTES as f64 / times[PARTS / 2].as_secs_f64() / 1e9)
}
