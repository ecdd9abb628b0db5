//! The command `bench-allreduce`: how fast gradients are summed, in one arena or over two hosts. One JSON line for each size.

use crate::across::LinkPeers;
use crate::cli::BenchArgs;
use crate::exit::Failure;
use dae_actor::System;
use dae_collective::{Apply, Arena, Contribution, Means, Member, Probed};
use dae_net::{Address, Cluster, Endpoint, Hello, Identity, Link, Listener, Parts, Purpose};
use dae_train::exit::Exit;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes of f32: from what latency decides to what bandwidth does.
const SIZES: [usize; 4] = [4 << 10, 256 << 10, 4 << 20, 64 << 20];
/// Longer than any of it should take.
const DEADLINE: Duration = Duration::from_secs(60);
/// The first few are not counted: links and memory find their ways.
const WARM_UP: usize = 10;

/// Measures.
pub(crate) fn allreduce(args: &BenchArgs) -> Result<Exit, Failure> {
    let (meet, node) = match (&args.listen, &args.dial) {
        (Some(at), None) => (at, 0),
        (None, Some(at)) => (at, 1),
        _ => return in_arena(args.workers),
    };
    let how = if args.plain { Parts::Plain } else { Parts::Sealed };
    let address = Address::Tcp(*meet);
    let links = System::run(async move |_| links(&address, node).await);
    let links = links.map_err(Failure::failed)?.map_err(Failure::failed)?;
    let names = ["the listening one".to_owned(), "the dialling one".to_owned()];
    for (bytes, link) in SIZES.into_iter().zip(links) {
        let mut to: Vec<Option<Link>> = vec![None, None];
        to[1 - node] = Some(link);
        let mut peers = LinkPeers::new(node, &names, to, (DEADLINE, how)).map_err(Failure::failed)?;
        // As a run does by itself.
        let probed = Probed::probe(&mut peers, 1).map_err(Failure::failed)?;
        let means = Means::Plain(probed.choose(bytes).algorithm);
        let arena = Arena::on_node(node, bytes / 4, 0, 1, DEADLINE);
        let member = arena.join(0).map_err(Failure::failed)?.across_by(Box::new(peers), means);
        let times = time(member, bytes, |_| ()).map_err(Failure::failed)?;
        if node == 0 {
            print("nodes", 2, bytes, times);
        }
    }
    Ok(Exit::Done)
}

/// A link for each size.
async fn links(at: &Address, node: usize) -> Result<Vec<Link>, String> {
    let identity = Identity::generate().map_err(|e| e.to_string())?;
    // What is measured is worth nothing to anybody.
    let endpoint = Endpoint::new(Arc::new(identity), Cluster::job([0; 32]));
    let hello = || Hello::new("bench", 0, Purpose::Bulk);
    let mut links = Vec::new();
    if node == 1 {
        let by = Instant::now() + DEADLINE;
        while links.len() < SIZES.len() {
            match endpoint.dial(at, hello(), DEADLINE).await {
                Ok(link) => links.push(link),
                Err(e) if Instant::now() > by => return Err(e.to_string()),
                // The other may not listen yet.
                Err(_) => tokio::task::yield_now().await,
            }
        }
        return Ok(links);
    }
    let mut listener = Listener::bind(at).await.map_err(|e| e.to_string())?;
    while links.len() < SIZES.len() {
        let incoming = tokio::time::timeout(DEADLINE, listener.accept()).await;
        let incoming = incoming.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
        links.push(endpoint.accept(incoming, |_| Ok(hello()), DEADLINE).await.map_err(|e| e.to_string())?);
    }
    Ok(links)
}

/// Sums the slots of so many workers of this process into the parameters, which all see.
fn in_arena(workers: usize) -> Result<Exit, Failure> {
    for bytes in SIZES {
        let arena = Arena::new(bytes / 4, 0, workers, DEADLINE);
        let times = std::thread::scope(|scope| {
            let ranks: Vec<_> = (0..workers)
                .map(|rank| {
                    let member = arena.join(rank).map_err(|e| e.to_string());
                    scope.spawn(move || {
                        let sum = |view: &mut Apply<'_>| dae_collective::sum(&view.grads, view.params);
                        time(member?, bytes, sum).map_err(|e| e.to_string())
                    })
                })
                .collect();
            let times = ranks.into_iter().map(|rank| rank.join().unwrap_or(Err("a worker panicked".into())));
            times.collect::<Result<Vec<_>, _>>()
        });
        print("arena", workers, bytes, times.map_err(Failure::failed)?.swap_remove(0));
    }
    Ok(Exit::Done)
}

fn time(
    mut member: Member,
    bytes: usize,
    sum: impl Fn(&mut Apply<'_>),
) -> Result<Vec<Duration>, dae_collective::Broken> {
    let rounds = ((256 << 20) / bytes / 4).clamp(8, 2000) + WARM_UP;
    let mut times = Vec::with_capacity(rounds);
    let mine = || Contribution { weight: 1.0, ..Contribution::default() };
    for _ in 0..rounds {
        member.slot().fill(1.0);
        // All begin together: a step that changes nothing, and over nodes a byte from each.
        member.first_to_say(false)?;
        let began = Instant::now();
        member.reduce(mine(), |view| {
            sum(view);
            Ok(((), Some(true)))
        })?;
        times.push(began.elapsed());
    }
    member.leave(rounds as u64)?;
    Ok(times.split_off(WARM_UP))
}

fn print(over: &str, workers: usize, bytes: usize, mut times: Vec<Duration>) {
    times.sort_unstable();
    let median = times[times.len() / 2].as_secs_f64();
    let line = serde_json::json!({
        "what": "allreduce", "tool": "dae", "over": over, "workers": workers, "bytes": bytes,
        "median_us": median * 1e6, "gb_per_s": bytes as f64 / median / 1e9,
    });
    println!("{line}");
}
