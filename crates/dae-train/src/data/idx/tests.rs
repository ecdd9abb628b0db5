//! Good files, and every way a file can be bad.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn idx(dims: &[u32], data: usize) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, dims.len() as u8];
    bytes.extend(dims.iter().flat_map(|d| d.to_be_bytes()));
    bytes.extend((0..data).map(|i| i as u8));
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn open_bytes(bytes: &[u8]) -> Result<IdxImages, DataError> {
    let folder = TempDir::new().expect("temporary folder");
    let path = folder.path().join("images");
    std::fs::write(&path, bytes).expect("write");
    IdxImages::open(&path)
}

/// The message, which has to name the file.
fn refusal(bytes: &[u8]) -> String {
    let message = open_bytes(bytes).expect_err("a bad file").to_string();
    assert!(message.contains("images: "), "{message}");
    message
}

#[test]
fn images_and_vectors_are_read_raw_and_gzipped() {
    for wrap in [|b: &[u8]| b.to_vec(), gzip] {
        let images = open_bytes(&wrap(&idx(&[3, 2, 5], 30))).expect("images");
        assert_eq!(
            (images.len(), images.shape(), images.features()),
            (3, &[1, 2, 5][..], 10)
        );
        let mut out = [0.0; 10];
        images.read(2, &mut out);
        assert_eq!(out, std::array::from_fn(|i| (20 + i) as f32 / 255.0));
        assert_eq!(images.limited(2).len(), 2);
        let vectors = open_bytes(&wrap(&idx(&[5, 6], 30))).expect("vectors");
        assert_eq!((vectors.len(), vectors.shape()), (5, &[6][..]));
    }
}

#[test]
fn a_gzipped_file_stands_in_for_its_raw_one() {
    let folder = TempDir::new().expect("temporary folder");
    let path = folder.path().join("images");
    std::fs::write(folder.path().join("images.gz"), gzip(&idx(&[2, 2, 2], 8))).expect("write");
    assert_eq!(IdxImages::open(&path).expect("the gzip'd file").len(), 2);
    assert_eq!(IdxImages::header(&path).expect("its header"), (2, vec![1, 2, 2]));
}

#[test]
fn a_missing_file_and_a_folder_are_refused() {
    let folder = TempDir::new().expect("temporary folder");
    assert!(matches!(
        IdxImages::open(&folder.path().join("none")),
        Err(DataError::Missing { .. })
    ));
    assert!(matches!(
        IdxImages::open(folder.path()),
        Err(DataError::NotAFile { .. })
    ));
    assert!(matches!(
        IdxImages::open(Path::new("/dev/zero")),
        Err(DataError::NotAFile { .. })
    ));
}

#[test]
fn bad_files_are_refused_with_the_reason() {
    let good = idx(&[3, 2, 5], 30);
    let long = [&good[..], &[1]].concat();
    let cases: &[(&[u8], &str)] = &[
        (&[], "empty"),
        (&[0], "truncated"),
        (&good[..3], "truncated"),
        (&good[..11], "calls for 16 bytes and there are 11"),
        (&good[..45], "calls for 46 bytes and there are 45"),
        (&long, "bytes follow the 46"),
        (b"PNG\n....", "starts with [50, 4e, 47, 0a]"),
        (&[0, 0, 0x0d, 3, 0, 0, 0, 1], "type 0x0d"),
        (&idx(&[4], 4), "1 dimensions"),
        (&idx(&[2, 1, 1, 1], 2), "4 dimensions"),
        (&idx(&[0, 28, 28], 0), "nothing in it"),
        (&idx(&[3, 0, 28], 0), "nothing in it"),
        (
            &idx(&[u32::MAX, u32::MAX, u32::MAX], 9),
            "make more than 4294967296 bytes",
        ),
        // The product is 2^64: a wrapping multiplication would see an empty file.
        (&idx(&[1 << 31, 1 << 31, 4], 0), "make more than"),
        (&idx(&[1 << 20, 1 << 6, 1 << 6], 9), "truncated"),
    ];
    for (bytes, reason) in cases {
        let message = refusal(bytes);
        assert!(message.contains(reason), "{message} should say {reason}");
        if !bytes.is_empty() {
            let message = refusal(&gzip(bytes));
            assert!(message.contains(reason), "gzip'd: {message} should say {reason}");
        }
    }
}

#[test]
fn damaged_gzip_is_refused() {
    let good = gzip(&idx(&[3, 2, 5], 30));
    let mut wrong_sum = good.clone();
    let at = wrong_sum.len() - 8;
    wrong_sum[at] ^= 1;
    assert!(refusal(&wrong_sum).contains("damaged gzip"));
    assert!(refusal(&good[..good.len() - 9]).contains("damaged gzip"));
    assert!(refusal(&[&good[..], b"more"].concat()).contains("damaged gzip"));
    assert!(refusal(&gzip(&[])).contains("truncated"));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = open_bytes(&bytes);
    }

    #[test]
    fn arbitrary_dimensions_never_panic(
        (a, b, c) in (any::<u32>(), any::<u32>(), any::<u32>()),
        (magic, cut) in (2u8..5, 0usize..40),
        zipped in any::<bool>(),
    ) {
        let mut bytes = idx(&[a, b, c], 24);
        bytes[3] = magic;
        bytes.truncate(cut);
        let bytes = if zipped { gzip(&bytes) } else { bytes };
        let _ = open_bytes(&bytes);
    }

    #[test]
    fn damage_anywhere_in_a_gzipped_file_never_panics(at in 0usize..40, to in any::<u8>()) {
        let mut bytes = gzip(&idx(&[3, 2, 5], 30));
        if let Some(byte) = bytes.get_mut(at) {
            *byte = to;
        }
        if let Ok(images) = open_bytes(&bytes) {
            prop_assert_eq!(images.len(), 3);
        }
    }
}
