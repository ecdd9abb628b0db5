//! Every host of a job comes to have links to every other: one for each local worker that sums with others, and where a
//! join's children are apart one for actors.

use dae_cluster::protocol::hosts::HostSpot;
use dae_net::{Endpoint, Hello, Incoming, Link, Listener, NodeId, PeerInfo, Purpose};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);
/// How long to wait before the next.
const AGAIN: Duration = Duration::from_millis(200);
/// The facts of a bulk link's greeting: which host dials, and for which of its workers; what comes after these is for actors.
const HOST: &str = "host";
const WORKER: &str = "worker";

/// The links of a host, by worker and by host; it has none to itself.
pub(crate) type Links = Vec<Vec<Option<Link>>>;

/// One host on its way to meet the others: it dials those after it and is dialled by those before.
pub(crate) struct Meeting {
    hosts: Rc<[HostSpot]>,
    me: usize,
    endpoint: Endpoint,
    links: Links,
    /// The latest that is known of each host.
    known: Rc<RefCell<Vec<String>>>,
    /// Links to be.
    coming: JoinSet<Option<Met>>,
}

/// A link, with the host and the worker it is for.
struct Met {
    host: usize,
    worker: usize,
    link: Link,
}

impl Meeting {
    /// Of host `me` with the others, with so many links to each: for its workers, and then for actors.
    pub(crate) fn new(hosts: &[HostSpot], me: usize, workers: usize, endpoint: Endpoint) -> Self {
        let none = || hosts.iter().map(|_| None).collect();
        let known = hosts.iter().map(|_| "nothing was heard of it".to_owned()).collect();
        Self {
            hosts: hosts.into(),
            me,
            endpoint,
            links: (0..workers).map(|_| none()).collect(),
            known: Rc::new(RefCell::new(known)),
            coming: JoinSet::new(),
        }
    }

    /// Meets all others.
    ///
    /// # Errors
    /// The sentence that says who did not come within `patience`, and what was last known of them.
    pub(crate) async fn all(mut self, listener: &mut Listener, patience: Duration) -> Result<Links, String> {
        let by = Instant::now() + patience;
        for host in self.me + 1..self.hosts.len() {
            (0..self.links.len()).for_each(|worker| self.dial(host, worker));
        }
        while !self.missing().is_empty() {
            tokio::select! {
                incoming = listener.accept() => match incoming {
                    Ok(incoming) => self.accept(incoming),
                    // The system has no more connections to give for now.
                    Err(_) => sleep_until(Instant::now() + AGAIN).await,
                },
                Some(met) = self.coming.join_next() => {
                    if let Ok(Some(Met { host, worker, link })) = met {
                        // One that dials again lost the link it had.
                        self.links[worker][host] = Some(link);
                        self.known.borrow_mut()[host] = "the rest of its links did not come".into();
                    }
                }
                () = sleep_until(by) => return Err(self.who_did_not_come(patience)),
            }
        }
        Ok(self.links)
    }

    /// Dials until it succeeds.
    fn dial(&mut self, host: usize, worker: usize) {
        let (hosts, endpoint, known) = (self.hosts.clone(), self.endpoint.clone(), self.known.clone());
        let mut hello = Hello::new(&hosts[self.me].node, 0, Purpose::Bulk);
        hello.facts.insert(HOST.into(), self.me.to_string());
        hello.facts.insert(WORKER.into(), worker.to_string());
        self.coming.spawn_local(async move {
            let HostSpot { addresses, identity, .. } = &hosts[host];
            loop {
                let expect = Some(NodeId(*identity));
                match endpoint.dial_any(addresses, expect, hello.clone(), ATTEMPT).await {
                    Ok(link) => return Some(Met { host, worker, link }),
                    Err(e) => known.borrow_mut()[host] = e.to_string(),
                }
                sleep_until(Instant::now() + AGAIN).await;
            }
        });
    }

    fn accept(&mut self, incoming: Incoming) {
        let (hosts, endpoint, known) = (self.hosts.clone(), self.endpoint.clone(), self.known.clone());
        let (me, workers) = (self.me, self.links.len());
        self.coming.spawn_local(async move {
            let admit = |peer: &PeerInfo| {
                who(peer, &hosts[..me], workers)?;
                Ok(Hello::new(&hosts[me].node, 0, Purpose::Bulk))
            };
            let link = endpoint.accept(incoming, admit, ATTEMPT).await;
            let link =
                link.inspect_err(|e| tracing::debug!(cause = %e, "a connection came to nothing")).ok()?;
            let (host, worker) = who(&link.peer, &hosts[..me], workers).ok()?;
            known.borrow_mut()[host] = "it dialled this host".into();
            Some(Met { host, worker, link })
        });
    }

    /// The hosts with fewer links than workers.
    fn missing(&self) -> Vec<(usize, usize)> {
        let links = |host: usize| self.links.iter().filter(|links| links[host].is_some()).count();
        let counted = (0..self.hosts.len()).filter(|host| *host != self.me).map(|host| (host, links(host)));
        counted.filter(|(_, links)| *links < self.links.len()).collect()
    }

    fn who_did_not_come(&self, patience: Duration) -> String {
        let known = self.known.borrow();
        let one = |(host, links): (usize, usize)| {
            let HostSpot { node, addresses, .. } = &self.hosts[host];
            format!("{node} ({addresses:?}, {links} of {} links): {}", self.links.len(), known[host])
        };
        let missing: Vec<_> = self.missing().into_iter().map(one).collect();
        format!("hosts that did not come within {patience:?}: {}", missing.join("; "))
    }
}

/// Which of `hosts` a peer is, and for which of its workers it dials.
fn who(peer: &PeerInfo, hosts: &[HostSpot], workers: usize) -> Result<(usize, usize), String> {
    let fact = |name: &str| peer.hello.facts.get(name)?.parse::<usize>().ok();
    let (Some(host), Some(worker), Purpose::Bulk) = (fact(HOST), fact(WORKER), peer.hello.purpose) else {
        return Err("this is a host of a job, and takes links of that job's other hosts only".into());
    };
    match hosts.get(host) {
        Some(spot) if NodeId(spot.identity) == peer.id && worker < workers => Ok((host, worker)),
        _ => {
            Err(format!("host {host} of this job is another, or has no worker {worker}, or is to be dialled"))
        }
    }
}

#[cfg(test)]
mod tests;
