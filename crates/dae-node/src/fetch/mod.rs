//! Datasets brought to this machine.
//!
//! | module | what it holds |
//! |---|---|
//! | `file` | a file as it should be: name, size, SHA-256 |
//! | `folder` | the folder files are kept in; nothing half-written stays there |
//! | `mirror` | files from public mirrors |
//! | `package` | files from a package |
//! | `error` | what was tried, and why each failed |
mod error;
mod file;
mod folder;
mod mirror;
mod package;

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};

use crate::exit::Failure;
use dae_train::exit::Exit;
use error::FetchError;
use file::{DataFile, MNIST};
use folder::Folder;

/// One place files may come from: fetches the wanted files into the folder, or says why it cannot.
type Source = (&'static str, fn(&[DataFile], &Folder, &ProgressBar) -> Result<(), FetchError>);

const SOURCES: [Source; 3] = [
    (mirror::OSSCI, |wanted, folder, bar| mirror::fetch(mirror::OSSCI, wanted, folder, bar)),
    (mirror::CVDF, |wanted, folder, bar| mirror::fetch(mirror::CVDF, wanted, folder, bar)),
    (package::NAME, package::fetch),
];

/// Makes sure the four files of MNIST lie in `to`, or in the user's cache folder; says on stderr what it came to, and
/// returns the folder, a line for stdout.
pub fn mnist(to: Option<PathBuf>) -> Result<Vec<u8>, Failure> {
    let Some(path) = to.or_else(dae_train::data::mnist_folder) else {
        let report = miette::miette!(
            help = "name a folder by --to",
            "there is no cache folder: neither $XDG_CACHE_HOME nor $HOME is set"
        );
        return Err(Failure::new(Exit::Usage, report));
    };
    let folder = format!("{}\n", path.display());
    let said = fetch(Folder::new(path), &MNIST, &SOURCES).map_err(|error| {
        let exit = match error {
            FetchError::Unreachable { .. } => Exit::Unreachable,
            _ => Exit::Failed,
        };
        Failure::new(exit, error)
    })?;
    eprint!("{said}");
    Ok(folder.into_bytes())
}

fn fetch(folder: Folder, files: &[DataFile], sources: &[Source]) -> Result<String, FetchError> {
    folder.create()?;
    let mut wanted = folder.missing(files)?;
    let there = folder.path().display().to_string();
    if wanted.is_empty() {
        return Ok(format!("already there, and as they should be: {} files in {there}\n", files.len()));
    }
    let (mut tried, mut used) = (Vec::new(), Vec::new());
    for (name, from) in sources {
        let bar = progress(&wanted, name);
        let failure = from(&wanted, &folder, &bar).err();
        bar.finish_and_clear();
        let before = wanted.len();
        wanted = folder.missing(files)?;
        if wanted.len() < before {
            used.push(*name);
        }
        match failure {
            _ if wanted.is_empty() => {
                return Ok(format!("{} files in {there}, from {}\n", files.len(), used.join(" and ")));
            }
            // A full disk is no reason to bother the next source.
            Some(error @ FetchError::Write { .. }) => return Err(error),
            Some(error) => tried.push(format!("{name}: {error}")),
            None => tried.push(format!("{name}: it does not have every file")),
        }
    }
    Err(FetchError::Unreachable { tried, folder: there })
}

/// A bar on stderr; indicatif draws nothing where that is no terminal.
fn progress(wanted: &[DataFile], source: &str) -> ProgressBar {
    let bar = ProgressBar::new(wanted.iter().map(|file| file.bytes).sum());
    // A template that does not parse leaves the plain bar.
    if let Ok(style) = ProgressStyle::with_template("{msg} [{wide_bar}] {bytes}/{total_bytes}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.with_message(source.to_owned())
}

#[cfg(test)]
mod tests;
