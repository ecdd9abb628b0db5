//! A topology, from a TOML file or from Rust, compiled to a [`Plan`] that cannot be invalid.
//!
//! | module | what it holds |
//! |---|---|
//! | `sections` | every section and key: field, type, default, limits, documentation; the one table of keys |
//! | `key`, `rule` | a row of that table, and judging a value by it |
//! | `document`, `builder` | [`Topology`]: reading, writing, compiling; building one in Rust |
//! | `assignment` | the form of an override |
//! | `read`, `tree`, `nearest` | from text to a full table; tables by dotted key; the name that was probably meant |
//! | `problem`, `error`, `marks` | what is wrong and where; all of it at once; where each key stands |
//! | `loaded` | [`Loaded`]: a topology with its text, for errors found later |
//! | `consistency`, `idle` | what must hold between keys; keys that mean nothing beside the others |
//! | `kinds` | [`Kinds`]: the names a user's program registers |
//! | `plan`, `fit`, `identity` | [`Plan`]; whether it fits the data; whether a run may resume |
//! | `learning_rate` | the rate as a function of the committed step |
//! | `schema`, `reference` | the table of keys for editors, and for people |
//!
//! The way of a file: `read` judges each key alone, `consistency` judges them together, first what needs no more
//! than the file, then in `compile` what needs the user's kinds; `fit` judges them against the data.
mod assignment;
mod builder;
mod consistency;
mod document;
mod error;
mod fit;
mod identity;
mod idle;
mod key;
mod kinds;
mod learning_rate;
mod loaded;
mod marks;
mod nearest;
mod plan;
mod problem;
mod read;
mod reference;
mod rule;
mod schema;
mod sections;
mod tree;

#[cfg(test)]
mod tests;

pub use assignment::assignment;
pub use document::Topology;
pub use error::TopologyError;
pub use fit::DataFacts;
pub use kinds::Kinds;
pub use learning_rate::LearningRate;
pub use loaded::Loaded;
pub use plan::Plan;
pub(crate) use plan::THIN;
pub use problem::Problem;
pub use reference::reference;
pub use schema::json_schema;
pub use sections::{CheckpointSection, Corruption, Data, Job, ModelSection, Placement, ScheduleSection};
