//! Files that hold 32 secret bytes as one line of text, readable by their owner alone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};

use crate::hex;

/// Why a file with a secret was not read or not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The file system refuses.
    #[error("cannot {doing} `{}`: {why}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// Others than the owner can read the file.
    #[error(
        "`{}` can be read by others than its owner (mode {mode:03o}), so it keeps no secret; `chmod 600 {}`",
        path.display(), path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A secret is never overwritten.
    #[error("`{}` is there already, and is not overwritten; name another file or remove it first", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file does not hold what it should.
    #[error("`{}` is not one line `{form} <64 hexadecimal digits>`", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The word that the line begins with.
        form: &'static str,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers, which a new key is made of")]
    Random,
}

/// 32 random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError::Random)?;
    Ok(bytes)
}

/// Reads the secret of a file that only its owner can read.
pub(crate) fn read(path: &Path, form: &'static str) -> Result<[u8; 32], KeyError> {
    let failed = failed("read", path);
    // Opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(&failed)?.is_file() {
        return Err(failed(io::Error::other("it is not a regular file")));
    }
    let file = File::open(path).map_err(&failed)?;
    let mode = file.metadata().map_err(&failed)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyError::Exposed { path: path.to_owned(), mode });
    }
    let mut text = Vec::new();
    file.take(256).read_to_end(&mut text).map_err(&failed)?;
    let secret = std::str::from_utf8(&text)
        .ok()
        .and_then(|text| text.trim_end().strip_prefix(form)?.strip_prefix(' '))
        .and_then(hex::read);
    secret.ok_or_else(|| KeyError::Malformed { path: path.to_owned(), form })
}

/// Writes a file that was not there before, whole or not at all.
pub(crate) fn write_new(path: &Path, form: &str, secret: &[u8; 32]) -> Result<(), KeyError> {
    let failed = failed("write", path);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().ok_or_else(|| failed(io::Error::other("it names no file")))?;
    let mut new_name = name.to_owned();
    new_name.push(format!(".{}.new", hex::of(&random::<4>()?)));
    let new = folder.join(new_name);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new).and_then(|mut file| {
            file.write_all(format!("{form} {}\n", hex::of(secret)).as_bytes())?;
            file.sync_all()?;
            // A link never replaces what is there, on every file system; not all know a rename that would not.
            fs::hard_link(&new, path)?;
            fs::remove_file(&new)?;
            File::open(folder)?.sync_all()
        });
    written.map_err(|error| {
        // It may never have been made; then there is nothing to remove.
        let _ = fs::remove_file(&new);
        if error.kind() == io::ErrorKind::AlreadyExists {
            KeyError::Exists { path: path.to_owned() }
        } else {
            failed(error)
        }
    })
}

fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> KeyError {
    move |error| KeyError::File { doing, path: path.to_owned(), why: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_back_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_new(&path, "form-1", &[7; 32]).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read(&path, "form-1"), Ok([7; 32]));
        assert_eq!(write_new(&path, "form-1", &[8; 32]), Err(KeyError::Exists { path: path.clone() }));
        assert_eq!(read(&path, "form-1"), Ok([7; 32]));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(read(&path, "form-2"), Err(KeyError::Malformed { path, form: "form-2" }));
    }

    #[test]
    fn a_file_for_all_to_read_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_new(&path, "form-1", &[7; 32]).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read(&path, "form-1").unwrap_err().to_string();
        assert!(error.contains("(mode 640)") && error.contains("chmod 600"), "{error}");
    }

    #[test]
    fn what_is_no_secret_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let missing = read(&folder.path().join("none"), "form-1").unwrap_err().to_string();
        assert!(missing.contains("cannot read") && missing.contains("none"), "{missing}");
        let not_a_file = read(folder.path(), "form-1").unwrap_err().to_string();
        assert!(not_a_file.contains("not a regular file"), "{not_a_file}");
        let nowhere = write_new(&folder.path().join("no/key"), "form-1", &[0; 32]).unwrap_err().to_string();
        assert!(nowhere.contains("cannot write"), "{nowhere}");
    }
}
