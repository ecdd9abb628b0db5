//! The user's folder of unpacked wheels: one for all clones, locked while it is made, whole or absent.
use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::flavor::{Flavor, TORCH_VERSION};
use super::{pip, wheel};
use crate::failure::{Failure, Outcome};

/// PyTorch's wheels are pinned for one kind of machine.
pub fn supported(system: &str, processor: &str) -> Outcome {
    if (system, processor) == ("linux", "x86_64") {
        return Ok(());
    }
    Err(Failure::says(format!(
        "no libtorch is pinned for {processor} {system}: install torch=={TORCH_VERSION} with pip, \
         then set LIBTORCH_USE_PYTORCH=1 (or LIBTORCH to an unpacked libtorch {TORCH_VERSION})"
    )))
}

/// The libtorch folder in `cache`, made if it is not there. Whatever interrupts this, the next call starts clean.
pub fn fetch(flavor: Flavor, cache: &Path) -> Outcome<PathBuf> {
    let name = flavor.build_version();
    let folder = cache.join(&name);
    if is_complete(&folder, flavor) {
        return Ok(folder);
    }
    fs::create_dir_all(cache).map_err(|e| Failure::file("make the folder", cache, e))?;
    let _lock = lock(&cache.join(format!("{name}.lock")))?;
    if is_complete(&folder, flavor) {
        return Ok(folder); // another clone made it while this one waited
    }
    let partial = cache.join(format!("{name}.partial"));
    remove(&partial)?;
    check_room(free_bytes(cache), flavor.bytes_needed(), cache)?;
    let made = fill(flavor, &partial).and_then(|()| finish(flavor, &partial, &folder));
    if made.is_err() {
        // The next call removes it too; this gives a full disk its room back now.
        let _ = remove(&partial);
    }
    made.map(|()| folder)
}

/// Downloads, checks and unpacks into `partial`.
fn fill(flavor: Flavor, partial: &Path) -> Outcome {
    let wheels = partial.join("wheels");
    fs::create_dir_all(&wheels).map_err(|e| Failure::file("make the folder", &wheels, e))?;
    let pinned: Vec<&str> = flavor.pins().iter().map(|pin| pin.requirement).collect();
    let bytes = flavor.pins().iter().map(|pin| pin.bytes).sum();
    pip::download(&pinned, bytes, &wheels)?;
    for pin in flavor.pins() {
        wheel::verify(&wheels.join(pin.file), pin)?;
    }
    for wheel in wheels_in(&wheels)? {
        wheel::unpack(&wheel, partial, flavor)?;
    }
    remove(&wheels)?;
    if flavor == Flavor::Cpu {
        // PyTorch's own libtorch.so binds the CUDA libraries; for the CPU it adds nothing to libtorch_cpu.so.
        let umbrella = partial.join("lib/libtorch.so");
        symlink("libtorch_cpu.so", &umbrella).map_err(|e| Failure::file("make the link", &umbrella, e))?;
    }
    write(&partial.join("build-version"), &format!("{}\n", flavor.build_version()))
}

/// Puts everything on the disk, then the stamp, then gives the folder its name.
fn finish(flavor: Flavor, partial: &Path, folder: &Path) -> Outcome {
    rustix::fs::sync();
    write(&partial.join("complete"), &stamp(flavor))?;
    remove(folder)?;
    fs::rename(partial, folder).map_err(|e| Failure::file("rename to", folder, e))
}

fn is_complete(folder: &Path, flavor: Flavor) -> bool {
    fs::read_to_string(folder.join("complete")).is_ok_and(|found| found == stamp(flavor))
}

/// Says what the folder was made from, so that a change of pins makes it anew.
fn stamp(flavor: Flavor) -> String {
    let pins = flavor.pins().iter().map(|pin| format!("{} {}\n", pin.sha256, pin.file));
    std::iter::once(format!("{}\n", flavor.build_version())).chain(pins).collect()
}

/// Holds the file's lock until it is dropped; the system releases it however this process ends.
fn lock(path: &Path) -> Outcome<File> {
    let file = File::create(path).map_err(|e| Failure::file("write", path, e))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            eprintln!(
                "libtorch: waiting for another clone that is making {}",
                path.with_extension("").display()
            );
        }
        Err(TryLockError::Error(e)) => return Err(Failure::file("lock", path, e)),
    }
    file.lock().map_err(|e| Failure::file("lock", path, e))?;
    Ok(file)
}

fn check_room(free: Option<u64>, needed: u64, cache: &Path) -> Outcome {
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    match free {
        Some(free) if free < needed => Err(Failure::says(format!(
            "{} has {:.1} GB free and {:.0} GB are needed while libtorch is unpacked: free some space, \
             or set XDG_CACHE_HOME to a folder on a larger disk",
            cache.display(),
            gigabytes(free),
            gigabytes(needed)
        ))),
        _ => Ok(()), // unknown counts as enough: a full disk is reported when it happens
    }
}

fn free_bytes(folder: &Path) -> Option<u64> {
    rustix::fs::statvfs(folder).ok().map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

fn wheels_in(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .and_then(|entries| entries.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>());
    let mut wheels = entries.map_err(|e| Failure::file("read", folder, e))?;
    wheels.retain(|path| path.extension().is_some_and(|extension| extension == "whl"));
    wheels.sort();
    Ok(wheels)
}

/// Writes a small file through to the disk.
fn write(path: &Path, text: &str) -> Outcome {
    let write = || -> std::io::Result<()> {
        let mut file = File::create(path)?;
        std::io::copy(&mut text.as_bytes().by_ref(), &mut file)?;
        file.sync_all()
    };
    write().map_err(|e| Failure::file("write", path, e))
}

fn remove(folder: &Path) -> Outcome {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Failure::file("remove", folder, e)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_told_how_to_go_on() {
        supported("linux", "x86_64").unwrap();
        let refused = supported("macos", "aarch64").unwrap_err().to_string();
        assert!(refused.contains("aarch64 macos") && refused.contains("LIBTORCH_USE_PYTORCH=1"), "{refused}");
    }

    #[test]
    fn too_little_room_is_said_before_the_download() {
        let refused =
            check_room(Some(400_000_000), 3_000_000_000, Path::new("cache")).unwrap_err().to_string();
        assert!(refused.contains("0.4 GB free and 3 GB are needed"), "{refused}");
        check_room(Some(3_000_000_000), 3_000_000_000, Path::new("cache")).unwrap();
        check_room(None, 3_000_000_000, Path::new("cache")).unwrap();
    }

    #[test]
    fn a_stamped_folder_is_used_as_it_is() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("2.11.0+cpu");
        fs::create_dir(&folder).unwrap();
        assert!(!is_complete(&folder, Flavor::Cpu), "no stamp, not complete");
        fs::write(folder.join("complete"), "2.11.0+cpu\nolder pins\n").unwrap();
        assert!(!is_complete(&folder, Flavor::Cpu), "another stamp, not complete");
        fs::write(folder.join("complete"), stamp(Flavor::Cpu)).unwrap();
        assert_eq!(fetch(Flavor::Cpu, cache.path()).unwrap(), folder);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 1, "not even a lock was taken");
    }

    #[test]
    fn finishing_replaces_an_outdated_folder() {
        let cache = tempfile::tempdir().unwrap();
        let (partial, folder) = (cache.path().join("new"), cache.path().join("old"));
        fs::create_dir(&partial).unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("complete"), "older pins").unwrap();
        finish(Flavor::Cpu, &partial, &folder).unwrap();
        assert!(is_complete(&folder, Flavor::Cpu) && !partial.exists());
    }
}
