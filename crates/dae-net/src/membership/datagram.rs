//! [`Sealer`]: datagrams that only the holders of a key can make or read.

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use chacha20poly1305::aead::{AeadInPlace, KeyInit};
use chacha20poly1305::{Tag, XChaCha20Poly1305, XNonce};

const NONCE_LEN: usize = 24;
const TAG_LEN: usize = 16;

/// Bytes by which a sealed datagram is longer: a nonce before, a tag after.
pub(super) const OVERHEAD: usize = NONCE_LEN + TAG_LEN;

/// A datagram is `nonce | XChaCha20-Poly1305(plain)`. The nonce is random, and its 24 bytes are enough for all nodes of a
/// cluster to share one key for ever; no counter survives a restart. A datagram that is sent again by somebody else is
/// harmless: it holds heartbeats and versions that have been seen.
pub(super) struct Sealer {
    cipher: XChaCha20Poly1305,
    random: SystemRandom,
}

impl Sealer {
    pub fn new(key: &[u8; 32]) -> Self {
        Self { cipher: XChaCha20Poly1305::new(key.into()), random: SystemRandom::new() }
    }

    /// A number for a message; `None` if the system has no random bytes.
    pub fn number(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.random.fill(&mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// `None` if the system has no random bytes.
    pub fn seal(&self, plain: &[u8], sealed: &mut Vec<u8>) -> Option<()> {
        let mut nonce = XNonce::default();
        self.random.fill(&mut nonce).ok()?;
        sealed.clear();
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plain);
        let (_, text) = sealed.split_at_mut(NONCE_LEN);
        let tag = self.cipher.encrypt_in_place_detached(&nonce, &[], text).ok()?;
        sealed.extend_from_slice(&tag);
        Some(())
    }

    /// What was sealed, if it was sealed with this key.
    pub fn open<'a>(&self, sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let (nonce, rest) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let (text, tag) = rest.split_at_mut_checked(rest.len().checked_sub(TAG_LEN)?)?;
        let (nonce, tag) = (XNonce::from_slice(nonce), Tag::from_slice(tag));
        self.cipher.decrypt_in_place_detached(nonce, &[], text, tag).ok()?;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_what_its_key_sealed_and_nothing_else() {
        let (sealer, other) = (Sealer::new(&[1; 32]), Sealer::new(&[2; 32]));
        for plain in [&b""[..], b"news", &[7; 60_000]] {
            let mut sealed = Vec::new();
            sealer.seal(plain, &mut sealed).unwrap();
            assert_eq!(sealed.len(), plain.len() + OVERHEAD);
            assert_eq!(sealer.open(&mut sealed.clone()), Some(plain));
            assert_eq!(other.open(&mut sealed.clone()), None);
            for at in [0, NONCE_LEN, sealed.len() - 1] {
                let mut flipped = sealed.clone();
                flipped[at] ^= 1;
                assert_eq!(sealer.open(&mut flipped), None, "{at}");
            }
            assert_eq!(sealer.open(&mut sealed[..OVERHEAD - 1]), None);
        }
        let mut twice = [Vec::new(), Vec::new()];
        twice.iter_mut().for_each(|sealed| sealer.seal(b"news", sealed).unwrap());
        assert_ne!(twice[0], twice[1]);
        assert_eq!(sealer.open(&mut []), None);
    }
}
