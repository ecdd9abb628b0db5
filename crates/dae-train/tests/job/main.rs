//! Whole runs of [`dae_train::job::Job`]: real actors, real files, a small model in plain Rust.
//!
//! | module | what it holds |
//! |---|---|
//! | `linear` | the model: a linear denoising autoencoder, and the mischief it can be told to do |
//! | `made_up` | the dataset |
//! | `rig` | a folder, a topology, and one run in it, watched so that no test can hang |
//! | `log` | what a run's event log says |
//! | `oracle` | the same training in one thread and f64 |
//! | `interpreted` | the same word in the oracle of the algebra |
//! | `run_equals_oracle` | random words come to the oracle's bits, those that wait for nobody with their pushes replayed |
//! | `optimum` | the field's methods against an optimum that is known |
//! | `bits` | the same topology gives the same bits; what stands left of `step` changes nothing; rates, clipping |
//! | `tails` | sizes that do not divide |
//! | `resume` | stopping, crashing, and going on |
//! | `lengths` | going on from a checkpoint with another length, or under what must not differ |
//! | `failures` | workers, models and data that fail |
//! | `not_finite` | losses and gradients that are not numbers |
//! | `skipping` | such steps skipped, by `on_nonfinite` |
//! | `checkpoints` | when the state is saved, and disks that refuse |
//! | `listeners` | who is told of committed steps |
//! | `nodes` | several nodes: the same bits, one end for all, failures, resuming |
//! | `joins` | joins: the oracle's numbers, stopping and going on, children that fail |
//! | `gossips` | gossip: the oracle's numbers, stopping and going on, peers that fail |
//! | `join_nodes` | joins over several nodes: the numbers of one, one end for all, nodes that are lost |
//! | `untold` | groups that break when a step has been applied and not told |
//! | `endurance` | slow parts, many workers, a rank that lets the others wait |
#![allow(clippy::unwrap_used)]

mod bits;
mod checkpoints;
mod endurance;
mod failures;
mod gossips;
mod interpreted;
mod join_nodes;
mod joins;
mod lengths;
mod linear;
mod listeners;
mod log;
mod made_up;
mod nodes;
mod not_finite;
mod optimum;
mod oracle;
mod resume;
mod rig;
mod run_equals_oracle;
mod skipping;
mod tails;
mod untold;
