//! [`Endpoint`]: makes links, as one node of one cluster.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::address::Address;
use crate::cluster::Cluster;
use crate::handshake_accept;
use crate::handshake_dial::{self, Proved};
use crate::hello::{Hello, PeerInfo};
use crate::identity::Identity;
use crate::limits::Limits;
use crate::link::Link;
use crate::link_error::LinkError;
use crate::listener::{Incoming, Listener};
use crate::node_id::NodeId;
use crate::socket::Socket;

/// Makes links to peers of the same cluster, and takes theirs.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Who this side proves to be.
    pub identity: Arc<Identity>,
    /// What peers have to have in common with it.
    pub cluster: Cluster,
    /// What a frame may hold.
    pub limits: Limits,
}

impl Endpoint {
    /// The most addresses that [`Self::dial_any`] tries at a time, and in all.
    pub const MOST_CANDIDATES: usize = 16;

    /// How long a connection may go without a proof of the key.
    const PROOF_DEADLINE: Duration = Duration::from_secs(3);

    /// One with the usual limits.
    pub fn new(identity: Arc<Identity>, cluster: Cluster) -> Self {
        Self { identity, cluster, limits: Limits::default() }
    }

    /// Listens; a cluster without a key only where nobody else can come from.
    ///
    /// # Errors
    /// [`LinkError::NoKey`], or [`LinkError::Listen`] where the system does not let it.
    pub async fn listen(&self, at: &Address) -> Result<Listener, LinkError> {
        self.keeps_to_its_machine(at.socket_addr())?;
        Listener::bind(at).await
    }

    /// Connects, proves who we are, and learns who is there.
    ///
    /// # Errors
    /// Nobody answers, or not within the deadline; one side refuses the other.
    pub async fn dial(&self, to: &Address, hello: Hello, deadline: Duration) -> Result<Link, LinkError> {
        let by = Instant::now() + deadline;
        let proved = self.prove(to, None, by, deadline).await?;
        self.introduce(proved, to, &hello, by, deadline).await
    }

    /// [`Self::dial`] over a connection that is there already. `expect` is who should be at its other end.
    ///
    /// # Errors
    /// The peer does not answer within the deadline, is another, or one side refuses the other.
    pub async fn dial_over(
        &self,
        socket: impl Into<Socket>,
        expect: Option<NodeId>,
        hello: Hello,
        deadline: Duration,
    ) -> Result<Link, LinkError> {
        let by = Instant::now() + deadline;
        let late = || LinkError::Deadline { doing: "the handshake".to_owned(), after: deadline };
        let proof = handshake_dial::prove(socket.into(), &self.identity, &self.cluster, expect);
        let proved = timeout_at(by, proof).await.map_err(|_| late())??;
        timeout_at(by, proved.introduce(&hello, None, self.limits)).await.map_err(|_| late())?
    }

    /// Tries several addresses of one peer side by side. The first at which the right peer proves itself is used; the
    /// others hear nothing of us but that we have the key.
    ///
    /// # Errors
    /// [`LinkError::NoneReached`] with what was wrong at each address; a refusal of the peer that was reached.
    pub async fn dial_any(
        &self,
        addresses: &[SocketAddr],
        expect: Option<NodeId>,
        hello: Hello,
        deadline: Duration,
    ) -> Result<Link, LinkError> {
        let by = Instant::now() + deadline;
        let mut attempts = JoinSet::new();
        for &address in addresses.iter().take(Self::MOST_CANDIDATES) {
            let this = self.clone();
            attempts.spawn(async move {
                let proved = this.prove(&Address::Tcp(address), expect, by, deadline).await;
                (address, proved)
            });
        }
        let mut tried = Vec::new();
        while let Some(ended) = attempts.join_next().await {
            match ended {
                Ok((address, Ok(proved))) => {
                    drop(attempts);
                    return self.introduce(proved, &Address::Tcp(address), &hello, by, deadline).await;
                }
                Ok((address, Err(error))) => tried.push((address, error)),
                // Only the runtime's own end stops an attempt.
                Err(_) => {}
            }
        }
        // In the order they were given, not in that of failing.
        tried.sort_by_key(|(tried, _)| addresses.iter().position(|address| address == tried));
        Err(LinkError::NoneReached { tried })
    }

    /// Makes a link of a connection that came in. `admit` sees who it is and answers with our own introduction, or
    /// with the sentence that the peer is refused with.
    ///
    /// # Errors
    /// A peer that does not prove the key, that is not admitted, that refuses us, or that takes too long.
    pub async fn accept(
        &self,
        incoming: impl Into<Incoming>,
        admit: impl FnOnce(&PeerInfo) -> Result<Hello, String>,
        deadline: Duration,
    ) -> Result<Link, LinkError> {
        let Incoming { socket, from, pass } = incoming.into();
        self.keeps_to_its_machine(from)?;
        let with =
            || from.map_or_else(|| "the handshake".to_owned(), |from| format!("the handshake with {from}"));
        let start = Instant::now();
        let after = deadline.min(Self::PROOF_DEADLINE);
        let proof = timeout_at(start + after, handshake_accept::prove(socket, &self.identity, &self.cluster));
        let keyed = match pass {
            None => proof.await,
            Some(mut pass) => tokio::select! {
                proved = proof => proved,
                () = pass.turned_out() => {
                    let why = "too many connections without the key; this one was the oldest";
                    return Err(LinkError::refused_by_us(why));
                }
            },
        };
        let keyed = keyed.map_err(|_| LinkError::Deadline { doing: with(), after })??;
        let met = timeout_at(start + deadline, keyed.meet(from, admit, self.limits));
        met.await.map_err(|_| LinkError::Deadline { doing: with(), after: deadline })?
    }

    async fn prove(
        &self,
        to: &Address,
        expect: Option<NodeId>,
        by: Instant,
        after: Duration,
    ) -> Result<Proved, LinkError> {
        self.keeps_to_its_machine(to.socket_addr())?;
        let late = |what: &str| LinkError::Deadline { doing: format!("{what} {to}"), after };
        let socket = timeout_at(by, to.connect()).await.map_err(|_| late("connecting to"))??;
        let proof = handshake_dial::prove(socket, &self.identity, &self.cluster, expect);
        timeout_at(by, proof).await.map_err(|_| late("the handshake with"))?
    }

    async fn introduce(
        &self,
        proved: Proved,
        to: &Address,
        hello: &Hello,
        by: Instant,
        after: Duration,
    ) -> Result<Link, LinkError> {
        let introduced = timeout_at(by, proved.introduce(hello, to.socket_addr(), self.limits));
        introduced
            .await
            .map_err(|_| LinkError::Deadline { doing: format!("the introduction to {to}"), after })?
    }

    fn keeps_to_its_machine(&self, address: Option<SocketAddr>) -> Result<(), LinkError> {
        match address {
            Some(address)
                if self.cluster.is_loopback_only() && !address.ip().to_canonical().is_loopback() =>
            {
                Err(LinkError::NoKey { cluster: self.cluster.name().to_owned(), address })
            }
            _ => Ok(()),
        }
    }
}
