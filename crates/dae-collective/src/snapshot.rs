//! A copy of the arena's state that a checkpointer reads while training goes on.

use crate::{Arena, Scale};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A complete copy of parameters and optimizer state as of one committed step. Dropping it frees the copy's place.
pub struct Snapshot {
    pub(crate) arena: Arc<Arena>,
    pub(crate) index: usize,
    /// The number of steps committed when it was taken.
    pub step: u64,
}

#[allow(unsafe_code)]
impl Snapshot {
    /// The flat parameters.
    pub fn params(&self) -> &[f32] {
        let buffer = &self.arena.copies[self.index].params;
        // SAFETY: a copy is written only while it is not taken, and it is until this value is dropped.
        unsafe { buffer.slice(0..buffer.len()) }
    }

    /// The scale of the order-free sum of the next step.
    pub fn scale(&self) -> Scale {
        Scale::from_number(self.arena.copies[self.index].scale.load(Ordering::Acquire))
    }

    /// The optimizer's flat buffers, in the order of its state names; then what each node keeps back on lossy links, and the
    /// thin matrices of low rank, where the arena keeps them.
    pub fn state(&self) -> Vec<&[f32]> {
        // SAFETY: as for the parameters.
        self.arena.copies[self.index].state.iter().map(|b| unsafe { b.slice(0..b.len()) }).collect()
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.arena.copies[self.index].free();
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("step", &self.step).finish_non_exhaustive()
    }
}
