//! 32 bytes as hexadecimal digits, the form of keys and identities in files and on screens.

/// The bytes in lower-case digits.
pub fn of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 bytes of exactly 64 digits.
pub(crate) fn read(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect::<Option<_>>()?;
    let bytes: Vec<u8> =
        digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    if digits.len() == 64 { bytes.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        let bytes: [u8; 32] = std::array::from_fn(|at| (at * 9) as u8);
        let text = of(&bytes);
        assert_eq!(read(&text), Some(bytes));
        assert_eq!(read(&text.to_uppercase()), Some(bytes));
        for wrong in
            ["", &text[1..], &format!("{text}0"), &format!("+{}", &text[1..]), &format!("é{}", &text[2..])]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
