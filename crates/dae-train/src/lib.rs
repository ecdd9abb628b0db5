//! The training actors and everything they need that is not libtorch.
//!
//! | module | what it holds |
//! |---|---|
//! | [`topology`] | a TOML file or its Rust builder, checked, compiled to a [`topology::Plan`] |
//! | [`data`] | datasets, the order of samples, corruption, batches |
//! | [`centre`] | what a join's children lie around: who waits for whom, how the centre moves |
//! | [`gossip`] | peers without a centre: who waits for whom, what mixing is |
//! | [`actors`] | data loader, gradient worker, all-reduce coordinator, checkpointer, recorder |
//! | [`exit`] | how every program ends |
//! | [`job`] | puts the actors together, trains, and says how it ended |
//! | [`backend`] | the seam to what computes gradients |
//! | [`board`] | where progress can be read |
//! | [`layout`] | where each parameter tensor lies in the flat buffer |
//! | [`checkpoint`] | writing and finding checkpoints |
//! | [`optimizer`] | SGD, Adam and AdamW on flat buffers |
//! | [`metrics`] | how good a reconstruction is |
//! | [`picture`] | the pictures a run leaves behind |
//! | [`run_folder`] | the folder a run writes into, and its event log |
pub mod actors;
pub mod backend;
pub mod board;
pub mod centre;
pub mod checkpoint;
pub mod data;
pub mod exit;
pub mod gossip;
pub mod job;
pub mod layout;
pub mod metrics;
pub mod optimizer;
pub mod picture;
pub mod run_folder;
pub mod topology;
