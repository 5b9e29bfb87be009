//! One request on its way out and one answer on its way in, over a connection that stands.

use crate::connection::Stream;
use crate::failure::{Failure, FailureKind};
use crate::payload::{Object, ObjectRange, Payload};
use crate::settings::Thread;
use crate::wire::Response;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::task::{Poll, ready};
use sys::Clock;
use tokio::io::ReadBuf;
use units::lossless::to_u64;

/// More of a failed answer says nothing more.
const MOST_ERROR_BODY: usize = 8 << 10;
/// A page of a listing is far shorter.
const MOST_COLLECTED: usize = 16 << 20;
/// A body that has so much left, and is not looked at, is thrown away in the kernel: copying it
/// would cost more than all the rest of a request.
const LEAST_DISCARD: u64 = 64 << 10;
/// What becomes of the body of a successful answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    Discard,
    Collect,
    Verify(Object),
}

/// The body of the answer so far.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) collected: Vec<u8>,
    pub(crate) at: u64,
    pub(crate) wrong: Option<u64>,
}

impl Body {
    pub(crate) fn take(&mut self, take: Take, payload: &Payload, status: u16, bytes: &[u8]) {
        let is_success = (200..300).contains(&status);
        match take {
            Take::Verify(object) if is_success => {
                if self.wrong.is_none() {
                    let inside = object.size.saturating_sub(self.at).min(to_u64(bytes.len()));
                    let inside = &bytes[..units::lossless::to_usize(inside)];
                    self.wrong = payload.first_wrong(object, self.at, inside);
                }
            }
            Take::Collect | Take::Verify(_) | Take::Discard => {
                let most = match take {
                    Take::Collect if is_success => MOST_COLLECTED,
                    Take::Collect | Take::Discard | Take::Verify(_) if !is_success => {
                        MOST_ERROR_BODY
                    }
                    Take::Collect | Take::Discard | Take::Verify(_) => 0,
                };
                let room = most.saturating_sub(self.collected.len()).min(bytes.len());
                self.collected.extend_from_slice(&bytes[..room]);
            }
        }
        self.at += to_u64(bytes.len());
    }
}

/// A request as it goes out: head, a part of an object, and what follows it.
pub(crate) struct Outgoing<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) range: ObjectRange,
    pub(crate) tail: &'a [u8],
}

/// Writes everything.
pub(crate) async fn send(
    stream: &mut Stream,
    outgoing: &Outgoing<'_>,
    payload: &Payload,
) -> io::Result<()> {
    let (head, tail) = (outgoing.head.len(), outgoing.tail.len());
    let range = outgoing.range;
    let body_end = to_u64(head) + range.length;
    let end = body_end + to_u64(tail);
    let mut sent = 0_u64;
    poll_fn(|context| {
        while sent < end {
            let mut room = [IoSlice::new(&[]); 10];
            let mut used = 0;
            if let Some(rest) = usize::try_from(sent)
                .ok()
                .and_then(|sent| outgoing.head.get(sent..))
                .filter(|rest| !rest.is_empty())
            {
                room[0] = IoSlice::new(rest);
                used = 1;
            }
            let done = sent.saturating_sub(to_u64(head)).min(range.length);
            let inside = payload.fill(
                range.object,
                range.from + done,
                range.length - done,
                &mut room[used..9],
            );
            used += inside;
            let filled: usize = room[..used].iter().map(|piece| piece.len()).sum();
            if sent + to_u64(filled) >= body_end {
                let after = units::lossless::to_usize(sent.saturating_sub(body_end));
                room[used] = IoSlice::new(&outgoing.tail[after..]);
                used += 1;
            }
            match ready!(stream.poll_write(context, &room[..used]))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                n => sent += to_u64(n),
            }
        }
        stream.poll_flush(context)
    })
    .await
}

fn ended_inside() -> Failure {
    Failure::new(
        FailureKind::Content,
        "the connection ended inside the answer",
    )
}

/// Reads one answer; when its first byte came, and its last.
pub(crate) async fn receive(
    stream: &mut Stream,
    response: &mut Response,
    body: &mut Body,
    take: Take,
    thread: &Thread,
) -> Result<(u64, u64), Failure> {
    let mut first_byte = None;
    poll_fn(|context| {
        let mut scratch = thread.scratch.borrow_mut();
        loop {
            if take == Take::Discard && response.body_left() >= LEAST_DISCARD {
                let room = scratch
                    .len()
                    .min(units::lossless::to_usize(response.body_left()));
                if let Some(discarded) = stream.poll_discard(context, &mut scratch[..room]) {
                    let n = ready!(discarded).map_err(|error| Failure::broken(&error))?;
                    if n == 0 {
                        return Poll::Ready(Err(ended_inside()));
                    }
                    response.skip(to_u64(n));
                    if response.is_done() {
                        let now = thread.settings.clock.now();
                        return Poll::Ready(Ok((first_byte.unwrap_or(now), now)));
                    }
                    continue;
                }
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            ready!(stream.poll_read(context, &mut buffer))
                .map_err(|error| Failure::broken(&error))?;
            let now = thread.settings.clock.now();
            let bytes = buffer.filled();
            if bytes.is_empty() {
                if response.close() {
                    return Poll::Ready(Ok((first_byte.unwrap_or(now), now)));
                }
                let what = if response.has_begun() {
                    ended_inside()
                } else {
                    Failure::new(FailureKind::Broken, "connection closed before an answer")
                };
                return Poll::Ready(Err(what));
            }
            let first = *first_byte.get_or_insert(now);
            response
                .feed(bytes, &mut |status, bytes| {
                    body.take(take, &thread.settings.payload, status, bytes)
                })
                .map_err(|what| Failure::new(FailureKind::Content, what))?;
            if response.is_done() {
                return Poll::Ready(Ok((first, now)));
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_success_is_verified_and_an_error_is_collected() {
        let payload = Payload::new(crate::payload::ObjectData::Random, 1);
        let object = Object::new(1, 1, 4);
        let right: Vec<u8> = payload.pieces(object, 0, 4).flatten().copied().collect();
        let mut body = Body::default();
        right
            .chunks(3)
            .for_each(|bytes| body.take(Take::Verify(object), &payload, 200, bytes));
        assert_eq!((body.wrong, body.at, body.collected.len()), (None, 4, 0));
        let mut body = Body::default();
        body.take(
            Take::Verify(object),
            &payload,
            404,
            b"<Code>NoSuchKey</Code>",
        );
        assert_eq!(
            (body.wrong, body.collected.as_slice()),
            (None, &b"<Code>NoSuchKey</Code>"[..])
        );
        let mut body = Body::default();
        body.take(Take::Discard, &payload, 200, b"anything");
        assert!(body.collected.is_empty());
    }
}
