//! One connection, over TCP or a socket of this machine, in the clear or under TLS.

use super::enciphered::Enciphered;
use super::url::{Address, NbdTls};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connection without anything above it.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

#[derive(Debug)]
pub(super) enum Stream {
    Plain(Socket),
    Tls(Enciphered<Socket>),
}

impl Socket {
    /// A blocking connection whose every step ends after `patience`; of several addresses of a
    /// host, the first that answers.
    fn connect(address: &Address, patience: Duration) -> io::Result<Self> {
        match address {
            Address::Unix(path) => {
                let stream = sys::connect_patiently(path, patience)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
                Ok(Self::Unix(stream))
            }
            Address::Tcp { host, port } => {
                let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                for address in (host.as_str(), *port).to_socket_addrs()? {
                    match TcpStream::connect_timeout(&address, patience) {
                        Ok(stream) => {
                            stream.set_nodelay(true)?;
                            stream.set_read_timeout(Some(patience))?;
                            stream.set_write_timeout(Some(patience))?;
                            return Ok(Self::Tcp(stream));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    fn stop_blocking(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(true),
            Self::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    fn shut_down(&self) {
        let _already_closed_is_fine = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Unix(stream) => stream.read(into),
        }
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read_vectored(into),
            Self::Unix(stream) => stream.read_vectored(into),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(from),
            Self::Unix(stream) => stream.write(from),
        }
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write_vectored(from),
            Self::Unix(stream) => stream.write_vectored(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream {
    /// A blocking connection whose every step ends after `patience`; of several addresses of a
    /// host, the first that answers.
    pub(super) fn connect(address: &Address, patience: Duration) -> io::Result<Self> {
        Socket::connect(address, patience).map(Self::Plain)
    }

    /// Whatever comes and goes from here on is enciphered; `server` is whose certificate it shows.
    pub(super) fn hide(self, tls: &NbdTls, server: &str) -> io::Result<Self> {
        let Self::Plain(socket) = self else {
            return Ok(self);
        };
        let config = trust::client_config(&tls.trust(), tls.identity().as_ref());
        let config = config.map_err(io::Error::other)?;
        Enciphered::begin(socket, config, server).map(Self::Tls)
    }

    pub(super) fn stop_blocking(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.stop_blocking(),
            Self::Tls(tls) => {
                tls.stop_blocking();
                tls.under().stop_blocking()
            }
        }
    }

    pub(super) fn shut_down(&self) {
        self.socket().shut_down();
    }

    /// Whether something that was written waits for the socket to take it.
    pub(super) fn is_pending(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Tls(tls) => tls.is_pending(),
        }
    }

    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(tls) => tls.under(),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(into),
            Self::Tls(tls) => tls.read(into),
        }
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read_vectored(into),
            Self::Tls(tls) => tls.read_vectored(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(from),
            Self::Tls(tls) => tls.write(from),
        }
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write_vectored(from),
            Self::Tls(tls) => tls.write_vectored(from),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(tls) => tls.flush(),
        }
    }
}
