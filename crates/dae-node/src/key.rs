//! `dae-node key`: the secret that makes machines one cluster.

use std::path::Path;

use dae_net::ClusterKey;

use crate::exit::Failure;
use dae_train::exit::Exit;

/// Makes a key in a new file.
pub fn new(file: &Path) -> Result<Vec<u8>, Failure> {
    let written = ClusterKey::generate().and_then(|key| key.write_new(file));
    written.map_err(|error| Failure::new(Exit::Failed, miette::miette!("{error}")))?;
    Ok(format!("{}\n", file.display()).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_its_owners_alone_and_never_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("key");
        new(&file).expect("written");
        let mode = std::fs::metadata(&file).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let before = std::fs::read(&file).expect("read");
        assert!(new(&file).is_err());
        assert_eq!(std::fs::read(&file).expect("read"), before);
    }
}
