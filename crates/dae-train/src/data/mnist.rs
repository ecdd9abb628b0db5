//! MNIST, and the folder it is kept in.

use std::env;
use std::path::{Path, PathBuf};

use super::{DataError, IdxImages};

/// The images of MNIST in `folder`: 60,000 to train on, or 10,000 to test with, of shape `[1, 28, 28]`.
///
/// # Errors
/// As [`IdxImages::open`]; if the file is missing, the message says how to get it.
pub fn mnist(folder: &Path, train: bool) -> Result<IdxImages, DataError> {
    let file = if train {
        "train-images-idx3-ubyte"
    } else {
        "t10k-images-idx3-ubyte"
    };
    IdxImages::open(&folder.join(file)).map_err(|error| match error {
        DataError::Missing { path, .. } => DataError::Missing {
            path,
            remedy: "run `dae-node data fetch mnist`",
        },
        other => other,
    })
}

/// Where `dae-node data fetch mnist` puts the files unless told otherwise: `dae/mnist` in the user's cache
/// folder, which is `$XDG_CACHE_HOME` or `~/.cache`. `None` if the environment names neither.
pub fn mnist_folder() -> Option<PathBuf> {
    // The XDG base directory specification: a relative path is to be ignored.
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    cache
        .or_else(|| Some(env::home_dir()?.join(".cache")))
        .map(|cache| cache.join("dae").join("mnist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_folder_says_how_to_get_it() {
        let message = mnist(Path::new("/nowhere/at/all"), true)
            .expect_err("no such folder")
            .to_string();
        assert!(
            message.contains("/nowhere/at/all/train-images-idx3-ubyte"),
            "{message}"
        );
        assert!(message.contains("dae-node data fetch mnist"), "{message}");
    }
}
