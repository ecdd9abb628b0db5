//! The pictures a run leaves behind, as PNG or SVG files; fonts are built in.
//!
//! | module | what it holds |
//! |---|---|
//! | `learning_curves` | [`learning_curves()`], [`loss_curve()`]: training losses over steps, samples, time, bytes |
//! | `curve` | [`Series`]: one curve, smoothed and thinned |
//! | `quantity` | [`Quantity`]: what such a curve runs along |
//! | `lateness` | [`lateness()`]: how late the pushes of a join came, and how long its children waited |
//! | `reconstruction` | [`reconstruction()`]: clean, corrupted and denoised images in rows |
//! | `drawing` | one drawing, two kinds of file |
//! | `axis` | axes with ticks at round numbers |
//! | `canvas` | pixels, text on them, and the way into a file |
//! | `error` | [`PictureError`] |
mod axis;
mod canvas;
mod curve;
mod drawing;
mod error;
mod lateness;
mod learning_curves;
mod quantity;
mod reconstruction;

pub use curve::Series;
pub use error::PictureError;
pub use lateness::lateness;
pub use learning_curves::{learning_curves, loss_curve};
pub use quantity::Quantity;
pub use reconstruction::{Row, reconstruction};
