//! Uploads as they come: a form is read, and its file goes to the store chunk by chunk while the
//! next chunk is received. No lock is held meanwhile.

use crate::answer::Denial;
use crate::content::Draft;
use crate::form::{FormPiece, FormReader, PartHead, boundary_of};
use crate::names::{MOST_NOTE, check_name, media_of};
use crate::sink::{Desk, Sink};
use crate::store::ShareStore;
use bytes::Bytes;
use house::{Inbound, Sighting, StdError};
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};
use http_body::{Body as _, Frame};
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

/// The most bytes of a form besides its file.
const MOST_AROUND: u64 = 64 << 10;

/// A form that has come whole. Its file is written, and not yet an upload.
pub(crate) struct ReceivedFile {
    pub(crate) draft: Box<dyn Draft>,
    /// Where it was written, and is linked in.
    pub(crate) desk: Option<Desk>,
    pub(crate) size: u64,
    pub(crate) name: String,
    pub(crate) media: String,
    /// `None` where the form has none.
    pub(crate) note: Option<String>,
}

fn too_large(most: u64) -> Denial {
    Denial::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the file is larger than the {most} bytes that are permitted"),
    )
}

/// What is known of a form before it is read.
struct Expected {
    boundary: Vec<u8>,
    /// Bytes of the body, where that is said.
    length: Option<u64>,
}

/// Errors: the body is not the file as it is, so that other bytes would be given back than were
/// meant.
fn check_whole(headers: &HeaderMap) -> Result<(), Denial> {
    if headers.contains_key(header::CONTENT_RANGE) {
        return Err(Denial::bad(
            "a part of a file (Content-Range) is not taken: send all of it in one request",
        ));
    }
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    if codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Ok(());
    }
    Err(Denial::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "a body with a Content-Encoding is not taken: send it as it is",
    ))
}

/// Errors: what the head of a request alone forbids, so that its body need not come.
fn expected(parts: &Parts, most: Option<u64>) -> Result<Expected, Denial> {
    let mut kinds = parts.headers.get_all(header::CONTENT_TYPE).iter();
    let kind = kinds.next().and_then(|kind| kind.to_str().ok());
    let kind = kind.filter(|_| kinds.next().is_none()).unwrap_or_default();
    check_whole(&parts.headers)?;
    let boundary = boundary_of(kind).map_err(|error| Denial::bad(error.to_string()))?;
    let length = parts.headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    match (most, length) {
        (Some(most), Some(length)) if length > most.saturating_add(MOST_AROUND) => {
            Err(too_large(most))
        }
        _ => Ok(Expected { boundary, length }),
    }
}

/// What the parts of a form have given so far.
struct Intake<'a> {
    store: &'a Arc<ShareStore>,
    sighting: Option<&'a Sighting>,
    most: Option<u64>,
    file: Option<(Sink, PartHead)>,
    note: Option<Vec<u8>>,
    field: Field,
}

/// Whose bytes come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    /// No part has begun.
    Before,
    File,
    Note,
}

impl Intake<'_> {
    async fn piece(&mut self, piece: FormPiece) -> Result<(), Denial> {
        match piece {
            FormPiece::Begins(head) => self.begin(head).await,
            FormPiece::Bytes(bytes) => self.take(bytes).await,
            FormPiece::Ends | FormPiece::Complete => Ok(()),
        }
    }

    async fn begin(&mut self, head: PartHead) -> Result<(), Denial> {
        self.field = match head.name.as_str() {
            "file" if self.file.is_some() => {
                return Err(Denial::bad(
                    "the form has two files; send a request for each",
                ));
            }
            "file" => {
                let name = head.filename.as_deref().unwrap_or_default();
                check_name(name).map_err(|error| Denial::bad(error.to_string()))?;
                let store = Arc::clone(self.store);
                let draft = crate::blocking(move || store.begin()).await?;
                if let Some(sighting) = self.sighting {
                    sighting.took(0);
                }
                let desks = Arc::clone(&self.store.desks);
                self.file = Some((Sink::new(draft, desks), head));
                Field::File
            }
            "note" if self.note.is_some() => return Err(Denial::bad("the form has two notes")),
            "note" => {
                self.note = Some(Vec::new());
                Field::Note
            }
            other => {
                let other: String = other.chars().take(100).collect();
                return Err(Denial::bad(format!(
                    "the form has a field {other:?}: there are file and note"
                )));
            }
        };
        Ok(())
    }

    async fn take(&mut self, bytes: Bytes) -> Result<(), Denial> {
        match (&mut self.field, &mut self.file, &mut self.note) {
            (Field::File, Some((sink, _)), _) => {
                if let Some(most) = self.most
                    && sink.size + bytes.len() as u64 > most
                {
                    return Err(too_large(most));
                }
                if let Some(sighting) = self.sighting {
                    sighting.took(bytes.len() as u64);
                }
                sink.push(bytes).await
            }
            (Field::Note, _, Some(note)) if note.len() + bytes.len() <= MOST_NOTE => {
                note.extend_from_slice(&bytes);
                Ok(())
            }
            (Field::Note, _, _) => Err(Denial::bad("a note has at most 500 bytes")),
            (Field::Before | Field::File, _, _) => Ok(()),
        }
    }

    /// What comes next. As long as nothing does, others may write to the store.
    async fn next(
        &mut self,
        body: &mut Inbound,
    ) -> Result<Option<Result<Frame<Bytes>, StdError>>, Denial> {
        loop {
            let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
            let Some((sink, _)) = &mut self.file else {
                return Ok(frame.await);
            };
            tokio::select! {
                biased;
                frame = frame => return Ok(frame),
                () = sink.is_wanted() => {}
            }
            sink.leave().await?;
        }
    }

    async fn finish(self) -> Result<ReceivedFile, Denial> {
        let (sink, head) = self
            .file
            .ok_or_else(|| Denial::bad("the form has no part named file"))?;
        let note = self.note.map(String::from_utf8).transpose();
        let note = note.map_err(|_not_text| Denial::bad("the note is no text"))?;
        let size = sink.size;
        let (draft, desk) = sink.finish().await?;
        let name = head.filename.unwrap_or_default();
        Ok(ReceivedFile {
            draft,
            desk,
            size,
            media: media_of(head.media.as_deref(), &name),
            name,
            note,
        })
    }
}

/// Receives a form with a file of at most `most` bytes.
pub(crate) async fn receive(
    store: &Arc<ShareStore>,
    parts: &Parts,
    body: Option<Inbound>,
    most: Option<u64>,
) -> Result<ReceivedFile, Denial> {
    let expected = expected(parts, most)?;
    let mut body = body.ok_or_else(|| Denial::bad("the form is empty"))?;
    let mut reader = FormReader::new(&expected.boundary);
    let mut intake = Intake {
        store,
        sighting: parts.extensions.get::<Sighting>(),
        most,
        file: None,
        note: None,
        field: Field::Before,
    };
    if let Some(length) = expected.length {
        let store = Arc::clone(store);
        crate::blocking(move || store.room_for(length)).await?;
    }
    let mut pieces = Vec::new();
    while let Some(frame) = intake.next(&mut body).await? {
        let frame = frame.map_err(|error| incomplete(&body, error.as_ref()))?;
        let Ok(bytes) = frame.into_data() else {
            continue;
        };
        let outcome = reader.push(bytes, &mut pieces);
        for piece in pieces.drain(..) {
            intake.piece(piece).await?;
        }
        outcome.map_err(|error| Denial::bad(error.to_string()))?;
    }
    reader
        .finish()
        .map_err(|error| Denial::bad(error.to_string()))?;
    intake.finish().await
}

/// What is answered where a body did not come to its end.
fn incomplete(body: &Inbound, error: &(dyn std::error::Error + 'static)) -> Denial {
    if body.was_given_up() {
        Denial::new(StatusCode::REQUEST_TIMEOUT, error.to_string())
    } else {
        Denial::bad("the body does not have the length that was announced")
    }
}
