//! Bodies on their way into the store: small ones on the spot, large ones piece by piece beside the
//! receiving.

use super::checksums::Hashes;
use super::errors::{body_error, storage_error};
use crate::storage::{
    ObjectUpload, ObjectVersion, PartFinish, PartUpload, PutFinish, StorageError, StorageResult,
    UploadedPart,
};
use bytes::Bytes;
use futures_core::Stream;
use s3s::dto::StreamingBlob;
use s3s::stream::ByteStream as _;
use s3s::{S3Error, S3Result, StdError, TrailingHeaders, s3_error};
use std::future::poll_fn;
use std::pin::Pin;
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};

/// Bodies up to this many bytes are hashed and written where they were received: a hand-over would
/// cost more.
const ON_THE_SPOT: usize = 64 << 10;
/// Bytes that are handed over together. Twice as many are held for one body: those being written
/// and those being received.
const BATCH: usize = 1 << 20;

/// A write under way in the store.
pub(crate) enum Upload {
    Object(Box<dyn ObjectUpload>),
    Part(Box<dyn PartUpload>),
}

impl Upload {
    fn write(&mut self, bytes: &[u8]) -> StorageResult<()> {
        match self {
            Self::Object(upload) => upload.write(bytes),
            Self::Part(upload) => upload.write(bytes),
        }
    }
}

/// An upload with the checksums of its body.
pub(crate) struct Intake {
    upload: Upload,
    hashes: Hashes,
}

impl Intake {
    pub(crate) fn new(upload: Upload, hashes: Hashes) -> Self {
        Self { upload, hashes }
    }

    fn take(&mut self, pieces: &[Bytes]) -> StorageResult<()> {
        for piece in pieces {
            self.hashes.update(piece);
            self.upload.write(piece)?;
        }
        Ok(())
    }
}

/// All of a body, the last of it perhaps not yet written.
pub(crate) struct Received {
    intake: Intake,
    rest: Vec<Bytes>,
    small: bool,
}

/// The next piece of a body.
async fn next(body: &mut StreamingBlob) -> S3Result<Option<Bytes>> {
    match poll_fn(|context| Pin::new(&mut *body).poll_next(context)).await {
        None => Ok(None),
        Some(Ok(bytes)) => Ok(Some(bytes)),
        Some(Err(error)) => Err(body_error(&error)),
    }
}

fn incomplete() -> S3Error {
    s3_error!(
        IncompleteBody,
        "The request body terminated unexpectedly, or is not as long as was said"
    )
}

/// Takes a whole body in. An error leaves nothing behind.
pub(crate) async fn receive(intake: Intake, body: Option<StreamingBlob>) -> S3Result<Received> {
    let mut here = Some(intake);
    let mut away: Option<JoinHandle<StorageResult<Intake>>> = None;
    let (mut held, mut bytes) = (Vec::new(), 0);
    if let Some(mut body) = body {
        // What chunks hold is as long as the client says; the library only hands that number on.
        let mut missing = body.remaining_length().exact();
        while let Some(piece) = next(&mut body).await? {
            missing = match missing {
                Some(missing) => Some(missing.checked_sub(piece.len()).ok_or_else(incomplete)?),
                None => None,
            };
            bytes += piece.len();
            held.push(piece);
            if bytes < BATCH {
                continue;
            }
            let mut intake = back(here.take(), away.take()).await?;
            let pieces = std::mem::take(&mut held);
            bytes = 0;
            away = Some(spawn_blocking(move || {
                intake.take(&pieces).map(|()| intake)
            }));
        }
        if missing.is_some_and(|missing| missing > 0) {
            return Err(incomplete());
        }
    }
    let small = away.is_none() && bytes <= ON_THE_SPOT;
    let intake = back(here, away).await?;
    Ok(Received {
        intake,
        rest: held,
        small,
    })
}

async fn back(
    here: Option<Intake>,
    away: Option<JoinHandle<StorageResult<Intake>>>,
) -> S3Result<Intake> {
    match (here, away) {
        (Some(intake), _) => Ok(intake),
        (None, Some(task)) => joined(task.await)?.map_err(|error| storage_error(&error)),
        (None, None) => Err(s3_error!(
            InternalError,
            "We encountered an internal error. Please try again."
        )),
    }
}

/// The outcome of work that was handed to a blocking thread.
pub(crate) fn joined<T>(outcome: Result<T, JoinError>) -> S3Result<T> {
    outcome.map_err(|error| {
        let source: StdError = error.into();
        let mut answer = s3_error!(
            InternalError,
            "We encountered an internal error. Please try again."
        );
        answer.set_source(source);
        answer
    })
}

/// Calls the store where it may block.
pub(crate) async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> StorageResult<T> + Send + 'static,
) -> S3Result<StorageResult<T>> {
    joined(spawn_blocking(call).await)
}

/// What became of an upload, with what the protocol found wrong before the store was asked.
pub(crate) enum Refused {
    Protocol(S3Error),
    Store(StorageError),
}

impl Received {
    /// Makes the object of what was received.
    pub(crate) async fn into_object(
        self,
        mut finish: PutFinish,
        trailers: Option<TrailingHeaders>,
    ) -> Result<ObjectVersion, Refused> {
        let (send, receive) = oneshot::channel();
        let small = self.small;
        let work = move || {
            let Self {
                mut intake, rest, ..
            } = self;
            intake.take(&rest).map_err(Refused::Store)?;
            finish.content.checksums = intake
                .hashes
                .finish(trailers.as_ref())
                .map_err(Refused::Protocol)?;
            if let Upload::Object(upload) = intake.upload {
                upload.finish_then(finish, Box::new(move |outcome| drop(send.send(outcome))));
            }
            Ok(())
        };
        if small {
            work()?
        } else {
            joined(spawn_blocking(work).await).map_err(Refused::Protocol)??
        };
        receive
            .await
            .unwrap_or(Err(StorageError::Closed))
            .map_err(Refused::Store)
    }

    /// Keeps what was received as a part.
    pub(crate) async fn into_part(
        self,
        mut finish: PartFinish,
        trailers: Option<TrailingHeaders>,
    ) -> Result<UploadedPart, Refused> {
        let work = move || {
            let Self {
                mut intake, rest, ..
            } = self;
            intake.take(&rest).map_err(Refused::Store)?;
            finish.checksums = intake
                .hashes
                .finish(trailers.as_ref())
                .map_err(Refused::Protocol)?;
            match intake.upload {
                Upload::Part(upload) => upload.finish(finish).map_err(Refused::Store),
                Upload::Object(_) => Err(Refused::Store(StorageError::Closed)),
            }
        };
        joined(spawn_blocking(work).await).map_err(Refused::Protocol)?
    }
}
