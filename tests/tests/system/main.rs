//! Whole-system tests: the programs as a user runs them, real processes, real files, MNIST.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod bench;
mod disk;
mod home;
mod hosts;
mod interrupt;
mod program;
mod repeatable;
