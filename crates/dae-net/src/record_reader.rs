//! [`RecordReader`]: plain bytes out of sealed records, as a socket of any kind gives them.

use std::ops::Range;

use crate::link_error::LinkError;
use crate::record::{Cipher, LENGTH_BYTES, PLAIN_BYTES, TAG_BYTES};

/// Holds what was read of a link, and opens it record by record, in place.
pub(crate) struct RecordReader {
    cipher: Cipher,
    bytes: Vec<u8>,
    /// What was read and not yet opened.
    sealed: Range<usize>,
    /// What was opened and not yet consumed; lies before `sealed`.
    plain: Range<usize>,
    ended: bool,
}

impl RecordReader {
    /// Room for a quiet link.
    const FIRST_BYTES: usize = 8 << 10;
    /// Room for a link that carries much: as long as some of the longest records, so that what is read ends with one where
    /// these follow on one another, and nothing has to be moved.
    const MOST_BYTES: usize = 4 * (LENGTH_BYTES + PLAIN_BYTES + TAG_BYTES);

    pub(crate) fn new(cipher: Cipher) -> Self {
        Self { cipher, bytes: Vec::new(), sealed: 0..0, plain: 0..0, ended: false }
    }

    /// Where to read to; never empty. Only for when all that was opened is consumed.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        debug_assert!(self.plain.is_empty());
        // A full buffer says that the peer sends faster than it is read in pieces of this size.
        let filled = self.sealed.end == self.bytes.len();
        if self.sealed.start > 0 {
            self.bytes.copy_within(self.sealed.clone(), 0);
            self.sealed = 0..self.sealed.len();
            self.plain = 0..0;
        }
        if filled {
            let wanted = (2 * self.bytes.len()).clamp(Self::FIRST_BYTES, Self::MOST_BYTES);
            self.bytes.resize(wanted, 0);
        }
        &mut self.bytes[self.sealed.end..]
    }

    /// So many bytes were read into the room.
    pub(crate) fn arrived(&mut self, bytes: usize) {
        self.sealed.end = self.bytes.len().min(self.sealed.end + bytes);
    }

    /// Plain bytes that wait to be consumed.
    pub(crate) fn plain(&self) -> &[u8] {
        &self.bytes[self.plain.clone()]
    }

    /// So many of the plain bytes are done with.
    pub(crate) fn consume(&mut self, bytes: usize) {
        self.plain.start = self.plain.end.min(self.plain.start + bytes);
    }

    /// Opens the next record if all of it was read. Only for when the one before is consumed.
    pub(crate) fn open(&mut self) -> Result<bool, LinkError> {
        let Some(record) = self.next()? else { return Ok(false) };
        let plain = self.cipher.open(&mut self.bytes[record.clone()])?;
        self.plain = record.start..record.start + plain;
        self.sealed.start = record.end;
        self.ended = plain == 0;
        Ok(true)
    }

    /// How many plain bytes the next record holds, if all of it was read and it holds any. Only for when the one before
    /// is consumed.
    pub(crate) fn next_bytes(&self) -> Result<Option<usize>, LinkError> {
        Ok(self.next()?.map(|record| record.len() - TAG_BYTES).filter(|bytes| *bytes > 0))
    }

    /// Opens the next record, which was read, into `out`, which is as long as [`Self::next_bytes`]: what goes to a place
    /// of its own anyhow need not be copied there.
    pub(crate) fn open_into(&mut self, out: &mut [u8]) -> Result<(), LinkError> {
        let Some(record) = self.next()? else { return Ok(()) };
        self.cipher.open_into(&self.bytes[record.clone()], out)?;
        self.sealed.start = record.end;
        self.plain = record.end..record.end;
        Ok(())
    }

    /// Where the next record lies, if all of it was read, and the one before was not the last.
    fn next(&self) -> Result<Option<Range<usize>>, LinkError> {
        if self.ended { Ok(None) } else { self.record() }
    }

    /// Where the bytes after a length lie that are as many, if they were read.
    fn record(&self) -> Result<Option<Range<usize>>, LinkError> {
        debug_assert!(self.plain.is_empty());
        let &[high, low, ref rest @ ..] = &self.bytes[self.sealed.clone()] else { return Ok(None) };
        let bytes = usize::from(u16::from_be_bytes([high, low]));
        if bytes < TAG_BYTES {
            return Err(LinkError::Forged { bytes });
        }
        let start = self.sealed.start + LENGTH_BYTES;
        Ok((rest.len() >= bytes).then(|| start..start + bytes))
    }

    /// Takes bytes that are in no record; how many there were. Only for when all records before them are consumed.
    pub(crate) fn take(&mut self, into: &mut [u8]) -> usize {
        debug_assert!(self.plain.is_empty());
        let taken = self.sealed.len().min(into.len());
        into[..taken].copy_from_slice(&self.bytes[self.sealed.start..][..taken]);
        self.sealed.start += taken;
        taken
    }

    /// Once the peer said that nothing follows: why, if it said that as well and all of it was read.
    pub(crate) fn why(&mut self) -> Result<Option<String>, LinkError> {
        let Some(record) = self.record()? else { return Ok(None) };
        let plain = self.cipher.open(&mut self.bytes[record.clone()])?;
        self.sealed.start = record.end;
        Ok(Some(String::from_utf8_lossy(&self.bytes[record.start..record.start + plain]).into_owned()))
    }

    /// Whether the peer said that nothing follows.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// What it means that the connection ended here.
    pub(crate) fn cut_off(&self) -> LinkError {
        let why = if self.sealed.is_empty() {
            "the peer is gone and did not say goodbye".to_owned()
        } else {
            format!("it ended within a record, {} bytes of which had arrived", self.sealed.len())
        };
        LinkError::Lost { why }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decoder::Decoder;
    use crate::frame::{Frame, encode};
    use crate::limits::Limits;
    use crate::record_writer::RecordWriter;

    const KEY: [u8; 32] = [3; 32];

    /// The bytes of a link that carries `frames`, in records of any size, up to the goodbye.
    fn stream(frames: &[Frame], flushes: &[bool]) -> Vec<u8> {
        let mut writer = RecordWriter::new(Cipher::new(KEY).unwrap(), Limits::default());
        let mut bytes = Vec::new();
        for (frame, flush) in frames.iter().zip(flushes.iter().cycle()) {
            let whole = encode(frame, &Limits::default()).unwrap();
            let mut rest = whole.as_slice();
            while !rest.is_empty() {
                writer.put(&mut rest).unwrap();
                if writer.is_full() {
                    bytes.extend_from_slice(writer.sealed());
                    writer.written();
                }
            }
            if *flush {
                writer.seal().unwrap();
            }
        }
        writer.end().unwrap();
        bytes.extend_from_slice(writer.sealed());
        bytes
    }

    /// What a receiver makes of bytes that arrive in pieces: the frames, and how it ended.
    fn received(bytes: &[u8], pieces: &[usize]) -> (Vec<Frame>, Result<(), LinkError>) {
        let mut reader = RecordReader::new(Cipher::new(KEY).unwrap());
        let mut decoder = Decoder::new(Limits::default());
        let mut frames = Vec::new();
        let mut rest = bytes;
        let mut pieces = pieces.iter().cycle();
        loop {
            let mut plain = reader.plain();
            let before = plain.len();
            let decoded = decoder.decode(&mut plain);
            let consumed = before - plain.len();
            reader.consume(consumed);
            match decoded {
                Ok(Some(frame)) => {
                    frames.push(frame);
                    continue;
                }
                Ok(None) => {}
                Err(error) => return (frames, Err(error.into())),
            }
            // As a link's receiver does: straight into the part that arrives, where it can.
            let mut straight = |reader: &mut RecordReader| match reader.next_bytes()? {
                Some(bytes) => {
                    decoder.room(bytes).map_or(Ok(false), |room| reader.open_into(room).map(|()| true))
                }
                None => Ok(false),
            };
            match straight(&mut reader).and_then(|done| if done { Ok(true) } else { reader.open() }) {
                Ok(true) => continue,
                Ok(false) if reader.ended() => return (frames, decoder.finish().map_err(Into::into)),
                Ok(false) if rest.is_empty() => return (frames, Err(reader.cut_off())),
                Ok(false) => {}
                Err(error) => return (frames, Err(error)),
            }
            let room = reader.room();
            let taken = room.len().min(rest.len()).min(*pieces.next().unwrap());
            assert!(taken > 0, "there is always room to read to");
            room[..taken].copy_from_slice(&rest[..taken]);
            reader.arrived(taken);
            rest = &rest[taken..];
            assert!(reader.bytes.len() <= RecordReader::MOST_BYTES);
        }
    }

    prop_compose! {
        fn frame()(
            kind in any::<u16>(),
            header in prop::collection::vec(any::<u8>(), 0..40),
            parts in prop::collection::vec((any::<u8>(), prop_oneof![0_usize..100, 60_000_usize..140_000]), 0..3),
        ) -> Frame {
            Frame { kind, header, parts: parts.into_iter().map(|(byte, length)| vec![byte; length]).collect() }
        }
    }

    fn frames() -> impl Strategy<Value = Vec<Frame>> {
        prop::collection::vec(frame(), 0..6)
    }

    fn flushes() -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec(any::<bool>(), 1..6)
    }

    /// Sizes of what is read at once, from a byte to all the room there is.
    fn pieces() -> impl Strategy<Value = Vec<usize>> {
        prop::collection::vec(prop_oneof![1_usize..40, 1000_usize..300_000], 1..8).prop_map(|mut pieces| {
            pieces.push(50_000);
            pieces
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_cuts_give_the_same_frames(frames in frames(), flushes in flushes(), pieces in pieces()) {
            let (got, end) = received(&stream(&frames, &flushes), &pieces);
            prop_assert!(got == frames && end == Ok(()), "{end:?}");
        }

        #[test]
        fn a_stream_that_is_cut_off_is_told(
            frames in frames(),
            flushes in flushes(),
            at in any::<prop::sample::Index>(),
        ) {
            let bytes = stream(&frames, &flushes);
            let (got, end) = received(&bytes[..at.index(bytes.len())], &[70_000]);
            prop_assert!(frames.starts_with(&got));
            prop_assert!(matches!(end, Err(LinkError::Lost { .. })), "{end:?}");
        }

        #[test]
        fn a_flipped_bit_is_told_before_anything_wrong_comes_out(
            frames in frames(),
            flushes in flushes(),
            at in any::<prop::sample::Index>(),
            bit in 0..8,
        ) {
            let mut bytes = stream(&frames, &flushes);
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            let (got, end) = received(&bytes, &[70_000]);
            prop_assert!(frames.starts_with(&got));
            // A length that was made longer may also want more than there is.
            prop_assert!(matches!(end, Err(LinkError::Forged { .. } | LinkError::Lost { .. })), "{end:?}");
        }

        #[test]
        fn garbage_is_no_record(garbage in prop::collection::vec(any::<u8>(), 0..2000)) {
            let (got, end) = received(&garbage, &[100]);
            prop_assert!(got.is_empty() && end.is_err());
        }
    }

    #[test]
    fn records_cannot_be_left_out_or_change_places() {
        let frames = [1, 2, 3].map(|kind| Frame { kind, ..Frame::default() });
        let bytes = stream(&frames, &[true]);
        let records: Vec<&[u8]> = bytes[..3 * 34].chunks(34).collect();
        for order in [[0, 2, 1], [0, 0, 1], [0, 2, 2]] {
            let changed = order.map(|at| records[at]).concat();
            let (got, end) = received(&changed, &[1000]);
            assert_eq!((got.as_slice(), end), (&frames[..1], Err(LinkError::Forged { bytes: 32 })));
        }
    }

    #[test]
    fn a_quiet_link_keeps_little_memory() {
        let mut reader = RecordReader::new(Cipher::new(KEY).unwrap());
        assert_eq!(reader.bytes.capacity(), 0);
        assert_eq!(reader.room().len(), RecordReader::FIRST_BYTES);
        reader.arrived(10);
        assert_eq!(reader.room().len(), RecordReader::FIRST_BYTES - 10);
    }
}
