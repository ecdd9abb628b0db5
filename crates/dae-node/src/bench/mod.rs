//! What machines and the links between them can do, measured.
//!
//! | module | what it holds |
//! |---|---|
//! | `between` | hosts that measure, on the nodes of a cluster |
//! | `found` | [`Found`]: what they have found, and what is still missing |
//! | `show` | that as a table, and as JSON |
mod between;
mod found;
mod show;

use between::Measured;
use found::Found;

use dae_train::exit::Exit;
use dae_train::run_folder::write_atomic;

use crate::bench_args::{BenchCommand, LinksArgs};
use crate::exit::Failure;
use crate::host;
use crate::table::versioned;

/// Bytes of f32: from what latency decides to what bandwidth does.
const SIZES: [u64; 4] = [4 << 10, 256 << 10, 4 << 20, 64 << 20];

/// Measures.
pub fn bench(command: &BenchCommand) -> Result<Vec<u8>, Failure> {
    match command {
        BenchCommand::Allreduce(args) => links(args, &SIZES),
        BenchCommand::Net(args) => links(args, &[]),
        BenchCommand::Compute(args) => host::bench_compute(args),
    }
}

/// Measures the links of a cluster, and sums of these sizes over them.
fn links(args: &LinksArgs, sizes: &[u64]) -> Result<Vec<u8>, Failure> {
    let measured = between::measure(&args.between, sizes)?;
    let json = versioned(&show::as_json(&measured))?;
    if let Some(file) = &args.out {
        write_atomic(file, &json).map_err(|error| Failure::new(Exit::Failed, miette::miette!("{error}")))?;
    }
    Ok(if args.json { json } else { show::for_people(&measured) })
}
