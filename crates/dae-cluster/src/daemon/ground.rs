//! The names, keys and sockets a daemon stands on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dae_net::{Address, Cluster, ClusterKey, Endpoint, Interface, Listener, advertised};
use tokio::net::UdpSocket;

use super::state::State;
use super::{Backend, DaemonError, Settings};
use crate::node_actor::Me;
use crate::sockets::{Claim, Sockets, check_name};

/// A free TCP port may be taken for UDP: so many are tried.
const MOST_PORTS: usize = 32;

pub(super) struct Ground {
    pub(super) me: Me,
    pub(super) cluster: Cluster,
    pub(super) endpoint: Endpoint,
    pub(super) door: Listener,
    /// For the Unix socket, which is protected by its folder.
    pub(super) local_endpoint: Endpoint,
    pub(super) own_door: OwnDoor,
    pub(super) datagrams: UdpSocket,
    pub(super) sockets: Sockets,
}

/// The Unix socket for this user's clients and hosts, and the daemon's name. They go in this order: once the name is
/// free, whatever lies at the socket's place is a successor's.
pub(super) struct OwnDoor {
    pub(super) door: Listener,
    pub(super) claim: Claim,
}

impl Ground {
    pub(super) async fn prepare(settings: &Settings) -> Result<Self, DaemonError> {
        settings.check()?;
        let name = settings.name.clone().unwrap_or_else(machine_name);
        check_name("node", &name)?;
        let sockets = match &settings.runtime_dir {
            Some(runtime) => Sockets::under(runtime, &settings.cluster)?,
            None => Sockets::of(&settings.cluster)?,
        };
        let state = State::open(settings.state_dir.as_deref())?;
        let key = match &settings.key_file {
            Some(file) => ClusterKey::read(file)?,
            None => state.own_key()?,
        };
        let loopback_only = settings.key_file.is_none();
        // The name first: two of one name would have one identity as well.
        let claim = sockets.claim(&name)?;
        let identity = Arc::new(state.identity(&settings.cluster, &name)?);
        let generation = state.generation(&settings.cluster, &name)?;

        let interfaces = match (loopback_only, settings.advertise.is_empty()) {
            (false, true) => advertised(
                &Interface::list().map_err(dae_net::InterfaceError::from)?,
                settings.iface.as_deref(),
            ),
            _ => Ok(Vec::new()),
        };
        let wanted = listen_at(settings.listen, loopback_only, interfaces.as_deref().unwrap_or_default());
        let cluster = Cluster::keyed(&settings.cluster, &key);
        let endpoint = Endpoint::new(identity.clone(), cluster.clone());
        let (door, datagrams, listens) = bind(&endpoint, wanted).await?;
        let addresses = reached_at(listens, &settings.advertise, interfaces)?;

        let local_endpoint = Endpoint::new(identity.clone(), Cluster::loopback(&settings.cluster));
        let at = Address::Unix(claim.socket().to_owned());
        let door_here = local_endpoint.listen(&at).await.map_err(DaemonError::Listen)?;
        let own_door = OwnDoor { door: door_here, claim };
        let mut discovery: Vec<_> = settings.backends().into_iter().map(|b| word(b).to_owned()).collect();
        if loopback_only {
            discovery.push("sockets".to_owned());
        }
        let me = Me {
            cluster: settings.cluster.clone(),
            name,
            id: identity.id().to_hex(),
            generation,
            listens,
            addresses,
            socket: own_door.claim.socket().to_owned(),
            loopback_only,
            discovery,
            since: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        };
        Ok(Self { me, cluster, endpoint, door, local_endpoint, own_door, datagrams, sockets })
    }
}

fn word(backend: Backend) -> &'static str {
    match backend {
        Backend::Mdns => "mdns",
        Backend::Avahi => "avahi",
        Backend::Seeds => "seeds",
    }
}

/// One port for TCP and UDP.
async fn bind(
    endpoint: &Endpoint,
    wanted: SocketAddr,
) -> Result<(Listener, UdpSocket, SocketAddr), DaemonError> {
    let mut tries = if wanted.port() == 0 { MOST_PORTS } else { 1 };
    loop {
        let door = endpoint.listen(&Address::Tcp(wanted)).await.map_err(DaemonError::Listen)?;
        let at = door.address().socket_addr().unwrap_or(wanted);
        tries -= 1;
        match UdpSocket::bind(at).await {
            Ok(datagrams) => return Ok((door, datagrams, at)),
            Err(error) if tries == 0 => return Err(DaemonError::Datagrams { at, error }),
            Err(_) => {}
        }
    }
}

/// Where to listen: as told; or this machine only; or everywhere, by IPv6 as well if the machine has any of it.
fn listen_at(told: Option<SocketAddr>, loopback_only: bool, interfaces: &[IpAddr]) -> SocketAddr {
    told.unwrap_or_else(|| {
        let ip = if loopback_only {
            IpAddr::V4(Ipv4Addr::LOCALHOST)
        } else if interfaces.iter().any(IpAddr::is_ipv6) {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        };
        SocketAddr::new(ip, 0)
    })
}

/// The addresses given to others: as told; or where it listens; or, if that is everywhere, those of the interfaces.
fn reached_at(
    listens: SocketAddr,
    told: &[SocketAddr],
    interfaces: Result<Vec<IpAddr>, dae_net::InterfaceError>,
) -> Result<Vec<SocketAddr>, DaemonError> {
    let port = |port: u16| if port == 0 { listens.port() } else { port };
    if !told.is_empty() {
        return Ok(told.iter().map(|address| SocketAddr::new(address.ip(), port(address.port()))).collect());
    }
    if !listens.ip().is_unspecified() {
        return Ok(vec![listens]);
    }
    let fits = |ip: &IpAddr| listens.is_ipv6() || ip.is_ipv4();
    Ok(interfaces?.into_iter().filter(fits).map(|ip| SocketAddr::new(ip, listens.port())).collect())
}

/// The machine's name, as far as it can name a node.
fn machine_name() -> String {
    plain(&rustix::system::uname().nodename().to_string_lossy())
}

fn plain(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.trim_start_matches('.').chars().map(fits).take(64).collect();
    if name.is_empty() { "node".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn without_being_told_it_listens_as_widely_as_it_may() {
        let (v4, v6) = (at("10.0.0.1:0").ip(), at("[2001:db8::1]:0").ip());
        assert_eq!(listen_at(None, true, &[]), at("127.0.0.1:0"));
        assert_eq!(listen_at(None, false, &[v4]), at("0.0.0.0:0"));
        assert_eq!(listen_at(None, false, &[v4, v6]), at("[::]:0"));
        assert_eq!(listen_at(Some(at("10.0.0.1:7")), false, &[v4, v6]), at("10.0.0.1:7"));
    }

    #[test]
    fn others_are_given_what_was_told_or_where_it_listens() {
        let found = || Ok(vec![at("10.0.0.1:0").ip(), at("[2001:db8::1]:0").ip()]);
        let reached = |listens, told: &[SocketAddr]| reached_at(at(listens), told, found()).expect("reached");
        assert_eq!(reached("[::]:7", &[]), [at("10.0.0.1:7"), at("[2001:db8::1]:7")]);
        assert_eq!(reached("0.0.0.0:7", &[]), [at("10.0.0.1:7")], "nobody listens there by IPv6");
        assert_eq!(reached("10.0.0.9:7", &[]), [at("10.0.0.9:7")]);
        let told = [at("192.0.2.1:0"), at("192.0.2.1:99")];
        assert_eq!(reached("0.0.0.0:7", &told), [at("192.0.2.1:7"), at("192.0.2.1:99")]);
    }

    #[test]
    fn any_machine_has_a_name_for_its_node() {
        for (name, node) in [("gpu-03.lab", "gpu-03.lab"), ("..", "node"), ("my böx", "my-b-x"), ("", "node")]
        {
            assert_eq!(plain(name), node);
            assert!(check_name("node", node).is_ok());
        }
        assert_eq!(plain(&"x".repeat(99)).len(), 64);
    }
}
