//! The limit: bare bytes over one loopback TCP connection, two threads, no seal, no messages.
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use super::contender::Figures;

const SMALL: usize = 64;
const ASKS: usize = 5000;
const PART: usize = 64 << 20;
const PARTS: usize = 10;
/// How much is read at a time; larger pieces fall out of the cache.
const PIECE: usize = 256 << 10;
/// Nothing here takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The median round trip of 64 bytes, and the speed of 64 MiB one way.
pub fn measure() -> io::Result<Figures> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut near = TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    for end in [&near, &far] {
        end.set_nodelay(true)?;
        end.set_read_timeout(Some(PATIENCE))?;
        end.set_write_timeout(Some(PATIENCE))?;
    }
    let server = thread::spawn(move || serve(far));
    let asked = ask_us(&mut near)?;
    let speed = part_gb_per_s(&mut near)?;
    server.join().map_err(|_| io::Error::other("the far end panicked"))??;
    Ok(Figures { ask_us: asked, pipelined_per_s: None, part_gb_per_s: speed })
}

/// Echoes every small message, then swallows every part and says so with one byte.
fn serve(mut far: TcpStream) -> io::Result<()> {
    let mut small = [0; SMALL];
    for _ in 0..ASKS {
        far.read_exact(&mut small)?;
        far.write_all(&small)?;
    }
    let mut piece = vec![0; PIECE];
    for _ in 0..=PARTS {
        for _ in 0..PART / PIECE {
            far.read_exact(&mut piece)?;
        }
        far.write_all(&[1])?;
    }
    Ok(())
}

fn ask_us(near: &mut TcpStream) -> io::Result<f64> {
    let mut small = [7; SMALL];
    let mut times = Vec::with_capacity(ASKS);
    for _ in 0..ASKS {
        let start = Instant::now();
        near.write_all(&small)?;
        near.read_exact(&mut small)?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Ok(times[ASKS / 2].as_secs_f64() * 1e6)
}

fn part_gb_per_s(near: &mut TcpStream) -> io::Result<f64> {
    let part = vec![7; PART];
    let mut start = Instant::now();
    for number in 0..=PARTS {
        near.write_all(&part)?;
        near.read_exact(&mut [0])?;
        if number == 0 {
            start = Instant::now(); // the first one warms up
        }
    }
    Ok((PARTS * PART) as f64 / start.elapsed().as_secs_f64() / 1e9)
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_measures() {
        let figures = super::measure().unwrap();
        assert!(figures.ask_us > 0.0 && figures.part_gb_per_s > 0.0, "{figures:?}");
    }
}
