//! A small object server that does what a test says: it keeps objects, counts requests, and is
//! late, wrong or gone on command.

#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "each file of tests uses a part, and what fails in it fails the test"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use sys::{Clock, MachineClock};

/// A request as a test sees it.
pub(crate) struct Asked {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) query: String,
    /// From 1, over all connections.
    pub(crate) number: u64,
    pub(crate) head: String,
    /// By which of its addresses the server was asked; the first is 0.
    pub(crate) way: usize,
}

/// What is done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Answer,
    /// As `Answer`, after so many milliseconds.
    Late(u64),
    /// This status, with this code in its body.
    Status(u16, &'static str),
    /// Success, with this body and nothing done.
    Body(&'static str),
    /// A list of open uploads that names another each time, or each that is open twice.
    Invented,
    Twice,
    /// The body with one bit changed in this byte.
    Flip(usize),
    /// Half of the body, then the end of the connection.
    Cut,
    /// Another length than the object's, and so many bytes.
    OtherLength,
    /// The body in chunks.
    Chunked,
    /// The end of the connection without an answer.
    Hang,
    /// As `Answer`, but the connection ends in place of the answer.
    Lost,
    /// The answer, and then the end of the connection.
    AnswerAndClose,
    /// The part that was asked for, or what is taken for it.
    Part(Part),
}

/// What is answered where a part is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What was asked for.
    Right,
    /// As many bytes from the beginning of the object, and the head says so.
    First,
    /// The right bytes, and nothing says which they are.
    Unnamed,
    /// The right bytes as those of a longer object.
    OfAnother,
}

impl Part {
    /// The part of a whole answer; where no part is asked for, the answer.
    fn of(self, asked: &Asked, whole: (u16, String, Vec<u8>)) -> (u16, String, Vec<u8>) {
        let (_, headers, body) = &whole;
        let range = asked.head.lines().find_map(|line| {
            let (first, last) = line.strip_prefix("range: bytes=")?.split_once('-')?;
            Some((first.parse::<usize>().ok()?, last.parse::<usize>().ok()?))
        });
        let Some((first, last)) = range else {
            return whole;
        };
        let (first, last) = match self {
            Self::First => (0, last - first),
            Self::Right | Self::Unnamed | Self::OfAnother => (first, last),
        };
        let size = body.len() + usize::from(self == Self::OfAnother);
        let named = match self {
            Self::Unnamed => String::new(),
            Self::Right | Self::First | Self::OfAnother => {
                format!("Content-Range: bytes {first}-{last}/{size}\r\n")
            }
        };
        (206, format!("{headers}{named}"), body[first..=last].into())
    }
}

type Rule = Box<dyn Fn(&Asked) -> Act + Send + Sync>;

/// What the server keeps and counts.
pub(crate) struct State {
    rule: Rule,
    /// Bodies by path.
    pub(crate) objects: Mutex<BTreeMap<String, Vec<u8>>>,
    uploads: Mutex<BTreeMap<String, BTreeMap<u64, Vec<u8>>>>,
    /// Keys of uploads that have not ended, by their names.
    begun: Mutex<BTreeMap<String, String>>,
    pub(crate) requests: AtomicU64,
    pub(crate) by_kind: Mutex<BTreeMap<String, u64>>,
    pub(crate) connections: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
    down: AtomicBool,
}

pub(crate) struct Server {
    pub(crate) state: Arc<State>,
    pub(crate) port: u16,
    /// All its ports; the first is that one.
    ports: Vec<u16>,
}

impl Server {
    /// Starts a server on a free port.
    pub(crate) fn start(rule: impl Fn(&Asked) -> Act + Send + Sync + 'static) -> Self {
        let state = Arc::new(State {
            rule: Box::new(rule),
            objects: Mutex::default(),
            uploads: Mutex::default(),
            begun: Mutex::default(),
            requests: AtomicU64::new(0),
            by_kind: Mutex::default(),
            connections: AtomicU64::new(0),
            open: Mutex::default(),
            down: AtomicBool::new(false),
        });
        let port = State::listen(&state, 0);
        Self {
            state,
            port,
            ports: vec![port],
        }
    }

    /// Another address of the same store.
    pub(crate) fn other_way(&mut self) -> u16 {
        let port = State::listen(&self.state, self.ports.len());
        self.ports.push(port);
        port
    }

    pub(crate) fn s3(&self, bucket: &str) -> String {
        format!("s3://{bucket}@http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn requests(&self) -> u64 {
        self.state.requests.load(SeqCst)
    }

    /// Requests of one kind: method, and the words `list`, `part`, `uploads`, `complete` or
    /// `bucket`.
    pub(crate) fn count(&self, kind: &str) -> u64 {
        self.state
            .by_kind
            .lock()
            .unwrap()
            .get(kind)
            .copied()
            .unwrap_or(0)
    }

    pub(crate) fn objects(&self) -> usize {
        self.state.objects.lock().unwrap().len()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.stop();
        for port in &self.ports {
            let _wakes_the_listener = TcpStream::connect(("127.0.0.1", *port));
        }
    }
}

impl State {
    /// Takes connections on a free port.
    fn listen(state: &Arc<Self>, way: usize) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::clone(state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.down.load(SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { return };
                let _no_matter = stream.set_nodelay(true);
                shared.connections.fetch_add(1, SeqCst);
                shared
                    .open
                    .lock()
                    .unwrap()
                    .push(stream.try_clone().unwrap());
                let state = Arc::clone(&shared);
                std::thread::spawn(move || state.serve(stream, way));
            }
        });
        port
    }

    /// Ends every connection and takes no other.
    pub(crate) fn stop(&self) {
        self.down.store(true, SeqCst);
        for stream in self.open.lock().unwrap().drain(..) {
            let _no_matter = stream.shutdown(Shutdown::Both);
        }
    }

    fn serve(&self, stream: TcpStream, way: usize) -> Option<()> {
        let mut out = stream.try_clone().ok()?;
        let mut input = BufReader::new(stream);
        loop {
            let (asked, body) = self.read(&mut input, way)?;
            let act = (self.rule)(&asked);
            if self.down.load(SeqCst) {
                let _no_matter = out.shutdown(Shutdown::Both);
                return None;
            }
            if let Act::Late(ms) = act {
                let clock = MachineClock::monotonic();
                clock.sleep_until(clock.now() + ms * 1_000_000);
            }
            if act == Act::Hang {
                let _no_matter = out.shutdown(Shutdown::Both);
                return None;
            }
            let (status, headers, answer) = match act {
                Act::Status(status, code) => (
                    status,
                    String::new(),
                    format!("<Error><Code>{code}</Code></Error>").into_bytes(),
                ),
                Act::Body(body) => (200, String::new(), body.into()),
                Act::Invented | Act::Twice => {
                    let page = self.list_of_begun(&asked, act == Act::Twice);
                    (200, String::new(), page.into_bytes())
                }
                Act::Answer
                | Act::Late(_)
                | Act::Flip(_)
                | Act::Cut
                | Act::OtherLength
                | Act::Chunked
                | Act::Hang
                | Act::Lost
                | Act::AnswerAndClose => self.answer(&asked, body),
                Act::Part(part) => part.of(&asked, self.answer(&asked, body)),
            };
            if act == Act::Lost {
                let _no_matter = out.shutdown(Shutdown::Both);
                return None;
            }
            let wants_close = asked.head.to_lowercase().contains("connection: close")
                || act == Act::AnswerAndClose;
            send(
                &mut out,
                &asked,
                act,
                (status, &headers, answer),
                wants_close,
            )?;
            if wants_close || act == Act::Cut {
                let _no_matter = out.shutdown(Shutdown::Both);
                return None;
            }
        }
    }

    fn read(&self, input: &mut BufReader<TcpStream>, way: usize) -> Option<(Asked, Vec<u8>)> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if input.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let mut words = head.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target
            .split_once('?')
            .map_or((target.clone(), String::new()), |(path, query)| {
                (path.into(), query.into())
            });
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok())
            .unwrap_or(0);
        let mut body = vec![0; length];
        input.read_exact(&mut body).ok()?;
        let number = self.requests.fetch_add(1, SeqCst) + 1;
        Some((
            Asked {
                method,
                path,
                query,
                number,
                head,
                way,
            },
            body,
        ))
    }

    #[expect(
        clippy::too_many_lines,
        reason = "to be divided when it is changed next"
    )]
    fn answer(&self, asked: &Asked, body: Vec<u8>) -> (u16, String, Vec<u8>) {
        let none = || (200, String::new(), Vec::new());
        let has = |word: &str| {
            asked
                .query
                .split('&')
                .any(|part| part.split('=').next() == Some(word))
        };
        let value = |name: &str| {
            asked
                .query
                .split('&')
                .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
                .unwrap_or("")
        };
        let is_bucket = asked.path.matches('/').count() == 1;
        let kind = match asked.method.as_str() {
            "GET" if has("list-type") => "list",
            "PUT" if has("partNumber") => "part",
            "POST" if has("uploads") => "uploads",
            "POST" if has("uploadId") => "complete",
            "GET" if has("uploads") => "begun",
            "DELETE" if has("uploadId") => "abort",
            "POST" if asked.path == "/api/entry" && has("expiration") => "share",
            "POST" if asked.path == "/api/auth" => "auth",
            "DELETE" if asked.path.starts_with("/api/entry/") => "unshare",
            "GET" if asked.path.starts_with("/-") => "GET",
            _ if is_bucket => "bucket",
            method => method,
        };
        *self
            .by_kind
            .lock()
            .unwrap()
            .entry(kind.to_owned())
            .or_default() += 1;
        let mut objects = self.objects.lock().unwrap();
        let missing = || {
            (
                404,
                String::new(),
                b"<Error><Code>NoSuchKey</Code></Error>".to_vec(),
            )
        };
        match kind {
            "bucket" => match asked.method.as_str() {
                "HEAD" if !objects.contains_key(&asked.path) => (404, String::new(), Vec::new()),
                "GET" if !objects.contains_key(&asked.path) => (
                    404,
                    String::new(),
                    b"<Error><Code>NoSuchBucket</Code></Error>".to_vec(),
                ),
                "PUT" => {
                    objects.insert(asked.path.clone(), Vec::new());
                    none()
                }
                "DELETE" => {
                    objects.remove(&asked.path);
                    (204, String::new(), Vec::new())
                }
                _ => none(),
            },
            "list" => {
                let prefix = asked
                    .query
                    .split("prefix=")
                    .nth(1)
                    .unwrap_or_default()
                    .replace("%2F", "/");
                let wanted = format!("{}/{prefix}", asked.path);
                let keys = objects
                    .keys()
                    .filter(|key| key.starts_with(&wanted))
                    .map(|key| format!("<Key>{key}</Key>"));
                (
                    200,
                    String::new(),
                    format!(
                        "<ListBucketResult>{}</ListBucketResult>",
                        keys.collect::<String>()
                    )
                    .into_bytes(),
                )
            }
            "uploads" => {
                let upload = format!("up{}", asked.number);
                let answer = format!("<A><UploadId>{upload}</UploadId></A>");
                let key = asked.path.splitn(3, '/').nth(2).unwrap().to_owned();
                self.begun.lock().unwrap().insert(upload, key);
                (200, String::new(), answer.into_bytes())
            }
            "begun" => (200, String::new(), self.page_of_begun().into_bytes()),
            "abort" => {
                self.begun.lock().unwrap().remove(value("uploadId"));
                (204, String::new(), Vec::new())
            }
            "auth" => (200, "Set-Cookie: who=owner\r\n".into(), Vec::new()),
            "share" => {
                let id = format!("up{:08}", asked.number);
                objects.insert(format!("/-{id}"), body);
                let answer = format!(r#"{{"id":"{id}"}}"#);
                (200, String::new(), answer.into_bytes())
            }
            "unshare" => {
                let id = asked.path.trim_start_matches("/api/entry/");
                objects.remove(&format!("/-{id}"));
                (200, String::new(), Vec::new())
            }
            "part" => {
                let number = value("partNumber").parse().unwrap();
                self.uploads
                    .lock()
                    .unwrap()
                    .entry(value("uploadId").to_owned())
                    .or_default()
                    .insert(number, body);
                (200, format!("ETag: \"part{number}\"\r\n"), Vec::new())
            }
            "complete" => {
                let upload = value("uploadId");
                self.begun.lock().unwrap().remove(upload);
                let parts = self
                    .uploads
                    .lock()
                    .unwrap()
                    .remove(upload)
                    .unwrap_or_default();
                objects.insert(asked.path.clone(), parts.into_values().flatten().collect());
                (200, String::new(), b"<C><ETag>whole</ETag></C>".to_vec())
            }
            "PUT" => {
                objects.insert(asked.path.clone(), body);
                (200, "ETag: \"x\"\r\n".into(), Vec::new())
            }
            "GET" | "HEAD" => objects
                .get(&asked.path)
                .map_or_else(missing, |body| (200, String::new(), body.clone())),
            "DELETE" => {
                objects.remove(&asked.path);
                (204, String::new(), Vec::new())
            }
            _ => none(),
        }
    }

    /// The first two uploads that have not ended.
    fn page_of_begun(&self) -> String {
        let begun = self.begun.lock().unwrap();
        let told = |(upload, key): (&String, &String)| {
            format!("<Upload><Key>{key}</Key><UploadId>{upload}</UploadId></Upload>")
        };
        let page: String = begun.iter().take(2).map(told).collect();
        format!(
            "<ListMultipartUploadsResult><IsTruncated>{}</IsTruncated>{page}</ListMultipartUploadsResult>",
            begun.len() > 2
        )
    }

    /// A list that is none: all twice, or one under a new name.
    fn list_of_begun(&self, asked: &Asked, twice: bool) -> String {
        let begun = self.begun.lock().unwrap();
        let told = |(key, upload): (&String, &str)| {
            format!("<Upload><Key>{key}</Key><UploadId>{upload}</UploadId></Upload>")
        };
        let page: String = match twice {
            true => begun
                .iter()
                .map(|(upload, key)| told((key, upload)).repeat(2))
                .collect(),
            false => {
                let new = format!("new{}", asked.number);
                begun
                    .values()
                    .take(1)
                    .map(|key| told((key, &new)))
                    .collect()
            }
        };
        format!(
            "<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>{page}</ListMultipartUploadsResult>"
        )
    }

    pub(crate) fn uploads_begun(&self) -> usize {
        self.begun.lock().unwrap().len()
    }
}

fn send(
    out: &mut TcpStream,
    asked: &Asked,
    act: Act,
    answer: (u16, &str, Vec<u8>),
    closes: bool,
) -> Option<()> {
    let (status, headers, mut body) = answer;
    let is_get = asked.method == "GET";
    if let Act::Flip(at) = act
        && is_get
    {
        body[at] ^= 1;
    }
    if act == Act::OtherLength && is_get {
        body.pop();
    }
    let close = if closes { "Connection: close\r\n" } else { "" };
    let mut bytes = format!("HTTP/1.1 {status} X\r\n{headers}{close}");
    let length = body.len();
    if act == Act::Chunked && is_get {
        bytes.push_str("Transfer-Encoding: chunked\r\n\r\n");
    } else if status == 204 {
        bytes.push_str("\r\n");
    } else {
        bytes.push_str(&format!("Content-Length: {length}\r\n\r\n"));
    }
    let mut bytes = bytes.into_bytes();
    if asked.method != "HEAD" && status != 204 {
        match act {
            Act::Chunked if is_get => {
                for piece in body.chunks(1000) {
                    bytes.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
                    bytes.extend_from_slice(piece);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes.extend_from_slice(b"0\r\n\r\n");
            }
            Act::Cut => bytes.extend_from_slice(&body[..length / 2]),
            Act::Answer
            | Act::Late(_)
            | Act::Status(..)
            | Act::Body(_)
            | Act::Invented
            | Act::Twice
            | Act::Flip(_)
            | Act::OtherLength
            | Act::Chunked
            | Act::Hang
            | Act::Lost
            | Act::AnswerAndClose
            | Act::Part(_) => bytes.extend_from_slice(&body),
        }
    }
    out.write_all(&bytes).ok()
}
