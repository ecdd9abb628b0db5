//! Bounds how deep a MessagePack value nests, before it is read.
//!
//! The deserializer counts arrays and maps, but not enums: a type that contains itself through an enum would let a
//! peer overflow the stack. This walk counts them all, needs no stack of calls, and finds the value's end besides.

use crate::header::MAX_HEADER_DEPTH;

/// What is wrong with the bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    TooDeep,
    Truncated,
    /// The one byte that begins no value.
    Reserved,
}

/// The length in bytes of the value at the start of `bytes`, if it nests at most `max_depth` arrays and maps, and
/// never more than [`MAX_HEADER_DEPTH`].
pub(crate) fn value_bytes(bytes: &[u8], max_depth: usize) -> Result<usize, Fault> {
    let mut reader = Reader { bytes, next: 0 };
    let max_depth = max_depth.min(MAX_HEADER_DEPTH);
    // Of the value itself and of each array and map around the place, how much is to come. On the stack: this runs for
    // every message.
    let mut missing = [0_u64; MAX_HEADER_DEPTH + 1];
    missing[0] = 1;
    let mut depth = 0;
    loop {
        if missing[depth] == 0 {
            if depth == 0 {
                break;
            }
            depth -= 1;
            continue;
        }
        missing[depth] -= 1;
        let children = reader.value()?;
        if children > 0 {
            if depth >= max_depth {
                return Err(Fault::TooDeep);
            }
            depth += 1;
            missing[depth] = children;
        }
    }
    Ok(reader.next)
}

struct Reader<'a> {
    bytes: &'a [u8],
    next: usize,
}

impl Reader<'_> {
    /// Goes past one value, but not past the children of an array or a map: gives their number.
    fn value(&mut self) -> Result<u64, Fault> {
        let marker = self.number(1)?;
        match marker {
            0x80..=0x8f => return Ok(2 * (marker & 0x0f)),
            0x90..=0x9f => return Ok(marker & 0x0f),
            0xdc => return self.number(2),
            0xdd => return self.number(4),
            0xde => return Ok(2 * self.number(2)?),
            0xdf => return Ok(2 * self.number(4)?),
            0xa0..=0xbf => self.skip(marker & 0x1f)?,
            0xc1 => return Err(Fault::Reserved),
            0xc4 | 0xd9 => self.skip_counted(1, 0)?,
            0xc5 | 0xda => self.skip_counted(2, 0)?,
            0xc6 | 0xdb => self.skip_counted(4, 0)?,
            // Extensions have one byte of type besides.
            0xc7 => self.skip_counted(1, 1)?,
            0xc8 => self.skip_counted(2, 1)?,
            0xc9 => self.skip_counted(4, 1)?,
            0xd4..=0xd8 => self.skip((1 << (marker - 0xd4)) + 1)?,
            0xcc | 0xd0 => self.skip(1)?,
            0xcd | 0xd1 => self.skip(2)?,
            0xca | 0xce | 0xd2 => self.skip(4)?,
            0xcb | 0xcf | 0xd3 => self.skip(8)?,
            // Small integers, nil and the booleans are their marker.
            _ => {}
        }
        Ok(0)
    }

    /// Reads a big-endian number, as MessagePack has them.
    fn number(&mut self, bytes: usize) -> Result<u64, Fault> {
        let rest = self.bytes.get(self.next..).unwrap_or_default();
        let digits = rest.get(..bytes).ok_or(Fault::Truncated)?;
        self.next += bytes;
        Ok(digits.iter().fold(0, |number, digit| number << 8 | u64::from(*digit)))
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Fault> {
        let left = (self.bytes.len() - self.next) as u64;
        if bytes > left {
            return Err(Fault::Truncated);
        }
        self.next += bytes as usize;
        Ok(())
    }

    fn skip_counted(&mut self, length_bytes: usize, besides: u64) -> Result<(), Fault> {
        let bytes = self.number(length_bytes)?;
        self.skip(bytes + besides)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_end_of_every_kind_of_value() {
        let values: &[&[u8]] = &[
            &[0x05],
            &[0xff],
            &[0xc0],
            &[0xc3],
            &[0xa2, b'h', b'i'],
            &[0xd9, 1, b'x'],
            &[0xda, 0, 1, b'x'],
            &[0xdb, 0, 0, 0, 1, b'x'],
            &[0xc4, 2, 0, 0],
            &[0xc5, 0, 1, 0],
            &[0xc6, 0, 0, 0, 0],
            &[0xcc, 1],
            &[0xcd, 1, 2],
            &[0xca, 1, 2, 3, 4],
            &[0xcb, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0xc7, 1, 9, 0],
            &[0xc8, 0, 1, 9, 0],
            &[0xc9, 0, 0, 0, 1, 9, 0],
            &[0xd4, 9, 0],
            &[0xd6, 9, 0, 0, 0, 0],
            &[0x92, 0x01, 0x90],
            &[0xdc, 0, 1, 0x80],
            &[0xdd, 0, 0, 0, 1, 0xc0],
            &[0x81, 0x01, 0x91, 0x02],
            &[0xde, 0, 1, 0x01, 0x02],
            &[0xdf, 0, 0, 0, 1, 0x01, 0x02],
        ];
        for value in values {
            let followed = [value, &[0xc1, 0xc1][..]].concat();
            assert_eq!(value_bytes(&followed, 2), Ok(value.len()), "{value:02x?}");
            for cut in 0..value.len() {
                assert_eq!(value_bytes(&value[..cut], 2), Err(Fault::Truncated), "{value:02x?} cut at {cut}");
            }
        }
    }

    #[test]
    fn counts_what_nests() {
        let nested = |depth: usize| [vec![0x91; depth], vec![0xc0]].concat();
        assert_eq!(value_bytes(&nested(3), 3), Ok(4));
        assert_eq!(value_bytes(&nested(4), 3), Err(Fault::TooDeep));
        assert_eq!(value_bytes(&nested(1_000_000), 3), Err(Fault::TooDeep));
        assert_eq!(value_bytes(&[0xc1], 3), Err(Fault::Reserved));
    }
}
