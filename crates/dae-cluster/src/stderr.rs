//! [`Stderr`]: lines on stderr, written by a thread of its own, so that whoever stops reading holds nobody up.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Lines that wait to be written.
const WAITING: usize = 1024;
/// The longest line, in bytes.
const LINE: usize = 8 << 10;
/// How long the last lines may take to be written.
const LAST: Duration = Duration::from_millis(500);

/// Lines on a stream that may block, such as stderr: they are queued, and where the queue is full they are counted
/// and dropped. Cheap to clone; all clones write to one queue.
#[derive(Debug, Clone)]
pub struct Stderr {
    lines: Arc<Lines>,
}

#[derive(Debug)]
struct Lines {
    /// `None` from the end on.
    queue: Mutex<Option<SyncSender<Vec<u8>>>>,
    lost: Arc<AtomicU64>,
    /// Ends when the last line is written.
    written: Mutex<Receiver<()>>,
}

impl Stderr {
    /// One that writes to this process's stderr.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn new() -> io::Result<Self> {
        Self::to(io::stderr())
    }

    fn to(stream: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, lines) = sync_channel(WAITING);
        let (done, written) = sync_channel(0);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = lost.clone();
        std::thread::Builder::new().name("stderr".into()).spawn(move || {
            write(stream, &lines, &counted);
            drop::<SyncSender<()>>(done);
        })?;
        let lines = Lines { queue: Mutex::new(Some(queue)), lost, written: Mutex::new(written) };
        Ok(Self { lines: Arc::new(lines) })
    }

    /// Writes a line, sooner or later or not at all; never waits.
    pub fn line(&self, line: &str) {
        let mut bytes = line.as_bytes()[..line.floor_char_boundary(LINE)].to_vec();
        bytes.push(b'\n');
        self.put(bytes);
    }

    /// Waits a moment for what is queued; nothing is written after it.
    pub fn finish(&self) {
        drop(self.lines.queue.lock().unwrap_or_else(PoisonError::into_inner).take());
        let written = self.lines.written.lock().unwrap_or_else(PoisonError::into_inner);
        // It ends, or whoever reads has stopped: nobody waits for that.
        let _ = written.recv_timeout(LAST);
    }

    fn put(&self, bytes: Vec<u8>) {
        let queue = self.lines.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = &*queue
            && queue.try_send(bytes).is_err()
        {
            self.lines.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// What a subscriber of `tracing` writes: one event at a time.
impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes[..bytes.len().min(LINE)].to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(mut stream: impl Write, lines: &Receiver<Vec<u8>>, lost: &AtomicU64) {
    while let Ok(line) = lines.recv() {
        // Whoever read it may have gone.
        let _ = stream.write_all(&line);
        let lost = lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let _ = writeln!(stream, "({lost} lines were not read in time and are lost)");
        }
    }
    let _ = stream.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn a_reader_that_stops_holds_nobody_up_and_learns_what_it_missed() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let out = Stderr::to(writer).expect("a thread");
        // Far more than pipe and queue hold.
        let began = Instant::now();
        let long = "x".repeat(LINE);
        (0..3 * WAITING).for_each(|_| out.line(&long));
        out.finish();
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        out.line("after the end");
        let mut text = String::new();
        io::Read::read_to_string(&mut reader, &mut text).expect("all of it");
        let told = text.lines().find(|line| line.contains("lines were not read in time")).expect("a count");
        let lost: usize = told[1..].split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        assert_eq!(text.lines().filter(|line| **line == long).count() + lost, 3 * WAITING);
    }

    #[test]
    fn lines_come_whole_and_in_order_and_long_ones_are_cut() {
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let out = Stderr::to(writer).expect("a thread");
        out.line("first");
        writeln!(&mut out.clone(), "second").expect("taken");
        out.line(&"ä".repeat(LINE));
        out.finish();
        let mut text = String::new();
        io::Read::read_to_string(&mut reader, &mut text).expect("all of it");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[1], lines[2].len()), (3, "first", "second", LINE));
    }
}
