//! How fast a sealed link is over loopback TCP: two threads, each with a runtime of its own; one line of JSON.
//!
//! `cargo run --release -p dae-net --example link_speed`

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use dae_net::{Address, Cluster, Endpoint, Frame, Hello, Identity, Link, LinkError, Parts, Purpose};

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

const DEADLINE: Duration = Duration::from_secs(10);
const PART_BYTES: usize = 64 << 20;
const PARTS: usize = 16;
const SMALL_FRAMES: usize = 400_000;
const ROUND_TRIPS: usize = 20_000;
const CONNECTIONS: usize = 200;

/// Kinds of the frames that the far side tells apart.
const ECHO: u16 = 1;
const TAKE: u16 = 2;

fn main() -> Fallible<()> {
    let (tell, told) = sync_channel(1);
    let far = thread::spawn(move || far_side(&tell));
    let near = near_side(&told);
    far.join().map_err(|_| "the far side panicked")??;
    println!("{}", near?);
    Ok(())
}

fn runtime() -> Fallible<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

fn endpoint() -> Fallible<Endpoint> {
    Ok(Endpoint::new(Arc::new(Identity::generate()?), Cluster::loopback("speed")))
}

/// Accepts, echoes what is to be echoed, and acknowledges the last of what is only taken.
fn far_side(tell: &SyncSender<SocketAddr>) -> Fallible<()> {
    let runtime = runtime()?;
    runtime.block_on(async {
        let node = endpoint()?;
        let mut listener = node.listen(&Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)))).await?;
        tell.send(listener.address().socket_addr().ok_or("no port")?)?;
        let mut accepted = async || {
            let incoming = listener.accept().await?;
            node.accept(incoming, |_| Ok(Hello::new("far", 1, Purpose::Node)), DEADLINE).await
        };
        for _ in 0..CONNECTIONS {
            accepted().await?;
        }
        let mut link = accepted().await?;
        while let Some(frame) = link.receiver.recv().await? {
            if frame.kind == ECHO {
                link.sender.send(&frame).await?;
            }
        }
        bulk_far(accepted().await?)
    })
}

fn bulk_far(link: Link) -> Fallible<()> {
    let (mut sender, mut receiver) = link.into_bulk(DEADLINE, Parts::Sealed)?;
    let mut part = vec![0; PART_BYTES];
    for _ in 0..=PARTS {
        receiver.recv(&mut [&mut part])?;
    }
    sender.send(ECHO, &[], &[])?;
    for _ in 0..ROUND_TRIPS {
        receiver.recv(&mut [])?;
        sender.send(ECHO, &[], &[])?;
    }
    Ok(())
}

fn near_side(told: &Receiver<SocketAddr>) -> Fallible<String> {
    let at = Address::Tcp(told.recv()?);
    let runtime = runtime()?;
    runtime.block_on(async {
        let node = endpoint()?;
        let dial = || node.dial(&at, Hello::new("near", 1, Purpose::Client), DEADLINE);
        let start = Instant::now();
        for _ in 0..CONNECTIONS {
            dial().await?;
        }
        let connect_us = start.elapsed().as_secs_f64() * 1e6 / CONNECTIONS as f64;

        let mut link = dial().await?;
        let round_trip_us = round_trips(&mut link).await?;
        let small_per_s = small_frames(&mut link).await?;
        let part_gb_per_s = big_parts(&mut link).await?;
        link.sender.close().await?;

        let (bulk_gb_per_s, bulk_round_trip_us) = bulk_near(dial().await?)?;
        Ok(format!(
            "{{\"connect_us\": {connect_us:.0}, \"round_trip_us_median\": {round_trip_us:.1}, \
             \"small_frames_per_s\": {small_per_s:.0}, \"part_gb_per_s\": {part_gb_per_s:.2}, \
             \"bulk_gb_per_s\": {bulk_gb_per_s:.2}, \"bulk_round_trip_us_median\": {bulk_round_trip_us:.1}}}"
        ))
    })
}

fn frame(kind: u16) -> Frame {
    Frame { kind, header: vec![0xc0; 40], parts: vec![] }
}

async fn echoed(link: &mut Link) -> Result<(), LinkError> {
    link.sender.send(&frame(ECHO)).await?;
    link.receiver.recv().await?;
    Ok(())
}

async fn round_trips(link: &mut Link) -> Fallible<f64> {
    let mut took = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        echoed(link).await?;
        took.push(start.elapsed());
    }
    Ok(median_us(took))
}

async fn small_frames(link: &mut Link) -> Fallible<f64> {
    let small = frame(TAKE);
    let start = Instant::now();
    for number in 0..SMALL_FRAMES {
        link.sender.feed(&small).await?;
        if number % 64 == 63 {
            link.sender.flush().await?;
        }
    }
    echoed(link).await?;
    Ok(SMALL_FRAMES as f64 / start.elapsed().as_secs_f64())
}

async fn big_parts(link: &mut Link) -> Fallible<f64> {
    let part = vec![7; PART_BYTES];
    let start = Instant::now();
    for _ in 0..PARTS {
        link.sender.feed_parts(TAKE, &[], &[&part]).await?;
    }
    echoed(link).await?;
    Ok((PARTS * PART_BYTES) as f64 / 1e9 / start.elapsed().as_secs_f64())
}

fn bulk_near(link: Link) -> Fallible<(f64, f64)> {
    let (mut sender, mut receiver) = link.into_bulk(DEADLINE, Parts::Sealed)?;
    let part = vec![7; PART_BYTES];
    // The first finds memory that nobody has touched.
    sender.send(TAKE, &[], &[&part])?;
    let start = Instant::now();
    for _ in 0..PARTS {
        sender.send(TAKE, &[], &[&part])?;
    }
    receiver.recv(&mut [])?;
    let gb_per_s = (PARTS * PART_BYTES) as f64 / 1e9 / start.elapsed().as_secs_f64();
    let mut took = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        sender.send(ECHO, &[], &[])?;
        receiver.recv(&mut [])?;
        took.push(start.elapsed());
    }
    Ok((gb_per_s, median_us(took)))
}

fn median_us(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took[took.len() / 2].as_secs_f64() * 1e6
}
