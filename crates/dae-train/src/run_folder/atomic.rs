//! Files that are there as a whole or not at all, and names that stay.

use super::DiskError;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes a file under a temporary name beside it, syncs it, renames it over `path`, and syncs the folder: after a
/// crash at any moment `path` holds the old bytes or the new ones.
///
/// # Errors
/// What the disk refused; the temporary file is removed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), DiskError> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".tmp-{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = File::create(&temporary)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if let Err(source) = written {
        // The first error is the one to tell; a temporary file that stays is harmless.
        let _ = fs::remove_file(&temporary);
        return Err(DiskError::when("write", path)(source));
    }
    sync_parent(path)
}

/// Creates a folder and those above it that are missing; after a crash all of them are still there.
///
/// # Errors
/// What the disk refused.
pub fn create_folder(path: &Path) -> Result<(), DiskError> {
    let missing: Vec<_> = path.ancestors().take_while(|p| *p != Path::new("") && !p.exists()).collect();
    fs::create_dir_all(path).map_err(DiskError::when("create the folder", path))?;
    missing.into_iter().try_for_each(sync_parent)
}

/// Makes the name of a file or folder survive a crash, once it was created, renamed or removed.
///
/// # Errors
/// What the disk refused.
pub fn sync_parent(path: &Path) -> Result<(), DiskError> {
    match path.parent() {
        Some(folder) if folder != Path::new("") => sync_folder(folder),
        _ => sync_folder(Path::new(".")),
    }
}

/// Makes the names in a folder survive a crash: what was created, renamed or removed in it.
///
/// # Errors
/// What the disk refused.
pub fn sync_folder(folder: &Path) -> Result<(), DiskError> {
    File::open(folder).and_then(|f| f.sync_all()).map_err(DiskError::when("sync the folder", folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_a_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        write_atomic(&path, b"one").unwrap();
        write_atomic(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn folders_are_created_up_to_the_first_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/c");
        create_folder(&path).unwrap();
        create_folder(&path).unwrap();
        assert!(path.is_dir());
        fs::write(path.join("file"), "").unwrap();
        let error = create_folder(&path.join("file")).unwrap_err().to_string();
        assert!(error.starts_with("could not create the folder"), "{error}");
    }

    #[test]
    fn a_failure_names_the_file_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = write_atomic(&path, b"x").unwrap_err();
        assert!(error.to_string().contains("taken"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
