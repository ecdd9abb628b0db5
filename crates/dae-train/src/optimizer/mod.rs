//! Optimizers on flat f32 buffers: the sum over workers, the update and the finite check in one pass over memory.
//!
//! | module | what it holds |
//! |---|---|
//! | `rule` | [`Rule`]: an optimizer ready to be applied to slices |
//! | `sweep` | the loop every rule runs in: gradients of all slots summed, one update an element |
//! | `norm` | [`sum_of_squares`], for clipping by the global norm |
//!
//! Each worker applies the rule to its own slice of the arena. Every element is computed from its own inputs by the
//! same operations wherever it lies in a slice, so the result does not depend on how the buffer is cut.
mod norm;
mod rule;
mod sweep;

pub use norm::sum_of_squares;
pub use rule::Rule;
