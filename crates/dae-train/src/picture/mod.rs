//! The pictures a run leaves behind, as PNG files; fonts are built in.
//!
//! | module | what it holds |
//! |---|---|
//! | `loss_curve` | [`loss_curve()`]: training loss over steps |
//! | `reconstruction` | [`reconstruction()`]: clean, corrupted and denoised images in rows |
//! | `axis` | axes with ticks at round numbers |
//! | `canvas` | pixels, text on them, and the way into a file |
//! | `error` | [`PictureError`] |
mod axis;
mod canvas;
mod error;
mod loss_curve;
mod reconstruction;

pub use error::PictureError;
pub use loss_curve::{Series, loss_curve};
pub use reconstruction::{Row, reconstruction};
