//! The training actors and everything they need that is not libtorch.
//!
//! | module | what it holds |
//! |---|---|
//! | [`topology`] | a TOML file or its Rust builder, checked, compiled to a [`topology::Plan`] |
//! | [`data`] | datasets, the order of samples, corruption, batches |
//! | [`layout`] | where each parameter tensor lies in the flat buffer |
//! | [`checkpoint`] | writing and finding checkpoints |
//! | [`optimizer`] | SGD, Adam and AdamW on flat buffers |
//! | [`metrics`] | how good a reconstruction is |
//! | [`picture`] | the pictures a run leaves behind |
//! | [`run_folder`] | the folder a run writes into, and its event log |
pub mod checkpoint;
pub mod data;
pub mod layout;
pub mod metrics;
pub mod optimizer;
pub mod picture;
pub mod run_folder;
pub mod topology;
