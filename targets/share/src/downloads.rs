//! Uploads as they are given back.

use crate::answer::{Denial, ShareBody, ShareReply, nothing, with};
use crate::content::BodyReader;
use crate::flow::{FromStore, Stretch, Way};
use crate::index::{DownloadRow, KeptUpload};
use crate::names::{disposition, told_media};
use crate::pieces::{Ahead, PIECE, Pieces};
use crate::ranges::{Validators, WantedBytes, moment};
use crate::site::ShareSite;
use crate::token;
use crate::visitor::Visitor;
use house::{Handoff, Sighting, UnderWay};
use http::{HeaderMap, Method, Response, StatusCode, header};
use std::ops::Range;
use std::sync::Arc;

/// What a request gets of an upload, and whether that is a download that history knows.
struct Given {
    status: StatusCode,
    stretches: Vec<Stretch>,
    /// `Content-Range` or the type of several ranges.
    about: Option<(header::HeaderName, String)>,
    /// Whether the first byte is among them: the parts of one download count once.
    begins: bool,
}

impl Given {
    fn one(range: Range<u64>, size: u64) -> Self {
        let about = format!("bytes {}-{}/{size}", range.start, range.end - 1);
        Self {
            status: StatusCode::PARTIAL_CONTENT,
            begins: range.start == 0,
            stretches: vec![Stretch::Upload(range)],
            about: Some((header::CONTENT_RANGE, about)),
        }
    }

    fn several(ranges: Vec<Range<u64>>, size: u64, media: &str) -> Self {
        let boundary = token::secret();
        let begins = ranges.iter().any(|range| range.start == 0);
        let mut stretches = Vec::new();
        for range in ranges {
            let head = format!(
                "\r\n--{boundary}\r\nContent-Type: {media}\r\nContent-Range: bytes {}-{}/{size}\r\n\r\n",
                range.start,
                range.end - 1
            );
            stretches.extend([Stretch::Text(head.into()), Stretch::Upload(range)]);
        }
        stretches.push(Stretch::Text(format!("\r\n--{boundary}--\r\n").into()));
        let about = format!("multipart/byteranges; boundary={boundary}");
        Self {
            status: StatusCode::PARTIAL_CONTENT,
            stretches,
            about: Some((header::CONTENT_TYPE, about)),
            begins,
        }
    }

    fn all(size: u64) -> Self {
        Self {
            status: StatusCode::OK,
            stretches: vec![Stretch::Upload(0..size)],
            about: None,
            begins: true,
        }
    }

    fn none(status: StatusCode) -> Self {
        Self {
            status,
            stretches: Vec::new(),
            about: None,
            begins: false,
        }
    }

    fn of(upload: &KeptUpload, size: u64, headers: &HeaderMap, media: &str) -> Self {
        let etag = etag(upload);
        let changed = upload.changed;
        match (Validators { etag, changed }).wanted(headers, size) {
            WantedBytes::All => Self::all(size),
            WantedBytes::Some(mut ranges) if ranges.len() == 1 => {
                Self::one(ranges.swap_remove(0), size)
            }
            WantedBytes::Some(ranges) => Self::several(ranges, size, media),
            WantedBytes::Outside => Self {
                about: Some((header::CONTENT_RANGE, format!("bytes */{size}"))),
                ..Self::none(StatusCode::RANGE_NOT_SATISFIABLE)
            },
            WantedBytes::Nothing(status) => Self::none(status),
        }
    }

    fn length(&self) -> u64 {
        self.stretches.iter().map(Stretch::length).sum()
    }

    /// Bytes of the upload, without what stands around several ranges.
    fn content(&self) -> u64 {
        let ranges = self.stretches.iter().map(|stretch| match stretch {
            Stretch::Upload(_) => stretch.length(),
            Stretch::Text(_) => 0,
        });
        ranges.sum()
    }
}

/// Other bytes have another tag, also where a restored index gives a number again.
fn etag(upload: &KeptUpload) -> String {
    format!("\"{:x}-{:x}\"", upload.body.number, upload.changed)
}

impl ShareSite {
    pub(crate) async fn download(&self, id: &str, visitor: Visitor) -> Result<ShareReply, Denial> {
        let (store, name, now) = (Arc::clone(&self.store), id.to_owned(), visitor.now);
        let is_head = visitor.parts.method == Method::HEAD;
        let (upload, size, reader) = crate::blocking(move || {
            let upload = store.index.find(&name, now)?;
            let upload = upload.ok_or(crate::ShareError::Missing)?;
            let size = store.size(&upload)?;
            let reader = (!is_head).then(|| store.read(&upload)).transpose()?;
            Ok((upload, size, reader))
        })
        .await?;
        let media = told_media(&upload.media);
        let given = Given::of(&upload, size, &visitor.parts.headers, &media);
        let (begins, content) = (given.begins && !is_head, given.content());
        let head = described(&upload, &media, &given);
        let body = match reader.filter(|_| !given.stretches.is_empty() && size > 0) {
            Some(reader) => {
                let stream = self.stream(reader, given.stretches, upload.body.chunk, &visitor);
                ShareBody::Streamed(Box::new(stream.begun().await?))
            }
            None => ShareBody::empty(),
        };
        if begins {
            self.history.add(DownloadRow {
                upload: upload.id.clone(),
                at: visitor.now,
                address: visitor.from.to_string(),
                agent: visitor
                    .header(header::USER_AGENT)
                    .chars()
                    .take(200)
                    .collect(),
            });
        }
        if let Some(sighting) = visitor.parts.extensions.get::<Sighting>() {
            sighting.took(if is_head { 0 } else { content });
        }
        Ok(Response::from_parts(head.into_parts().0, body))
    }

    /// The bytes of an answer, by the way that is quickest where there is memory for it.
    fn stream(
        &self,
        reader: Box<dyn BodyReader>,
        stretches: Vec<Stretch>,
        chunk: u64,
        visitor: &Visitor,
    ) -> FromStore {
        let extensions = &visitor.parts.extensions;
        let handoff = extensions.get::<Arc<Handoff>>();
        // The kernel sends where nothing was said of how many rows are read at once.
        if let (0, Some(handoff)) = (self.store.options.read_batch, handoff)
            && reader.has_places()
        {
            let fault = extensions.get::<UnderWay>().map(UnderWay::fault);
            let kernel = Way::Kernel(Arc::clone(handoff), fault);
            return FromStore::new(reader, stretches, chunk, kernel);
        }
        let batch = u64::from(self.store.options.read_batch.max(1));
        match Arc::clone(&self.store.ahead).try_acquire_owned() {
            Ok(ahead) => {
                let reader = Box::new(Ahead::new(reader, ahead));
                FromStore::new(reader, stretches, chunk, Way::Read(batch))
            }
            Err(_full) => {
                let reader = Box::new(Pieces::new(reader, chunk));
                FromStore::new(reader, stretches, PIECE, Way::Piecemeal)
            }
        }
    }
}

/// The head of an answer.
fn described(upload: &KeptUpload, media: &str, given: &Given) -> ShareReply {
    let mut reply = nothing(given.status);
    for (name, value) in [
        (header::ACCEPT_RANGES, "bytes"),
        (header::ETAG, &etag(upload)),
        (
            header::LAST_MODIFIED,
            &httpdate::fmt_http_date(moment(upload.changed)),
        ),
        // Whoever has it asks again whether it is still there.
        (header::CACHE_CONTROL, "private, no-cache"),
    ] {
        reply = with(reply, name, value);
    }
    if given.status.is_success() {
        reply = with(reply, header::CONTENT_TYPE, media);
        let how = disposition(&upload.name, &upload.media);
        reply = with(reply, header::CONTENT_DISPOSITION, &how);
        reply = with(reply, header::CONTENT_LENGTH, &given.length().to_string());
    }
    if let Some((name, value)) = &given.about {
        reply = with(reply, name.clone(), value);
    }
    reply
}
