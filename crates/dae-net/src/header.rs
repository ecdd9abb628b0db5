//! Typed headers as MessagePack: structs as named maps, enums by the names of their variants.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::nesting::{Fault, value_bytes};

/// How many arrays, maps and enum variants may stand in one another in a header.
pub const MAX_HEADER_DEPTH: usize = 32;

/// Why a header was not written or not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The value cannot be written as MessagePack.
    #[error("the header cannot be written: {reason}")]
    Unwritable {
        /// What the serializer says.
        reason: String,
    },
    /// The value nests too deep to be read safely.
    #[error("the header nests deeper than {} levels", MAX_HEADER_DEPTH)]
    TooDeep,
    /// More bytes follow the value.
    #[error("the header's value ends after {value_bytes} bytes, and {extra_bytes} more follow")]
    Trailing {
        /// Bytes of the value.
        value_bytes: usize,
        /// Bytes after it.
        extra_bytes: usize,
    },
    /// The bytes are not MessagePack, or not of the type that was asked for.
    #[error("the header is not a {expected}: {reason}")]
    Unreadable {
        /// The Rust type that was asked for.
        expected: &'static str,
        /// What the deserializer says.
        reason: String,
    },
}

/// Writes a header. Structs become maps with the names of their fields, so that other languages can read them.
///
/// # Errors
/// [`HeaderError::Unwritable`] where a `Serialize` fails, [`HeaderError::TooDeep`] for what [`read_header`] would refuse.
pub fn header_of<T: Serialize>(value: &T) -> Result<Vec<u8>, HeaderError> {
    // Room for most headers, so that few of them grow on the way.
    let mut bytes = Vec::with_capacity(128);
    rmp_serde::encode::write_named(&mut bytes, value)
        .map_err(|error| HeaderError::Unwritable { reason: error.to_string() })?;
    match value_bytes(&bytes, MAX_HEADER_DEPTH) {
        Err(Fault::TooDeep) => Err(HeaderError::TooDeep),
        _ => Ok(bytes),
    }
}

/// Reads a header: exactly one value. Whether unknown fields are refused is for `T` to say
/// (`#[serde(deny_unknown_fields)]`).
///
/// # Errors
/// Bytes that nest deeper than [`MAX_HEADER_DEPTH`], go on after the value, or are no `T`. The nesting is judged
/// first, so no bytes can overflow the stack.
pub fn read_header<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, HeaderError> {
    let expected = std::any::type_name::<T>();
    let unreadable = |reason: String| HeaderError::Unreadable { expected, reason };
    let value_bytes = value_bytes(bytes, MAX_HEADER_DEPTH).map_err(|fault| match fault {
        Fault::TooDeep => HeaderError::TooDeep,
        Fault::Truncated => unreadable(format!("the value goes on after its {} bytes", bytes.len())),
        Fault::Reserved => unreadable("the byte c1 begins no value".to_owned()),
    })?;
    let extra_bytes = bytes.len() - value_bytes;
    if extra_bytes > 0 {
        return Err(HeaderError::Trailing { value_bytes, extra_bytes });
    }
    rmp_serde::from_slice(bytes).map_err(|error| unreadable(error.to_string()))
}
