//! Hosts that meet over loopback, and one that does not come.

use super::*;
use dae_net::{Address, Cluster, Identity};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::task::LocalSet;

const PATIENCE: Duration = Duration::from_secs(20);
const KEY: [u8; 32] = [7; 32];

/// A host that listens.
struct Here {
    endpoint: Endpoint,
    listener: Listener,
}

async fn hosts(names: &[&str]) -> (Vec<HostSpot>, Vec<Here>) {
    let (mut spots, mut all) = (vec![], vec![]);
    for name in names {
        let identity = Arc::new(Identity::generate().unwrap());
        let endpoint = Endpoint::new(identity.clone(), Cluster::job(KEY));
        let listener = endpoint.listen(&Address::Tcp((Ipv4Addr::LOCALHOST, 0).into())).await.unwrap();
        spots.push(HostSpot {
            node: (*name).to_owned(),
            identity: identity.id().0,
            addresses: vec![listener.address().socket_addr().unwrap()],
            program_sha256: String::new(),
        });
        all.push(Here { endpoint, listener });
    }
    (spots, all)
}

fn within<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}

#[test]
fn every_host_comes_to_have_a_link_to_every_other_for_each_worker() {
    within(async {
        let (spots, all) = hosts(&["a", "b", "c"]).await;
        let mut meetings = JoinSet::new();
        for (me, Here { endpoint, mut listener }) in all.into_iter().enumerate() {
            let meeting = Meeting::new(&spots, me, 2, endpoint);
            meetings.spawn_local(async move { (me, meeting.all(&mut listener, PATIENCE).await.unwrap()) });
        }
        while let Some(met) = meetings.join_next().await {
            let (me, links) = met.unwrap();
            assert_eq!(links.len(), 2);
            for (worker, links) in links.iter().enumerate() {
                for (host, link) in links.iter().enumerate() {
                    let found = link.as_ref().map(|link| (link.peer.id.0, link.peer.hello.name.as_str()));
                    let other = (host != me).then(|| (spots[host].identity, &*spots[host].node));
                    assert_eq!(found, other);
                    let told = link.as_ref().and_then(|link| link.peer.hello.facts.get(WORKER));
                    // Those before this one dialled it, and said for which worker.
                    assert_eq!(told, (host < me).then(|| worker.to_string()).as_ref());
                }
            }
        }
    });
}

#[test]
fn who_does_not_come_is_named_with_what_is_known() {
    within(async {
        let (spots, mut all) = hosts(&["a", "b", "c"]).await;
        let gone = all.pop().unwrap();
        let there = spots[2].addresses[0];
        drop(gone);
        let Here { endpoint, mut listener } = all.pop().unwrap();
        let soon = Duration::from_millis(100);
        let said = Meeting::new(&spots, 1, 1, endpoint).all(&mut listener, soon).await.unwrap_err();
        assert!(said.contains("100ms: a ("), "{said}");
        assert!(said.contains("nothing was heard of it; c ("), "{said}");
        assert!(said.contains(&format!("cannot connect to {there}")), "{said}");
    });
}

#[test]
fn a_stranger_is_refused_and_harms_nobody() {
    within(async {
        let (spots, mut all) = hosts(&["a", "b"]).await;
        let Here { endpoint, mut listener } = all.pop().unwrap();
        let first = all.pop().unwrap();
        let to: Address = spots[1].addresses[0].into();
        let meeting = Meeting::new(&spots, 1, 1, endpoint);
        let met = tokio::task::spawn_local(async move { meeting.all(&mut listener, PATIENCE).await.is_ok() });
        // It has the job's key, and claims to be the first host.
        let other = Endpoint::new(Arc::new(Identity::generate().unwrap()), Cluster::job(KEY));
        let mut hello = Hello::new("a", 0, Purpose::Bulk);
        hello.facts = [(HOST, "0"), (WORKER, "0")].map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let refused = other.dial(&to, hello.clone(), PATIENCE).await.unwrap_err().to_string();
        assert!(refused.contains("host 0 of this job is another"), "{refused}");
        let _link = first.endpoint.dial(&to, hello, PATIENCE).await.unwrap();
        assert!(met.await.unwrap());
    });
}
