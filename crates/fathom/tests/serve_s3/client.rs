//! The server as a process, and a client of its own that signs as AWS's reference says and shares
//! no code with the server.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

pub(crate) const ACCESS: &str = "AKIATEST";
pub(crate) const SECRET: &str = "test-secret-key";

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = |three: &[u8]| {
        let bits = three
            .iter()
            .fold(0, |bits, byte| bits << 8 | usize::from(*byte))
            << (8 * (3 - three.len()));
        (0..4)
            .map(move |at| {
                if at > three.len() {
                    '='
                } else {
                    char::from(DIGITS[bits >> (18 - 6 * at) & 63])
                }
            })
            .collect::<String>()
    };
    bytes.chunks(3).map(digits).collect()
}

/// A server that ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    /// Starts the real binary and waits until it says where it listens.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_fathom")), args)
    }

    /// Starts it where a shell has done something before.
    pub(crate) fn start_after(before: &str, args: &[&str]) -> Self {
        let mut shell = Command::new("sh");
        shell.args([
            "-c",
            &format!("{before}; exec \"$0\" \"$@\""),
            env!("CARGO_BIN_EXE_fathom"),
        ]);
        Self::start_by(shell, args)
    }

    fn start_by(mut command: Command, args: &[&str]) -> Self {
        command.args(["serve", "s3"]).args(args);
        if !args.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        command
            .env("AWS_ACCESS_KEY_ID", ACCESS)
            .env("AWS_SECRET_ACCESS_KEY", SECRET);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .rsplit_once("//")
            .unwrap_or_else(|| panic!("the server said `{line}`"))
            .1
            .to_owned();
        Self { child, address }
    }

    pub(crate) fn on(dir: &Path) -> Self {
        Self::start(&["--data", dir.to_str().unwrap()])
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.address)
    }

    /// Its number among the processes.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends a signal and waits for the exit code.
    pub(crate) fn end(&mut self, signal: &str) -> Option<i32> {
        let sent = Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Status and error code.
    pub(crate) fn error(&self) -> (u16, String) {
        (
            self.status,
            self.fields("Code").into_iter().next().unwrap_or_default(),
        )
    }

    /// The texts of all elements of a name.
    pub(crate) fn fields(&self, name: &str) -> Vec<String> {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let text = self.text();
        text.split(&open)
            .skip(1)
            .filter_map(|rest| rest.split_once(&close))
            .map(|(field, _)| field.to_owned())
            .collect()
    }

    pub(crate) fn ok(self) -> Self {
        assert!(
            (200..300).contains(&self.status),
            "{} {}",
            self.status,
            self.text()
        );
        self
    }
}

/// A request before it is signed.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Not encoded.
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        };
        let query = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(pair)
            .collect();
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            query,
            headers: BTreeMap::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

pub(crate) fn encoded(text: &str, keep: &[u8]) -> String {
    let one = |byte: u8| {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || keep.contains(&byte);
        if plain {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(one).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(key)
        .unwrap()
        .chain_update(text)
        .finalize()
        .into_bytes()
        .to_vec()
}

/// One connection and a key.
pub(crate) struct Client {
    access: String,
    secret: String,
    address: String,
    stream: Option<BufReader<TcpStream>>,
    skew_s: i64,
    region: &'static str,
}

impl Client {
    pub(crate) fn new(address: &str) -> Self {
        Self {
            access: ACCESS.to_owned(),
            secret: SECRET.to_owned(),
            address: address.to_owned(),
            stream: None,
            skew_s: 0,
            region: "us-east-1",
        }
    }

    pub(crate) fn with(mut self, access: &str, secret: &str) -> Self {
        (self.access, self.secret) = (access.to_owned(), secret.to_owned());
        self
    }

    /// The same client with a clock that is this many seconds ahead.
    pub(crate) fn skewed(mut self, skew_s: i64) -> Self {
        self.skew_s = skew_s;
        self
    }

    /// The same client, signing for another region than the first.
    pub(crate) fn in_region(self, region: &'static str) -> Self {
        Self { region, ..self }
    }

    /// The fields that sign a form, with a policy of these conditions that holds for an hour.
    pub(crate) fn signed_form(&self, conditions: &str) -> Vec<(String, String)> {
        let stamp = self.stamp();
        let expiration =
            humantime::format_rfc3339_seconds(sys::clock::wall_time() + Duration::from_secs(3600));
        let credential = format!("{}/{}/us-east-1/s3/aws4_request", self.access, &stamp[..8]);
        let own = format!(
            r#"{{"x-amz-algorithm":"AWS4-HMAC-SHA256"}},{{"x-amz-credential":"{credential}"}},{{"x-amz-date":"{stamp}"}}"#
        );
        let policy =
            format!(r#"{{"expiration":"{expiration}","conditions":[{own},{conditions}]}}"#);
        let policy = base64(policy.as_bytes());
        let steps = [&stamp[..8], "us-east-1", "s3", "aws4_request"];
        let key = steps
            .into_iter()
            .fold(format!("AWS4{}", self.secret).into_bytes(), |key, text| {
                mac(&key, text)
            });
        let signature = hex(&mac(&key, &policy));
        let field = |name: &str, value: String| (name.to_owned(), value);
        vec![
            field("policy", policy),
            field("x-amz-algorithm", "AWS4-HMAC-SHA256".into()),
            field("x-amz-credential", credential),
            field("x-amz-date", stamp),
            field("x-amz-signature", signature),
        ]
    }

    fn stamp(&self) -> String {
        let now = sys::clock::wall_time().duration_since(UNIX_EPOCH).unwrap();
        let at = UNIX_EPOCH
            + Duration::from_secs(now.as_secs().checked_add_signed(self.skew_s).unwrap());
        humantime::format_rfc3339_seconds(at)
            .to_string()
            .replace(['-', ':'], "")
    }

    fn signature(&self, request: &Request, stamp: &str, names: &[&str], payload: &str) -> String {
        let pair = |(name, value): (&String, &String)| {
            format!("{}={}", encoded(name, b""), encoded(value, b""))
        };
        let query: Vec<String> = request.query.iter().map(pair).collect();
        let headers: String = names
            .iter()
            .map(|name| format!("{name}:{}\n", request.headers[*name].trim()))
            .collect();
        let path = encoded(&request.path, b"/");
        let canonical = format!(
            "{}\n{path}\n{}\n{headers}\n{}\n{payload}",
            request.method,
            query.join("&"),
            names.join(";")
        );
        let scope = format!("{}/{}/s3/aws4_request", &stamp[..8], self.region);
        let steps = [&stamp[..8], self.region, "s3", "aws4_request"];
        let key = steps
            .into_iter()
            .fold(format!("AWS4{}", self.secret).into_bytes(), |key, text| {
                mac(&key, text)
            });
        hex(&mac(
            &key,
            &format!(
                "AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}",
                sha256(canonical.as_bytes())
            ),
        ))
    }

    /// The request with its signature in the headers.
    pub(crate) fn signed(&self, mut request: Request) -> Request {
        let (stamp, payload) = (self.stamp(), sha256(&request.body));
        request.headers.insert("host".into(), self.address.clone());
        request.headers.insert("x-amz-date".into(), stamp.clone());
        let payload = request
            .headers
            .entry("x-amz-content-sha256".into())
            .or_insert(payload)
            .clone();
        let names: Vec<&str> = request.headers.keys().map(String::as_str).collect();
        let signature = self.signature(&request, &stamp, &names, &payload);
        let scope = format!(
            "{}/{}/{}/s3/aws4_request",
            self.access,
            &stamp[..8],
            self.region
        );
        let value = format!(
            "AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders={}, Signature={signature}",
            names.join(";")
        );
        request.header("authorization", &value)
    }

    /// The request with its signature in the query.
    pub(crate) fn presigned(&self, mut request: Request, expires_s: u64) -> Request {
        let stamp = self.stamp();
        request.headers.insert("host".into(), self.address.clone());
        let credential = format!(
            "{}/{}/{}/s3/aws4_request",
            self.access,
            &stamp[..8],
            self.region
        );
        let expires = expires_s.to_string();
        let fields = [
            ("Algorithm", "AWS4-HMAC-SHA256"),
            ("Credential", &credential),
            ("Date", &stamp),
            ("Expires", &expires),
            ("SignedHeaders", "host"),
        ];
        request
            .query
            .extend(fields.map(|(name, value)| (format!("X-Amz-{name}"), value.to_owned())));
        let signature = self.signature(&request, &stamp, &["host"], "UNSIGNED-PAYLOAD");
        request.query.insert("X-Amz-Signature".into(), signature);
        request
    }

    /// Sends a request as it is. Errors where the server went away.
    pub(crate) fn try_send(&mut self, request: &Request) -> std::io::Result<Answer> {
        let mut query: Vec<String> = request
            .query
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name, b""), encoded(value, b"")))
            .collect();
        query.sort();
        let mark = if query.is_empty() { "" } else { "?" };
        let mut head = format!(
            "{} {}{mark}{} HTTP/1.1\r\n",
            request.method,
            encoded(&request.path, b"/"),
            query.join("&")
        );
        if !request.headers.contains_key("host") {
            head += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in &request.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !request.headers.contains_key("content-length") {
            head += &format!("content-length: {}\r\n", request.body.len());
        }
        let bytes = [head.as_bytes(), b"\r\n", &request.body].concat();
        self.exchange(&bytes, request.method == "HEAD")
    }

    /// Sends bytes and reads one answer.
    pub(crate) fn exchange(&mut self, bytes: &[u8], head: bool) -> std::io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => BufReader::new(TcpStream::connect(&self.address)?),
        };
        stream
            .get_mut()
            .set_read_timeout(Some(Duration::from_secs(60)))?;
        // A server that refuses a body answers before it has read all of it.
        let sent = stream.get_mut().write_all(bytes);
        let answer = read_answer(&mut stream, head)?;
        if sent.is_ok()
            && answer
                .headers
                .get("connection")
                .is_none_or(|value| value != "close")
        {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    /// Signs and sends.
    pub(crate) fn send(&mut self, request: Request) -> Answer {
        let signed = self.signed(request);
        self.try_send(&signed).unwrap()
    }

    pub(crate) fn call(&mut self, method: &str, path: &str) -> Answer {
        self.send(Request::new(method, path))
    }

    pub(crate) fn put(&mut self, path: &str, body: impl Into<Vec<u8>>) -> Answer {
        self.send(Request::new("PUT", path).body(body))
    }
}

fn read_answer(stream: &mut BufReader<TcpStream>, head: bool) -> std::io::Result<Answer> {
    let gone = || std::io::Error::other("the server closed the connection");
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(gone());
    }
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .ok_or_else(gone)?;
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let bare = head || status == 304 || status == 204;
    let length = headers
        .get("content-length")
        .and_then(|length| length.parse().ok());
    let mut body = Vec::new();
    match length {
        _ if bare => {}
        Some(length) => {
            body = vec![0; length];
            stream.read_exact(&mut body)?;
        }
        None => loop {
            line.clear();
            stream.read_line(&mut line)?;
            let length = usize::from_str_radix(line.trim(), 16).or(Err(gone()))?;
            let mut chunk = vec![0; length + 2];
            stream.read_exact(&mut chunk)?;
            if length == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..length]);
        },
    }
    Ok(Answer {
        status,
        headers,
        body,
    })
}

/// Bytes that differ by their seed and do not repeat.
pub(crate) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut out = Vec::with_capacity(length + 8);
    while out.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(length);
    out
}
