//! Frames over any cuts of the stream, damaged frames, frames over their limits, and the bytes that never change.

use dae_net::{Decoder, Frame, FrameError, Limits, encode};
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    header_bytes: 64,
    parts: 4,
    part_bytes: 100,
    total_bytes: 400,
};

prop_compose! {
    fn frame()(
        kind in any::<u16>(),
        header in prop::collection::vec(any::<u8>(), 0..40),
        parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..4),
    ) -> Frame {
        Frame { kind, header, parts }
    }
}

/// All frames of a stream that arrives in pieces, and how it ended.
fn decoded(pieces: &[&[u8]]) -> (Vec<Frame>, Result<(), FrameError>) {
    let mut decoder = Decoder::new(LIMITS);
    let mut frames = Vec::new();
    for mut piece in pieces.iter().copied() {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break assert!(piece.is_empty(), "bytes stay behind"),
                Err(error) => return (frames, Err(error)),
            }
        }
    }
    (frames, decoder.finish())
}

/// Cuts `bytes` at the given places, each taken modulo the length.
fn cut<'a>(bytes: &'a [u8], at: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = at.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

proptest! {
    #[test]
    fn any_cuts_give_the_same_frames(
        frames in prop::collection::vec(frame(), 0..6),
        cuts in prop::collection::vec(any::<usize>(), 0..20),
    ) {
        let stream = frames.iter().map(|frame| encode(frame, &LIMITS)).collect::<Result<Vec<_>, _>>().unwrap().concat();
        prop_assert_eq!(decoded(&cut(&stream, &cuts)), (frames.clone(), Ok(())));
        let bytes: Vec<_> = stream.chunks(1).collect();
        prop_assert_eq!(decoded(&bytes), (frames, Ok(())));
    }

    #[test]
    fn a_torn_frame_is_told(frame in frame(), at in any::<prop::sample::Index>()) {
        let stream = encode(&frame, &LIMITS).unwrap();
        let end = at.index(stream.len());
        let (frames, ending) = decoded(&[&stream[..end]]);
        prop_assert_eq!(frames, []);
        prop_assert_eq!(ending.is_ok(), end == 0);
    }

    #[test]
    fn flipped_bits_never_panic(
        frames in prop::collection::vec(frame(), 1..4),
        flips in prop::collection::vec(any::<usize>(), 1..5),
        cuts in prop::collection::vec(any::<usize>(), 0..5),
    ) {
        let mut stream = frames.iter().map(|frame| encode(frame, &LIMITS)).collect::<Result<Vec<_>, _>>().unwrap().concat();
        for flip in flips {
            let bit = flip % (8 * stream.len());
            stream[bit / 8] ^= 1 << (bit % 8);
        }
        let (frames, _) = decoded(&cut(&stream, &cuts));
        // Whatever came out is within the limits, so it encodes again.
        for frame in frames {
            prop_assert!(encode(&frame, &LIMITS).is_ok());
        }
    }

    #[test]
    fn any_bytes_never_panic(stream in prop::collection::vec(any::<u8>(), 0..200), magic in any::<bool>()) {
        let head: &[u8] = if magic { b"DAE1\x01\0" } else { b"" };
        let (frames, _) = decoded(&[head, &stream]);
        prop_assert!(frames.iter().all(|frame| encode(frame, &LIMITS).is_ok()));
    }
}

#[test]
fn over_limit_names_the_limit() {
    let frame = |header: usize, parts: &[usize]| Frame {
        kind: 0,
        header: vec![0; header],
        parts: parts.iter().map(|bytes| vec![0; *bytes]).collect(),
    };
    let wide = Limits::default();
    for (frame, limit, asked, most) in [
        (frame(65, &[]), "header_bytes", 65, 64),
        (frame(0, &[0; 5]), "parts", 5, 4),
        (frame(0, &[1, 101]), "part_bytes", 101, 100),
        (frame(64, &[100, 100, 100]), "total_bytes", 404, 400),
    ] {
        let over = FrameError::OverLimit { limit, asked, most };
        assert_eq!(encode(&frame, &LIMITS), Err(over.clone()));
        assert_eq!(
            decoded(&[&encode(&frame, &wide).unwrap()]),
            (vec![], Err(over.clone()))
        );
        assert_eq!(
            over.to_string(),
            format!("the frame asks for {asked} {limit}, and the limit `{limit}` is {most}")
        );
    }
    let fits = frame(60, &[100, 100, 92]);
    assert_eq!(encode(&fits, &LIMITS).map(|bytes| bytes.len()), Ok(392));
}

#[test]
fn lengths_that_wrap_are_over_the_limit() {
    let wide = Limits {
        part_bytes: u64::MAX,
        ..LIMITS
    };
    let mut stream = b"DAE1\x01\0\0\0\0\0\0\0\x02\0\0\0".to_vec();
    stream.extend([0xff; 16]);
    let over = FrameError::OverLimit {
        limit: "total_bytes",
        asked: u64::MAX,
        most: 400,
    };
    assert_eq!(Decoder::new(wide).decode(&mut stream.as_slice()), Err(over));
}

#[test]
fn a_bad_head_says_what_and_what_was_expected_and_poisons() {
    let good = encode(&Frame::default(), &LIMITS).unwrap();
    for (place, byte, expected) in [
        (
            0,
            b'G',
            FrameError::Magic {
                found: *b"GAE1",
                expected: *b"DAE1",
            },
        ),
        (
            4,
            9,
            FrameError::Version {
                found: 9,
                expected: 1,
            },
        ),
        (14, 1, FrameError::Reserved { found: 1 }),
    ] {
        let mut bad = good.clone();
        bad[place] = byte;
        let mut decoder = Decoder::new(LIMITS);
        assert_eq!(decoder.decode(&mut good.as_slice()), Ok(Some(Frame::default())));
        assert_eq!(decoder.decode(&mut bad.as_slice()), Err(expected.clone()));
        assert_eq!(decoder.decode(&mut good.as_slice()), Err(expected.clone()));
        assert_eq!(decoder.finish(), Err(expected));
    }
}

#[test]
fn the_bytes_of_a_frame_never_change() {
    let frame = Frame {
        kind: 0x0203,
        header: vec![0x81, 0xa1, b'n', 0x05],
        parts: vec![vec![1, 2, 3], vec![]],
    };
    let golden = [
        &b"DAE1"[..], // magic
        &[1, 0],      // version
        &[3, 2],      // kind
        &[4, 0, 0, 0],
        &[2, 0], // parts
        &[0, 0], // reserved
        &[3, 0, 0, 0, 0, 0, 0, 0],
        &[0, 0, 0, 0, 0, 0, 0, 0],
        &[0x81, 0xa1, b'n', 0x05],
        &[1, 2, 3],
    ]
    .concat();
    assert_eq!(encode(&frame, &LIMITS), Ok(golden));
}
