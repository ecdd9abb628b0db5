//! [`Hello`]: what a peer says about itself once both have proved the key.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::header::{header_of, read_header};
use crate::node_id::NodeId;
use crate::purpose::Purpose;

/// Introduces a peer. At most 4 KiB on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// What people call it: 1 to 64 characters, none of them for control.
    pub name: String,
    /// Higher at each start, so that a peer that came back is not taken for the one before.
    pub generation: u64,
    /// What the link is for.
    pub purpose: Purpose,
    /// More, for those who know the words.
    pub facts: BTreeMap<String, String>,
}

impl Hello {
    /// The most bytes that one takes on the wire.
    pub const MAX_BYTES: usize = 4 << 10;

    /// One without facts.
    pub fn new(name: &str, generation: u64, purpose: Purpose) -> Self {
        Self { name: name.to_owned(), generation, purpose, facts: BTreeMap::new() }
    }

    pub(crate) fn write(&self) -> Result<Vec<u8>, String> {
        let bytes = header_of(self).map_err(|error| error.to_string())?;
        if bytes.len() > Self::MAX_BYTES {
            return Err(format!("it takes {} bytes, and {} are allowed", bytes.len(), Self::MAX_BYTES));
        }
        self.check()?;
        Ok(bytes)
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let hello: Self = read_header(bytes).map_err(|error| error.to_string())?;
        hello.check()?;
        Ok(hello)
    }

    /// Names are shown in terminals and logs.
    pub(crate) fn check(&self) -> Result<(), String> {
        let characters = self.name.chars().count();
        if !(1..=64).contains(&characters) || self.name.chars().any(char::is_control) {
            return Err(format!("the name {:?} is not 1 to 64 printable characters", self.name));
        }
        Ok(())
    }
}

/// The other end of a link, proved and admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// The public key that it proved to own.
    pub id: NodeId,
    /// What it says about itself.
    pub hello: Hello,
    /// Where it is, if it is somewhere on a network.
    pub address: Option<SocketAddr>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_read_back_and_bounded() {
        let mut hello = Hello::new("anna", 3, Purpose::Node);
        hello.facts.insert("cores".to_owned(), "2".to_owned());
        assert_eq!(Hello::read(&hello.write().unwrap()), Ok(hello.clone()));
        hello.facts.insert("long".to_owned(), "x".repeat(5000));
        assert!(hello.write().unwrap_err().contains("4096 are allowed"));
    }

    #[test]
    fn a_name_cannot_write_on_a_terminal() {
        for name in ["", "\x1b[2J", "a\nb", &"x".repeat(65)] {
            let hello = Hello::new(name, 0, Purpose::Client);
            assert!(hello.write().unwrap_err().contains("printable"), "{name:?}");
            assert!(Hello::read(&header_of(&hello).unwrap()).is_err());
        }
    }
}
