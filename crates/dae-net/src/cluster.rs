//! [`Cluster`]: what a node has to have in common with another to speak with it.

use std::fmt;

use aws_lc_rs::hkdf;

use crate::key::ClusterKey;

/// A name and the keys that follow from it and from the cluster's secret. Clusters that differ in either never mix.
#[derive(Clone)]
pub struct Cluster {
    name: String,
    prk: hkdf::Prk,
    loopback_only: bool,
}

impl Cluster {
    /// The cluster of all who have this key and use this name.
    pub fn keyed(name: &str, key: &ClusterKey) -> Self {
        Self::of(name, key.bytes(), false)
    }

    /// A cluster without a key. Anybody on this machine may join it, so it serves this machine only.
    pub fn loopback(name: &str) -> Self {
        Self::of(name, b"this machine only", true)
    }

    /// The links between the hosts of one job, which got its key over links that they trust.
    pub fn job(job_key: [u8; 32]) -> Self {
        Self::of("job", &job_key, false)
    }

    /// What its users call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has no key and so may not leave this machine.
    pub fn is_loopback_only(&self) -> bool {
        self.loopback_only
    }

    /// What discovery may show to anybody: equal for nodes of one cluster, and tells nothing about the key.
    pub fn tag(&self) -> [u8; 16] {
        self.derive(b"tag")
    }

    /// The key that a link's handshake asks for.
    pub fn psk(&self) -> [u8; 32] {
        self.derive(b"link")
    }

    /// The key that datagrams are sealed with.
    pub fn datagram_key(&self) -> [u8; 32] {
        self.derive(b"datagram")
    }

    /// Tells the name apart in the clear, so that who has the wrong key can be told so.
    pub(crate) fn name_tag(&self) -> [u8; 8] {
        let digest = aws_lc_rs::digest::digest(
            &aws_lc_rs::digest::SHA256,
            format!("dae cluster {}", self.name).as_bytes(),
        );
        let mut tag = [0; 8];
        tag.iter_mut().zip(digest.as_ref()).for_each(|(to, from)| *to = *from);
        tag
    }

    fn of(name: &str, secret: &[u8], loopback_only: bool) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"dae-cluster-1");
        Self { name: name.to_owned(), prk: salt.extract(secret), loopback_only }
    }

    fn derive<const N: usize>(&self, label: &[u8]) -> [u8; N] {
        let mut bytes = [0; N];
        // Fails only beyond 255 times 32 bytes.
        let filled = self
            .prk
            .expand(&[label, b" ", self.name.as_bytes()], Wanted(N))
            .and_then(|okm| okm.fill(&mut bytes));
        debug_assert!(filled.is_ok());
        bytes
    }
}

struct Wanted(usize);

impl hkdf::KeyType for Wanted {
    fn len(&self) -> usize {
        self.0
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cluster({:?}{})", self.name, if self.loopback_only { ", this machine only" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_depends_on_the_secret_and_on_the_name() {
        let key = ClusterKey::generate().unwrap();
        let clusters = [
            Cluster::keyed("a", &key),
            Cluster::keyed("b", &key),
            Cluster::keyed("a", &ClusterKey::generate().unwrap()),
            Cluster::loopback("a"),
            Cluster::job(*key.bytes()),
        ];
        let derived: BTreeSet<Vec<u8>> = clusters
            .iter()
            .flat_map(|each| [each.tag().to_vec(), each.psk().to_vec(), each.datagram_key().to_vec()])
            .collect();
        assert_eq!(derived.len(), 15);
        assert_eq!(clusters[0].tag(), Cluster::keyed("a", &key).tag());
        assert_eq!(clusters[0].name_tag(), clusters[2].name_tag());
        assert_ne!(clusters[0].name_tag(), clusters[1].name_tag());
    }
}
