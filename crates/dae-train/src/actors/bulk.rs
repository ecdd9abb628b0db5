//! Numbers as raw bytes beside a message: little-endian f32.

/// The bytes of some numbers.
pub(super) fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    let mut bytes = vec![0; size_of_val(numbers)];
    for (bytes, number) in bytes.chunks_exact_mut(4).zip(numbers) {
        bytes.copy_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// The numbers that bytes say; a sentence where they are no whole number of them.
pub(super) fn numbers_of(bytes: &[u8]) -> Result<Vec<f32>, String> {
    let (numbers, []) = bytes.as_chunks() else {
        return Err(format!("{} bytes are no whole number of f32", bytes.len()));
    };
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

/// The only part that a message has.
pub(super) fn only(parts: Vec<Vec<u8>>) -> Result<Vec<u8>, String> {
    let [bytes] = <[_; 1]>::try_from(parts).map_err(|parts| format!("{} parts, not one", parts.len()))?;
    Ok(bytes)
}

/// The numbers in it.
pub(super) fn numbers_in(parts: Vec<Vec<u8>>) -> Result<Vec<f32>, String> {
    numbers_of(&only(parts)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_to_the_bit() {
        let numbers = [0.0, -0.0, 1.5, f32::MIN_POSITIVE / 2.0, f32::INFINITY, f32::from_bits(0x7fc0_1234)];
        let back = numbers_in(vec![bytes_of(&numbers)]).unwrap();
        let bits = |numbers: &[f32]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&numbers));
        assert_eq!(bytes_of(&[1.0]), [0, 0, 0x80, 0x3f]);
    }

    #[test]
    fn what_is_no_whole_number_of_numbers_is_refused() {
        assert_eq!(numbers_of(&[0; 7]).unwrap_err(), "7 bytes are no whole number of f32");
        assert_eq!(numbers_in(vec![vec![], vec![]]).unwrap_err(), "2 parts, not one");
        assert!(numbers_in(vec![]).is_err());
    }
}
