//! What outlives a server: the supervisor holds it, and each server inherits it.

use super::server::pause;
use crate::backend::MemoryBackend;
use crate::control::ControlSocket;
use crate::journal::CrashJournal;
use crate::log::DeviceLog;
use crate::orders::OrdersFile;
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a device has beside its number. A server is told the numbers of its descriptors, and finds
/// the control socket, which cannot be opened again, as its standard input.
pub struct Estate {
    pub memory: Option<MemoryBackend>,
    pub log: Option<DeviceLog>,
    pub journal: Option<CrashJournal>,
    pub orders: OrdersFile,
    pub control: Option<ControlSocket>,
    pub start: StartSign,
}

/// How a server learns that its device is there: what the kernel reads while it makes a device and
/// looks for partitions is not misbehaved with, because a start that hangs or fails is no device.
pub struct StartSign {
    read: PipeReader,
    write: PipeWriter,
}

impl StartSign {
    /// # Errors
    /// There are too many descriptors.
    pub fn new() -> io::Result<Self> {
        let (read, write) = io::pipe()?;
        Ok(Self { read, write })
    }
}

/// The names of what is handed over by descriptors, in their order.
const NAMES: [&str; 5] = ["memory", "log", "journal", "orders", "start"];
/// How long a server may take to do what it was told.
const LIMIT: Duration = Duration::from_secs(10);

impl Estate {
    fn descriptors(&self) -> [Option<BorrowedFd<'_>>; NAMES.len()] {
        [
            self.memory.as_ref().map(MemoryBackend::memory),
            self.log.as_ref().map(|log| log.file().as_fd()),
            self.journal.as_ref().map(|journal| journal.file().as_fd()),
            Some(self.orders.file().as_fd()),
            Some(self.start.read.as_fd()),
        ]
    }

    /// Tells the first server that its device is there, and waits until it misbehaves.
    ///
    /// # Errors
    /// It does not.
    pub fn begin(&self) -> io::Result<()> {
        (&self.start.write).write_all(&[1])?;
        for _ in 0..LIMIT.as_millis() {
            if self.orders.last().is_some() {
                return Ok(());
            }
            pause(Duration::from_millis(1));
        }
        Err(io::Error::from(io::ErrorKind::TimedOut))
    }

    /// Has a server inherit everything, and says in a word where it finds it.
    ///
    /// # Errors
    /// The kernel does not let descriptors be inherited.
    pub fn hand_over(&self, server: &mut Command) -> io::Result<String> {
        let mut words = Vec::new();
        for (name, descriptor) in NAMES.into_iter().zip(self.descriptors()) {
            if let Some(descriptor) = descriptor {
                fcntl_setfd(descriptor, FdFlags::empty())?;
                words.push(format!("{name}={}", descriptor.as_raw_fd()));
            }
        }
        server.stdin(match &self.control {
            Some(control) => Stdio::from(OwnedFd::from(control.listener()?)),
            None => Stdio::null(),
        });
        Ok(words.join(","))
    }
}

/// What a server finds.
pub struct Inherited {
    pub memory: Option<MemoryBackend>,
    pub log: Option<DeviceLog>,
    pub journal: Option<CrashJournal>,
    pub orders: OrdersFile,
    start: File,
}

impl Inherited {
    /// Takes over what [`Estate::hand_over`] has said.
    ///
    /// # Errors
    /// It is not there.
    pub fn take(words: &str) -> io::Result<Self> {
        let [memory, log, journal, orders, start] = NAMES.map(|name| inherited(words, name));
        let nothing = || io::Error::other("nothing was handed over");
        Ok(Self {
            memory: memory?.map(MemoryBackend::over).transpose()?,
            log: log?.map(DeviceLog::resume).transpose()?,
            journal: journal?.map(CrashJournal::resume).transpose()?,
            orders: OrdersFile::over(orders?.ok_or_else(nothing)?),
            start: start?.ok_or_else(nothing)?,
        })
    }

    /// What the server waits with until the device is there.
    pub fn start_sign(&self) -> io::Result<impl FnOnce() -> bool + Send + 'static> {
        let mut start = self.start.try_clone()?;
        // A supervisor that is gone says nothing.
        Ok(move || start.read_exact(&mut [0]).is_ok())
    }
}

/// The descriptor of that name, opened again, so that it has a position of its own.
fn inherited(words: &str, name: &str) -> io::Result<Option<File>> {
    let mut pairs = words.split(',').filter_map(|word| word.split_once('='));
    let Some((_, number)) = pairs.find(|(word, _)| *word == name) else {
        return Ok(None);
    };
    let number: u32 = number.parse().map_err(io::Error::other)?;
    // Of a pipe one end alone was handed over.
    let opened = File::options()
        .read(true)
        .write(name != "start")
        .open(format!("/proc/self/fd/{number}"));
    opened.map(Some)
}

/// The control socket of a server that was handed one.
///
/// # Errors
/// There are too many descriptors.
pub fn inherited_control() -> io::Result<UnixListener> {
    let listener = io::stdin().as_fd().try_clone_to_owned()?;
    Ok(UnixListener::from(listener))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{BlockBackend as _, Keep};

    #[test]
    fn a_server_finds_what_it_was_handed() {
        let dir = tempfile::tempdir().unwrap();
        let memory = MemoryBackend::new(4096).unwrap();
        memory.write(0, b"kept", Keep::Cached).unwrap();
        let estate = Estate {
            memory: Some(memory),
            log: Some(DeviceLog::create(&dir.path().join("log"), 10, 4096).unwrap()),
            journal: None,
            orders: OrdersFile::new().unwrap(),
            control: None,
            start: StartSign::new().unwrap(),
        };
        let words = estate.hand_over(&mut Command::new("true")).unwrap();
        estate.orders.write(3, "errors=EIO");
        estate.begin().unwrap();
        // This process stands for the server: its descriptors have the same numbers.
        let found = Inherited::take(&words).unwrap();
        assert!(found.start_sign().unwrap()());
        let mut bytes = [0; 4];
        found.memory.unwrap().read(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"kept");
        assert_eq!(found.log.unwrap().requests(), 0);
        assert!(found.journal.is_none());
        assert_eq!(found.orders.last(), Some((3, "errors=EIO".to_owned())));
        assert!(Inherited::take("memory=1").is_err());
    }
}
