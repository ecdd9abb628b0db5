//! The training actors and everything they need that is not libtorch.
//!
//! | module | what it holds |
//! |---|---|
//! | [`topology`] | a TOML file or its Rust builder, checked, compiled to a [`topology::Plan`] |
//! | [`data`] | datasets, the order of samples, corruption, batches |
//! | [`layout`] | where each parameter tensor lies in the flat buffer |
//! | [`checkpoint`] | writing and finding checkpoints |
//! | [`metrics`] | how good a reconstruction is |
//! | [`picture`] | the pictures a run leaves behind |
pub mod checkpoint;
pub mod data;
pub mod layout;
pub mod metrics;
pub mod picture;
pub mod topology;
