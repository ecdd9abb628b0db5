//! Downloading wheels with the user's own pip, so that their mirrors, proxies and certificates apply.
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use super::given::last_line;
use crate::failure::{Failure, Outcome};
use crate::progress;

/// The oldest and the newest glibc 2.x whose wheels are taken. PyTorch's own needs the newest, and NVIDIA's are
/// spread over all of them; pip reads these names literally, so each is listed. From the name `manylinux2014` it
/// counts down to the older ones by itself.
const GLIBC: std::ops::RangeInclusive<u32> = 17..=28;

/// Downloads these wheels and no others into `wheels`, showing how far it is. `bytes` is what they weigh together.
pub fn download(requirements: &[&str], bytes: u64, wheels: &Path) -> Outcome {
    // pip downloads into its temporary folder first: set to ours, it can be watched, and is removed with the rest.
    let temporary = wheels.join("pip");
    fs::create_dir_all(&temporary).map_err(|e| Failure::file("make the folder", &temporary, e))?;
    let mut command = Command::new("python3");
    command.args(arguments(requirements)).arg("--dest").arg(wheels).env("TMPDIR", &temporary);
    let output = watched(command, bytes, &temporary).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => Failure::says(
            "there is no python3 and libtorch is downloaded with its pip: install python3 and pip, \
             or set LIBTORCH to an unpacked libtorch",
        ),
        _ => Failure::says(format!("cannot start python3 ({e}): check that `python3 -m pip` works")),
    })?;
    if output.status.success() { Ok(()) } else { Err(refusal(&last_line(&output.stderr))) }
}

fn arguments(requirements: &[&str]) -> Vec<String> {
    let fixed = "-m pip download --quiet --no-input --disable-pip-version-check --no-cache-dir --progress-bar off \
                 --no-deps --only-binary=:all: --python-version 3.11 --implementation cp --abi cp311 --abi none --abi abi3";
    let mut arguments: Vec<String> = fixed.split_whitespace().map(str::to_owned).collect();
    let platforms = GLIBC.rev().map(|glibc| format!("manylinux_2_{glibc}_x86_64"));
    for platform in platforms.chain(["manylinux2014_x86_64".to_owned()]) {
        arguments.extend(["--platform".to_owned(), platform]);
    }
    arguments.extend(requirements.iter().map(|&requirement| requirement.to_owned()));
    arguments
}

/// What pip's last line means for the user.
fn refusal(reason: &str) -> Failure {
    if reason.contains("No module named pip") {
        return Failure::says(
            "python3 has no pip: install it (Debian: python3-pip), or set LIBTORCH to an unpacked libtorch",
        );
    }
    if reason.contains("No space left") {
        return Failure::says(
            "pip filled the disk: free some space, or set XDG_CACHE_HOME to a folder on a larger disk",
        );
    }
    Failure::says(format!(
        "pip could not download PyTorch's wheels ({reason}): check the network and pip's index settings, then try again"
    ))
}

/// Runs the command to its end while a bar follows the growth of `folder`.
fn watched(mut command: Command, bytes: u64, folder: &Path) -> io::Result<Output> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let bar = progress::bytes("downloading PyTorch's wheels", Some(bytes));
    let (ended, end) = sync_channel(1);
    thread::spawn(move || ended.send(child.wait_with_output()));
    loop {
        match end.recv_timeout(Duration::from_millis(200)) {
            Ok(output) => {
                bar.finish_and_clear();
                return output;
            }
            Err(RecvTimeoutError::Timeout) => {
                bar.set_position(size_of(folder).min(bytes));
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that waited for pip ended"));
            }
        }
    }
}

/// The length of all files below. Files come and go meanwhile, so what cannot be read counts as nothing.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => size_of(&entry.path()),
            _ => entry.metadata().map_or(0, |metadata| metadata.len()),
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_is_asked_for_exact_wheels_of_one_platform() {
        let asked = arguments(&["torch==2.11.0"]).join(" ");
        assert!(asked.starts_with("-m pip download ") && asked.ends_with(" torch==2.11.0"), "{asked}");
        assert!(asked.contains("--only-binary=:all:") && asked.contains("--no-deps"), "{asked}");
    }

    #[test]
    fn pips_reasons_become_one_sentence() {
        assert!(refusal("python3: No module named pip").to_string().contains("install it"));
        assert!(refusal("ERROR: [Errno 28] No space left on device").to_string().contains("XDG_CACHE_HOME"));
        let other = refusal("ERROR: No matching distribution found for torch==2.11.0").to_string();
        assert!(other.contains("No matching distribution") && other.contains("check the network"), "{other}");
    }

    #[test]
    fn a_missing_program_and_a_failing_one_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let missing = watched(Command::new("no-such-program"), 10, folder.path()).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let mut failing = Command::new("sh");
        failing.args(["-c", "echo reason >&2; exit 3"]);
        let output = watched(failing, 10, folder.path()).unwrap();
        assert_eq!((output.status.code(), last_line(&output.stderr).as_str()), (Some(3), "reason"));
    }

    #[test]
    fn a_folder_is_measured_with_all_below() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), "12345").unwrap();
        fs::write(folder.path().join("c"), "123").unwrap();
        assert_eq!(size_of(folder.path()), 8);
    }
}
