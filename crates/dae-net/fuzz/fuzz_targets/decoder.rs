//! Any bytes in any pieces: no panic, nothing over the limits, and what comes out encodes to what went in.
#![no_main]

use dae_net::{Decoder, Limits, encode};
use libfuzzer_sys::fuzz_target;

const LIMITS: Limits = Limits { header_bytes: 4096, parts: 64, part_bytes: 1 << 20, total_bytes: 1 << 21 };

fuzz_target!(|data: &[u8]| {
    let Some((size, stream)) = data.split_first() else { return };
    let mut decoder = Decoder::new(LIMITS);
    let mut again = Vec::new();
    let mut failed = false;
    for mut piece in stream.chunks(usize::from(*size).max(1)) {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(frame)) => again.extend(encode(&frame, &LIMITS).unwrap()),
                Ok(None) => break,
                Err(_) => {
                    failed = true;
                    break;
                }
            }
        }
        if failed {
            assert!(decoder.decode(&mut &stream[..]).is_err(), "an error is for good");
            break;
        }
    }
    assert!(stream.starts_with(&again), "frames are their bytes");
    if !failed && decoder.finish().is_ok() {
        assert_eq!(again.len(), stream.len());
    }
});
