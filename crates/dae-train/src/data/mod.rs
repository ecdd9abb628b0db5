//! Datasets, the order of samples, corruption, and the batches a worker trains on.
//!
//! The whole state of the data is one integer, the global *position*: it names the epoch, the sample and the
//! noise, whoever computes them and in whatever order. Nothing here keeps a cursor of its own.
//!
//! | module | what it holds |
//! |---|---|
//! | `dataset` | [`Dataset`], what any source of samples offers |
//! | `idx` | [`IdxImages`], the reader of IDX files, raw or gzip'd |
//! | `header` | the checked head of an IDX file |
//! | `mnist` | [`mnist`] and the folder it is kept in |
//! | `error` | [`DataError`]: the file, the cause, the remedy |
//! | `philox` | the counter-based random generator under order and noise |
//! | `normal` | its words as normal deviates |
//! | `simd` | which instruction set the kernels run on |
//! | `sampler` | [`Sampler`]: position to (epoch, sample) |
//! | `shares` | [`Shares`]: (step, rank, micro-batch) to positions |
//! | `corruption` | [`Corruption`]: a clean sample to a noisy one |
//! | `aligned` | [`AlignedF32`], a buffer kernels may load from without a care |
//! | `batch` | [`Batch`], the buffers of one micro-batch |
//! | `feeder` | [`Feeder`]: positions to a filled batch |
mod aligned;
mod batch;
mod corruption;
mod dataset;
mod error;
mod feeder;
mod header;
mod idx;
mod mnist;
mod normal;
mod philox;
mod sampler;
mod shares;
mod simd;

pub use aligned::AlignedF32;
pub use batch::Batch;
pub use corruption::{Corruption, CorruptionKind};
pub use dataset::Dataset;
pub use error::DataError;
pub use feeder::Feeder;
pub use idx::IdxImages;
pub use mnist::{mnist, mnist_folder};
pub use sampler::Sampler;
pub use shares::Shares;
