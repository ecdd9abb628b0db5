//! Who a daemon is.

use std::net::SocketAddr;
use std::path::PathBuf;

use dae_net::{Hello, Purpose};

/// The fact of a daemon's hello that says where it is reached.
const ADDRESSES: &str = "addresses";
/// The fact that says which version its program is.
const VERSION: &str = "version";
/// More addresses of one peer are not looked at.
const MOST_ADDRESSES: usize = 16;

/// Who a daemon is; it does not change while the daemon lives.
#[derive(Debug, Clone)]
pub struct Me {
    /// The cluster's name.
    pub cluster: String,
    /// The node's name.
    pub name: String,
    /// Its public key, 64 hex digits.
    pub id: String,
    /// Which start this is: later ones have greater numbers.
    pub generation: u64,
    /// Where it listens.
    pub listens: SocketAddr,
    /// Where others reach it.
    pub addresses: Vec<SocketAddr>,
    /// Its Unix socket, for hosts and clients.
    pub socket: PathBuf,
    /// Whether it serves this machine only.
    pub loopback_only: bool,
    /// How it looks for others.
    pub discovery: Vec<String>,
    /// Since when it runs, in seconds since 1970.
    pub since: u64,
}

impl Me {
    /// The introduction to whoever dials, or is dialled.
    pub(crate) fn hello(&self, purpose: Purpose) -> Hello {
        let mut hello = Hello::new(&self.name, self.generation, purpose);
        hello.facts.insert(ADDRESSES.to_owned(), list(&self.addresses));
        hello.facts.insert(VERSION.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        hello
    }
}

/// Where the peer says it is reached.
pub(crate) fn addresses(hello: &Hello) -> Vec<SocketAddr> {
    let text = hello.facts.get(ADDRESSES).map_or("", String::as_str);
    text.split(',').filter_map(|address| address.parse().ok()).take(MOST_ADDRESSES).collect()
}

/// Addresses with commas between them.
pub(crate) fn list(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_hello_are_bounded_and_what_is_none_is_passed_over() {
        let mut hello = Hello::new("n1", 0, Purpose::Node);
        assert_eq!(addresses(&hello), []);
        hello.facts.insert(ADDRESSES.into(), "10.0.0.1:1,x,[::1]:2,".into());
        assert_eq!(addresses(&hello), ["10.0.0.1:1".parse().expect("one"), "[::1]:2".parse().expect("one")]);
        hello.facts.insert(ADDRESSES.into(), "10.0.0.1:1,".repeat(100));
        assert_eq!(addresses(&hello).len(), MOST_ADDRESSES);
    }
}
