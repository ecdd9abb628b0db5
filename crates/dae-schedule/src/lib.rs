//! The schedule algebra: a training schedule is a short word, and this crate parses, checks and prints it.
//!
//! ```
//! let word = dae_schedule::parse("accum 4 | split 2 | step adamw(1e-3) clip=1").unwrap();
//! assert_eq!((word.accum(), word.workers()), (4, 2));
//! assert_eq!(word.to_string(), "accum 4 | split 2 | step adamw(1e-3) clip=1");
//!
//! let problems = dae_schedule::parse("acum 4 | split 0").unwrap_err();
//! assert_eq!(problems.len(), 2); // every problem, each with a place and a fix
//! ```
//!
//! A word is read from left to right, from the inside out: each item wraps what stands left of it. Left of `step`
//! nothing changes the learning curve, only time and bytes. Today `accum k`, `split n` and `step optimizer` run;
//! the other items of the algebra are known by name and refused as not yet available.
//!
//! | module | holds |
//! |---|---|
//! | `word` | [`Word`]: a valid schedule; printing, normal form, hash, serde |
//! | `fold` | [`Place`] and the two folds, `accum` and `split` |
//! | `optimizer` | [`Optimizer`]: what `step` closes the gradient with |
//! | `builder` | [`Gradient`] and [`Model`]: the same words from Rust, with sorts as types |
//! | `problem` | [`Problem`]: what is wrong, where, and the fix |
//! | `parse` | [`parse`]: from text to [`Word`]; the rules over the word as a whole |
//! | `item` | reads one item: its name, its count, what may stand on it |
//! | `step` | reads what follows `step`: the optimizer and `clip` |
//! | `settings` | reads what stands in the brackets of an optimizer |
//! | `attribute` | the shape of what follows an item's name: `name`, `name=value`, `name(…)`, `@place` |
//! | `number` | reads counts and numbers, with their bounds |
//! | `token` | cuts the text into tokens |
//! | `vocabulary` | the words of the language, and the nearest one to a misspelling |
//!
//! Pure: no clocks, no sockets, no threads, no tensors. Any text gives an answer in bounded time.

mod attribute;
mod builder;
mod fold;
mod item;
mod number;
mod optimizer;
mod parse;
mod problem;
mod settings;
mod step;
mod token;
mod vocabulary;
mod word;

pub use builder::{Gradient, Model};
pub use fold::Place;
pub use optimizer::Optimizer;
pub use parse::{MAX_COUNT, MAX_WORD_BYTES, parse};
pub use problem::Problem;
pub use word::Word;
