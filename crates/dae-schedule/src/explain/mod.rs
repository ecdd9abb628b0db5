//! What a word is: its tree, its actors and where they go, what they send, whether it trains as one worker would.
//!
//! ```
//! use dae_schedule::{cost::{Facts, Figures}, explain::explain};
//! let word = dae_schedule::parse("step sgd(.1) | every 16 | join 8 @cluster").unwrap().into_word().unwrap();
//! let told = explain(&word, &Facts::of_params(1_000_000, 128), &Figures::default()).unwrap();
//! assert!(!told.verdict.exact);
//! assert_eq!(told.synchronous.unwrap().word, "split 8 @cluster | step sgd(0.1)");
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `explanation` | [`Explanation`]: all of it |
//! | `tree` | [`Branch`]: what each item says |
//! | `actors` | [`Actor`]: who there is, and where |
//! | `verdict` | [`Verdict`]: exact or approximate, and why |
//! | `synchronous` | [`Synchronous`]: the nearest word in which all wait for all |
//! | `text` | an explanation for people |
//! | `picture` | [`picture`]: actors and arrows as SVG |
//! | `svg` | [`Svg`]: rectangles, lines and text |
//! | `quantity` | bytes, seconds and counts as people read them |

mod actors;
mod explanation;
mod picture;
mod quantity;
mod svg;
mod synchronous;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod verdict;

pub use actors::Actor;
pub use explanation::{Explanation, explain};
pub use picture::picture;
pub use quantity::{bytes, count, seconds};
pub use svg::{Anchor, Svg};
pub use synchronous::Synchronous;
pub use tree::Branch;
pub use verdict::Verdict;
