//! [`Seeds`]: discovery by addresses that the user gives, for networks without multicast.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Announcement, Candidate, Discovery, DiscoveryError, Running};

/// The seed may be starting at the same moment.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Some resolvers hang for half a minute where there is no network.
const RESOLVE: Duration = Duration::from_secs(5);
/// Addresses taken of one name.
const MOST_ADDRESSES: usize = 8;

/// Addresses and DNS names of other nodes. They are offered again and again, ever more rarely, and names are resolved
/// anew each time: a seed may start late, and a name may come to mean other machines.
#[derive(Clone, Debug)]
pub struct Seeds {
    seeds: Vec<(String, u16)>,
}

impl Seeds {
    /// From `host:port`, `host` (with the default port), `[v6]:port` or a bare IPv6 address.
    ///
    /// # Errors
    /// [`DiscoveryError::Seed`] for what is none of these.
    pub fn new(
        seeds: impl IntoIterator<Item = impl AsRef<str>>,
        default_port: u16,
    ) -> Result<Self, DiscoveryError> {
        let seeds =
            seeds.into_iter().map(|each| parse(each.as_ref(), default_port)).collect::<Result<_, _>>()?;
        Ok(Self { seeds })
    }
}

impl Discovery for Seeds {
    fn name(&self) -> &'static str {
        "seeds"
    }

    fn start(
        self: Box<Self>,
        me: Announcement,
        found: mpsc::Sender<Candidate>,
    ) -> Result<Running, DiscoveryError> {
        let tasks: Vec<_> = self
            .seeds
            .into_iter()
            .map(|(host, port)| tokio::spawn(offer(host, port, me.clone(), found.clone())).abort_handle())
            .collect();
        Ok(Running::new("seeds", move || tasks.iter().for_each(tokio::task::AbortHandle::abort)))
    }
}

async fn offer(host: String, port: u16, me: Announcement, found: mpsc::Sender<Candidate>) {
    let itself = |address: &SocketAddr| address.port() == me.port && me.addresses.contains(&address.ip());
    let mut pause = FIRST_PAUSE;
    while !found.is_closed() {
        // A name that cannot be resolved now may be later; `doctor` tells the user.
        if let Ok(Ok(resolved)) = timeout(RESOLVE, lookup_host((host.as_str(), port))).await {
            let addresses: Vec<SocketAddr> =
                resolved.filter(|each| !itself(each)).take(MOST_ADDRESSES).collect();
            if !addresses.is_empty() {
                let label =
                    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
                let _ = found.try_send(Candidate { source: "seeds", addresses, label });
            }
        }
        sleep_until(Instant::now() + pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn parse(seed: &str, default_port: u16) -> Result<(String, u16), DiscoveryError> {
    let refuse = |why| DiscoveryError::Seed { seed: seed.to_owned(), why };
    let trimmed = seed.trim();
    if let Ok(address) = trimmed.parse::<IpAddr>() {
        return Ok((address.to_string(), default_port));
    }
    if trimmed.starts_with('[') {
        let address: SocketAddr =
            trimmed.parse().map_err(|_| refuse("an IPv6 address in brackets is followed by its port"))?;
        return Ok((address.ip().to_string(), address.port()))
            .and_then(|(host, port)| if port == 0 { Err(refuse("0 is no port")) } else { Ok((host, port)) });
    }
    let (host, port) = match trimmed.split_once(':') {
        None => (trimmed, default_port),
        Some((host, port)) => {
            (host, port.parse().map_err(|_| refuse("what follows the colon is no port (1 to 65535)"))?)
        }
    };
    if port == 0 {
        return Err(refuse("0 is no port"));
    }
    let in_names = |each: char| each.is_ascii_alphanumeric() || matches!(each, '-' | '.' | '_');
    if host.is_empty() || host.len() > 253 || !host.chars().all(in_names) {
        return Err(refuse("it begins with no host name or IP address"));
    }
    Ok((host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (seed, host, port) in [
            ("10.0.0.1", "10.0.0.1", 7946),
            ("10.0.0.1:80", "10.0.0.1", 80),
            (" node1.lan:80 ", "node1.lan", 80),
            ("node1", "node1", 7946),
            ("2001:db8::1", "2001:db8::1", 7946),
            ("[2001:db8::1]:80", "2001:db8::1", 80),
        ] {
            assert_eq!(parse(seed, 7946).unwrap(), (host.to_owned(), port), "{seed}");
        }
        for seed in
            ["", ":80", "a:b", "a:0", "[::1]:0", "[::1]", "a:65536", "http://a:80", "a b:80", "2001:db8::g"]
        {
            let error = parse(seed, 7946).unwrap_err().to_string();
            assert!(error.contains(&format!("{seed:?}")) && error.contains("host:port"), "{error}");
        }
    }
}
