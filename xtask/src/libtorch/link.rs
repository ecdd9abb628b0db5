//! The link from the workspace root to a libtorch folder.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::failure::{Failure, Outcome};

/// Points the link to the folder in one step. True when it pointed somewhere else before, so that what was built
/// against the old folder is out of date.
pub fn point(link: &Path, folder: &Path) -> Outcome<bool> {
    let before = fs::read_link(link).ok();
    if before.as_deref() == Some(folder) {
        return Ok(false);
    }
    if before.is_none() && link.symlink_metadata().is_ok() {
        return Err(Failure::says(format!("{} is not a link: move it away, then try again", link.display())));
    }
    // Made beside and renamed, so a build that runs meanwhile sees the old link or the new one.
    let beside = link.with_extension(format!("new-{}", std::process::id()));
    symlink(folder, &beside).map_err(|e| Failure::file("make the link", &beside, e))?;
    fs::rename(&beside, link).map_err(|e| Failure::file("make the link", link, e))?;
    Ok(before.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_made_kept_and_changed() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join(".libtorch");
        assert!(!point(&link, Path::new("first")).unwrap(), "nothing was built before");
        assert!(!point(&link, Path::new("first")).unwrap(), "nothing changed");
        assert!(point(&link, Path::new("second")).unwrap(), "what was built is out of date");
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("second"));
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_users_own_folder_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let link = root.path().join(".libtorch");
        fs::create_dir(&link).unwrap();
        assert!(point(&link, Path::new("first")).unwrap_err().to_string().contains("not a link"));
        assert!(link.is_dir());
    }
}
