//! What a word means: a sequential reference in one thread, over any model, in virtual time.
//!
//! Read it to learn what an item does; hold a runtime against it to learn whether it does that. Nothing here is fast,
//! nothing waits, nothing is sent: all children of an item are run one after the other, and who would have come first
//! is decided by a clock that counts the durations it is given.
//!
//! ```
//! use dae_schedule::oracle::{Grain, Model, Run, Setting};
//!
//! /// Half the squared distance to 1, the same for every sample.
//! struct Bowl;
//! impl Model for Bowl {
//!     fn parameters(&self) -> usize {
//!         1
//!     }
//!     fn gradient(&self, params: &[f32], grain: std::ops::Range<u64>, into: &mut [f32]) -> Grain {
//!         let (n, off) = ((grain.end - grain.start) as f64, params[0] - 1.0);
//!         into[0] = n as f32 * off;
//!         Grain { weight: n, loss: n * 0.5 * f64::from(off * off) }
//!     }
//! }
//!
//! let word = dae_schedule::parse("split 2 | step sgd(.5) | every 3 | join 2").unwrap();
//! let mut run = Run::new(&word, vec![0.0], Setting::new(&Bowl, 4)).unwrap();
//! let round = run.round();
//! assert_eq!((round.params[0], round.samples, round.time), (0.875, 2 * 3 * 2 * 4, 3.0));
//! ```
//!
//! | module | item or notion |
//! |---|---|
//! | `model`, `setting`, `world` | [`Model`], [`Setting`]: what a word runs on; what all items share while they run |
//! | `deal` | which samples are whose |
//! | `gradient`, `exact` | `accum`, `split`, `pipe`, `tensor`; sums that no order changes |
//! | `leaf`, `rule` | `step` and the optimizers |
//! | `process` | a model process, and `every` |
//! | `join`, `centre`, `stale` | `join`: who waits for whom; the update; what lateness costs |
//! | `stream` | `join` with `frag` and `delay` |
//! | `gossip` | `gossip`: its rounds; who mixes with whom says [`Graph`](crate::Graph) |
//! | `wire` | what is lost on the way, and kept |
//! | `run`, `trajectory` | [`Run`], `phase`; [`Round`] and [`Push`]: what a run leaves behind |
//! | `tape` | saving and restoring |
//!
//! Where the definition of the algebra leaves something open, this is how it is read here:
//!
//! - A **round of a `join`** is over when n/k updates (rounded down) have fired: about one round of each child, and no
//!   waiting for stragglers a quorum lets behind. Children that are under way then stay under way.
//! - A child **waits for the update its push goes into**, then pulls. So `quorum(n)` is `bsp` with no rule of its own,
//!   and `k = 1` never waits.
//! - A push that is **late** was pulled before the last update; `drop` lets it go, and its child pulls anew at once.
//! - **`scale=sum`** adds the displacements themselves; `mean` divides by their weights, and so at k = 1 does nothing.
//! - An outer item that hands in **other parameters** than the last round left makes them a new version, which all
//!   children start from; pushes under way are measured against it.
//! - `view`, `shards`, `algo`, `bucket` and `overlap` change no numbers here: a pull is one instant. But a `wire` that
//!   loses something writes each shard by itself, and before it is known whether the push is late: what a dropped one
//!   has sent is lost, and what it has kept is sent with the next.
//! - `order=exact` on any `split` makes a step's grains one set, added as if rounded once; on a `split 1` too.
//! - An `elastic` centre goes the share a of the way to the (mean of the) children that pushed; these go a of the way
//!   to where it was, and start from there: they never pull.
//! - `mix` is the share of its own that a child keeps when it pulls. Its displacement is measured from the centre.
//! - With `frag P`, fragment i of the parameters (in order, equally long) is due after (i + 1) h/P inner rounds of h.
//! - With `replay` a run follows the pushes of another one: a child begins where the version is the one it had pulled, an
//!   update fires once all that went into it have come.
//! - A child's weight is its samples. A child without any, at the end of the data, does no step and has no vote;
//!   with `frag`, none in a round in which it has none.

#[macro_use]
mod mutant;

mod centre;
mod deal;
pub(crate) mod dice;
mod exact;
mod gossip;
mod gradient;
mod join;
mod leaf;
mod model;
mod process;
mod rule;
mod run;
mod setting;
mod stale;
mod stream;
mod tape;
#[cfg(test)]
mod tests;
mod trajectory;
mod unsupported;
mod wire;
mod world;

pub use model::{Grain, Model};
pub use run::Run;
pub use setting::{Setting, even, uneven};
pub use tape::Torn;
pub use trajectory::{Push, Round};
pub use unsupported::Unsupported;
