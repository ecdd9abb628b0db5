//! The schedule algebra: a training schedule is a short word, and this crate parses, checks and prints it.
//!
//! ```
//! let schedule = dae_schedule::parse("accum 4 | split 2 | step adamw(1e-3) clip=1 | every 20 | join 3").unwrap();
//! let word = schedule.word().unwrap();
//! assert_eq!((word.accum(), word.workers(), word.period()), (4, 6, 20));
//! assert_eq!(word.to_string(), "accum 4 | split 2 | step adamw(1e-3) clip=1 | every 20 | join 3");
//!
//! let problems = dae_schedule::parse("acum 4 | split 0").unwrap_err();
//! assert_eq!(problems.len(), 2); // every problem, each with a place and a fix
//! ```
//!
//! A word is read from left to right, from the inside out: each item wraps what stands left of it. Left of `step`
//! nothing changes the learning curve, only time and bytes; right of it the dynamics change.
//!
//! | module | holds |
//! |---|---|
//! | `schedule` | [`Schedule`]: a word, or a [`Phase`] of two; printing and serde |
//! | `word` | [`Word`]: gradient items, a step, model items |
//! | `gradient` | [`GItem`]: what may stand left of `step` |
//! | `step` | [`Step`]: what closes the gradient |
//! | `model`, `join`, `gossip` | [`MItem`]: what may stand right of `step` |
//! | `mixing` | who mixes with whom in a `gossip`: [`Graph::sources`] |
//! | `optimizer`, `wire`, `place` | [`Optimizer`], [`Wire`], [`Place`]: what several items are made of |
//! | `normal` | the normal form by the exact laws, and its hash |
//! | `builder` | [`Gradient`] and [`Model`]: the same words from Rust, with sorts as types |
//! | `problem` | [`Problem`]: what is wrong, where, and the fix |
//! | `read` | [`parse`]: from text to terms |
//! | `rules` | [`check`]: all rules, with the [`Facts`] they need |
//! | `layers` | [`Layers`]: the long form, one table for each item |
//! | `not_yet` | [`not_yet_run`]: what parses and checks, but is not yet run |
//! | [`cost`] | what a word costs: time, bytes, staleness, memory
//! | [`explain`] | what a word is: its tree, its actors, what they send; as text, JSON or picture
//! | `print` | numbers and attributes as text |
//! | [`oracle`] | what a word means: a sequential reference, over any model |
//! | `testing` | random valid schedules, with the cargo feature `proptest` |
//!
//! Pure: no clocks, no sockets, no threads, no tensors. Any text gives an answer in bounded time.

mod builder;
pub mod cost;
pub mod explain;
mod gossip;
mod gradient;
mod join;
#[cfg(test)]
mod laws;
mod layers;
mod mixing;
mod model;
mod normal;
mod not_yet;
mod optimizer;
pub mod oracle;
mod place;
mod print;
mod problem;
mod read;
mod rules;
mod schedule;
mod step;
#[cfg(any(test, feature = "proptest"))]
pub mod testing;
mod wire;
mod word;

pub use builder::{Gradient, Model};
pub use gossip::{Gossip, Graph};
pub use gradient::{Algo, GItem, Order, Pipe, PipeSched, Split, Tensor};
pub use join::{Join, Late, Outer, Scale, Stale, SyncMode, SyncTerms, View, Weight};
pub use layers::Layers;
pub use model::MItem;
pub use not_yet::not_yet_run;
pub use optimizer::Optimizer;
pub use place::Place;
pub use problem::{Problem, Severity};
pub use read::{MAX_COUNT, MAX_ITEMS, MAX_WORD_BYTES, parse};
pub use rules::{Checked, Checkpoint, Facts, check, memory_per_node};
pub use schedule::{Carry, Condition, Phase, Schedule};
pub use step::{Closing, Step};
pub use wire::Wire;
pub use word::Word;
