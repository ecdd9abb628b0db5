//! [`Address`]: where a peer listens.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use crate::link_error::LinkError;
use crate::socket::Socket;

/// Where a peer listens, on one of three transports. All three encode and seal alike.
#[derive(Clone, Debug)]
pub enum Address {
    /// A TCP port, on this machine or another.
    Tcp(SocketAddr),
    /// A Unix socket in the file system of this machine.
    Unix(PathBuf),
    /// A listener in this process; [`crate::Listener::memory`] makes one.
    Memory(MemoryPort),
}

/// The dialling side of a listener in this process.
#[derive(Clone, Debug)]
pub struct MemoryPort(pub(crate) mpsc::Sender<DuplexStream>);

impl MemoryPort {
    /// Bytes that each direction holds before a writer waits.
    const BYTES: usize = 64 << 10;
}

impl Address {
    pub(crate) async fn connect(&self) -> Result<Socket, LinkError> {
        let failed =
            |error: std::io::Error| LinkError::Connect { to: self.to_string(), why: error.to_string() };
        match self {
            Self::Tcp(address) => Ok(tokio::net::TcpStream::connect(address).await.map_err(failed)?.into()),
            Self::Unix(path) => Ok(tokio::net::UnixStream::connect(path).await.map_err(failed)?.into()),
            Self::Memory(port) => {
                let (ours, theirs) = tokio::io::duplex(MemoryPort::BYTES);
                port.0
                    .send(theirs)
                    .await
                    .map_err(|_| failed(std::io::ErrorKind::ConnectionRefused.into()))?;
                Ok(ours.into())
            }
        }
    }

    /// The address on a network, if it is on one.
    pub fn socket_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) | Self::Memory(_) => None,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
            Self::Memory(_) => f.write_str("memory"),
        }
    }
}
