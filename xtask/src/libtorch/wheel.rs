//! Checking and unpacking one wheel.
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::flavor::{Flavor, Pin};
use crate::failure::{Failure, Outcome};
use crate::progress;

/// Compares the file with its pin.
pub fn verify(path: &Path, pin: &Pin) -> Outcome {
    let file = File::open(path).map_err(|_| {
        Failure::says(format!(
            "pip did not bring {}: check that its index settings lead to PyTorch's own wheels",
            pin.file
        ))
    })?;
    let bar = progress::bytes("checking", Some(pin.bytes));
    let found = sha256(bar.wrap_read(file)).map_err(|e| Failure::file("read", path, e))?;
    bar.finish_and_clear();
    if found == pin.sha256 {
        return Ok(());
    }
    Err(Failure::says(format!(
        "{} has SHA-256 {found}, not the pinned {}: try again, and if it stays so do not trust that package index",
        pin.file, pin.sha256
    )))
}

fn sha256(mut source: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 20];
    loop {
        match source.read(&mut block)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            length => hash.update(&block[..length]),
        }
    }
}

/// Unpacks the wanted entries of a wheel into the libtorch folder `into`.
pub fn unpack(wheel: &Path, into: &Path, flavor: Flavor) -> Outcome {
    let mut archive = open(wheel)?;
    let (wanted, bytes) = choose(&mut archive, flavor).map_err(|e| damaged(wheel, &e))?;
    let bar = progress::bytes("unpacking", Some(bytes));
    for (index, place) in wanted {
        let target = into.join(place);
        let entry = archive.by_index(index).map_err(|e| damaged(wheel, &e))?;
        write(bar.wrap_read(entry), &target).map_err(|e| Failure::file("unpack", &target, e))?;
    }
    bar.finish_and_clear();
    Ok(())
}

type Wanted = (Vec<(usize, PathBuf)>, u64);

/// Which entries go where, and their length together. Names that lead out of the folder are never wanted.
fn choose(archive: &mut ZipArchive<File>, flavor: Flavor) -> zip::result::ZipResult<Wanted> {
    let (mut wanted, mut bytes) = (Vec::new(), 0);
    for index in 0..archive.len() {
        let entry = archive.by_index_raw(index)?;
        let place = entry.enclosed_name().filter(|_| entry.is_file()).and_then(|name| flavor.place(&name));
        if let Some(place) = place {
            bytes += entry.size();
            wanted.push((index, place));
        }
    }
    Ok((wanted, bytes))
}

fn write(mut source: impl Read, target: &Path) -> io::Result<()> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    io::copy(&mut source, &mut File::create(target)?).map(drop)
}

fn open(wheel: &Path) -> Outcome<ZipArchive<File>> {
    let file = File::open(wheel).map_err(|e| Failure::file("read", wheel, e))?;
    ZipArchive::new(file).map_err(|e| damaged(wheel, &e))
}

fn damaged(wheel: &Path, error: &dyn std::error::Error) -> Failure {
    let name = wheel.file_name().unwrap_or_default().to_string_lossy();
    Failure::says(format!("{name} is not a whole wheel ({error}): try again"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::flavor::TORCH;
    use super::*;
    use zip::write::SimpleFileOptions;

    fn wheel(entries: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made-up.whl");
        let mut archive = zip::ZipWriter::new(File::create(&path).unwrap());
        for (name, text) in entries {
            archive.start_file(*name, SimpleFileOptions::default()).unwrap();
            archive.write_all(text.as_bytes()).unwrap();
        }
        archive.finish().unwrap();
        (folder, path)
    }

    #[test]
    fn the_hash_is_sha_256() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&b"abc"[..]).unwrap(), known);
    }

    #[test]
    fn a_changed_wheel_is_refused() {
        let (_folder, path) = wheel(&[("torch/lib/libc10.so", "not the real one")]);
        let refused = verify(&path, &TORCH).unwrap_err().to_string();
        assert!(refused.contains("not the pinned 7aa2f9bb"), "{refused}");
        let absent = verify(Path::new("absent.whl"), &TORCH).unwrap_err().to_string();
        assert!(absent.contains("pip did not bring torch-2.11.0"), "{absent}");
    }

    #[test]
    fn only_wanted_entries_are_unpacked() {
        let names = [
            "torch/include/a/b.h",
            "torch/lib/libc10.so",
            "torch/lib/libtorch_cuda.so",
            "torch/include/../../../up.h",
        ];
        let (folder, path) = wheel(&names.map(|name| (name, "text")));
        let into = folder.path().join("into/deep");
        unpack(&path, &into, Flavor::Cpu).unwrap();
        assert_eq!(fs::read_to_string(into.join("include/a/b.h")).unwrap(), "text");
        assert!(into.join("lib/libc10.so").is_file() && !into.join("lib/libtorch_cuda.so").exists());
        assert!(!folder.path().join("up.h").exists() && !folder.path().join("into/up.h").exists());
    }

    #[test]
    fn a_damaged_wheel_is_named() {
        let (folder, path) = wheel(&[]);
        fs::write(&path, "no zip").unwrap();
        let refused = unpack(&path, folder.path(), Flavor::Cpu).unwrap_err().to_string();
        assert!(refused.starts_with("made-up.whl is not a whole wheel"), "{refused}");
    }
}
