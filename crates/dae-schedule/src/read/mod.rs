//! From text to terms: tokens, the shape of an item, what each item means, the word as a whole.

mod attribute;
mod gradient;
mod item;
mod join;
mod number;
mod optimizer;
mod parse;
mod phase;
mod settings;
mod step;
mod tail;
mod token;
mod value;
mod vocabulary;
mod whole;

pub(crate) use item::{Item, ItemKind};
pub(crate) use parse::read;
pub use parse::{MAX_COUNT, MAX_ITEMS, MAX_WORD_BYTES, parse};
pub(crate) use token::shown;
pub(crate) use value::{is_call, pieces};
