//! [`Cipher`]: seals and opens the records of one direction of a link.

use aws_lc_rs::aead::{self, AES_256_GCM, Aad, LessSafeKey, UnboundKey};
use aws_lc_rs::error::Unspecified;

use crate::link_error::LinkError;

/// The most plain bytes in a record; with the tag it is as long as Noise allows a message to be.
pub(crate) const PLAIN_BYTES: usize = 65535 - TAG_BYTES;

/// Bytes by which a sealed record is longer than what it holds.
pub(crate) const TAG_BYTES: usize = 16;

/// Bytes of the length before each record.
pub(crate) const LENGTH_BYTES: usize = 2;

/// The bytes of a record, its length included, that holds so many.
pub(crate) fn sealed_bytes(plain: usize) -> usize {
    LENGTH_BYTES + plain + TAG_BYTES
}

/// How many records one key seals: at most 64 GiB, well within what AES-GCM is good for.
const RECORDS_PER_KEY: u64 = 1 << 20;

/// The transport cipher of Noise (AESGCM) for one direction: counts its records, and takes a new key now and then.
///
/// `snow` makes the keys and would seal as well; done with AWS-LC here it is half as fast again as with ring, bulk is
/// opened to where it is wanted, and the two directions are independent, so that two tasks or threads can have one each.
pub(crate) struct Cipher {
    key: LessSafeKey,
    raw: [u8; 32],
    count: u64,
}

impl Cipher {
    pub(crate) fn new(raw: [u8; 32]) -> Result<Self, LinkError> {
        let key = aes(&raw).map_err(|_| LinkError::Crypto { why: "AES-GCM takes no key".to_owned() })?;
        Ok(Self { key, raw, count: 0 })
    }

    /// Appends a record to `out`: its length (big-endian), the sealed bytes, the tag.
    pub(crate) fn seal(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<(), LinkError> {
        let start = out.len();
        out.resize(start + sealed_bytes(plain.len()), 0);
        self.seal_into(plain, &mut out[start..])
    }

    /// Writes a record to `out`, which is as long as [`sealed_bytes`] says. Nothing is copied but by the cipher.
    pub(crate) fn seal_into(&mut self, plain: &[u8], out: &mut [u8]) -> Result<(), LinkError> {
        debug_assert!(plain.len() <= PLAIN_BYTES && out.len() == sealed_bytes(plain.len()));
        let nonce = self.next()?;
        let (length, sealed) = out.split_at_mut(LENGTH_BYTES);
        length.copy_from_slice(&(sealed.len() as u16).to_be_bytes());
        let sealed = self.key.seal_in_place_scatter(nonce, Aad::empty(), &mut [], plain, sealed);
        sealed.map_err(|_| LinkError::Crypto { why: "AES-GCM seals nothing".to_owned() })
    }

    /// Opens a record (without its length) where it lies; gives the number of plain bytes, at its front.
    pub(crate) fn open(&mut self, record: &mut [u8]) -> Result<usize, LinkError> {
        let bytes = record.len();
        let nonce = self.next()?;
        let plain = self.key.open_in_place(nonce, Aad::empty(), record);
        plain.map(|plain| plain.len()).map_err(|Unspecified| LinkError::Forged { bytes })
    }

    /// Opens a record (without its length) into `out`, which is as long as what it holds.
    pub(crate) fn open_into(&mut self, record: &[u8], out: &mut [u8]) -> Result<(), LinkError> {
        let bytes = record.len();
        let forged = |Unspecified| LinkError::Forged { bytes };
        let (sealed, tag) = record.split_last_chunk::<TAG_BYTES>().ok_or(LinkError::Forged { bytes })?;
        let nonce = self.next()?;
        self.key.open_separate_gather(nonce, Aad::empty(), sealed, tag, out).map_err(forged)
    }

    fn next(&mut self) -> Result<aead::Nonce, LinkError> {
        if self.count > 0 && self.count.is_multiple_of(RECORDS_PER_KEY) {
            *self = Self { count: self.count, ..Self::new(self.next_key()?)? };
        }
        let nonce = nonce(self.count);
        self.count += 1;
        Ok(nonce)
    }

    /// REKEY of the Noise specification: 32 zeros, sealed under the last nonce.
    fn next_key(&self) -> Result<[u8; 32], LinkError> {
        let mut zeros = self.raw;
        zeros.fill(0);
        let _tag = self
            .key
            .seal_in_place_separate_tag(nonce(u64::MAX), Aad::empty(), &mut zeros)
            .map_err(|_| LinkError::Crypto { why: "AES-GCM makes no new key".to_owned() })?;
        Ok(zeros)
    }
}

fn aes(raw: &[u8; 32]) -> Result<LessSafeKey, Unspecified> {
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, raw)?))
}

/// As Noise has them for AESGCM: four zeros and a big-endian count.
fn nonce(count: u64) -> aead::Nonce {
    let [a, b, c, d, e, f, g, h] = count.to_be_bytes();
    aead::Nonce::assume_unique_for_key([0, 0, 0, 0, a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Cipher, Cipher) {
        (Cipher::new([9; 32]).unwrap(), Cipher::new([9; 32]).unwrap())
    }

    #[test]
    fn opens_what_was_sealed_in_order_only() {
        let (mut seal, mut open) = pair();
        let mut records = Vec::new();
        seal.seal(b"one", &mut records).unwrap();
        seal.seal(b"two", &mut records).unwrap();
        assert_eq!(records[..2], [0, 19]);
        let (mut one, mut two) = (records[2..21].to_vec(), records[23..].to_vec());
        assert_eq!(open.open(&mut two.clone()), Err(LinkError::Forged { bytes: 19 }));
        let (_, mut open) = pair();
        assert_eq!(open.open(&mut one.clone()), Ok(3));
        assert_eq!(open.open(&mut two), Ok(3));
        assert_eq!(&two[..3], b"two");
        assert_eq!(open.open(&mut one), Err(LinkError::Forged { bytes: 19 }));
        assert_eq!(open.open(&mut []), Err(LinkError::Forged { bytes: 0 }));
    }

    #[test]
    fn both_sides_change_the_key_at_the_same_record() {
        let (mut seal, mut open) = pair();
        (seal.count, open.count) = (RECORDS_PER_KEY - 1, RECORDS_PER_KEY - 1);
        for _ in 0..3 {
            let mut record = Vec::new();
            seal.seal(b"more", &mut record).unwrap();
            assert_eq!(open.open(&mut record[2..]), Ok(4));
        }
        assert_ne!(seal.raw, [9; 32]);
        assert_eq!((seal.raw, seal.count), (open.raw, RECORDS_PER_KEY + 2));
    }

    #[test]
    fn records_are_the_transport_messages_of_noise() {
        let params = || "Noise_NN_25519_AESGCM_SHA256".parse().unwrap();
        let mut dialler = snow::Builder::new(params()).build_initiator().unwrap();
        let mut acceptor = snow::Builder::new(params()).build_responder().unwrap();
        let (mut sent, mut read) = ([0; 100], [0; 100]);
        let length = dialler.write_message(&[], &mut sent).unwrap();
        acceptor.read_message(&sent[..length], &mut read).unwrap();
        let length = acceptor.write_message(&[], &mut sent).unwrap();
        dialler.read_message(&sent[..length], &mut read).unwrap();

        let mut seal = Cipher::new(dialler.dangerously_get_raw_split().0).unwrap();
        let mut snow = acceptor.into_transport_mode().unwrap();
        for plain in [&b"first"[..], b"", b"third"] {
            let mut record = Vec::new();
            seal.seal(plain, &mut record).unwrap();
            let length = snow.read_message(&record[2..], &mut read).unwrap();
            assert_eq!(&read[..length], plain);
        }
        // So is a change of the key.
        snow.rekey_incoming();
        let mut seal = Cipher { count: seal.count, ..Cipher::new(seal.next_key().unwrap()).unwrap() };
        let mut record = Vec::new();
        seal.seal(b"rekeyed", &mut record).unwrap();
        let length = snow.read_message(&record[2..], &mut read).unwrap();
        assert_eq!(&read[..length], b"rekeyed");
    }
}
