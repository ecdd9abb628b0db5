//! What can travel between nodes.

use dae_net::{header_of, read_header};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// A message, or an answer, that can travel to another node: its fields as MessagePack, its bulk as raw parts beside.
///
/// Bulk fields are skipped by serde (`#[serde(skip)]`) and handed out and in here. What comes from a peer may be
/// anything: [`Body::give_parts`] checks number and lengths.
pub trait Body: Serialize + DeserializeOwned + Send + 'static {
    /// Hands out the bulk; called before the fields are written.
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// Takes the bulk in; called after the fields were read, even when no parts came.
    ///
    /// # Errors
    /// What is wrong with the parts, in words; the message is then refused.
    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        if parts.is_empty() {
            Ok(())
        } else {
            Err(format!("it has {} parts, and none belong to it", parts.len()))
        }
    }
}

macro_rules! plain {
    ($($body:ty),*) => { $(impl Body for $body {})* };
}
plain!((), bool, char, u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, String);

impl<T: Serialize + DeserializeOwned + Send + 'static> Body for Vec<T> {}

impl<T: Serialize + DeserializeOwned + Send + 'static> Body for BTreeMap<String, T> {}

impl<T: Body> Body for Option<T> {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        self.as_mut().map(T::take_parts).unwrap_or_default()
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        match self {
            Some(body) => body.give_parts(parts),
            None => ().give_parts(parts),
        }
    }
}

impl<T: Body, E: Body> Body for Result<T, E> {
    fn take_parts(&mut self) -> Vec<Vec<u8>> {
        match self {
            Ok(body) => body.take_parts(),
            Err(body) => body.take_parts(),
        }
    }

    fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
        match self {
            Ok(body) => body.give_parts(parts),
            Err(body) => body.give_parts(parts),
        }
    }
}

/// A body as it travels.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Letter {
    /// The fields, as MessagePack.
    pub(crate) body: Vec<u8>,
    pub(crate) parts: Vec<Vec<u8>>,
}

/// Writes a body, which loses its bulk by that; it has it back if it cannot be written.
pub(crate) fn write<B: Body>(body: &mut B) -> Result<Letter, String> {
    let parts = body.take_parts();
    match header_of(body) {
        Ok(bytes) => Ok(Letter { body: bytes, parts }),
        Err(error) => {
            body.give_parts(parts)?;
            Err(error.to_string())
        }
    }
}

/// Reads a body.
pub(crate) fn read<B: Body>(letter: Letter) -> Result<B, String> {
    let mut body: B = read_header(&letter.body).map_err(|error| error.to_string())?;
    body.give_parts(letter.parts)?;
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Slice {
        of: u32,
        #[serde(skip)]
        bytes: Vec<u8>,
    }

    impl Body for Slice {
        fn take_parts(&mut self) -> Vec<Vec<u8>> {
            vec![std::mem::take(&mut self.bytes)]
        }

        fn give_parts(&mut self, parts: Vec<Vec<u8>>) -> Result<(), String> {
            let [bytes] = <[_; 1]>::try_from(parts).map_err(|p| format!("{} parts, not one", p.len()))?;
            self.bytes = bytes;
            Ok(())
        }
    }

    #[test]
    fn bulk_travels_beside_the_fields_without_a_copy() {
        let mut sent: Result<Option<Slice>, String> = Ok(Some(Slice { of: 3, bytes: vec![7; 100] }));
        let place = |sent: &Result<Option<Slice>, String>| match sent {
            Ok(Some(slice)) => slice.bytes.as_ptr().addr(),
            _ => 0,
        };
        let at = place(&sent);
        let letter = write(&mut sent).unwrap();
        assert_eq!((letter.body.len() < 16, letter.parts.len()), (true, 1));
        let read: Result<Option<Slice>, String> = read(letter).unwrap();
        assert_eq!(place(&read), at);
        assert_eq!(read, Ok(Some(Slice { of: 3, bytes: vec![7; 100] })));
    }

    #[test]
    fn parts_are_refused_where_none_belong_or_others_do() {
        let with = |parts| Letter { body: header_of(&5_u32).unwrap(), parts };
        assert_eq!(read(with(vec![])), Ok(5_u32));
        assert_eq!(read::<u32>(with(vec![vec![1]])), Err("it has 1 parts, and none belong to it".into()));
        let slice = |parts| Letter { body: header_of(&Slice { of: 1, bytes: vec![] }).unwrap(), parts };
        assert_eq!(read::<Slice>(slice(vec![])), Err("0 parts, not one".into()));
        assert!(read::<u32>(Letter::default()).is_err());
    }
}
