//! [`Sealer`]: datagrams that only the holders of a key can make or read.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};

/// Bytes by which a sealed datagram is longer: a nonce before, a tag after.
pub(super) const OVERHEAD: usize = NONCE_LEN + 16;

/// A datagram is `nonce | AES-256-GCM(plain)`. The nonce is random: 12 bytes are enough for 2^32 datagrams at odds of
/// 2^-32 that two are ever the same, and no counter survives a restart. A datagram that is sent again by somebody
/// else is harmless: it holds heartbeats and versions that have been seen.
pub(super) struct Sealer {
    key: LessSafeKey,
    random: SystemRandom,
}

impl Sealer {
    /// `None` if the cipher refuses the key, which no 32 bytes can make it do.
    pub fn new(key: &[u8; 32]) -> Option<Self> {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key).ok()?);
        Some(Self { key, random: SystemRandom::new() })
    }

    /// `None` if the system has no random bytes.
    pub fn seal(&self, plain: &[u8], sealed: &mut Vec<u8>) -> Option<()> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).ok()?;
        sealed.clear();
        sealed.extend_from_slice(&nonce);
        sealed.extend_from_slice(plain);
        let (_, text) = sealed.split_at_mut(NONCE_LEN);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::empty(), text).ok()?;
        sealed.extend_from_slice(tag.as_ref());
        Some(())
    }

    /// What was sealed, if it was sealed with this key.
    pub fn open<'a>(&self, sealed: &'a mut [u8]) -> Option<&'a [u8]> {
        let (nonce, text) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        self.key.open_in_place(nonce, Aad::empty(), text).ok().map(|plain| &*plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_what_its_key_sealed_and_nothing_else() {
        let (sealer, other) = (Sealer::new(&[1; 32]).unwrap(), Sealer::new(&[2; 32]).unwrap());
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
