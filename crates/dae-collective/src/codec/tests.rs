//! What holds for every codec.

use super::*;
use proptest::prelude::*;

const LOSSY: [Codec; 4] = [Codec::Bf16, Codec::F16, Codec::Int8, Codec::TopK(0.05)];

fn codec() -> impl Strategy<Value = Codec> {
    prop_oneof![
        Just(Codec::F32),
        Just(Codec::Bf16),
        Just(Codec::F16),
        Just(Codec::Int8),
        (0.001f32..=1.0).prop_map(Codec::TopK),
    ]
}

/// Numbers of very different sizes, among them zeros and some too small to be normal.
fn numbers() -> impl Strategy<Value = Vec<f32>> {
    let number = (-1.0f32..1.0, -140i32..16).prop_map(|(x, size)| x * (f64::from(size).exp2() as f32));
    let number = prop_oneof![8 => number, 4 => -1.0f32..1.0, 1 => Just(0.0)];
    proptest::collection::vec(number, 0..1500)
}

fn sent(codec: Codec, numbers: &[f32], residual: &mut [f32]) -> (Vec<u8>, Vec<f32>) {
    let (mut bytes, mut sent) = (vec![1; 7], vec![f32::NAN; numbers.len()]);
    codec.encode(numbers, residual, &mut bytes);
    codec.decode(&bytes, &mut sent).unwrap();
    (bytes, sent)
}

proptest! {
    #[test]
    fn what_is_sent_and_what_is_kept_are_all_there_was(codec in codec(), numbers in numbers()) {
        let mut residual = vec![0.0; numbers.len()];
        let (bytes, sent) = sent(codec, &numbers, &mut residual);
        prop_assert_eq!(bytes.len(), codec.encoded_len(numbers.len()));
        for ((x, sent), kept) in numbers.iter().zip(sent).zip(residual) {
            // In twice the digits, so that nothing can be rounded away.
            prop_assert_eq!(f64::from(sent) + f64::from(kept), f64::from(*x));
        }
    }

    #[test]
    fn what_was_kept_is_sent_later(codec in codec(), gradient in proptest::collection::vec(-1.0f32..1.0, 1..300)) {
        // Many times the same: on average it all arrives.
        const TIMES: usize = 400;
        let (mut residual, mut total) = (vec![0.0; gradient.len()], vec![0f64; gradient.len()]);
        for _ in 0..TIMES {
            let (_, sent) = sent(codec, &gradient, &mut residual);
            total.iter_mut().zip(sent).for_each(|(total, sent)| *total += f64::from(sent));
        }
        for ((x, total), kept) in gradient.iter().zip(total).zip(residual) {
            let due = f64::from(*x) * TIMES as f64;
            prop_assert!((total + f64::from(kept) - due).abs() < 0.05, "{} {} {}", codec, total, due);
        }
    }

    #[test]
    fn no_bytes_do_harm(codec in codec(), bytes in proptest::collection::vec(any::<u8>(), 0..600), len in 0usize..600) {
        let mut numbers = vec![0.0; len];
        let exact = bytes.len() == codec.encoded_len(len);
        let read = codec.decode(&bytes, &mut numbers);
        let refused = Err(CodecError::Length { bytes: bytes.len(), due: codec.encoded_len(len) });
        prop_assert!(exact || read == refused);
        let mut fitting = bytes;
        fitting.resize(codec.encoded_len(len), 0x11);
        let _ = codec.decode(&fitting, &mut numbers);
    }
}

#[test]
fn bytes_are_as_few_as_promised() {
    for (codec, fraction) in LOSSY.into_iter().zip([0.5, 0.5, 0.27, 0.101]) {
        for len in [1000, 11_001, 1_000_000] {
            let share = codec.encoded_len(len) as f64 / (4 * len) as f64;
            assert!(share <= fraction && share > 0.9 * fraction.min(0.25), "{codec} {len} {share}");
        }
        assert_eq!(codec.encoded_len(0), 0);
        assert!(codec.encoded_len(1) >= 2);
    }
}

#[test]
fn what_is_lost_is_little() {
    let numbers: Vec<_> = (0..4000).map(|i| (i as f32 * 0.7).sin() * 3.0).collect();
    for (codec, most) in LOSSY.into_iter().zip([3.0 / 256.0, 3.0 / 2048.0, 3.01 / 254.0]) {
        let mut residual = vec![0.0; numbers.len()];
        sent(codec, &numbers, &mut residual);
        assert!(residual.iter().all(|kept| kept.abs() <= most), "{codec}");
    }
}

#[test]
fn the_largest_go_and_of_equals_the_first() {
    let numbers = [1.0, -5.0, 2.0, 5.0, -5.0, 0.0, 3.0, 4.0, 5.0, -0.5];
    let mut residual = [0.0; 10];
    let (_, sent) = sent(Codec::TopK(0.3), &numbers, &mut residual);
    assert_eq!(sent, [0.0, -5.0, 0.0, 5.0, -5.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert_eq!(residual, [1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0, 4.0, 5.0, -0.5]);
}

#[test]
fn places_that_are_not_there_are_refused() {
    let codec = Codec::TopK(0.5);
    let read = |places: [u32; 2]| {
        let bytes: Vec<u8> = places.iter().flat_map(|p| p.to_le_bytes()).chain([0; 8]).collect();
        codec.decode(&bytes, &mut [0.0; 4])
    };
    assert_eq!(read([1, 3]), Ok(()));
    assert_eq!(read([1, 4]), Err(CodecError::Index { index: 4, len: 4, before: Some(1) }));
    assert_eq!(
        read([u32::MAX, 1]),
        Err(CodecError::Index { index: u32::MAX as usize, len: 4, before: None })
    );
    assert_eq!(read([2, 2]), Err(CodecError::Index { index: 2, len: 4, before: Some(2) }));
}

#[test]
fn what_is_not_finite_is_never_hidden() {
    for (codec, bad) in
        LOSSY.into_iter().flat_map(|c| [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(|b| (c, b)))
    {
        let mut numbers = [1.0; 100];
        numbers[70] = bad;
        let (_, sent) = sent(codec, &numbers, &mut [0.0; 100]);
        assert!(!sent[70].is_finite(), "{codec} {bad}");
    }
}

#[test]
fn what_is_too_large_for_half_a_number_is_sent_piece_by_piece() {
    let mut residual = [0.0; 2];
    assert_eq!(sent(Codec::F16, &[1e5, -1e5], &mut residual).1, [65504.0, -65504.0]);
    assert_eq!(residual, [34496.0, -34496.0]);
    let most = half::bf16::MAX.to_f32();
    assert_eq!(sent(Codec::Bf16, &[f32::MAX, f32::MIN], &mut [0.0; 2]).1, [most, -most]);
}

#[test]
fn what_is_next_to_nothing_waits() {
    for numbers in [[0.0; 4], [1e-45, -1e-45, 3e-45, 0.0]] {
        let mut residual = [0.0; 4];
        assert_eq!(sent(Codec::Int8, &numbers, &mut residual).1, [0.0; 4]);
        assert_eq!(residual, numbers);
    }
}

#[test]
fn bytes_are_these() {
    let bytes = |codec: Codec| sent(codec, &[254.0, -1.0, 3.0], &mut [0.0; 3]).0;
    assert_eq!(bytes(Codec::F32), [0, 0, 0x7e, 0x43, 0, 0, 0x80, 0xbf, 0, 0, 0x40, 0x40]);
    assert_eq!(bytes(Codec::Bf16), [0x7e, 0x43, 0x80, 0xbf, 0x40, 0x40]);
    assert_eq!(bytes(Codec::F16), [0xf0, 0x5b, 0x00, 0xbc, 0x00, 0x42]);
    // A scale of 2; -0.5 and 1.5 are ties, and go to the even number.
    assert_eq!(bytes(Codec::Int8), [0, 0, 0, 0x40, 127, 0, 2]);
    assert_eq!(bytes(Codec::TopK(0.6)), [0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0x7e, 0x43, 0, 0, 0x40, 0x40]);
}
