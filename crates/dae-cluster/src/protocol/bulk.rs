//! [`BulkPlace`]: where a host listens for the other hosts of its job.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use super::hosts::BULK_ADDRESS;

/// Where a host listens for the other hosts of its job, as its daemon tells it in [`BULK_ADDRESS`]: IP addresses with
/// commas between them, first the one to bind, then those that others reach it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkPlace {
    /// Where to bind: the daemon's own address, or the unspecified one where the daemon listens on all.
    pub bind: IpAddr,
    reached: Vec<IpAddr>,
}

impl BulkPlace {
    /// More addresses are not told: nobody tries more of one host.
    pub const MOST: usize = 16;

    /// Of a daemon that listens at `listens`, and that others reach at `addresses`.
    pub(crate) fn of(listens: IpAddr, addresses: &[SocketAddr]) -> Self {
        let mut reached: Vec<_> = Vec::new();
        for ip in addresses.iter().map(|address| address.ip().to_canonical()) {
            if !reached.contains(&ip) {
                reached.push(ip);
            }
        }
        reached.truncate(Self::MOST);
        Self { bind: listens, reached }
    }

    /// As the daemon told this process; without a daemon, on this machine only.
    ///
    /// # Errors
    /// If the variable holds something else, or names nowhere that others could reach.
    pub fn from_env() -> Result<Self, String> {
        match std::env::var(BULK_ADDRESS) {
            Ok(text) => text.parse(),
            Err(std::env::VarError::NotPresent) => "127.0.0.1".parse(),
            Err(error) => Err(format!("{BULK_ADDRESS}: {error}")),
        }
    }

    /// Where others reach a listener with this port.
    pub fn reached_at(&self, port: u16) -> Vec<SocketAddr> {
        let bound = [self.bind];
        let ips = if self.reached.is_empty() { &bound[..] } else { &self.reached };
        ips.iter().map(|ip| SocketAddr::new(*ip, port)).collect()
    }
}

impl fmt::Display for BulkPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bind.fmt(f)?;
        self.reached.iter().try_for_each(|ip| write!(f, ",{ip}"))
    }
}

impl FromStr for BulkPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ip = |part: &str| {
            part.parse::<IpAddr>().map_err(|error| format!("{BULK_ADDRESS}: `{part}` in `{text}`: {error}"))
        };
        let mut ips = text.split(',').map(ip);
        let bind = ips.next().ok_or_else(|| format!("{BULK_ADDRESS} is empty"))??;
        let reached = ips.take(Self::MOST).collect::<Result<Vec<_>, _>>()?;
        if reached.is_empty() && bind.is_unspecified() {
            return Err(format!("{BULK_ADDRESS}: `{text}` names no address that others could reach"));
        }
        Ok(Self { bind, reached })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn every_address_of_the_daemon_is_told_once_and_read_again() {
        let told = [at("10.0.0.1:7"), at("[2001:db8::1]:7"), at("10.0.0.1:9"), at("10.1.0.1:7")];
        let place = BulkPlace::of(at("[::]:7").ip(), &told);
        let text = place.to_string();
        assert_eq!(text, "::,10.0.0.1,2001:db8::1,10.1.0.1");
        let read: BulkPlace = text.parse().expect("its own");
        assert_eq!(read, place);
        assert_eq!(read.reached_at(5), [at("10.0.0.1:5"), at("[2001:db8::1]:5"), at("10.1.0.1:5")]);
        let many: Vec<_> = (0..99).map(|n| at(&format!("10.0.0.{n}:1"))).collect();
        assert_eq!(BulkPlace::of(at("0.0.0.0:1").ip(), &many).reached_at(1).len(), BulkPlace::MOST);
    }

    #[test]
    fn one_address_is_bound_and_told_and_nonsense_is_refused() {
        let place: BulkPlace = "127.0.0.1".parse().expect("one");
        assert_eq!((place.bind, place.reached_at(5)), (at("127.0.0.1:1").ip(), vec![at("127.0.0.1:5")]));
        for nonsense in ["", "0.0.0.0", "::", "localhost", "10.0.0.1,", "10.0.0.1:5"] {
            let error = nonsense.parse::<BulkPlace>().expect_err("nonsense");
            assert!(error.contains(BULK_ADDRESS), "{error}");
        }
    }
}
