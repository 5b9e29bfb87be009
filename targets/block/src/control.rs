//! What a running device is told, over a socket of the file system: one line asks, one line answers.
//!
//! | line | does |
//! |---|---|
//! | `misbehave MODELS`, `misbehave none` | does that to requests from now on |
//! | `release` | lets requests that hang end |
//! | `crash CHOICE` | loses the power |
//! | `resize BYTES` | gives the device another size, but cuts nothing off a file |
//! | `resize BYTES discard` | also where bytes of a file are lost |
//! | `seen` | says what it saw, as JSON |
//!
//! An answer begins with `ok` or with `error`.

use crate::device::{Loss, ServedDevice};
use crate::own::OwnName;
use crate::setting::VOCABULARY;
use crate::socket::{SocketError, bind, reach};
use misbehave::{Histograms, Misbehaviour};
use rustix::event::{Timespec, poll};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use units::Bytes;

/// The longest line.
const MOST_BYTES: u64 = 64 << 10;
/// How long somebody may take for a line, and to take an answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a device may take to do what it was told, such as to lose much with its power.
const PATIENCE_WITH_DEVICES: Duration = Duration::from_secs(120);

/// A control socket as long as it is there.
pub struct ControlSocket {
    listener: UnixListener,
    socket: OwnName,
}

impl ControlSocket {
    /// Makes the socket, at which nobody answers yet.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn bind(path: &Path) -> Result<Self, SocketError> {
        let (listener, socket) = bind(path)?;
        Ok(Self { listener, socket })
    }

    /// Answers in a thread of its own.
    ///
    /// # Errors
    /// There is no thread.
    pub fn answer(&self, device: Arc<ServedDevice>, told: Histograms) -> Result<(), SocketError> {
        let listener = self.listener();
        let answering = listener.and_then(|listener| answer(listener, device, told));
        answering.map_err(|source| SocketError::Listen {
            path: self.socket.path().to_owned(),
            source,
        })
    }

    /// Where those who ask wait, to be handed on.
    ///
    /// # Errors
    /// There are too many descriptors.
    pub fn listener(&self) -> io::Result<UnixListener> {
        self.listener.try_clone()
    }
}

/// Answers those who ask there, in a thread of its own that ends with the process.
///
/// # Errors
/// There is no thread.
pub fn answer(
    listener: UnixListener,
    device: Arc<ServedDevice>,
    histograms: Histograms,
) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("block-control".to_owned());
    let started = thread.spawn(move || listen(&listener, &device, histograms));
    started.map(drop)
}

/// Somebody who comes. Where there are no descriptors for one, somebody has to go first.
fn next_client<T>(accept: impl Fn() -> io::Result<T>, mut rest: impl FnMut()) -> T {
    loop {
        match accept() {
            Ok(client) => return client,
            Err(_) => rest(),
        }
    }
}

fn rest() {
    let moment = Timespec {
        tv_sec: 0,
        tv_nsec: 5_000_000,
    };
    let _time_is_waited_for = poll(&mut [], Some(&moment));
}

fn listen(listener: &UnixListener, device: &Arc<ServedDevice>, histograms: Histograms) {
    loop {
        let client = next_client(|| listener.accept(), rest).0;
        let device = Arc::clone(device);
        let thread = std::thread::Builder::new().name("block-control".to_owned());
        let _one_that_cannot_start_is_hung_up_on =
            thread.spawn(move || converse(&client, &device, histograms));
    }
}

fn converse(client: &UnixStream, device: &ServedDevice, histograms: Histograms) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut input = BufReader::new(client);
    let mut output = client;
    loop {
        let line = match line_of(&mut input) {
            Ok(Some(line)) => line,
            Ok(None) => return Ok(()),
            // What is cut may mean another thing than what was meant: nothing of it is done.
            Err(why) => return output.write_all(format!("error {why}\n").as_bytes()),
        };
        let told = String::from_utf8(line).ok();
        let told = told.ok_or_else(|| "the line is not UTF-8".to_owned());
        let answer = match told.and_then(|line| obey(device, line.trim(), histograms)) {
            Ok(told) => format!("ok {told}\n"),
            Err(why) => format!("error {why}\n"),
        };
        output.write_all(answer.as_bytes())?;
    }
}

/// The next line; `None` where nothing more comes, and words where what comes is no line.
fn line_of(input: &mut impl io::BufRead) -> Result<Option<Vec<u8>>, String> {
    let mut line = Vec::new();
    let read = input.take(MOST_BYTES).read_until(b'\n', &mut line);
    match (read, line.last()) {
        (Ok(_), None) => Ok(None),
        (Ok(_), Some(b'\n')) => Ok(Some(line)),
        (Ok(_), Some(_)) if line.len() as u64 == MOST_BYTES => {
            Err(format!("a line has at most {}", Bytes(MOST_BYTES)))
        }
        (Ok(_), Some(_)) => Err("the line has no end; end it with a line break".to_owned()),
        (Err(_), _) => Err(format!(
            "no whole line came within {} s",
            PATIENCE.as_secs()
        )),
    }
}

/// Tells the device whose control socket is there one line; what it answers.
///
/// # Errors
/// Nobody listens there, or nobody answers in time.
pub fn tell(socket: &Path, line: &str) -> io::Result<String> {
    let mut stream = reach(socket)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE_WITH_DEVICES))?;
    stream.write_all(format!("{line}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer)
}

/// What a device of so many bytes is told to do to requests; `none` is nothing.
///
/// # Errors
/// What is wrong with the text.
pub fn models(
    text: &str,
    bytes: u64,
    histograms: Histograms,
) -> Result<Option<Misbehaviour>, String> {
    let vocabulary = VOCABULARY.with_histograms(histograms);
    let models = match text.trim() {
        "none" => return Ok(None),
        text => Misbehaviour::parse(text, &vocabulary).map_err(|error| error.to_string())?,
    };
    if let Some(place) = models.beyond(bytes) {
        let (start, size) = (Bytes(place.start), Bytes(bytes));
        return Err(format!(
            "a fault at {start} does nothing: the device has {size}"
        ));
    }
    Ok(Some(models))
}

/// Does what one line says.
///
/// # Errors
/// Why it was not done.
pub fn obey(device: &ServedDevice, line: &str, histograms: Histograms) -> Result<String, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "misbehave" => {
            let models = models(rest, device.size(), histograms)?;
            let generation = device.misbehave(models, rest.trim());
            Ok(format!("generation {generation}"))
        }
        "release" if rest.is_empty() => {
            device.release();
            Ok("released".to_owned())
        }
        "crash" => device.crash(rest.trim()),
        "resize" => {
            let (size, loss) = match rest.trim().rsplit_once(' ') {
                Some((size, "discard")) => (size, Loss::Permitted),
                Some(_) | None => (rest, Loss::Refused),
            };
            let Bytes(bytes) = Bytes::parse(size).map_err(|error| error.to_string())?;
            device.resize(bytes, loss)?;
            Ok(format!("{} bytes", device.size()))
        }
        "seen" if rest.is_empty() => Ok(device.seen()),
        _ => Err(
            "there are misbehave MODELS, release, crash CHOICE, resize BYTES [discard] and seen"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::FileBackend;
    use crate::device::Geometry;
    use crate::testing::memory;
    use std::cell::Cell;
    use std::net::Shutdown;

    /// What a client hears that says this and then nothing more.
    fn answered(says: &[u8]) -> String {
        let device = memory(1 << 20);
        let (near, far) = UnixStream::pair().unwrap();
        let mut near = &near;
        near.write_all(says).unwrap();
        near.shutdown(Shutdown::Write).unwrap();
        converse(&far, &device, |_| Err("none".to_owned())).unwrap();
        drop(far);
        io::read_to_string(near).unwrap()
    }

    #[test]
    fn whatever_is_no_line_is_answered_with_the_reason() {
        assert_eq!(answered(b"release\n"), "ok released\n");
        assert_eq!(answered(b""), "");
        let cut = "error the line has no end; end it with a line break\n";
        assert_eq!(answered(b"misbehave none"), cut);
        assert_eq!(
            answered(b"\xff\xfe\nrelease\n"),
            "error the line is not UTF-8\nok released\n"
        );
        assert_eq!(
            answered(&vec![b'x'; 64 << 10]),
            "error a line has at most 64 KiB\n"
        );
    }

    #[test]
    fn whoever_cannot_be_taken_is_waited_for_and_not_asked_for_again_at_once() {
        let (accepts, rests) = (Cell::new(0), Cell::new(0));
        let accept = || {
            accepts.set(accepts.get() + 1);
            assert_eq!(rests.get(), accepts.get() - 1);
            let no_descriptor = io::Error::from_raw_os_error(24);
            if accepts.get() < 4 {
                Err(no_descriptor)
            } else {
                Ok("client")
            }
        };
        let came = next_client(accept, || rests.set(rests.get() + 1));
        assert_eq!((came, rests.get()), ("client", 3));
    }

    #[test]
    fn nothing_is_cut_off_a_file_unless_it_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let file = FileBackend::open(&path, Some(1 << 20), false).unwrap();
        let geometry = Geometry {
            block: 512,
            read_only: false,
        };
        let device = ServedDevice::new(Box::new(file), geometry);
        let told = |line: &str| obey(&device, line, |_| Err("none".to_owned()));
        let length = || std::fs::metadata(&path).unwrap().len();
        let refused = told("resize 4k").unwrap_err();
        assert!(refused.contains("last 1020 KiB of the file"), "{refused}");
        assert!(refused.contains("`resize 4096 discard`"), "{refused}");
        assert_eq!((device.size(), length()), (1 << 20, 1 << 20));
        assert_eq!(told("resize 2m").unwrap(), "2097152 bytes");
        assert_eq!(told("resize 2m").unwrap(), "2097152 bytes");
        assert_eq!(told("resize 4096 discard").unwrap(), "4096 bytes");
        assert_eq!(length(), 4096);
        assert!(told("resize 4k discarded").is_err() && told("resize discard").is_err());
        // What is in memory alone is nobody else's.
        let device = memory(1 << 20);
        assert!(obey(&device, "resize 4k", |_| Err("none".to_owned())).is_ok());
    }

    #[test]
    fn nobody_is_told_of_a_size_that_the_device_does_not_take() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("disk");
        let geometry = Geometry {
            block: 512,
            read_only: false,
        };
        let refused = |backend: Box<dyn crate::BlockBackend>| {
            let sizes = Arc::new(std::sync::Mutex::new(Vec::new()));
            let told = Arc::clone(&sizes);
            let keeper = Box::new(move |bytes| {
                told.lock().unwrap().push(bytes);
                Ok(())
            });
            let device = ServedDevice::new(backend, geometry).with_size_keeper(keeper);
            let why = obey(&device, "resize 4k discard", |_| Err("none".to_owned())).unwrap_err();
            assert_eq!(device.size(), 1 << 20, "{why}");
            let sizes = sizes.lock().unwrap().clone();
            (why, sizes)
        };
        let journal = crate::CrashJournal::create(&dir.path().join("journal"), 1 << 20).unwrap();
        let memory = Box::new(crate::MemoryBackend::new(1 << 20).unwrap());
        let volatile = crate::VolatileBackend::new(memory, 1).with_journal(journal);
        let (why, sizes) = refused(Box::new(volatile));
        assert_eq!(why, "4 KiB: a device with a journal keeps its size");
        assert_eq!(sizes, Vec::<u64>::new());
        drop(FileBackend::open(&path, Some(1 << 20), false).unwrap());
        // The system refuses to cut a file that is open to be read alone.
        let (_, sizes) = refused(Box::new(FileBackend::open(&path, None, true).unwrap()));
        assert_eq!(sizes, [4096, 1 << 20], "and then of the size that it has");
    }

    #[test]
    fn a_fault_that_would_do_nothing_is_refused_with_words() {
        let device = memory(1 << 20);
        for (told, why) in [
            ("read.lost=1%", "write"),
            ("write.stale=1%", "read"),
            ("flush.torn=1%", "write"),
            ("trim.corrupt=1%", "read, write"),
            ("flush.bandwidth=1MB/s", "read, write"),
            ("read.stall=1s/after:1MiB", "write"),
            ("seed=1", "does nothing"),
            ("read.errors=EIO@0+0", "no bytes"),
            ("flush.errors=EIO@0+4KiB", "no place"),
            ("write.errors=EIO@0+4KiB:until-written", "writing cures"),
            ("read.errors=EIO@1MiB+4KiB", "the device has 1 MiB"),
        ] {
            let line = format!("misbehave {told}");
            let refused = obey(&device, &line, |_| Err("none".to_owned())).unwrap_err();
            assert!(refused.contains(why), "{told}: {refused}");
        }
    }
}
