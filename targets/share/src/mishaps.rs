//! What breaks off while requests are under way, as operators are told of it: once each, and no
//! more lines a minute than can be read.

use crate::server::{LogLine, Now};
use house::{Answered, Told};
use http::Method;
use http::request::Parts;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Milliseconds within which lines are counted.
const WINDOW: u64 = 60_000;
/// The most lines in that time.
const MOST_LINES: u32 = 20;

/// Why an answer is not had whole.
pub(crate) const CLIENT_LEFT: &str = "the client left before it had all of the answer";

#[derive(Default)]
struct Window {
    begun: u64,
    lines: u32,
    /// Lines that were not written.
    more: u64,
}

/// The log of what went wrong with requests.
pub(crate) struct Mishaps {
    log: LogLine,
    now: Now,
    window: Mutex<Window>,
}

impl Mishaps {
    pub(crate) fn new(log: LogLine, now: Now) -> Self {
        Self {
            log,
            now,
            window: Mutex::default(),
        }
    }

    fn say(&self, line: &str) {
        self.tell_rest();
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.lines == MOST_LINES {
            window.more += 1;
            return;
        }
        window.lines += 1;
        drop(window);
        (self.log)(line);
    }

    /// Says how many lines were left out, once their minute is over.
    pub(crate) fn tell_rest(&self) {
        let now = (self.now)();
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        // A clock that was turned back begins a minute as well.
        if now.abs_diff(window.begun) < WINDOW {
            return;
        }
        let more = window.more;
        *window = Window {
            begun: now,
            ..Window::default()
        };
        drop(window);
        if more > 0 {
            (self.log)(&format!("{more} more requests went wrong in a minute"));
        }
    }
}

struct Request {
    mishaps: Arc<Mishaps>,
    method: Method,
    path: String,
    from: IpAddr,
    told: AtomicBool,
}

/// A request that has not had its whole answer. What breaks it off is said once, whoever sees it
/// first.
#[derive(Clone)]
pub(crate) struct UnderWay(Arc<Request>);

impl UnderWay {
    pub(crate) fn new(mishaps: &Arc<Mishaps>, parts: &Parts, from: IpAddr) -> Self {
        Self(Arc::new(Request {
            mishaps: Arc::clone(mishaps),
            method: parts.method.clone(),
            path: parts.uri.path().to_owned(),
            from,
            told: AtomicBool::new(false),
        }))
    }

    /// Says of an answer that goes out whether the client left before it had all of it.
    pub(crate) fn until_told(self) -> Told {
        Box::new(move |answered: &Answered| {
            if !answered.whole && !answered.cut {
                self.broke(CLIENT_LEFT);
            }
        })
    }

    pub(crate) fn broke(&self, cause: &str) {
        let Request {
            mishaps,
            method,
            path,
            from,
            told,
        } = &*self.0;
        if !told.swap(true, Relaxed) {
            mishaps.say(&format!("{method} {path} from {from}: {cause}"));
        }
    }
}

#[cfg(test)]
impl UnderWay {
    pub(crate) fn of_tests() -> Self {
        let mishaps = Mishaps::new(Arc::new(|_| {}), Arc::new(|| 0));
        let parts = http::Request::new(()).into_parts().0;
        Self::new(
            &Arc::new(mishaps),
            &parts,
            std::net::Ipv4Addr::LOCALHOST.into(),
        )
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
    use std::sync::atomic::AtomicU64;

    struct Told {
        mishaps: Arc<Mishaps>,
        clock: Arc<AtomicU64>,
        lines: Arc<Mutex<Vec<String>>>,
    }

    fn told() -> Told {
        let (clock, lines) = (Arc::new(AtomicU64::new(WINDOW)), Arc::default());
        let (now, kept) = (Arc::clone(&clock), Arc::<Mutex<Vec<String>>>::clone(&lines));
        let log = move |line: &str| kept.lock().unwrap().push(line.to_owned());
        let now = move || now.load(Relaxed);
        let mishaps = Arc::new(Mishaps::new(Arc::new(log), Arc::new(now)));
        Told {
            mishaps,
            clock,
            lines,
        }
    }

    fn request(mishaps: &Arc<Mishaps>) -> UnderWay {
        let request = http::Request::get("/-abc?secret=1").body(()).unwrap();
        UnderWay::new(mishaps, &request.into_parts().0, Ipv4Addr::LOCALHOST.into())
    }

    #[test]
    fn a_request_that_breaks_off_is_said_once_with_its_address_and_without_its_query() {
        let told = told();
        let first = request(&told.mishaps);
        first.broke("the disk is full");
        first.clone().broke("the client left");
        drop(Answering::new(first));
        Answering::new(request(&told.mishaps)).done();
        drop(Answering::new(request(&told.mishaps)));
        assert_eq!(
            *told.lines.lock().unwrap(),
            [
                "GET /-abc from 127.0.0.1: the disk is full",
                "GET /-abc from 127.0.0.1: the client left before it was answered",
            ]
        );
    }

    #[test]
    fn many_are_counted_instead_of_flooding_the_log() {
        let told = told();
        for _ in 0..1000 {
            request(&told.mishaps).broke("the disk is full");
        }
        told.mishaps.tell_rest();
        let most = usize::try_from(MOST_LINES).unwrap();
        assert_eq!(told.lines.lock().unwrap().len(), most);
        told.clock.fetch_add(WINDOW, Relaxed);
        told.mishaps.tell_rest();
        told.mishaps.tell_rest();
        request(&told.mishaps).broke("again");
        let lines = told.lines.lock().unwrap();
        assert_eq!(
            lines[most..],
            [
                "980 more requests went wrong in a minute",
                "GET /-abc from 127.0.0.1: again"
            ]
        );
    }
}
