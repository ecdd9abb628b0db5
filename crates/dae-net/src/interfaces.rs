//! [`Interface`]: the addresses of this machine that a peer may use.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use if_addrs::{IfOperStatus, get_if_addrs};

/// A peer tries every address it is given, and an answer by mDNS should fit one packet.
const MOST_ADDRESSES: usize = 4;

/// One address of one network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The name, `eth0`.
    pub name: String,
    /// The address.
    pub address: IpAddr,
    /// Whether packets can pass.
    pub up: bool,
    /// A bridge with no machine's own port on it: it leads to containers, not to peers.
    pub container_bridge: bool,
}

/// Why there is no address to give to peers.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// The list of interfaces could not be read.
    #[error("the network interfaces of this machine cannot be listed: {0}; name an address with --advertise")]
    Unlistable(#[from] io::Error),
    /// `--iface` names none.
    #[error("this machine has no network interface {wanted:?}; it has {}", listed(.have))]
    Unknown {
        /// The name that was asked for.
        wanted: String,
        /// The names there are.
        have: Vec<String>,
    },
    /// The interface that was asked for has no address which a peer could use.
    #[error(
        "the network interface {wanted:?} has no address a peer could use ({why}); give another --iface, or --advertise"
    )]
    Unusable {
        /// The name that was asked for.
        wanted: String,
        /// What is wrong with its addresses.
        why: String,
    },
    /// No interface has one.
    #[error(
        "no network interface of this machine has an address a peer could use: {why}; connect a network, or name an address with --advertise"
    )]
    None {
        /// What is wrong with each address.
        why: String,
    },
}

impl Interface {
    /// The addresses of this machine.
    ///
    /// # Errors
    /// Where the system does not tell.
    pub fn list() -> io::Result<Vec<Self>> {
        let net = Path::new("/sys/class/net");
        Ok(get_if_addrs()?
            .into_iter()
            .map(|each| Self {
                address: each.ip(),
                // Tunnels and the loopback say `Unknown` and carry packets all the same.
                up: matches!(each.oper_status, IfOperStatus::Up | IfOperStatus::Unknown),
                container_bridge: leads_to_containers(net, &each.name),
                name: each.name,
            })
            .collect())
    }

    /// Why a peer cannot use this address, if it cannot.
    pub fn refusal(&self) -> Option<&'static str> {
        match self.address {
            _ if !self.up => Some("down"),
            address if address.is_loopback() => Some("loopback"),
            address if address.is_unspecified() || address.is_multicast() => Some("no address of a machine"),
            // It means nothing without the peer's own name for the interface.
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Some("link-local IPv6"),
            _ if self.container_bridge || named_like_a_bridge(&self.name) => Some("a bridge for containers"),
            _ => None,
        }
    }
}

/// The addresses to give to peers, best first: IPv4 before IPv6, the assigned before the self-assigned, physical
/// interfaces before tunnels; `iface` restricts them to one interface, and then even a bridge will do.
///
/// # Errors
/// If none is left: says of each address why.
pub fn advertised(interfaces: &[Interface], iface: Option<&str>) -> Result<Vec<IpAddr>, InterfaceError> {
    let of_iface = |each: &&Interface| iface.is_none_or(|wanted| each.name == wanted);
    let asked_for: Vec<&Interface> = interfaces.iter().filter(of_iface).collect();
    if let (Some(wanted), true) = (iface, asked_for.is_empty()) {
        let names: BTreeSet<String> = interfaces.iter().map(|each| each.name.clone()).collect();
        return Err(InterfaceError::Unknown { wanted: wanted.to_owned(), have: names.into_iter().collect() });
    }
    let refusal = |each: &Interface| match each.refusal() {
        Some("a bridge for containers") if iface.is_some() => None,
        other => other,
    };
    let mut usable: Vec<&Interface> =
        asked_for.iter().copied().filter(|each| refusal(each).is_none()).collect();
    usable.sort_by_key(|each| (each.address.is_ipv6(), self_assigned(&each.address), tunnel(&each.name)));
    let mut addresses: Vec<IpAddr> = Vec::new();
    for each in usable {
        if addresses.len() < MOST_ADDRESSES && !addresses.contains(&each.address) {
            addresses.push(each.address);
        }
    }
    if addresses.is_empty() {
        let reasons: Vec<String> = asked_for
            .iter()
            .map(|each| format!("{} on {} is {}", each.address, each.name, refusal(each).unwrap_or("usable")))
            .collect();
        let why = if reasons.is_empty() { "there is none".to_owned() } else { reasons.join(", ") };
        return Err(match iface {
            Some(wanted) => InterfaceError::Unusable { wanted: wanted.to_owned(), why },
            None => InterfaceError::None { why },
        });
    }
    Ok(addresses)
}

fn self_assigned(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V4(v4) if v4.is_link_local())
}

fn tunnel(name: &str) -> bool {
    ["tun", "tap", "wg", "tailscale", "zt", "ppp"].iter().any(|prefix| name.starts_with(prefix))
}

fn named_like_a_bridge(name: &str) -> bool {
    const BRIDGES: [&str; 9] =
        ["docker", "br-", "virbr", "cni", "podman", "lxcbr", "lxdbr", "flannel", "cilium_"];
    BRIDGES.iter().any(|prefix| name.starts_with(prefix))
}

/// A bridge which carries this machine's own address has a physical port; one for containers has only veth ends.
fn leads_to_containers(net: &Path, name: &str) -> bool {
    let physical = |port: fs::DirEntry| net.join(port.file_name()).join("device").exists();
    net.join(name).join("bridge").is_dir()
        && !fs::read_dir(net.join(name).join("brif")).is_ok_and(|ports| ports.flatten().any(physical))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, address: &str) -> Interface {
        let address = address.parse().unwrap();
        Interface { name: name.to_owned(), address, up: true, container_bridge: false }
    }

    fn workstation() -> Vec<Interface> {
        vec![
            interface("lo", "127.0.0.1"),
            interface("lo", "::1"),
            interface("docker0", "172.17.0.1"),
            interface("tailscale0", "100.64.0.7"),
            interface("eth0", "fe80::1"),
            interface("eth0", "2001:db8::5"),
            interface("eth0", "192.168.1.5"),
            Interface { container_bridge: true, ..interface("mybridge", "10.9.0.1") },
            Interface { up: false, ..interface("eth1", "10.0.0.1") },
        ]
    }

    fn addresses(interfaces: &[Interface], iface: Option<&str>) -> Vec<String> {
        advertised(interfaces, iface).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn gives_what_a_peer_can_use_and_nothing_else() {
        assert_eq!(addresses(&workstation(), None), ["192.168.1.5", "100.64.0.7", "2001:db8::5"]);
        assert_eq!(addresses(&workstation(), Some("eth0")), ["192.168.1.5", "2001:db8::5"]);
        assert_eq!(addresses(&workstation(), Some("mybridge")), ["10.9.0.1"]);
    }

    #[test]
    fn a_self_assigned_address_is_the_last_resort_and_few_are_given() {
        let two = [interface("eth0", "169.254.3.3"), interface("eth1", "10.0.0.1")];
        assert_eq!(addresses(&two, None), ["10.0.0.1", "169.254.3.3"]);
        let many: Vec<Interface> = (1..=9).map(|each| interface("eth0", &format!("10.0.0.{each}"))).collect();
        assert_eq!(advertised(&many, None).unwrap().len(), MOST_ADDRESSES);
    }

    #[test]
    fn says_why_there_is_none() {
        let error = advertised(&workstation(), Some("eth9")).unwrap_err().to_string();
        assert!(error.contains("\"eth9\"") && error.contains("docker0, eth0"), "{error}");
        let error = advertised(&workstation(), Some("eth1")).unwrap_err().to_string();
        assert!(error.contains("10.0.0.1 on eth1 is down"), "{error}");
        let error = advertised(&workstation()[..3], None).unwrap_err().to_string();
        assert!(error.contains("127.0.0.1 on lo is loopback"), "{error}");
        assert!(error.contains("172.17.0.1 on docker0 is a bridge for containers"), "{error}");
        assert!(error.contains("--advertise"), "{error}");
        assert!(advertised(&[], None).unwrap_err().to_string().contains("there is none"));
    }

    #[test]
    fn a_bridge_with_a_physical_port_is_the_machines_own() {
        let net = tempfile::tempdir().unwrap();
        let add = |path: &str| fs::create_dir_all(net.path().join(path)).unwrap();
        add("eth0/device");
        assert!(!leads_to_containers(net.path(), "eth0"));
        add("br0/bridge");
        add("br0/brif/veth1");
        assert!(leads_to_containers(net.path(), "br0"));
        add("br0/brif/eth0");
        assert!(!leads_to_containers(net.path(), "br0"));
    }

    #[test]
    fn reads_this_machines_own() {
        let interfaces = Interface::list().unwrap();
        assert!(interfaces.iter().any(|each| each.address.is_loopback() && each.up), "{interfaces:?}");
    }
}
