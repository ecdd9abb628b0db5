//! [`Preamble`]: the first bytes of a connection, in the clear and of one fixed size, both ways at once.

use crate::cluster::Cluster;
use crate::link_error::LinkError;
use crate::secret_file::random;

const MAGIC: [u8; 4] = *b"DAEL";

/// The versions of the link protocol spoken here, lowest and highest.
pub const LINK_VERSIONS: (u16, u16) = (1, 1);

/// What each side shows before it knows anything about the other. It is compared, never interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preamble {
    pub(crate) versions: (u16, u16),
    name_tag: [u8; 8],
    tag: [u8; 16],
    /// New for each connection: makes a recorded handshake worthless.
    salt: [u8; 8],
}

impl Preamble {
    pub(crate) const BYTES: usize = 40;

    pub(crate) fn of(cluster: &Cluster) -> Result<Self, LinkError> {
        let salt = random().map_err(|error| LinkError::Crypto { why: error.to_string() })?;
        Ok(Self { versions: LINK_VERSIONS, name_tag: cluster.name_tag(), tag: cluster.tag(), salt })
    }

    /// Magic, lowest and highest version (little-endian), the tags of the name and of the key, the salt.
    pub(crate) fn write(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (low, high) = self.versions;
        let fields =
            [&MAGIC[..], &low.to_le_bytes(), &high.to_le_bytes(), &self.name_tag, &self.tag, &self.salt]
                .concat();
        bytes.copy_from_slice(&fields);
        bytes
    }

    /// Says what keeps the two sides apart, if anything. Each side finds it out from the same bytes by itself.
    pub(crate) fn compare(&self, theirs: &[u8; Self::BYTES], cluster: &str) -> Result<(), LinkError> {
        let [m0, m1, m2, m3, l0, l1, h0, h1, tags @ ..] = *theirs;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(LinkError::Stranger { began: [m0, m1, m2, m3] });
        }
        let (our_low, our_high) = self.versions;
        let (low, high) = (u16::from_le_bytes([l0, l1]), u16::from_le_bytes([h0, h1]));
        if low > our_high || high < our_low {
            let older = if low > our_high { "this side" } else { "the peer" };
            return Err(LinkError::refused_by_us(format!(
                "this side speaks the link protocol in versions {our_low} to {our_high} and the peer in {low} to \
                 {high}; update dae on {older}"
            )));
        }
        if tags[..8] != self.name_tag {
            return Err(LinkError::refused_by_us(format!(
                "the peer belongs to another cluster than `{cluster}`; give both the same `--cluster`"
            )));
        }
        if tags[8..24] != self.tag {
            return Err(LinkError::refused_by_us(format!(
                "the peer has another key for cluster `{cluster}`; give both the same key file"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::ClusterKey;

    #[test]
    fn says_what_keeps_two_sides_apart() {
        let key = ClusterKey::generate().unwrap();
        let ours = Preamble::of(&Cluster::keyed("lab", &key)).unwrap();
        let judged =
            |theirs: &Preamble| ours.compare(&theirs.write(), "lab").map_err(|error| error.to_string());
        assert_eq!(judged(&Preamble::of(&Cluster::keyed("lab", &key)).unwrap()), Ok(()));
        assert_eq!(judged(&Preamble { versions: (0, 7), ..ours }), Ok(()));

        let newer = judged(&Preamble { versions: (2, 3), ..ours }).unwrap_err();
        assert!(newer.contains("versions 1 to 1 and the peer in 2 to 3; update dae on this side"), "{newer}");
        let older = judged(&Preamble { versions: (0, 0), ..ours }).unwrap_err();
        assert!(older.contains("update dae on the peer"), "{older}");
        let elsewhere = judged(&Preamble::of(&Cluster::keyed("den", &key)).unwrap()).unwrap_err();
        assert!(elsewhere.contains("another cluster than `lab`"), "{elsewhere}");
        let wrong_key = judged(&Preamble::of(&Cluster::loopback("lab")).unwrap()).unwrap_err();
        assert!(wrong_key.contains("another key for cluster `lab`"), "{wrong_key}");
        let stranger = ours.compare(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:7000\r\n\r\n", "lab").unwrap_err();
        assert_eq!(stranger, LinkError::Stranger { began: *b"GET " });
    }

    #[test]
    fn the_bytes_never_change() {
        let preamble = Preamble { versions: (1, 2), name_tag: [3; 8], tag: [4; 16], salt: [5; 8] };
        let golden = [&b"DAEL\x01\x00\x02\x00"[..], &[3; 8], &[4; 16], &[5; 8]].concat();
        assert_eq!(preamble.write().as_slice(), golden);
        // What follows from a cluster's name and key is as fixed; Python's hmac and hashlib give the same.
        let cluster = Cluster::loopback("default");
        assert_eq!(crate::hex::of(&cluster.name_tag()), "32ff64f004f36cb1");
        assert_eq!(crate::hex::of(&cluster.tag()), "d7127c0ff10e8b0be57883295bacb920");
        assert_eq!(
            crate::hex::of(&cluster.psk()),
            "40b43cef8d487efd08e8977e668b5343246f487f5769bba8f0bd693ff4d2e301"
        );
    }
}
