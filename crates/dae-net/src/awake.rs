//! [`Awake`]: looks for what arrives for a moment before the thread sleeps.

use std::io::{self, Read as _};
use std::time::{Duration, Instant};

use crate::socket::StdSocket;

/// How long to stay awake: longer than a thread that has to be woken takes to go on.
const AWAKE: Duration = Duration::from_micros(150);

/// The most waits, as a power of two, that follow on one another without trying again.
const MOST_DOUBLINGS: u32 = 5;

/// Where processors idle, waking a thread up takes tens of microseconds, more than a short exchange does otherwise. So a
/// link is looked at for a moment before its reader sleeps; while that is in vain, as where the peer computes for
/// longer or waits for this very processor, it is tried ever less.
#[derive(Debug, Default)]
pub(crate) struct Awake {
    in_vain: u32,
    asleep: u32,
}

impl Awake {
    /// Reads what there is, once there is something.
    pub(crate) fn read(&mut self, socket: &mut StdSocket, into: &mut [u8]) -> io::Result<usize> {
        if self.asleep > 0 {
            self.asleep -= 1;
            return socket.read(into);
        }
        let began = Instant::now();
        loop {
            match socket.read_now(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => {
                    self.in_vain = 0;
                    return done;
                }
            }
            if began.elapsed() > AWAKE {
                break;
            }
            // Whoever else has something to do here goes first: it may be the peer.
            std::thread::yield_now();
        }
        self.in_vain = (self.in_vain + 1).min(MOST_DOUBLINGS);
        self.asleep = (1 << self.in_vain) - 1;
        socket.read(into)
    }
}
