//! [`Identity`]: the key pair that makes a node itself.

use std::fmt;
use std::path::Path;

use snow::params::DHChoice;
use snow::resolvers::{CryptoResolver as _, DefaultResolver};

use crate::node_id::NodeId;
use crate::secret_file::{self, KeyError};

const FORM: &str = "dae-identity-1";

/// An X25519 key pair. The public half is the node's [`NodeId`]; the private half never leaves the machine.
#[derive(Clone)]
pub struct Identity {
    private: [u8; 32],
    id: NodeId,
}

impl Identity {
    /// A new identity, that nothing has seen before.
    ///
    /// # Errors
    /// [`KeyError::Random`] where the system gives no random numbers.
    pub fn generate() -> Result<Self, KeyError> {
        Self::of(secret_file::random()?)
    }

    /// The identity in a file, which is made if it is not there; the file is for its owner alone.
    ///
    /// # Errors
    /// A file that cannot be read or written, that others can read, or that holds something else.
    pub fn load_or_create(path: &Path) -> Result<Self, KeyError> {
        if !path.exists() {
            let new = Self::generate()?;
            match secret_file::write_new(path, FORM, &new.private) {
                Ok(()) => return Ok(new),
                // Somebody else was first: then that is the identity.
                Err(KeyError::Exists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Self::of(secret_file::read(path, FORM)?)
    }

    /// What others know the node by.
    pub fn id(&self) -> NodeId {
        self.id
    }

    pub(crate) fn private(&self) -> &[u8; 32] {
        &self.private
    }

    fn of(private: [u8; 32]) -> Result<Self, KeyError> {
        let mut pair = DefaultResolver.resolve_dh(&DHChoice::Curve25519).ok_or(KeyError::Random)?;
        pair.set(&private);
        let id = pair.pubkey().try_into().map_err(|_| KeyError::Random)?;
        Ok(Self { private, id: NodeId(id) })
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_the_same_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("node.identity");
        let first = Identity::load_or_create(&path).unwrap();
        let again = Identity::load_or_create(&path).unwrap();
        assert_eq!(first.id(), again.id());
        assert_ne!(first.id(), Identity::generate().unwrap().id());
        assert_eq!(format!("{first:?}"), format!("Identity({})", first.id()));
    }

    #[test]
    fn the_public_half_is_the_one_that_snow_makes() {
        let pair = crate::handshake::builder().and_then(|builder| builder.generate_keypair()).unwrap();
        let identity = Identity::of(pair.private.try_into().unwrap()).unwrap();
        assert_eq!(identity.id().0.as_slice(), pair.public);
    }
}
