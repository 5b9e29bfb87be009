//! The bytes of one client as they are said, whether TLS lies below or not.

use rustix::io::Errno as SocketErrno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;

/// A socket, and TLS over it once that has begun.
pub(super) struct Pipe<'a, S> {
    socket: &'a S,
    config: Option<Arc<ServerConfig>>,
    session: Option<Box<ServerConnection>>,
    /// The last read was given less than there is: the socket need not say so.
    more: bool,
}

/// The socket as one who reads and writes without waiting, or waits to read.
struct Raw<'a, S>(&'a S, RecvFlags);

impl<S: AsFd> Read for Raw<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (bytes, _) = recv(self.0, into, self.1)?;
        Ok(bytes)
    }
}

impl<S: AsFd> Write for Raw<'_, S> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        Ok(send(
            self.0,
            from,
            SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
        )?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The kernel's number; what TLS itself refuses is a broken protocol.
fn errno(error: &io::Error) -> SocketErrno {
    SocketErrno::from_io_error(error).unwrap_or(SocketErrno::PROTO)
}

impl<'a, S: AsFd> Pipe<'a, S> {
    pub(super) fn new(socket: &'a S, config: Option<Arc<ServerConfig>>) -> Self {
        Self {
            socket,
            config,
            session: None,
            more: false,
        }
    }

    pub(super) fn socket(&self) -> &'a S {
        self.socket
    }

    /// Whatever comes and goes from here on is enciphered.
    pub(super) fn hide(&mut self) -> Result<(), SocketErrno> {
        let config = self.config.take().ok_or(SocketErrno::PROTO)?;
        let session = ServerConnection::new(config);
        self.session = Some(Box::new(session.map_err(|_refused| SocketErrno::PROTO)?));
        Ok(())
    }

    /// Whether something is to be read that the socket does not tell of.
    pub(super) fn has_more(&self) -> bool {
        self.more
    }

    /// Whether enciphered bytes wait to be sent.
    pub(super) fn is_pending(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| session.wants_write())
    }

    /// Reads what has come; 0 at the end.
    pub(super) fn recv(&mut self, room: &mut [u8], flags: RecvFlags) -> Result<usize, SocketErrno> {
        let Some(session) = &mut self.session else {
            return recv(self.socket, room, flags).map(|(bytes, _)| bytes);
        };
        let mut filled = 0;
        loop {
            match session.reader().read(&mut room[filled..]) {
                Ok(0) => return Ok(filled),
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // It hung up without saying so, which is no harm where each message has its length.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(filled),
                Err(error) => return Err(errno(&error)),
            }
            self.more = filled == room.len();
            if self.more {
                return Ok(filled);
            }
            let flags = if filled > 0 {
                RecvFlags::DONTWAIT
            } else {
                flags
            };
            match session.read_tls(&mut Raw(self.socket, flags)) {
                Ok(_) => {}
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(errno(&error)),
            }
            let understood = session.process_new_packets();
            // Answers of the handshake, and why it is over.
            let _told_by_the_next_attempt = flush(session, self.socket);
            understood.map_err(|_refused| SocketErrno::PROTO)?;
            if session.is_handshaking() && session.wants_write() {
                return Err(SocketErrno::AGAIN);
            }
        }
    }

    /// Takes what can be sent at once.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<usize, SocketErrno> {
        let Some(session) = &mut self.session else {
            return send(
                self.socket,
                bytes,
                SendFlags::DONTWAIT | SendFlags::NOSIGNAL,
            );
        };
        flush(session, self.socket)?;
        let taken = session.writer().write(bytes).map_err(|e| errno(&e))?;
        match flush(session, self.socket) {
            Ok(()) | Err(SocketErrno::AGAIN) => Ok(taken),
            Err(error) => Err(error),
        }
    }

    /// Says that nothing more comes, behind what is still to be sent.
    pub(super) fn take_leave(&mut self) {
        if let Some(session) = &mut self.session {
            session.send_close_notify();
        }
    }

    /// Sends what was enciphered.
    pub(super) fn flush(&mut self) -> Result<(), SocketErrno> {
        match &mut self.session {
            Some(session) => flush(session, self.socket),
            None => Ok(()),
        }
    }
}

fn flush<S: AsFd>(session: &mut ServerConnection, socket: &S) -> Result<(), SocketErrno> {
    while session.wants_write() {
        match session.write_tls(&mut Raw(socket, RecvFlags::empty())) {
            Ok(_) => {}
            Err(error) => match errno(&error) {
                SocketErrno::INTR => {}
                other => return Err(other),
            },
        }
    }
    Ok(())
}
