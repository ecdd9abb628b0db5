//! [`Awake`]: looks for what arrives for a moment before the thread sleeps.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bulk_receiver::BulkReceiver;
use crate::bulk_sender::BulkSender;
use crate::link_error::LinkError;

/// How long to stay awake: longer than a thread that has to be woken takes to go on.
const AWAKE: Duration = Duration::from_micros(150);

/// The most waits, as a power of two, that follow on one another without trying again.
const MOST_DOUBLINGS: u32 = 5;

/// How a thread waits for bulk links.
///
/// Where processors idle, waking a thread up takes tens of microseconds, more than a short exchange does otherwise. So
/// links are looked at for a moment before their thread sleeps; while that is in vain, as where the peer computes for
/// longer or waits for this very processor, it is tried ever less.
#[derive(Debug, Default)]
pub struct Awake {
    in_vain: u32,
    asleep: u32,
    /// Since when there has been nothing to do.
    since: Option<Instant>,
}

impl Awake {
    /// There was something to do.
    pub fn moved(&mut self) {
        if self.since.take().is_some() {
            self.in_vain = 0;
        }
    }

    /// For who found nothing to do: comes back when there may be something. False if for `at_most` there was not.
    ///
    /// # Errors
    /// If the system cannot wait.
    pub fn wait<'a>(
        &mut self,
        to_send: impl Iterator<Item = &'a BulkSender>,
        to_receive: impl Iterator<Item = &'a BulkReceiver>,
        at_most: Duration,
    ) -> Result<bool, LinkError> {
        if self.pause() {
            return Ok(true);
        }
        let sends = to_send.map(|sender| PollFd::new(sender.socket(), PollFlags::OUT));
        let receives = to_receive.map(|receiver| PollFd::new(receiver.socket(), PollFlags::IN));
        let mut all: Vec<_> = sends.chain(receives).collect();
        let at_most = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
        match poll(&mut all, Some(&at_most)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(LinkError::lost(&io::Error::from(error))),
        }
    }

    /// Lets others go first for as long as it is worth to stay awake; false once it is not.
    pub(crate) fn pause(&mut self) -> bool {
        if self.since.is_none() && self.asleep > 0 {
            self.asleep -= 1;
            return false;
        }
        if self.since.get_or_insert_with(Instant::now).elapsed() <= AWAKE {
            // Whoever else has something to do here goes first: it may be the peer.
            std::thread::yield_now();
            return true;
        }
        self.since = None;
        self.in_vain = (self.in_vain + 1).min(MOST_DOUBLINGS);
        self.asleep = (1 << self.in_vain) - 1;
        false
    }
}
