//! [`NodeId`]: who a node is.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::hex;

/// The public key of a node: names it, and it alone can prove to be that.
///
/// Shown as its first 8 hexadecimal digits. Travels as 32 raw bytes, and in text formats as 64 digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub [u8; 32]);

impl NodeId {
    /// All 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        hex::of(&self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, ..] = self.0;
        f.pad(&hex::of(&[a, b, c, d]))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({self})")
    }
}

/// A text that is no node's public key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a node's identity: 64 hexadecimal digits")]
pub struct NotANodeId(String);

impl FromStr for NodeId {
    type Err = NotANodeId;

    fn from_str(text: &str) -> Result<Self, NotANodeId> {
        hex::read(text).map(Self).ok_or_else(|| NotANodeId(text.chars().take(80).collect()))
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&self.to_hex())
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(Digits)
        } else {
            deserializer.deserialize_bytes(Digits)
        }
    }
}

struct Digits;

impl<'de> Visitor<'de> for Digits {
    type Value = NodeId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the 32 bytes of a node's public key")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<NodeId, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<NodeId, E> {
        bytes.try_into().map(NodeId).map_err(|_| E::invalid_length(bytes.len(), &self))
    }

    // Where a format wrote the bytes as a list of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<NodeId, A::Error> {
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = list.next_element()?.ok_or_else(|| A::Error::invalid_length(at, &self))?;
        }
        match list.next_element::<u8>()? {
            None => Ok(NodeId(bytes)),
            Some(_) => Err(A::Error::invalid_length(33, &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_same_after_text_and_after_messagepack() {
        let id = NodeId(std::array::from_fn(|at| at as u8));
        assert_eq!(id.to_string(), "00010203");
        assert_eq!(id.to_hex().parse(), Ok(id));
        let bytes = crate::header_of(&id).unwrap();
        assert_eq!(bytes[..3], [0xc4, 32, 0]);
        assert_eq!(crate::read_header(&bytes), Ok(id));
        assert!(crate::read_header::<NodeId>(&[0xc4, 1, 0]).is_err());
        assert!("00".parse::<NodeId>().unwrap_err().to_string().contains("64 hexadecimal digits"));
    }
}
