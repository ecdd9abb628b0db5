//! What a command line, or another program, asks of a daemon on its own machine.
//!
//! | module | what it holds |
//! |---|---|
//! | `connect` | [`Client`]: the connection, and what is asked about nodes |
//! | `jobs` | what is asked about jobs |
mod connect;
mod jobs;

pub use connect::{Client, ClientError};
pub use jobs::JobError;
