//! Loss and gradients of the models, with libtorch. The only crate that names `tch`.
//!
//! | module | what it holds |
//! |---|---|
//! | `model` | [`Model`], the trait a user implements |
//! | `parameter` | [`Parameter`]: a tensor to train, and what it starts as |
//! | `params` | [`Params`]: the tensors by name, views of flat memory |
//! | `samples` | [`Samples`]: one micro-batch as tensors |
//! | `loss` | [`ReconstructionLoss`]: BCE or MSE, with emphasis on corrupted inputs |
//! | `mlp`, `mlp_pass` | [`Mlp`], the stock autoencoder, and its gradient without autograd |
//! | `conv` | [`ConvAutoencoder`], the convolutional one |
//! | `stock` | the stock model a topology names |
//! | `backend` | [`TorchBackend`]: a model as the training actors see it |
//! | `replica` | one worker's instance of a model |
//! | `threads` | libtorch's settings, which belong to threads |
mod backend;
mod conv;
mod loss;
mod mlp;
mod mlp_pass;
mod model;
mod parameter;
mod params;
mod replica;
mod samples;
mod stock;
mod threads;

pub use backend::TorchBackend;
pub use conv::ConvAutoencoder;
pub use loss::ReconstructionLoss;
pub use mlp::{Activation, Mlp};
pub use model::{Memory, Model, Pass};
pub use parameter::{Init, Parameter};
pub use params::Params;
pub use samples::Samples;
pub use stock::stock;
pub use threads::reuse_memory;

/// What a user's model computes with.
pub use tch::{Kind, Reduction, Tensor};
