//! [`Socket`]: a connection of any transport, as two halves.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown, sockopt};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::{TcpStream, UnixStream, tcp, unix};

use crate::link_error::LinkError;

/// What a bulk socket is to take in before anybody reads; Linux lets everybody have 416 KiB of it, overhead included.
const SEND_BYTES: usize = 1 << 20;

/// A connection that nothing is known about yet: TCP, Unix, or memory.
pub struct Socket {
    pub(crate) read: ReadHalf,
    pub(crate) write: WriteHalf,
}

/// The half that bytes come from.
pub(crate) enum ReadHalf {
    Tcp(tcp::OwnedReadHalf),
    Unix(unix::OwnedReadHalf),
    Memory(tokio::io::ReadHalf<DuplexStream>),
}

/// The half that bytes go to.
pub(crate) enum WriteHalf {
    Tcp(tcp::OwnedWriteHalf),
    Unix(unix::OwnedWriteHalf),
    Memory(tokio::io::WriteHalf<DuplexStream>),
}

/// A socket for threads that may block.
#[derive(Debug)]
pub(crate) enum StdSocket {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

impl From<TcpStream> for Socket {
    fn from(stream: TcpStream) -> Self {
        // Without these the connection still works, later and with more waiting.
        let _ = stream.set_nodelay(true);
        let _ = keep_alive(&stream);
        let (read, write) = stream.into_split();
        Self { read: ReadHalf::Tcp(read), write: WriteHalf::Tcp(write) }
    }
}

impl From<UnixStream> for Socket {
    fn from(stream: UnixStream) -> Self {
        let (read, write) = stream.into_split();
        Self { read: ReadHalf::Unix(read), write: WriteHalf::Unix(write) }
    }
}

impl From<DuplexStream> for Socket {
    fn from(stream: DuplexStream) -> Self {
        let (read, write) = tokio::io::split(stream);
        Self { read: ReadHalf::Memory(read), write: WriteHalf::Memory(write) }
    }
}

impl ReadHalf {
    /// Reads what there is; 0 at the end. Nothing is lost when the future is dropped.
    pub(crate) async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(half) => half.read(into).await,
            Self::Unix(half) => half.read(into).await,
            Self::Memory(half) => half.read(into).await,
        }
    }

    /// Reads exactly `N` bytes.
    pub(crate) async fn exactly<const N: usize>(&mut self) -> Result<[u8; N], LinkError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes).await?;
        Ok(bytes)
    }

    /// Reads until `into` is full.
    pub(crate) async fn fill(&mut self, into: &mut [u8]) -> Result<(), LinkError> {
        let mut have = 0;
        while have < into.len() {
            match self.read(&mut into[have..]).await.map_err(|error| LinkError::lost(&error))? {
                0 => {
                    let why = "the other end closed the connection during the handshake".to_owned();
                    return Err(LinkError::Lost { why });
                }
                read => have += read,
            }
        }
        Ok(())
    }
}

impl WriteHalf {
    pub(crate) async fn write_all(&mut self, bytes: &[u8]) -> Result<(), LinkError> {
        let written = match self {
            Self::Tcp(half) => half.write_all(bytes).await,
            Self::Unix(half) => half.write_all(bytes).await,
            Self::Memory(half) => half.write_all(bytes).await,
        };
        written.map_err(|error| LinkError::lost(&error))
    }

    /// Ends this direction; the peer sees it after all that was written.
    pub(crate) async fn shutdown(&mut self) {
        // Fails only where there is nothing to end any more.
        let _ = match self {
            Self::Tcp(half) => half.shutdown().await,
            Self::Unix(half) => half.shutdown().await,
            Self::Memory(half) => half.shutdown().await,
        };
    }
}

impl Socket {
    /// Takes the socket out of the reactor, twice: one to read from, one to write to.
    pub(crate) fn into_std(self, deadline: Duration) -> Result<(StdSocket, StdSocket), LinkError> {
        let failed = |error: io::Error| LinkError::lost(&error);
        let other = || LinkError::NoSocket { over: "memory" };
        match (self.read, self.write) {
            (ReadHalf::Tcp(read), WriteHalf::Tcp(write)) => {
                let socket = read.reunite(write).map_err(|_| other())?.into_std().map_err(failed)?;
                socket.set_nonblocking(false).map_err(failed)?;
                socket.set_write_timeout(Some(deadline)).map_err(failed)?;
                sockopt::set_socket_send_buffer_size(&socket, SEND_BYTES).map_err(|e| failed(e.into()))?;
                // A peer that is alive and computes may leave its window shut for as long as it is waited for.
                let patience = u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX).max(UNANSWERED_MS);
                sockopt::set_tcp_user_timeout(&socket, patience).map_err(|e| failed(e.into()))?;
                Ok((StdSocket::Tcp(socket.try_clone().map_err(failed)?), StdSocket::Tcp(socket)))
            }
            (ReadHalf::Unix(read), WriteHalf::Unix(write)) => {
                let socket = read.reunite(write).map_err(|_| other())?.into_std().map_err(failed)?;
                socket.set_nonblocking(false).map_err(failed)?;
                socket.set_write_timeout(Some(deadline)).map_err(failed)?;
                Ok((StdSocket::Unix(socket.try_clone().map_err(failed)?), StdSocket::Unix(socket)))
            }
            _ => Err(other()),
        }
    }
}

impl StdSocket {
    /// What has arrived already, at most as much as there is room for; the error is `WouldBlock` where nothing has.
    pub(crate) fn read_now(&self, into: &mut [u8]) -> io::Result<usize> {
        let flags = RecvFlags::DONTWAIT;
        Ok(recv(self, into, flags).map(|(bytes, _)| bytes)?)
    }

    /// Writes as much as the system takes at once; the error is `WouldBlock` where that is nothing.
    pub(crate) fn write_now(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?)
    }

    /// Says that nothing follows; the peer sees it after all that was written.
    pub(crate) fn end(&self) {
        // Fails only where there is nothing to end any more.
        let _ = shutdown(self, Shutdown::Write);
    }
}

impl AsFd for StdSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(socket) => socket.as_fd(),
            Self::Unix(socket) => socket.as_fd(),
        }
    }
}

impl io::Write for StdSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.write(bytes),
            Self::Unix(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How long what was sent may go without an acknowledgement, and an idle connection without an answer to its probes.
const UNANSWERED_MS: u32 = 20_000;

/// A peer whose machine is gone is noticed, whether anything is sent or not.
fn keep_alive(socket: &impl AsFd) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(2))?;
    sockopt::set_tcp_keepcnt(socket, 3)?;
    sockopt::set_tcp_user_timeout(socket, UNANSWERED_MS)
}

/// What it means that a write to a blocking socket failed.
pub(crate) fn blocked(doing: &str, deadline: Duration, error: &io::Error) -> LinkError {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            LinkError::Deadline { doing: doing.to_owned(), after: deadline }
        }
        _ => LinkError::lost(error),
    }
}
