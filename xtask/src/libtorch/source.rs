//! Which libtorch the environment asks for.
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where libtorch comes from, in order of preference.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// The user's own folder, from `$LIBTORCH`.
    Folder(PathBuf),
    /// The PyTorch of the `python3` in use, from `$LIBTORCH_USE_PYTORCH` (any value, as torch-sys reads it).
    Python,
    /// PyTorch's wheels, downloaded with pip into the user's cache.
    Wheels,
}

/// Chooses from the two variables. `.cargo/config.toml` sets `LIBTORCH` to `own_link` for whoever has set none, so
/// that value is no choice of the user's.
pub fn choose(libtorch: Option<&OsStr>, use_pytorch: bool, own_link: &Path) -> Source {
    let given = libtorch.map(Path::new).filter(|path| !path.as_os_str().is_empty() && *path != own_link);
    match given {
        Some(folder) => Source::Folder(folder.to_owned()),
        None if use_pytorch => Source::Python,
        None => Source::Wheels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(libtorch: Option<&str>, use_pytorch: bool) -> Source {
        choose(libtorch.map(OsStr::new), use_pytorch, Path::new("clone/.libtorch"))
    }

    #[test]
    fn the_users_folder_comes_first() {
        assert_eq!(chosen(Some("opt/libtorch"), true), Source::Folder("opt/libtorch".into()));
    }

    #[test]
    fn the_value_from_cargos_configuration_is_no_choice() {
        assert_eq!(chosen(Some("clone/.libtorch"), false), Source::Wheels);
        assert_eq!(chosen(Some("clone/.libtorch"), true), Source::Python);
        assert_eq!(chosen(Some(""), false), Source::Wheels);
    }

    #[test]
    fn nothing_set_means_wheels() {
        assert_eq!(chosen(None, false), Source::Wheels);
        assert_eq!(chosen(None, true), Source::Python);
    }
}
