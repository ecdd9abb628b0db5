//! [`ClusterKey`]: the secret that the nodes of a cluster share.

use std::fmt;
use std::path::Path;

use crate::secret_file::{self, KeyError};

const FORM: &str = "dae-cluster-key-1";

/// 32 random bytes. Who has them belongs to the cluster, so they live in a file that only its owner can read.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKey([u8; 32]);

impl ClusterKey {
    /// A new key.
    ///
    /// # Errors
    /// [`KeyError::Random`] where the system gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        secret_file::random().map(Self)
    }

    /// The key in a file: one line, `dae-cluster-key-1` and 64 hexadecimal digits.
    ///
    /// # Errors
    /// A file that cannot be read, that others than its owner can read, or that holds something else.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        secret_file::read(path, FORM).map(Self)
    }

    /// Writes the key to a file that was not there before, for its owner alone, and waits until the disk has it.
    ///
    /// # Errors
    /// A file that is there already or cannot be written.
    pub fn write_new(&self, path: &Path) -> Result<(), KeyError> {
        secret_file::write_new(path, FORM, &self.0)
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Shows nothing of the key: what is printed ends up in logs.
impl fmt::Debug for ClusterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClusterKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_keys_are_equal_and_none_is_printed() {
        let (one, other) = (ClusterKey::generate().unwrap(), ClusterKey::generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "ClusterKey(..)");
    }

    #[test]
    fn a_key_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lab.key");
        let key = ClusterKey::generate().unwrap();
        key.write_new(&path).unwrap();
        assert_eq!(ClusterKey::read(&path), Ok(key));
        let line = std::fs::read_to_string(path).unwrap();
        assert!(line.starts_with("dae-cluster-key-1 ") && line.len() == FORM.len() + 66, "{line:?}");
    }
}
