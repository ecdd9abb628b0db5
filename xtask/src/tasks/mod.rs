//! Tasks that are lists of commands, each printed before it runs.
mod build;
mod demo;
mod lint;
mod test;

pub use build::build;
pub use demo::demo;
pub use lint::lint;
pub use test::test;
