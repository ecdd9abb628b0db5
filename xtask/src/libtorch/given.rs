//! Checks of a libtorch that somebody else installed.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::flavor::{Flavor, TORCH_VERSION};
use crate::failure::{Failure, Outcome};

const ASK_PYTHON: &str = "import pathlib, torch
print(torch.__version__)
print(pathlib.Path(torch.__file__).parent)";

/// A folder can be built against when it has headers, libraries and the right version.
pub fn check_folder(folder: &Path) -> Outcome {
    let shown = folder.display();
    if folder.is_relative() {
        return Err(Failure::says(format!(
            "LIBTORCH={shown} is relative and builds run in other folders: set it to the whole path"
        )));
    }
    for part in ["include", "lib"] {
        if !folder.join(part).is_dir() {
            return Err(Failure::says(format!(
                "{shown} has no folder `{part}`: set LIBTORCH to an unpacked libtorch {TORCH_VERSION}, or unset it"
            )));
        }
    }
    match version_in(folder) {
        Some(version) => check_version(&format!("libtorch in {shown}"), &version),
        None => Err(Failure::says(format!(
            "{shown} has no `build-version`: set LIBTORCH to an unpacked libtorch {TORCH_VERSION}, or unset it"
        ))),
    }
}

/// A libtorch that was given is used as it is, so what it lacks cannot be added.
pub fn check_flavor(folder: &Path, flavor: Flavor) -> Outcome {
    if flavor == Flavor::Cuda && !folder.join("lib/libtorch_cuda.so").exists() {
        return Err(Failure::says(format!(
            "{} was built without CUDA: unset LIBTORCH and LIBTORCH_USE_PYTORCH to download a build that has it",
            folder.display()
        )));
    }
    Ok(())
}

/// The folder of the PyTorch that `python3` imports.
pub fn python_folder() -> Outcome<PathBuf> {
    let output = Command::new("python3").args(["-c", ASK_PYTHON]).output().map_err(|_| {
        Failure::says("LIBTORCH_USE_PYTORCH is set but there is no python3: install it, or unset it")
    })?;
    if !output.status.success() {
        return Err(Failure::says(format!(
            "python3 cannot import torch ({}): install torch=={TORCH_VERSION} there, or unset LIBTORCH_USE_PYTORCH",
            last_line(&output.stderr)
        )));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let (version, folder) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
    check_version("python3's torch", version)?;
    Ok(PathBuf::from(folder.trim()))
}

/// The last line that says something: where Python and pip put the reason.
pub fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("it gave no reason").to_owned()
}

fn check_version(what: &str, version: &str) -> Outcome {
    let plain = version.trim().split('+').next().unwrap_or_default();
    if plain == TORCH_VERSION {
        return Ok(());
    }
    Err(Failure::says(format!(
        "{what} is version {plain}, not {TORCH_VERSION}: point to that version, or unset the variable to download it"
    )))
}

/// libtorch's archives carry `build-version`, PyTorch's Python folder carries `version.py`.
fn version_in(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join("build-version")).ok().or_else(|| {
        let module = fs::read_to_string(folder.join("version.py")).ok()?;
        let line = module.lines().find_map(|line| line.strip_prefix("__version__ = "))?;
        Some(line.trim_matches(|c| c == '\'' || c == '"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(file: &str, text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for part in ["include", "lib"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        fs::write(folder.path().join(file), text).unwrap();
        folder
    }

    #[test]
    fn both_ways_of_naming_the_version_are_read() {
        check_folder(folder_with("build-version", "2.11.0+cpu\n").path()).unwrap();
        check_folder(folder_with("version.py", "__all__ = []\n__version__ = '2.11.0+cu130'\n").path())
            .unwrap();
    }

    #[test]
    fn a_wrong_folder_is_refused_in_one_sentence() {
        let refused = |folder: &Path| check_folder(folder).unwrap_err().to_string();
        assert!(
            refused(folder_with("build-version", "2.9.1+cpu").path()).contains("version 2.9.1, not 2.11.0")
        );
        assert!(refused(folder_with("other", "").path()).contains("no `build-version`"));
        assert!(refused(Path::new("libtorch")).contains("set it to the whole path"));
        assert!(refused(tempfile::tempdir().unwrap().path()).contains("no folder `include`"));
    }

    #[test]
    fn cuda_is_asked_of_a_given_folder() {
        let folder = folder_with("build-version", "2.11.0+cpu");
        check_flavor(folder.path(), Flavor::Cpu).unwrap();
        let refused = check_flavor(folder.path(), Flavor::Cuda).unwrap_err().to_string();
        assert!(refused.contains("without CUDA"), "{refused}");
    }

    #[test]
    fn the_reason_is_the_last_line() {
        assert_eq!(last_line(b"a\nERROR: no space\n\n"), "ERROR: no space");
        assert_eq!(last_line(b""), "it gave no reason");
    }
}
