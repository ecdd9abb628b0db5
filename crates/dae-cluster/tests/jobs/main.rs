//! Jobs from their start to their end: real daemons, real links, real processes, hosts that train nothing.
//!
//! | module | what it holds |
//! |---|---|
//! | `rig` | daemons of a cluster in one process, or in some of their own, and a client |
//! | `ends` | every way a job ends |
//! | `lost` | daemons that leave or are killed |
//! | `asked` | what clients ask: to place, follow, stop, list |
#![allow(clippy::unwrap_used)]

mod asked;
mod ends;
mod lost;
mod rig;
