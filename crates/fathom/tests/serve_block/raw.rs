//! A client of NBD that says what it likes.

use crate::served::Served;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;

/// A client that says what it likes.
pub(crate) struct Raw(pub(crate) UnixStream);

impl Served {
    /// A client of it.
    pub(crate) fn client(&self) -> Raw {
        Raw::connect(&self.uri())
    }
}

impl Raw {
    /// Connects with the server at this address.
    pub(crate) fn connect(uri: &str) -> Self {
        let (_, path) = uri.split_once("socket=").unwrap();
        let mut stream = UnixStream::connect(path).unwrap();
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting).unwrap();
        stream
            .write_all(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\0")
            .unwrap();
        let mut export = [0; 10];
        stream.read_exact(&mut export).unwrap();
        Self(stream)
    }

    pub(crate) fn ask(&mut self, command: u16, offset: u64, length: u32) {
        let head = [
            &0x2560_9513_u32.to_be_bytes()[..],
            &[0; 2],
            &command.to_be_bytes(),
            &[0; 8],
            &offset.to_be_bytes(),
            &length.to_be_bytes(),
        ];
        self.0.write_all(&head.concat()).unwrap();
    }

    /// The error of the next simple reply, without its data.
    pub(crate) fn error(&mut self) -> u32 {
        let mut reply = [0; 16];
        self.0.read_exact(&mut reply).unwrap();
        u32::from_be_bytes(reply[4..8].try_into().unwrap())
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> u32 {
        self.ask(WRITE, offset, u32::try_from(bytes.len()).unwrap());
        self.0.write_all(bytes).unwrap();
        self.error()
    }

    pub(crate) fn read(&mut self, offset: u64, length: u32) -> Result<Vec<u8>, u32> {
        self.ask(READ, offset, length);
        self.answered(length)
    }

    /// The answer to a read of so many bytes.
    pub(crate) fn answered(&mut self, length: u32) -> Result<Vec<u8>, u32> {
        match self.error() {
            0 => {
                let mut bytes = vec![0; length as usize];
                self.0.read_exact(&mut bytes).unwrap();
                Ok(bytes)
            }
            error => Err(error),
        }
    }

    pub(crate) fn flush(&mut self) -> u32 {
        self.ask(FLUSH, 0, 0);
        self.error()
    }

    pub(crate) fn trim(&mut self, offset: u64, length: u32) -> u32 {
        self.ask(TRIM, offset, length);
        self.error()
    }
}
