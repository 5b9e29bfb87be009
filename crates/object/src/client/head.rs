//! Requests as they are written.

use super::Client;
use crate::payload::ObjectRange;
use crate::sign::{EMPTY, Signed, UNSIGNED, digest};
use crate::target::Service;
use crate::verbs::{About, Carries, RequestKind};
use std::io::Write as _;
use std::rc::Rc;
use units::lossless::to_u64;

const BOUNDARY: &str = "----fathom-form-boundary-7d0c2b5e9a";

impl Client {
    /// Writes path, query, head and tail, signed.
    pub(super) fn prepare(&mut self, request: &RequestKind, about: &About<'_>, now: u64) {
        let thread = Rc::clone(&self.thread);
        let settings = &thread.settings;
        self.path.clear();
        self.query.clear();
        self.tail.clear();
        (request.path)(settings, about, &mut self.path);
        (request.query)(settings, about, &mut self.query);
        if let Service::Http { query, .. } = &settings.service
            && !query.is_empty()
        {
            self.query.extend((!self.query.is_empty()).then_some(b'&'));
            self.query.extend_from_slice(query.as_bytes());
        }
        let range = content(request, about);
        self.header.clear();
        let header = request.header.map(|(name, write)| {
            write(settings, about, &mut self.header);
            name
        });
        // Nothing of it is no header.
        let header = header.filter(|_| !self.header.is_empty());
        self.from = if about.is_range { about.from } else { 0 };
        let mut form = String::new();
        if request.carries == Carries::Form {
            form = format!(
                "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{}\"; filename=\"{}-{}\"\r\ncontent-type: application/octet-stream\r\n\r\n",
                settings.field, range.object.owner, range.object.number
            );
            self.tail
                .extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        }
        self.tail.extend_from_slice(about.text);
        let total = to_u64(form.len()) + range.length + to_u64(self.tail.len());
        self.write_head(request.method, total, range, header, now);
        if request.carries == Carries::Form {
            self.head.truncate(self.head.len() - 2);
            let _infallible = write!(
                self.head,
                "content-type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n{form}"
            );
        }
    }

    /// Writes the head of a request with `total` bytes of body, and the header of this name whose
    /// value is prepared.
    pub(super) fn write_head(
        &mut self,
        method: &str,
        total: u64,
        range: ObjectRange,
        header: Option<&'static str>,
        now: u64,
    ) {
        let settings = &self.thread.settings;
        let peer = &self.thread.peers[self.peer];
        self.head.clear();
        let head = &mut self.head;
        for part in [method.as_bytes(), b" ", &self.path] {
            head.extend_from_slice(part);
        }
        if !self.query.is_empty() {
            head.push(b'?');
            head.extend_from_slice(&self.query);
        }
        for part in [b" HTTP/1.1\r\nhost: ", peer.authority.as_bytes(), b"\r\n"] {
            head.extend_from_slice(part);
        }
        let header = header.map(|name| (name, self.header.as_slice()));
        if let Some(signer) = &mut self.signer {
            let payload = match (total, settings.signs_payload) {
                (0, true) => *EMPTY,
                (_, true) => digest(
                    settings
                        .payload
                        .pieces(range.object, range.from, range.length)
                        .chain([self.tail.as_slice()]),
                ),
                (_, false) => *UNSIGNED,
            };
            let request = Signed {
                method,
                path: &self.path,
                query: &self.query,
                host: &peer.authority,
                payload: &payload,
                further: header.as_slice(),
            };
            signer.sign(settings.epoch + now / 1_000_000_000, &request, head);
        } else if let Some((name, value)) = header {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
        if total > 0 || matches!(method, "PUT" | "POST") {
            let _infallible = write!(head, "content-length: {total}\r\n");
        }
        if let Some(cookie) = settings.cookie.get() {
            for part in [b"cookie: ", cookie.as_slice(), b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
        head.extend_from_slice(&settings.headers);
        if settings.closes {
            head.extend_from_slice(b"connection: close\r\n");
        }
        head.extend_from_slice(b"\r\n");
    }
}

/// What a request carries of an object.
pub(super) fn content(request: &RequestKind, about: &About<'_>) -> ObjectRange {
    match (request.carries, about.object) {
        (Carries::Object | Carries::Form, Some(object)) => ObjectRange {
            object,
            from: about.from,
            length: about.length,
        },
        (Carries::Text | Carries::Object | Carries::Form, _) => ObjectRange::empty(),
    }
}
