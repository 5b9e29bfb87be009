//! What breaks off while requests are under way, as operators are told of it: once each, and no
//! more lines a minute than can be read.

use crate::handoff::FileFault;
use http::{Method, Uri};
use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

/// Told what operators should know; never secrets.
pub type LogLine = Arc<dyn Fn(&str) + Send + Sync>;

/// Within which lines are counted.
const WINDOW: Duration = Duration::from_secs(60);
/// The most lines in that time.
const MOST_LINES: u32 = 20;

/// Why an answer is not had whole.
const CLIENT_LEFT: &str = "the client left before it had all of the answer";

/// What an error says with all its causes.
pub fn described(error: &dyn Error) -> String {
    let mut out = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        out += &format!(": {cause}");
        source = cause.source();
    }
    out
}

struct Window {
    begun: Instant,
    lines: u32,
    /// Lines that were not written.
    more: u64,
}

impl Window {
    fn begins() -> Self {
        Self {
            begun: Instant::now(),
            lines: 0,
            more: 0,
        }
    }
}

/// The log of what went wrong with requests.
pub struct Mishaps {
    log: LogLine,
    window: Mutex<Window>,
}

impl Mishaps {
    /// Lines go to `log`.
    #[must_use]
    pub fn new(log: LogLine) -> Self {
        Self {
            log,
            window: Mutex::new(Window::begins()),
        }
    }

    /// Nobody is told.
    pub(crate) fn untold() -> Self {
        Self::new(Arc::new(|_| {}))
    }

    fn say(self: &Arc<Self>, line: &str) {
        self.tell_rest();
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.lines == MOST_LINES {
            window.more += 1;
            if window.more == 1 {
                self.tell_rest_after(WINDOW - window.begun.elapsed().min(WINDOW));
            }
            return;
        }
        window.lines += 1;
        drop(window);
        (self.log)(line);
    }

    /// Says how many lines were left out, once their minute is over.
    fn tell_rest(&self) {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.begun.elapsed() < WINDOW {
            return;
        }
        let more = window.more;
        *window = Window::begins();
        drop(window);
        if more > 0 {
            (self.log)(&format!("{more} more requests went wrong in a minute"));
        }
    }

    /// Outside of a runtime the next line tells it.
    fn tell_rest_after(self: &Arc<Self>, time: Duration) {
        let mishaps = Arc::clone(self);
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                sleep(time).await;
                mishaps.tell_rest();
            });
        }
    }
}

struct Request {
    mishaps: Arc<Mishaps>,
    method: Method,
    path: String,
    peer: IpAddr,
    /// From where it comes, where the peer is but its messenger.
    sender: OnceLock<IpAddr>,
    told: AtomicBool,
}

/// A request that has not had its whole answer. What breaks it off is said once, whoever sees it
/// first.
#[derive(Clone)]
pub struct UnderWay(Arc<Request>);

impl UnderWay {
    pub(crate) fn new(mishaps: &Arc<Mishaps>, method: &Method, uri: &Uri, peer: IpAddr) -> Self {
        Self(Arc::new(Request {
            mishaps: Arc::clone(mishaps),
            method: method.clone(),
            path: uri.path().to_owned(),
            peer,
            sender: OnceLock::new(),
            told: AtomicBool::new(false),
        }))
    }

    /// From where it comes, as a proxy that is believed says. The first who tells is heard.
    pub fn comes_from(&self, sender: IpAddr) {
        let _known_already = self.0.sender.set(sender);
    }

    /// It cannot be done, or not to its end.
    pub fn broke(&self, cause: &str) {
        let Request {
            mishaps,
            method,
            path,
            peer,
            sender,
            told,
        } = &*self.0;
        if !told.swap(true, Relaxed) {
            let from = sender.get().unwrap_or(peer);
            mishaps.say(&format!("{method} {path} from {from}: {cause}"));
        }
    }

    /// Its client went before it had all of the answer.
    pub(crate) fn was_left(&self) {
        self.broke(CLIENT_LEFT);
    }

    /// Tells of files that the kernel did not send whole.
    #[must_use]
    pub fn fault(&self) -> FileFault {
        let request = self.clone();
        Arc::new(move |error| request.broke(&unsent(error)))
    }
}

/// Why the kernel did not send all that an answer was to have.
fn unsent(error: &io::Error) -> String {
    let gone = [
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::ConnectionAborted,
        io::ErrorKind::TimedOut,
    ];
    if gone.contains(&error.kind()) {
        CLIENT_LEFT.to_owned()
    } else if error.kind() == io::ErrorKind::UnexpectedEof {
        "a file that is sent ends before its size".to_owned()
    } else {
        format!("sending a file: {error}")
    }
}

/// A request that is being answered: where nobody waits for the answer any more, that is said.
pub(crate) struct Answering(Option<UnderWay>);

impl Answering {
    pub(crate) fn new(request: UnderWay) -> Self {
        Self(Some(request))
    }

    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(request) = &self.0 {
            request.broke("the client left before it was answered");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    type Lines = Arc<Mutex<Vec<String>>>;

    fn told() -> (Arc<Mishaps>, Lines) {
        let lines = Lines::default();
        let kept = Arc::clone(&lines);
        let log = move |line: &str| kept.lock().unwrap().push(line.to_owned());
        (Arc::new(Mishaps::new(Arc::new(log))), lines)
    }

    fn request(mishaps: &Arc<Mishaps>) -> UnderWay {
        let uri = Uri::from_static("/-abc?secret=1");
        UnderWay::new(mishaps, &Method::GET, &uri, Ipv4Addr::LOCALHOST.into())
    }

    #[test]
    fn a_request_that_breaks_off_is_said_once_with_its_address_and_without_its_query() {
        let (mishaps, lines) = told();
        let first = request(&mishaps);
        first.broke("the disk is full");
        first.clone().broke("the client left");
        drop(Answering::new(first));
        Answering::new(request(&mishaps)).done();
        drop(Answering::new(request(&mishaps)));
        let brought = request(&mishaps);
        brought.comes_from(Ipv4Addr::new(10, 0, 0, 1).into());
        brought.fault()(&io::ErrorKind::UnexpectedEof.into());
        assert_eq!(
            *lines.lock().unwrap(),
            [
                "GET /-abc from 127.0.0.1: the disk is full",
                "GET /-abc from 127.0.0.1: the client left before it was answered",
                "GET /-abc from 10.0.0.1: a file that is sent ends before its size",
            ]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn many_are_counted_instead_of_flooding_the_log() {
        let (mishaps, lines) = told();
        for _ in 0..1000 {
            request(&mishaps).broke("the disk is full");
        }
        let most = usize::try_from(MOST_LINES).unwrap();
        assert_eq!(lines.lock().unwrap().len(), most);
        sleep(2 * WINDOW).await;
        let minute = "980 more requests went wrong in a minute";
        assert_eq!(lines.lock().unwrap()[most..], [minute]);
        request(&mishaps).broke("again");
        let lines = lines.lock().unwrap();
        assert_eq!(lines[most + 1..], ["GET /-abc from 127.0.0.1: again"]);
    }
}
