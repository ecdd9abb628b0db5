//! [`SealedTransport`]: gossip over sealed datagrams.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use chitchat::transport::{Socket, Transport};
use chitchat::{ChitchatMessage, Deserializable, Serializable};
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep_until};

use super::datagram::{OVERHEAD, Sealer};
use super::pieces::{Whole, pieces};

/// The most a datagram holds.
const MOST_BYTES: usize = 65_507;
/// Gossip names all nodes in each of its messages, and fails where those alone come near what a datagram holds. A message
/// that names so many is not taken, and none is while this node itself knows so many: the others are not kept from
/// gossiping by that, and the number of nodes that are let in (`Membership::MOST_NODES`) is far below it:
/// those that were started anew within a minute are counted twice.
const MOST_NAMES: usize = 60_000;
/// An error of the socket that comes again and again must not keep a core busy.
const BREATH: Duration = Duration::from_millis(20);

/// What came and went.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Datagrams that no holder of the key has made.
    pub garbage: AtomicU64,
    /// Datagrams that could not be sent.
    pub unsent: AtomicU64,
}

/// Gives its one socket, which is bound already: whoever binds it knows which port it got.
pub(super) struct SealedTransport {
    socket: Mutex<Option<SealedSocket>>,
}

struct SealedSocket {
    socket: UdpSocket,
    sealer: Sealer,
    counts: Arc<Counts>,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    received: Vec<u8>,
    whole: Whole,
    /// Bytes that the names of all nodes take.
    names: usize,
}

impl SealedTransport {
    pub fn new(socket: UdpSocket, sealer: Sealer, counts: Arc<Counts>) -> Self {
        let (plain, sealed, received) = (Vec::new(), Vec::new(), vec![0; MOST_BYTES]);
        let (whole, names) = (Whole::default(), 0);
        let socket = SealedSocket { socket, sealer, counts, plain, sealed, received, whole, names };
        Self { socket: Mutex::new(Some(socket)) }
    }
}

#[async_trait]
impl Transport for SealedTransport {
    async fn open(&self, _: SocketAddr) -> anyhow::Result<Box<dyn Socket>> {
        let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(Box::new(socket.context("the socket of this transport is taken")?))
    }
}

#[async_trait]
impl Socket for SealedSocket {
    /// Never fails: what cannot be sent is counted, and gossip says it again.
    async fn send(&mut self, to: SocketAddr, message: ChitchatMessage) -> anyhow::Result<()> {
        let to = self.as_of_this_socket(to);
        self.plain.clear();
        message.serialize(&mut self.plain);
        if let ChitchatMessage::Syn { .. } = message {
            self.names = self.plain.len();
        }
        let pieces = self.sealer.number().map(|number| pieces(number, &self.plain, MOST_BYTES - OVERHEAD));
        let mut sent = pieces.as_ref().is_some_and(|pieces| pieces.len() > 0);
        for piece in pieces.into_iter().flatten() {
            sent &= self.sealer.seal(&piece, &mut self.sealed).is_some()
                && self.socket.send_to(&self.sealed, to).await.is_ok();
        }
        if !sent {
            self.counts.unsent.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Never fails, and forgets nothing when it is dropped while it waits.
    async fn recv(&mut self) -> anyhow::Result<(SocketAddr, ChitchatMessage)> {
        loop {
            let (bytes, from) = match self.socket.recv_from(&mut self.received).await {
                Ok(received) => received,
                // A datagram sent earlier found nobody.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(_) => {
                    sleep_until(Instant::now() + BREATH).await;
                    continue;
                }
            };
            let from = SocketAddr::new(from.ip().to_canonical(), from.port());
            let Some(piece) = self.received.get_mut(..bytes).and_then(|sealed| self.sealer.open(sealed))
            else {
                self.counts.garbage.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let Some(plain) = self.whole.take(from, piece) else { continue };
            match ChitchatMessage::deserialize(&mut plain.as_slice()) {
                Ok(ChitchatMessage::Syn { .. }) if plain.len().max(self.names) > MOST_NAMES => {
                    self.counts.unsent.fetch_add(1, Ordering::Relaxed);
                }
                Ok(message) => return Ok((from, message)),
                Err(_) => drop(self.counts.garbage.fetch_add(1, Ordering::Relaxed)),
            }
        }
    }
}

impl SealedSocket {
    /// An IPv6 socket that serves both writes IPv4 addresses in its own way.
    fn as_of_this_socket(&self, to: SocketAddr) -> SocketAddr {
        match (self.socket.local_addr(), to.ip()) {
            (Ok(SocketAddr::V6(_)), IpAddr::V4(v4)) => SocketAddr::new(v4.to_ipv6_mapped().into(), to.port()),
            _ => to,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;

    async fn socket() -> (SealedSocket, SocketAddr, Arc<Counts>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (at, counts) = (socket.local_addr().unwrap(), Arc::new(Counts::default()));
        let transport = SealedTransport::new(socket, Sealer::new(&[1; 32]), counts.clone());
        let socket = transport.socket.lock().unwrap().take().unwrap();
        (socket, at, counts)
    }

    fn syn(bytes: usize) -> ChitchatMessage {
        ChitchatMessage::Syn { cluster_id: "c".repeat(bytes), digest: Default::default() }
    }

    #[tokio::test]
    async fn a_message_that_fills_a_datagram_unsealed_travels_sealed() {
        let ((mut one, _, counts), (mut two, there, _)) = (socket().await, socket().await);
        // As long as gossip ever makes one; that it names so many nodes is another matter.
        let ack = |bytes: usize| {
            let mut plain = Vec::new();
            syn(bytes).serialize(&mut plain);
            plain
        };
        let plain = ack(65_500);
        assert!(plain.len() > MOST_BYTES);
        let number = one.sealer.number().unwrap();
        let mut whole = Whole::default();
        let sealed = pieces(number, &plain, MOST_BYTES - OVERHEAD).map(|piece| {
            assert!(piece.len() + OVERHEAD <= MOST_BYTES);
            whole.take(there, &piece)
        });
        assert_eq!(sealed.last(), Some(Some(plain)));
        // Sent and received by the real thing, whichever size.
        for bytes in [3, 59_000] {
            one.send(there, syn(bytes)).await.unwrap();
            let (_, message) = timeout(Duration::from_secs(5), two.recv()).await.unwrap().unwrap();
            assert_eq!(message, syn(bytes));
        }
        assert_eq!(counts.unsent.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn who_names_too_many_nodes_is_not_answered() {
        let ((mut one, _, counts), (mut two, there, refused)) = (socket().await, socket().await);
        one.send(there, syn(65_500)).await.unwrap();
        one.send(there, ChitchatMessage::BadCluster).await.unwrap();
        let (_, message) = timeout(Duration::from_secs(5), two.recv()).await.unwrap().unwrap();
        assert_eq!(message, ChitchatMessage::BadCluster);
        assert_eq!(refused.unsent.load(Ordering::Relaxed), 1);
        assert_eq!(counts.unsent.load(Ordering::Relaxed), 0, "both pieces went");
    }
}
