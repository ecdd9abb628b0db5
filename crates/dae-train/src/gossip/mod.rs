//! Peers that mix with their neighbours, without a centre: who waits for whom, and what mixing is. Pure: no threads, no
//! clocks.
//!
//! | module | what it holds |
//! |---|---|
//! | `circle` | [`Circle`]: who may begin and who mixes when, where a round is a round for all |
//! | `mix` | [`Mix`]: what one peer does at one turn; [`Pairs`]: who meets whom where nobody waits |
//! | `mailbox` | [`Mailbox`]: a peer's numbers, and those its neighbours send |
//! | `holding` | [`Holding`]: what a peer holds, and the arithmetic that moves it |
//! | `books` | [`Books`]: a join's ledger or a circle, told and asked alike |
//!
//! What mixing is, is written in `dae_schedule::oracle`, and the arithmetic is the same here, to the bit. Synchronous rounds
//! are those of D-PSGD (Lian et al. 2017), and with `push` of SGP (Assran et al. 2019). Where peers wait for nobody (AD-PSGD; Lian et
//! al. 2018) the books are those of an asynchronous join, an update of which is a pair that meets.
mod books;
mod circle;
mod holding;
mod mailbox;
mod mix;

pub use books::Books;
pub use circle::Circle;
pub use holding::{Holding, mean};
pub use mailbox::{Act, Letter, Mailbox, Task};
pub use mix::{Mix, Pairs};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
