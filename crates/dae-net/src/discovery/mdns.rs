//! [`Mdns`]: discovery by multicast DNS, spoken by this process.

use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use mdns_sd::{IfKind, IfPredicate, ServiceDaemon, ServiceEvent, ServiceInfo};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::record::Record;
use super::{Announcement, Candidate, Discovery, DiscoveryError, Running};
use crate::interfaces::Interface;

const SERVICE: &str = "_dae._tcp.local.";
/// How long a stop waits until the goodbye has been sent.
const GOODBYE: Duration = Duration::from_millis(200);
/// Nodes that start at the same time hear each other's first announcement if all listen before they speak; who misses it
/// waits a second for the next, because nothing may be said twice within one.
const LISTEN_FIRST: Duration = Duration::from_millis(80);
/// How soon an address that this machine is given later is used; looking costs a little each time.
const NEW_ADDRESSES_SECONDS: u32 = 15;

/// Multicast DNS on the interfaces that hold the announced addresses, or on one that is named.
#[derive(Clone, Debug, Default)]
pub struct Mdns {
    iface: Option<String>,
}

impl Mdns {
    /// On the interfaces which hold the announced addresses. An advertised address may be none of this machine's (a
    /// router's, say); if none is, on every interface that leads to peers.
    pub fn new() -> Self {
        Self::default()
    }

    /// On this interface only.
    pub fn on(iface: impl Into<String>) -> Self {
        Self { iface: Some(iface.into()) }
    }

    fn interfaces(&self, addresses: &[IpAddr]) -> Result<Vec<String>, DiscoveryError> {
        let all = Interface::list()
            .map_err(|error| failed(format!("the interfaces of this machine cannot be listed: {error}")))?;
        let holds = |each: &&Interface| match &self.iface {
            Some(iface) => each.name == *iface,
            None => addresses.contains(&each.address),
        };
        let mut names: Vec<String> = all.iter().filter(holds).map(|each| each.name.clone()).collect();
        if names.is_empty() && self.iface.is_none() {
            names =
                all.iter().filter(|each| each.refusal().is_none()).map(|each| each.name.clone()).collect();
        }
        if names.is_empty() {
            return Err(failed("this machine has no interface for it".to_owned()));
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}

impl Discovery for Mdns {
    fn name(&self) -> &'static str {
        "mdns"
    }

    fn start(
        self: Box<Self>,
        me: Announcement,
        found: mpsc::Sender<Candidate>,
    ) -> Result<Running, DiscoveryError> {
        let names = self.interfaces(&me.addresses)?;
        let record = Record::of(&me);
        let daemon = ServiceDaemon::new().map_err(failed)?;
        let running = daemon.clone();
        let chosen = IfPredicate::new(move |each| names.contains(&each.name));
        daemon.disable_interface(IfKind::All).map_err(failed)?;
        daemon.enable_interface(IfKind::Predicate(chosen)).map_err(failed)?;
        daemon.set_ip_check_interval(NEW_ADDRESSES_SECONDS).map_err(failed)?;

        let host = format!("dae-{}.local.", me.id);
        let addresses = me.addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let mut info =
            ServiceInfo::new(SERVICE, &record.instance, &host, addresses.as_str(), me.port, &record.txt[..])
                .map_err(failed)?;
        // The name holds part of a public key: nobody else has it, and asking first takes most of a second.
        info.set_requires_probe(false);
        let fullname = info.get_fullname().to_owned();

        let events = daemon.browse(SERVICE).map_err(failed)?;
        let task = tokio::spawn(async move {
            let mut unannounced = Some(info);
            let mut announce = pin!(sleep_until(Instant::now() + LISTEN_FIRST));
            loop {
                let event = tokio::select! {
                    () = &mut announce, if unannounced.is_some() => {
                        // It fails only when the daemon has ended, and then so have the events.
                        unannounced.take().map(|info| daemon.register(info));
                        continue;
                    }
                    event = events.recv_async() => event,
                };
                let service = match event {
                    Ok(ServiceEvent::ServiceResolved(service)) => service,
                    Ok(_) => continue,
                    Err(_) => return,
                };
                let instance = service.get_fullname().trim_end_matches(SERVICE).trim_end_matches('.');
                let txt = |key: &str| service.get_property_val_str(key).map(str::to_owned);
                let addresses = service.get_addresses().iter().map(|each| each.to_ip_addr());
                if let Some(found_one) =
                    record.candidate("mdns", instance, txt, service.get_port(), addresses)
                {
                    // A queue that is full drops it: the record is heard again.
                    let _ = found.try_send(found_one);
                }
            }
        });
        Ok(Running::new("mdns", move || {
            task.abort();
            if let Ok(sent) = running.unregister(&fullname) {
                let _ = sent.recv_timeout(GOODBYE);
            }
            let _ = running.shutdown();
        }))
    }
}

fn failed(why: impl ToString) -> DiscoveryError {
    DiscoveryError::Multicast { why: why.to_string() }
}
