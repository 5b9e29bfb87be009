//! What a running device is told, over a socket of the file system: one line asks, one line answers.
//!
//! | line | does |
//! |---|---|
//! | `misbehave MODELS`, `misbehave none` | does that to requests from now on |
//! | `release` | lets requests that hang end |
//! | `crash CHOICE` | loses the power |
//! | `resize BYTES` | gives the device another size |
//! | `seen` | says what it saw, as JSON |
//!
//! An answer begins with `ok` or with `error`.

use crate::device::ServedDevice;
use crate::setting::VOCABULARY;
use crate::socket::{OwnSocket, SocketError, bind};
use misbehave::{Histograms, Misbehaviour};
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

/// A control socket as long as it is there.
pub struct ControlSocket {
    _socket: OwnSocket,
}

/// Opens a control socket and answers in a thread of its own.
///
/// # Errors
/// The socket cannot be made.
pub fn open(
    path: &Path,
    device: Arc<ServedDevice>,
    histograms: Histograms,
) -> Result<ControlSocket, SocketError> {
    let (listener, socket) = bind(path)?;
    let thread = std::thread::Builder::new().name("block-control".to_owned());
    let started = thread.spawn(move || listen(&listener, &device, histograms));
    match started {
        Ok(_ends_with_the_process) => Ok(ControlSocket { _socket: socket }),
        Err(source) => Err(SocketError::Listen {
            path: path.to_owned(),
            source,
        }),
    }
}

fn listen(listener: &UnixListener, device: &Arc<ServedDevice>, histograms: Histograms) {
    for client in listener.incoming().flatten() {
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
    loop {
        let mut line = String::new();
        (&mut input).take(MOST_BYTES).read_line(&mut line)?;
        if !line.ends_with('\n') {
            return Ok(());
        }
        let answer = match obey(device, line.trim(), histograms) {
            Ok(told) => format!("ok {told}\n"),
            Err(why) => format!("error {why}\n"),
        };
        let mut output = client;
        output.write_all(answer.as_bytes())?;
    }
}

/// Does what one line says.
///
/// # Errors
/// Why it was not done.
pub fn obey(device: &ServedDevice, line: &str, histograms: Histograms) -> Result<String, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "misbehave" => {
            let vocabulary = VOCABULARY.with_histograms(histograms);
            let models = match rest.trim() {
                "none" => None,
                text => Some(
                    Misbehaviour::parse(text, &vocabulary).map_err(|error| error.to_string())?,
                ),
            };
            let generation = device.misbehave(models, rest.trim());
            Ok(format!("generation {generation}"))
        }
        "release" if rest.is_empty() => {
            device.release();
            Ok("released".to_owned())
        }
        "crash" => device.crash(rest.trim()),
        "resize" => {
            let Bytes(bytes) = Bytes::parse(rest).map_err(|error| error.to_string())?;
            device
                .resize(bytes)
                .map_err(|error| format!("{}: {error:?}", Bytes(bytes)))?;
            Ok(format!("{} bytes", device.size()))
        }
        "seen" if rest.is_empty() => Ok(device.seen()),
        _ => Err(
            "there are misbehave MODELS, release, crash CHOICE, resize BYTES and seen".to_owned(),
        ),
    }
}
