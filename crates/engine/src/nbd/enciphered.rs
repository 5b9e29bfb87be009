//! TLS over a connection, as bytes that come and go like those of the connection itself.

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::sync::Arc;

/// A connection under TLS. Where it never blocks, a read fills all the room that there is unless
/// the connection is drained, and a write may leave enciphered bytes to [`Write::flush`].
#[derive(Debug)]
pub(super) struct Enciphered<S> {
    session: Box<ClientConnection>,
    under: S,
    blocks: bool,
}

impl<S: Read + Write> Enciphered<S> {
    /// Shakes hands over a connection that blocks.
    pub(super) fn begin(mut under: S, config: ClientConfig, server: &str) -> io::Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::InvalidInput, error.to_string())
        };
        let name = ServerName::try_from(server.to_owned()).map_err(|error| wrong(&error))?;
        let session = ClientConnection::new(Arc::new(config), name);
        let mut session = session.map_err(|error| wrong(&error))?;
        while session.is_handshaking() {
            session.complete_io(&mut under)?;
        }
        Ok(Self {
            session: Box::new(session),
            under,
            blocks: true,
        })
    }

    pub(super) fn stop_blocking(&mut self) {
        self.blocks = false;
    }

    pub(super) fn under(&self) -> &S {
        &self.under
    }

    /// Whether enciphered bytes wait for the connection to take them.
    pub(super) fn is_pending(&self) -> bool {
        self.session.wants_write()
    }

    /// Gives the connection what is enciphered.
    fn push(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.under) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.last_word(error)),
            }
        }
        Ok(())
    }

    /// What the other side said before it hung up: that it does not believe who comes is known only
    /// after this side has begun to speak.
    #[cold]
    fn last_word(&mut self, error: io::Error) -> io::Error {
        use io::ErrorKind::{BrokenPipe, ConnectionReset};
        if !matches!(error.kind(), BrokenPipe | ConnectionReset) {
            return error;
        }
        while let Ok(1..) = self.session.read_tls(&mut self.under) {
            if let Err(said) = self.session.process_new_packets() {
                return io::Error::new(io::ErrorKind::InvalidData, said);
            }
        }
        error
    }
}

impl<S: Read + Write> Read for Enciphered<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < into.len() {
            match self.session.reader().read(&mut into[filled..]) {
                // Its end, which is told again to whoever asks again.
                Ok(0) => return Ok(filled),
                Ok(bytes) => {
                    filled += bytes;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // It hung up without saying so, which is no harm where each message has its length.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(filled),
                Err(error) => return Err(error),
            }
            if filled > 0 && self.blocks {
                return Ok(filled);
            }
            match self.session.read_tls(&mut self.under) {
                Ok(_) => {}
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
            let understood = self.session.process_new_packets();
            understood.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        Ok(filled)
    }

    fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let mut filled = 0;
        for part in into.iter_mut().filter(|part| !part.is_empty()) {
            match self.read(part) {
                Ok(bytes) => filled += bytes,
                Err(_) if filled > 0 => return Ok(filled),
                Err(error) => return Err(error),
            }
            if filled < part.len() {
                return Ok(filled);
            }
        }
        Ok(filled)
    }
}

impl<S: Read + Write> Write for Enciphered<S> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(from)])
    }

    fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
        self.push()?;
        let taken = self.session.writer().write_vectored(from)?;
        self.flush()?;
        Ok(taken)
    }

    /// Gives the connection what it takes at once.
    fn flush(&mut self) -> io::Result<()> {
        match self.push() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            pushed => pushed,
        }
    }
}
