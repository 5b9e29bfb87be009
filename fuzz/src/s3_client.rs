//! Requests to an S3 server as bytes, signed as the S3 API reference says, from a text that a fuzzer can change.
//!
//! A request is a line `METHOD PATH?QUERY`, lines `name: value`, an empty line and the body. Path and query stand as they are meant, and
//! are encoded on the way. A method behind `!` is sent without a signature.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::time::SystemTime;

pub const ACCESS: &str = "AKIATEST";
pub const SECRET: &str = "test-secret-key";
/// What stands between two requests of one input.
const BETWEEN: &[u8] = b"\n====\n";

/// What is said of a request by whoever sends it, not by the input.
const OURS: [&str; 8] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "expect",
    "upgrade",
    "x-amz-date",
    "x-amz-content-sha256",
];

pub struct S3Request {
    pub method: String,
    /// Encoded.
    pub target: String,
    /// Lower-case names, in order and once each.
    headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
    is_signed: bool,
}

fn split<'a>(bytes: &'a [u8], mark: &[u8]) -> (&'a [u8], &'a [u8]) {
    match bytes.windows(mark.len()).position(|window| window == mark) {
        Some(at) => (&bytes[..at], &bytes[at + mark.len()..]),
        None => (bytes, &[]),
    }
}

/// The requests of an input, no more than `most`.
pub fn requests(mut input: &[u8], most: usize) -> Vec<S3Request> {
    let mut out = Vec::new();
    while !input.is_empty() && out.len() < most {
        let (one, rest) = split(input, BETWEEN);
        out.push(S3Request::parse(one));
        input = rest;
    }
    out
}

fn encoded(bytes: &[u8], keep: &[u8]) -> String {
    let one = |byte: &u8| {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(byte) || keep.contains(byte);
        if plain {
            char::from(*byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    bytes.iter().map(one).collect()
}

fn is_token(text: &[u8]) -> bool {
    !text.is_empty()
        && text
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn mac(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(key)
        .expect("a key of any length")
        .chain_update(bytes)
        .finalize()
        .into_bytes()
        .to_vec()
}

impl S3Request {
    pub fn new(method: &str, target: &str, body: &[u8]) -> Self {
        Self::parse(&[method.as_bytes(), b" ", target.as_bytes(), b"\n\n", body].concat())
    }

    fn parse(text: &[u8]) -> Self {
        let (head, body) = split(text, b"\n\n");
        let (line, fields) = split(head, b"\n");
        let (method, target) = split(line, b" ");
        let (is_signed, method) = method
            .strip_prefix(b"!")
            .map_or((true, method), |method| (false, method));
        // After CONNECT there is no HTTP.
        let method = if is_token(method) && method != b"CONNECT" {
            String::from_utf8_lossy(method).into_owned()
        } else {
            "GET".into()
        };
        let (path, query) = split(target.strip_prefix(b"/").unwrap_or(target), b"?");
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in query
            .split(|byte| *byte == b'&')
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = split(pair, b"=");
            pairs.push((encoded(name, b""), encoded(value, b"")));
        }
        pairs.sort();
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mark = if pairs.is_empty() { "" } else { "?" };
        let target = format!("/{}{mark}{}", encoded(path, b"/"), pairs.join("&"));
        let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
        for field in fields.split(|byte| *byte == b'\n') {
            let (name, value) = split(field, b":");
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            let value: Vec<u8> = value
                .iter()
                .copied()
                .filter(|byte| *byte >= b' ' && *byte != 127)
                .collect();
            let is_free = is_token(name.as_bytes())
                && !OURS.contains(&name.as_str())
                && headers.iter().all(|(other, _)| *other != name);
            if is_free && (!is_signed || name != "authorization") {
                headers.push((name, value.trim_ascii().to_vec()));
            }
        }
        Self {
            method,
            target,
            headers,
            body: body.to_vec(),
            is_signed,
        }
    }

    /// As it goes over the wire, on a connection of its own.
    pub fn wire(mut self) -> Vec<u8> {
        self.headers.push(("host".into(), b"localhost".to_vec()));
        if self.is_signed {
            self.sign();
        }
        let mut out = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            out.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        out.extend(
            format!(
                "content-length: {}\r\nconnection: close\r\n\r\n",
                self.body.len()
            )
            .into_bytes(),
        );
        out.extend(self.body);
        out
    }

    fn sign(&mut self) {
        let payload = hex(&Sha256::digest(&self.body));
        let stamp = humantime::format_rfc3339_seconds(SystemTime::now())
            .to_string()
            .replace(['-', ':'], "");
        self.headers
            .push(("x-amz-date".into(), stamp.clone().into_bytes()));
        self.headers
            .push(("x-amz-content-sha256".into(), payload.clone().into_bytes()));
        self.headers.sort();
        let names: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(";");
        let (path, query) = self.target.split_once('?').unwrap_or((&self.target, ""));
        let mut canonical = format!("{}\n{path}\n{query}\n", self.method).into_bytes();
        for (name, value) in &self.headers {
            canonical.extend([name.as_bytes(), b":", value, b"\n"].concat());
        }
        canonical.extend(format!("\n{names}\n{payload}").into_bytes());
        let day = &stamp[..8];
        let steps = [day, "us-east-1", "s3", "aws4_request"];
        let key = steps
            .into_iter()
            .fold(format!("AWS4{SECRET}").into_bytes(), |key, step| {
                mac(&key, step.as_bytes())
            });
        let text = format!(
            "AWS4-HMAC-SHA256\n{stamp}\n{}\n{}",
            steps.join("/"),
            hex(&Sha256::digest(canonical))
        );
        let signature = hex(&mac(&key, text.as_bytes()));
        let value = format!(
            "AWS4-HMAC-SHA256 Credential={ACCESS}/{}, SignedHeaders={names}, Signature={signature}",
            steps.join("/")
        );
        self.headers
            .push(("authorization".into(), value.into_bytes()));
    }
}

/// An answer of HTTP/1.1.
pub struct S3Answer {
    pub status: u16,
    /// Whether the server itself answered, not the library that reads HTTP.
    pub is_ours: bool,
    pub text: String,
}

impl S3Answer {
    /// The last answer in what was heard, after what only said to go on; `None` where there is none.
    pub fn parse(mut heard: &[u8]) -> Option<Self> {
        let (head, body) = loop {
            let (head, body) = split(heard, b"\r\n\r\n");
            if !head.starts_with(b"HTTP/1.1 100") {
                break (head, body);
            }
            heard = body;
        };
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        let status = head.strip_prefix("http/1.1 ")?.get(..3)?.parse().ok()?;
        Some(Self {
            status,
            is_ours: head.contains("\r\nx-amz-request-id: "),
            text: String::from_utf8_lossy(body).into_owned(),
        })
    }

    /// Every refusal has a code, and nothing that a client says is an internal error.
    pub fn check(&self, method: &str) {
        assert!(self.status != 500, "{}", self.text);
        let says = method != "HEAD" && self.status >= 400;
        assert!(
            !says || self.text.contains("<Code>"),
            "{} without a code: {:?}",
            self.status,
            self.text
        );
    }
}
