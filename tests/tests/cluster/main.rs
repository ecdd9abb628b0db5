//! Several machines on one: each is a network namespace with a daemon in it, all on one bridge, as machines on one
//! switch. It takes root and iproute2; without them every test says that it was left out, and passes.
//!
//! | module | what it holds |
//! |---|---|
//! | `rig` | the namespaces, and what happens to a network |
//! | `daemon` | a daemon, and what it says of itself and of others |
//! | `joining`, `refusal`, `advertised` | who finds whom, who is turned away, which addresses are told |
//! | `loss` | nodes that are killed, stopped, cut off, or leave |
//! | `hostile` | peers without the key |
//! | `footprint` | how soon a daemon is there, and what it costs |
//! | `jobs` | one job over several nodes, and what is left of it |
//! | `bench` | what is measured between nodes |
//! | `local_sh` | `cluster/local.sh` |
//! | `outside` | Avahi sees us |

#![allow(clippy::unwrap_used)]

mod advertised;
mod bench;
mod daemon;
mod footprint;
mod hostile;
mod jobs;

mod joining;
mod local_sh;
mod loss;
mod outside;
mod refusal;
mod rig;
