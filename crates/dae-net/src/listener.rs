//! [`Listener`]: takes connections, of which nothing is known yet.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tokio::io::DuplexStream;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;

use crate::address::{Address, MemoryPort};
use crate::gate::{Gate, Pass};
use crate::link_error::LinkError;
use crate::socket::Socket;

/// Takes connections and bounds how many may be without a proof of the key.
#[derive(Debug)]
pub struct Listener {
    source: Source,
    address: Address,
    gate: Gate,
}

#[derive(Debug)]
enum Source {
    Tcp(TcpListener),
    Unix { listener: UnixListener, _file: SocketFile },
    Memory(mpsc::Receiver<DuplexStream>),
}

/// A connection that has proved nothing; [`crate::Endpoint::accept`] makes a link of it.
pub struct Incoming {
    pub(crate) socket: Socket,
    pub(crate) from: Option<SocketAddr>,
    pub(crate) pass: Option<Pass>,
}

impl<S: Into<Socket>> From<S> for Incoming {
    fn from(socket: S) -> Self {
        Self { socket: socket.into(), from: None, pass: None }
    }
}

impl Incoming {
    /// Where it comes from, if that is on a network.
    pub fn from(&self) -> Option<SocketAddr> {
        self.from
    }
}

impl Listener {
    /// Connections in this process that wait to be accepted.
    const MEMORY_BACKLOG: usize = 128;

    /// Listens at a TCP port (0 for one that is free) or at a Unix socket, which only this user may connect to.
    ///
    /// # Errors
    /// [`LinkError::Listen`] where the system does not let it.
    pub async fn bind(at: &Address) -> Result<Self, LinkError> {
        let failed = |error: io::Error| LinkError::Listen { at: at.to_string(), why: error.to_string() };
        let (source, address) = match at {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).await.map_err(failed)?;
                let bound = listener.local_addr().map_err(failed)?;
                (Source::Tcp(listener), Address::Tcp(bound))
            }
            Address::Unix(path) => {
                let listener = UnixListener::bind(path).map_err(failed)?;
                let file = SocketFile(path.clone());
                fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
                (Source::Unix { listener, _file: file }, at.clone())
            }
            Address::Memory(_) => {
                return Err(failed(io::Error::other("`Listener::memory` makes such an address")));
            }
        };
        Ok(Self { source, address, gate: Gate::default() })
    }

    /// Listens in this process; [`Self::address`] leads here.
    pub fn memory() -> Self {
        let (sender, receiver) = mpsc::channel(Self::MEMORY_BACKLOG);
        let address = Address::Memory(MemoryPort(sender));
        Self { source: Source::Memory(receiver), address, gate: Gate::default() }
    }

    /// Where it listens, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Waits for a connection. Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// [`LinkError::Listen`] where the system gives no more connections for now, as with too many open files; wait a
    /// moment before the next call.
    pub async fn accept(&mut self) -> Result<Incoming, LinkError> {
        let failed =
            |at: &Address, error: io::Error| LinkError::Listen { at: at.to_string(), why: error.to_string() };
        let (socket, from) = match &mut self.source {
            Source::Tcp(listener) => loop {
                match listener.accept().await {
                    Ok((stream, from)) => break (Socket::from(stream), Some(from)),
                    // The peer was gone before it could be taken: its loss, not ours.
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => return Err(failed(&self.address, error)),
                }
            },
            Source::Unix { listener, .. } => {
                let accepted = listener.accept().await;
                (accepted.map_err(|error| failed(&self.address, error))?.0.into(), None)
            }
            Source::Memory(receiver) => {
                // The listener itself keeps one sender, so the channel never ends.
                let stream = receiver.recv().await;
                let stream = stream.ok_or_else(|| failed(&self.address, io::ErrorKind::BrokenPipe.into()))?;
                (stream.into(), None)
            }
        };
        let pass = self.gate.enter(from.map(|from| from.ip()));
        Ok(Incoming { socket, from, pass: Some(pass) })
    }
}

/// Removes the file of a Unix socket with its listener.
#[derive(Debug)]
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let path: &Path = &self.0;
        // Nothing is lost if it is gone already.
        let _ = fs::remove_file(path);
    }
}
