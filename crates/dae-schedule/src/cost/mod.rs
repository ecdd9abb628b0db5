//! What a word costs: the time of a step, bytes on each kind of link, idle share, staleness, memory.
//!
//! ```
//! use dae_schedule::cost::{Facts, Figures, Link, cost};
//! let word = dae_schedule::parse("split 1000 @cluster | step adam").unwrap().into_word().unwrap();
//! let figures = Figures::default().over(Link::parse("10gbe").unwrap());
//! let cost = cost(&word, &Facts::of_params(2_800_000, 128), &figures).unwrap();
//! let sent = cost.traffic[0].endpoint_bytes; // 2 (p - 1) / p n
//! assert!((sent - 2.0 * 999.0 / 1000.0 * 4.0 * 2_800_000.0).abs() < 1.0);
//! ```
//!
//! Closed forms where there are some, and a small simulation of events for stragglers and for joins in which not all
//! wait for all.
//!
//! | module | holds |
//! |---|---|
//! | `facts` | [`Facts`] of what is trained and on how many machines |
//! | `figures` | [`Figures`] of what machines and links do, and their bounds |
//! | `link` | [`Link`]: latency, bytes a second, what a further message costs; presets |
//! | `refused` | [`Refused`]: what is wrong with facts or figures |
//! | `layout` | which item lies where: [`Placed`] |
//! | `size` | bytes of a vector on the wire |
//! | `collective` | closed forms of all-reduces, and the cheapest: [`Chosen`] |
//! | `straggler` | [`Straggler`]: who is slow, and the slowest of a group |
//! | `random` | numbers for the simulation |
//! | `pace` | how long a round of a process takes, drawn again and again |
//! | `ledger` | bytes and messages, added up by kind of link: [`Traffic`] |
//! | `gradient` | the cost of what stands left of `step` |
//! | `model` | the cost of what stands right of it |
//! | `star` | the simulation of a join around a centre |
//! | `peers` | the simulation of gossip |
//! | `memory` | [`Memory`]: bytes held |
//! | `prediction` | [`Cost`]: all of it together |

mod collective;
mod facts;
mod figures;
mod gradient;
mod layout;
mod ledger;
mod link;
mod memory;
mod model;
mod pace;
mod peers;
mod prediction;
mod random;
mod refused;
mod size;
mod star;
mod straggler;

pub use collective::{AllReduce, Chosen};
pub use facts::Facts;
pub use figures::{Figures, Links};
pub use gradient::passes;
pub use layout::Placed;
pub use ledger::Traffic;
pub use link::Link;
pub use memory::Memory;
pub(crate) use model::is_all_reduce;
pub use prediction::{Cost, Staleness, cost};
pub use refused::Refused;
pub use straggler::Straggler;
