//! Typed headers: named maps, exact bytes, and no bytes that break the reader.

use dae_net::{HeaderError, MAX_HEADER_DEPTH, header_of, read_header};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Greeting {
    rank: u32,
    name: String,
    mood: Mood,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Mood {
    Calm,
    Busy { step: u64 },
    Because(Box<Mood>),
}

fn nested(depth: usize) -> Mood {
    (0..depth).fold(Mood::Calm, |mood, _| Mood::Because(Box::new(mood)))
}

fn is_unreadable<T>(read: &Result<T, HeaderError>) -> bool {
    matches!(read, Err(HeaderError::Unreadable { .. }))
}

#[test]
fn structs_are_maps_with_names() {
    let greeting = Greeting {
        rank: 3,
        name: "ada".into(),
        mood: Mood::Busy { step: 300 },
    };
    let golden = b"\x83\xa4rank\x03\xa4name\xa3ada\xa4mood\x81\xa4Busy\x81\xa4step\xcd\x01\x2c";
    assert_eq!(header_of(&greeting), Ok(golden.to_vec()));
    assert_eq!(read_header(golden), Ok(greeting));
}

#[test]
fn nesting_is_bounded_for_enums_too() {
    let deepest = nested(MAX_HEADER_DEPTH);
    assert_eq!(read_header(&header_of(&deepest).unwrap()), Ok(deepest));
    assert_eq!(
        header_of(&nested(MAX_HEADER_DEPTH + 1)),
        Err(HeaderError::TooDeep)
    );
    let hostile = b"\x81\xa7Because".repeat(200_000);
    assert_eq!(read_header::<Mood>(&hostile), Err(HeaderError::TooDeep));
    let arrays = [0x91].repeat(200_000);
    assert_eq!(
        read_header::<serde::de::IgnoredAny>(&arrays).err(),
        Some(HeaderError::TooDeep)
    );
}

#[test]
fn what_is_not_the_type_is_refused() {
    let calm = header_of(&Mood::Calm).unwrap();
    let extra = [calm.as_slice(), &[0xc0]].concat();
    assert_eq!(
        read_header::<Mood>(&extra),
        Err(HeaderError::Trailing {
            value_bytes: 5,
            extra_bytes: 1
        })
    );
    assert!(is_unreadable(&read_header::<Mood>(&calm[..3])));
    assert!(is_unreadable(&read_header::<Mood>(&[])));
    assert!(is_unreadable(&read_header::<Mood>(&[0xc1])));
    assert!(is_unreadable(&read_header::<Greeting>(&calm)));
    // A string and an array that promise four gigabytes.
    assert!(is_unreadable(&read_header::<String>(&[
        0xdb, 0xff, 0xff, 0xff, 0xff
    ])));
    assert!(is_unreadable(&read_header::<Vec<u64>>(&[
        0xdd, 0xff, 0xff, 0xff, 0xff
    ])));
    // An unknown field is refused by a type that says so.
    let unknown = b"\x84\xa4rank\x03\xa4name\xa3ada\xa4mood\xa4Calm\xa3age\x05";
    let error = read_header::<Greeting>(unknown).unwrap_err().to_string();
    assert!(error.contains("Greeting") && error.contains("age"), "{error}");
}

proptest! {
    #[test]
    fn round_trip(rank in any::<u32>(), name in any::<String>(), step in any::<u64>(), depth in 0..20_usize) {
        for mood in [nested(depth), Mood::Busy { step }] {
            let greeting = Greeting { rank, name: name.clone(), mood };
            prop_assert_eq!(read_header(&header_of(&greeting).unwrap()), Ok(greeting));
        }
    }

    #[test]
    fn damaged_headers_never_panic(flips in prop::collection::vec(any::<usize>(), 1..6)) {
        let greeting = Greeting { rank: 3, name: "ada".into(), mood: nested(4) };
        let mut bytes = header_of(&greeting).unwrap();
        for flip in flips {
            let bit = flip % (8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let _ = read_header::<Greeting>(&bytes);
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = read_header::<Greeting>(&bytes);
        let _ = read_header::<serde::de::IgnoredAny>(&bytes);
    }
}
