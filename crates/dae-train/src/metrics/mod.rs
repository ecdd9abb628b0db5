//! How good a reconstruction is. Pixels are in [0, 1]; sums are in f64.
//!
//! | module | what it holds |
//! |---|---|
//! | `pointwise` | [`mse`], [`psnr`], [`bce`], and [`mean_quality`] over a set of images |
//! | `ssim` | [`ssim`]: structural similarity |
mod pointwise;
mod ssim;

pub use pointwise::{Quality, bce, mean_quality, mse, psnr};
pub use ssim::ssim;
