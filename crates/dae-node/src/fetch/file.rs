//! A file as it should be: name, size, SHA-256.

use std::io::Read;

use sha2::{Digest, Sha256};

use super::error::FetchError;

/// A file of a dataset, uncompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataFile {
    /// Its name.
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: &'static str,
}

/// MNIST (LeCun, Cortes, Burges).
pub const MNIST: [DataFile; 4] = [
    DataFile {
        name: "train-images-idx3-ubyte",
        bytes: 47_040_016,
        sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    },
    DataFile {
        name: "train-labels-idx1-ubyte",
        bytes: 60_008,
        sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    },
    DataFile {
        name: "t10k-images-idx3-ubyte",
        bytes: 7_840_016,
        sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    },
    DataFile {
        name: "t10k-labels-idx1-ubyte",
        bytes: 10_008,
        sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    },
];

impl DataFile {
    /// Reads the file from `source`, never more than it should have.
    ///
    /// # Errors
    /// What the source says, or that it is not this file.
    pub fn read(&self, source: impl Read) -> Result<Vec<u8>, FetchError> {
        let mut bytes = Vec::new();
        source
            .take(self.bytes + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| FetchError::Source(format!("{}: {error}", self.name)))?;
        let flaw = match bytes.len() as u64 {
            more if more > self.bytes => format!("more than its {} bytes", self.bytes),
            fewer if fewer < self.bytes => format!("{fewer} bytes instead of {}", self.bytes),
            _ if dae_net::to_hex(&Sha256::digest(&bytes)) != self.sha256 => {
                "its SHA-256 is another".to_owned()
            }
            _ => return Ok(bytes),
        };
        Err(FetchError::Source(format!("{}: {flaw}", self.name)))
    }
}
