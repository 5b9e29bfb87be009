//! The listener of what is served while something is measured: the page, its news, the metrics.
//!
//! Everything is read and nothing is written. A page of another site cannot read it through its
//! reader's browser: who asks under a name that is not this machine's is refused.

use super::board::{Board, News};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// So many are answered at once.
const MOST: usize = 32;
/// So many who were told that there are too many are kept until they have read it.
const MOST_LEAVING: usize = 64;
const LONGEST_HEAD: usize = 16 * 1024;
const PATIENCE: Duration = Duration::from_secs(10);

/// What a listener shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// The page, and the metrics.
    Page,
    Metrics,
}

/// Where is listened, and under which name.
struct Door {
    shows: Shows,
    at: SocketAddr,
    /// The name that was given for it.
    name: Option<String>,
    board: Arc<Board>,
    open: AtomicUsize,
}

/// Listens at an address, under a name if it has one, and says where.
///
/// # Errors
/// The address is taken or not ours.
pub(super) fn listen(
    at: SocketAddr,
    name: Option<String>,
    shows: Shows,
    board: Arc<Board>,
) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(at)?;
    let at = listener.local_addr()?;
    let door = Arc::new(Door {
        shows,
        at,
        name,
        board,
        open: AtomicUsize::new(0),
    });
    std::thread::Builder::new()
        .name("listener".into())
        .spawn(move || {
            let mut leaving = VecDeque::new();
            for stream in listener.incoming().flatten() {
                if door.open.fetch_add(1, Ordering::Relaxed) >= MOST {
                    door.open.fetch_sub(1, Ordering::Relaxed);
                    turn_away(stream, &mut leaving);
                    continue;
                }
                let at_work = Arc::clone(&door);
                let answer = move || {
                    let _a_client_that_leaves_costs_nothing = at_work.answer(&stream);
                    at_work.open.fetch_sub(1, Ordering::Relaxed);
                };
                let started = std::thread::Builder::new()
                    .name("client".into())
                    .spawn(answer);
                if started.is_err() {
                    door.open.fetch_sub(1, Ordering::Relaxed);
                }
            }
        })?;
    Ok(at)
}

/// A request, as far as it matters.
#[derive(Debug, PartialEq, Eq)]
struct PageRequest {
    is_head: bool,
    path: String,
    host: Option<String>,
}

/// Why there is no answer but a few words.
#[derive(Debug, PartialEq, Eq)]
struct Refusal(&'static str, &'static str);

/// Says that too many ask, without waiting for anybody: the answer fits what the kernel keeps. The
/// connection stays for a while, and is read before it goes: where a request lies unread, or comes
/// to a closed door, the kernel resets the connection, and the client hears nothing.
fn turn_away(stream: TcpStream, leaving: &mut VecDeque<TcpStream>) {
    let why = "as many as are answered at once read this already; ask again in a moment\n";
    let told = stream
        .set_nonblocking(true)
        .and_then(|()| send(&stream, "503 Service Unavailable", PLAIN, why, false))
        .and_then(|()| stream.shutdown(Shutdown::Write));
    if told.is_err() {
        return;
    }
    leaving.push_back(stream);
    if leaving.len() > MOST_LEAVING
        && let Some(mut gone) = leaving.pop_front()
    {
        let _whatever_was_asked = gone.read(&mut [0; LONGEST_HEAD]);
    }
}

impl Door {
    fn answer(&self, stream: &TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let asked = read(stream)?.and_then(|asked| {
            self.check(&asked)?;
            Ok(asked)
        });
        match asked {
            Ok(asked) => self.respond(stream, &asked),
            Err(Refusal(status, why)) => send(stream, status, PLAIN, why, false),
        }
    }

    fn check(&self, asked: &PageRequest) -> Result<(), Refusal> {
        // Who reads counters from afar may know this machine by any name.
        if asked.path == "/metrics" && !self.at.ip().is_loopback() {
            return Ok(());
        }
        // Every browser names its host, and it is browsers that are led here under another name.
        let Some(host) = &asked.host else {
            return Ok(());
        };
        if is_own(host, self.name.as_deref()) {
            return Ok(());
        }
        Err(Refusal(
            "421 Misdirected Request",
            "this is not the host of that name; ask by the address that was printed\n",
        ))
    }

    fn respond(&self, stream: &TcpStream, asked: &PageRequest) -> std::io::Result<()> {
        let ok = |kind: &str, body: &str| send(stream, "200 OK", kind, body, asked.is_head);
        if asked.path == "/metrics" {
            let text = report::prometheus(&self.board.counted(), &[]);
            return ok("text/plain; version=0.0.4", &text);
        }
        if self.shows == Shows::Metrics {
            let why = "the metrics are at /metrics; --serve shows a page\n";
            return send(stream, "404 Not Found", PLAIN, why, asked.is_head);
        }
        if let Some((kind, text)) = report::live_file(&asked.path) {
            return ok(kind, text);
        }
        match asked.path.as_str() {
            "/" => ok("text/html; charset=utf-8", &self.board.page()),
            "/events" if !asked.is_head => self.events(stream),
            "/events" => ok(EVENTS, ""),
            _ => send(
                stream,
                "404 Not Found",
                PLAIN,
                "the page is at /\n",
                asked.is_head,
            ),
        }
    }

    fn events(&self, mut stream: &TcpStream) -> std::io::Result<()> {
        stream.write_all(head("200 OK", EVENTS, None).as_bytes())?;
        self.board.watch(|news| {
            let text: String = news.iter().map(said).collect();
            stream.write_all(text.as_bytes())
        });
        Ok(())
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";
const EVENTS: &str = "text/event-stream";

fn said(news: &News) -> String {
    match news {
        News::Whole { title, html } => {
            let data = serde_json::json!({ "title": title, "html": html });
            format!("event: whole\ndata: {data}\n\n")
        }
        News::Part(part) => {
            let data = serde_json::json!({ "id": part.id, "html": part.html });
            format!("event: part\ndata: {data}\n\n")
        }
        News::Beat => ": still here\n\n".to_owned(),
        News::End(text) => format!("event: end\ndata: {}\n\n", units::on_one_line(text)),
    }
}

/// The head of an answer; without a length it lasts as long as its connection.
fn head(status: &str, kind: &str, length: Option<usize>) -> String {
    let length = length.map_or_else(String::new, |of| format!("Content-Length: {of}\r\n"));
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{length}Connection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\r\n",
        report::LIVE_POLICY
    )
}

fn send(
    mut stream: &TcpStream,
    status: &str,
    kind: &str,
    body: &str,
    is_head: bool,
) -> std::io::Result<()> {
    let mut text = head(status, kind, Some(body.len()));
    if !is_head {
        text.push_str(body);
    }
    stream.write_all(text.as_bytes())
}

/// Reads the head of a request.
fn read(mut stream: &TcpStream) -> std::io::Result<Result<PageRequest, Refusal>> {
    let until_ns = sys::monotonic_ns() + u64::try_from(PATIENCE.as_nanos()).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    let mut piece = [0; 2048];
    while bytes.len() < LONGEST_HEAD && sys::monotonic_ns() < until_ns {
        let n = stream.read(&mut piece)?;
        if n == 0 {
            break;
        }
        bytes.extend_from_slice(&piece[..n]);
        if let Some(asked) = parsed(&bytes) {
            return Ok(asked);
        }
    }
    Ok(Err(Refusal(
        "400 Bad Request",
        "no request that can be read\n",
    )))
}

/// What a request asks; `None` while it is not whole.
fn parsed(bytes: &[u8]) -> Option<Result<PageRequest, Refusal>> {
    const BAD: Refusal = Refusal("400 Bad Request", "no request that can be read\n");
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(status) if status.is_partial() => return None,
        Ok(_) => {}
        Err(_) => return Some(Err(BAD)),
    }
    let is_head = match request.method {
        Some("GET") => false,
        Some("HEAD") => true,
        Some(_) | None => {
            let why = "nothing is written here: GET and HEAD\n";
            return Some(Err(Refusal("405 Method Not Allowed", why)));
        }
    };
    let path = request.path.unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default().to_owned();
    let mut hosts = request
        .headers
        .iter()
        .filter(|header| header.name.eq_ignore_ascii_case("host"));
    let host = hosts
        .next()
        .map(|header| String::from_utf8_lossy(header.value).into_owned());
    if hosts.next().is_some() {
        return Some(Err(BAD));
    }
    Some(Ok(PageRequest {
        is_head,
        path,
        host,
    }))
}

/// Whether a host that was asked for is this machine's for sure: an address is nobody's name, and
/// no name server is asked for `localhost`.
fn is_own(host: &str, name: Option<&str>) -> bool {
    if host.parse::<SocketAddr>().is_ok() || host.parse::<IpAddr>().is_ok() {
        return true;
    }
    let bare = host.rsplit_once(':').map_or(host, |(bare, port)| {
        let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        if is_port { bare } else { host }
    });
    let is_address = bare
        .strip_prefix('[')
        .and_then(|bare| bare.strip_suffix(']'))
        .is_some_and(|bare| bare.parse::<IpAddr>().is_ok());
    let is_named = name.is_some_and(|name| name.eq_ignore_ascii_case(bare));
    is_address || is_named || bare.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_our_own_and_other_names_are_not() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8080",
            "[::1]:80",
            "[::1]",
            "localhost",
            "LOCALHOST:1",
            "10.0.0.7:9",
        ] {
            assert!(is_own(host, None), "{host}");
        }
        for host in [
            "",
            "example.org",
            "example.org:80",
            "localhost.example.org",
            "127.0.0.1.nip.io:80",
            "localhost:",
            "localhost:x",
        ] {
            assert!(!is_own(host, None), "{host}");
        }
        assert!(
            is_own("bench-7:8080", Some("bench-7")) && !is_own("bench-8:8080", Some("bench-7"))
        );
    }

    #[test]
    fn a_request_is_read_when_it_is_whole_and_writes_are_refused() {
        let text = |bytes: &str| parsed(bytes.as_bytes());
        assert_eq!(text("GET / HTTP/1.1\r\nHost: a\r\n"), None);
        let asked = text("GET /x?y=1 HTTP/1.1\r\nHost: a\r\n\r\n")
            .unwrap()
            .unwrap();
        assert_eq!(
            (asked.path.as_str(), asked.host.as_deref()),
            ("/x", Some("a"))
        );
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let refused = text(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n")).unwrap();
            assert_eq!(refused.unwrap_err().0, "405 Method Not Allowed");
        }
        for bad in ["\0\0\0\0", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"] {
            assert_eq!(
                text(bad).unwrap().unwrap_err().0,
                "400 Bad Request",
                "{bad:?}"
            );
        }
    }

    #[test]
    fn one_client_more_than_are_answered_is_told_so() {
        let ask = |at: SocketAddr, path: &str| {
            let mut stream = TcpStream::connect(at).unwrap();
            let text = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            stream.write_all(text.as_bytes()).unwrap();
            stream
        };
        let first_line = |stream: &mut TcpStream| {
            let mut text = [0; 12];
            stream.read_exact(&mut text).unwrap();
            String::from_utf8_lossy(&text).into_owned()
        };
        let board = Board::open("a test".into()).unwrap();
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let at = listen(any, None, Shows::Page, board).unwrap();
        // Each of them is answered before the next asks, and stays for the news.
        let mut open: Vec<TcpStream> = (0..MOST).map(|_| ask(at, "/events")).collect();
        for stream in &mut open {
            assert_eq!(first_line(stream), "HTTP/1.1 200");
        }
        // Those who are slow to ask are told too, and keep nobody else from it, however many they are.
        let mut slow: Vec<TcpStream> = Vec::new();
        for _ in 0..2 * MOST_LEAVING {
            let mut stream = TcpStream::connect(at).unwrap();
            assert_eq!(first_line(&mut stream), "HTTP/1.1 503");
            slow.push(stream);
        }
        let mut late = TcpStream::connect(at).unwrap();
        let mut more = ask(at, "/");
        let mut text = String::new();
        more.read_to_string(&mut text).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 503 ") && text.contains("ask again"),
            "{text}"
        );
        // Who asks after the answer was sent reads it as well.
        late.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        assert_eq!(first_line(&mut late), "HTTP/1.1 503");
    }
}
