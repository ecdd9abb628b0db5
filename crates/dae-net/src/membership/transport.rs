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

/// The most a datagram holds.
const MOST_BYTES: usize = 65_507;
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
}

impl SealedTransport {
    pub fn new(socket: UdpSocket, sealer: Sealer, counts: Arc<Counts>) -> Self {
        let (plain, sealed, received) = (Vec::new(), Vec::new(), vec![0; MOST_BYTES]);
        let socket = SealedSocket { socket, sealer, counts, plain, sealed, received };
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
        self.plain.clear();
        message.serialize(&mut self.plain);
        let sent = match self.sealer.seal(&self.plain, &mut self.sealed) {
            Some(()) if self.plain.len() + OVERHEAD <= MOST_BYTES => {
                self.socket.send_to(&self.sealed, self.as_of_this_socket(to)).await.is_ok()
            }
            _ => false,
        };
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
            let plain = self.received.get_mut(..bytes).and_then(|sealed| self.sealer.open(sealed));
            match plain.map(|mut plain| ChitchatMessage::deserialize(&mut plain)) {
                Some(Ok(message)) => {
                    return Ok((SocketAddr::new(from.ip().to_canonical(), from.port()), message));
                }
                _ => self.counts.garbage.fetch_add(1, Ordering::Relaxed),
            };
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
