//! What a barrier is made of: atomics, a lock, a clock, and how long to try what.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicBool, AtomicU64};
pub(super) use std::sync::{Condvar, Mutex, MutexGuard};
pub(super) use std::thread::yield_now;
use std::time::Duration;
pub(super) use std::time::Instant;

/// Rounds of busy waiting before the processor is offered to others: about the length of a reduce's jitter.
pub(super) const SPINS: u32 = 1_500;
/// How long to go on offering the processor before sleeping: shorter waits are cheaper awake.
pub(super) const AWAKE: Duration = Duration::from_millis(2);
/// A sleeper looks again this often, which bounds the harm of any missed wake-up.
pub(super) const NAP: Duration = Duration::from_millis(20);
