//! Becoming the host process that runs a job.
//!
//! The command line links no libtorch; a host does. It replaces this process, so that signals, the terminal
//! and the exit code are its own.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::bench_args::ComputeArgs;
use crate::check;
use crate::cli::{CheckArgs, EvalArgs, HostArgs, RunArgs, TopologyArgs};
use crate::exit::Failure;
use dae_train::exit::Exit;

const STOCK: &str = "dae-host";

/// Checks the topology, as far as it is of stock kinds, then becomes the host and runs it. Returns only if it
/// cannot.
pub fn run(args: &RunArgs) -> Result<Vec<u8>, Failure> {
    // What kinds a user's own host knows, only that host can tell: it does its own checking.
    if own(&args.host).is_none() {
        check::compile(&args.topology)?;
    }
    let mut arguments = arguments("run", &args.topology);
    if let Some(folder) = &args.run_dir {
        arguments.extend(["--run-dir".into(), folder.into()]);
    }
    if args.resume {
        arguments.push("--resume".into());
    }
    Err(become_host(&args.host, arguments))
}

/// Becomes the host and evaluates a run. Returns only if it cannot.
pub fn eval(args: &EvalArgs) -> Result<Vec<u8>, Failure> {
    let mut arguments = vec!["eval".into(), args.run.clone().into()];
    if args.json {
        arguments.push("--json".into());
    }
    Err(become_host(&args.host, arguments))
}

/// Becomes the host and measures what a topology's model takes. Returns only if it cannot.
pub fn bench_compute(args: &ComputeArgs) -> Result<Vec<u8>, Failure> {
    let mut arguments = arguments("bench-compute", &args.topology);
    if !args.batches.is_empty() {
        let sizes: Vec<_> = args.batches.iter().map(u32::to_string).collect();
        arguments.extend(["--batches".into(), sizes.join(",").into()]);
    }
    if args.json {
        arguments.push("--json".into());
    }
    if let Some(file) = &args.out {
        arguments.extend(["--out".into(), file.into()]);
    }
    Err(become_host(&args.host, arguments))
}

/// Becomes a user's own host, if there is one, to check a topology of kinds only it knows.
pub fn check_by_own(args: &CheckArgs) -> Result<(), Failure> {
    match own(&args.host) {
        Some(_) => Err(become_host(&args.host, arguments("check", &args.topology))),
        None => Ok(()),
    }
}

fn arguments(command: &str, topology: &TopologyArgs) -> Vec<OsString> {
    let mut arguments = vec![command.into(), topology.file.clone().into()];
    for set in &topology.set {
        arguments.extend(["--set".into(), set.into()]);
    }
    arguments
}

/// Lets a user's own host check the topology, which may be of kinds only it knows; whether there is one.
pub fn checked_by_own(topology: &TopologyArgs, host: &HostArgs) -> Result<bool, Failure> {
    if own(host).is_none() {
        return Ok(false);
    }
    let told =
        |what: String, help: String| Failure::new(Exit::Failed, miette::miette!(help = help, "{what}"));
    let program = program(host).map_err(|(what, help)| told(what, help))?;
    let checked = Command::new(&program).args(arguments("check", topology)).stdin(Stdio::null()).output();
    let checked = checked.map_err(|error| {
        told(format!("{}: cannot be started: {error}", program.display()), "build it anew".into())
    })?;
    if checked.status.success() {
        return Ok(true);
    }
    let said = String::from_utf8_lossy(&checked.stderr);
    Err(Failure::new(
        Exit::Invalid,
        miette::miette!("{} refuses it:\n{}", program.display(), said.trim_end()),
    ))
}

/// The host the user named: by option, or else by `$DAE_HOST`.
fn own(args: &HostArgs) -> Option<PathBuf> {
    let named = || env::var_os("DAE_HOST").filter(|path| !path.is_empty());
    args.host.clone().or_else(|| named().map(PathBuf::from))
}

fn become_host(args: &HostArgs, arguments: Vec<OsString>) -> Failure {
    let told =
        |what: String, help: String| Failure::new(Exit::Failed, miette::miette!(help = help, "{what}"));
    match program(args) {
        Ok(host) => {
            let error = Command::new(&host).args(arguments).exec();
            let help = "build it anew, or name another by --host".to_owned();
            told(format!("{}: cannot be started: {error}", host.display()), help)
        }
        Err((what, help)) => told(what, help),
    }
}

/// The host program, if it is there with all its libraries; else what is wrong, and the fix.
pub fn program(args: &HostArgs) -> Result<PathBuf, (String, String)> {
    let beside = || env::current_exe().map(|program| program.with_file_name(STOCK));
    let (host, help) = match own(args) {
        Some(host) => (host, "build it, or correct --host or $DAE_HOST"),
        None => match beside() {
            Ok(host) => (host, "build it with `cargo xtask build`"),
            Err(error) => {
                let what = format!("cannot tell where this program lies: {error}");
                return Err((what, format!("name {STOCK} by --host")));
            }
        },
    };
    if !host.is_file() {
        return Err((format!("{}: no such host program", host.display()), help.to_owned()));
    }
    if let Some(library) = missing_library(&host) {
        let help = "run `cargo xtask libtorch` and then `cargo xtask build`, which link libtorch where the host looks \
                    for it";
        return Err((format!("{}: its library {library} is missing", host.display()), help.to_owned()));
    }
    Ok(host)
}

/// A shared library the host needs and the loader does not find: its own message would name no remedy. Where the
/// loader has no such service, or the host is a script, nothing is known to be missing.
fn missing_library(host: &Path) -> Option<String> {
    not_found(&loaded(host)?)
}

/// The folder of the libtorch that the host would use, if it tells.
pub fn libtorch(host: &Path) -> Option<PathBuf> {
    // …/lib/libtorch_cpu.so
    Some(found(&loaded(host)?, "libtorch_cpu.so")?.parent()?.parent()?.to_owned())
}

/// What the loader would load for the host.
fn loaded(host: &Path) -> Option<String> {
    // glibc's loader lists it, and runs nothing of the program (ld.so(8)).
    let listing =
        Command::new(host).env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&listing.stdout).into_owned())
}

fn found(listing: &str, library: &str) -> Option<PathBuf> {
    let line = listing.lines().find_map(|line| line.trim().strip_prefix(library)?.strip_prefix(" => "))?;
    // The address it would be loaded at follows.
    Some(line.rsplit_once(" (").map_or(line, |(path, _)| path).into())
}

fn not_found(listing: &str) -> Option<String> {
    let line = listing.lines().find(|line| line.trim_end().ends_with("=> not found"))?;
    line.split_whitespace().next().map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_missing_library_is_named() {
        let listing = "\tlinux-vdso.so.1 (0x1)\n\tlibtorch_cpu.so => not found\n\tlibc10.so => not found\n";
        assert_eq!(not_found(listing).as_deref(), Some("libtorch_cpu.so"));
        assert_eq!(not_found("\tlibc.so.6 => /lib/libc.so.6 (0x1)\n"), None);
    }

    #[test]
    fn a_library_that_is_found_is_told_with_its_path() {
        let listing =
            "\tlibtorch_cpu.so.1 => /x (0x1)\n\tlibtorch_cpu.so => /a b/lib/libtorch_cpu.so (0x7f)\n";
        assert_eq!(found(listing, "libtorch_cpu.so"), Some("/a b/lib/libtorch_cpu.so".into()));
        assert_eq!(found(listing, "libc10.so"), None);
    }
}
