//! Distributed training as actors: what a user's program depends on.
//!
//! A host is a program that runs topologies. The stock one, `dae-host`, knows the stock models; yours knows your own:
//!
//! ```no_run
//! # use dae::torch::{Model, Parameter, Params, Tensor};
//! # struct Mine;
//! # impl Model for Mine {
//! #     fn parameters(&self) -> Vec<Parameter> { vec![] }
//! #     fn forward(&self, _: &Params, noisy: &Tensor) -> Tensor { noisy.shallow_clone() }
//! # }
//! fn main() -> std::process::ExitCode {
//!     dae::host().model("mine", |_section| Ok(Mine)).run()
//! }
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | `host` | [`Host`]: the kinds a program adds, and its command line |
//! | `cli` | commands and options |
//! | `exit` | a failure with its exit code |
//! | `prepare` | from a topology file to what a run needs |
//! | `budget` | what a run needs of this machine |
//! | `run` | the command `run`: all of a job, on this machine |
//! | `serve` | the command `serve`: this node's part of a job, for the daemon that started it |
//! | `across` | the links between the hosts of a job, and all-reduce over them |
//! | `training` | what both have in common: a run trained to its end, and what is said of it |
//! | `place` | the folder of a run, where none was named |
//! | `signals` | Ctrl-C: once to finish the step, twice to leave at once |
//! | `progress` | the bar, or plain lines where there is no terminal |
//! | `bench` | the commands that measure |
//! | `evaluate` | the command `eval`, and the noise it measures with |
//! | `souvenirs` | the pictures and the summary a run leaves behind |
mod across;
mod bench;
mod budget;
mod cli;
mod evaluate;
mod exit;
mod host;
mod place;
mod prepare;
mod progress;
mod run;
mod serve;
mod signals;
mod souvenirs;
mod training;

pub use host::{Host, host};

/// The table of an actor's or a model's own settings, and a value in it.
pub use toml::{Table, Value};

/// Actors: the traits, references, supervision.
pub use dae_actor as actor;
/// The schedule algebra.
pub use dae_schedule as schedule;
/// Models, and the tensors they compute with.
pub use dae_torch as torch;
/// Topologies, datasets, and the training actors.
pub use dae_train as train;
