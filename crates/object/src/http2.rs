//! HTTP/2 (RFC 9113): the requests of several users as streams of one connection. Frames, header
//! compression and flow control are `h2`'s; what is sent, when its parts happened, and who waits
//! for whom is ours.

mod watched;

use watched::Wire;

use crate::connection::{Peer, Stream, speaks_no_http2};
use crate::exchange::{Body, Outgoing, Take};
use crate::failure::{Failure, FailureKind};
use crate::ledger::{Ledger, add};
use crate::payload::Object;
use crate::settings::Thread;
use crate::wire::Response;
use bytes::{Buf, Bytes};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{Request, Uri};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Poll, Waker};
use sys::Clock;
use tokio::sync::{Mutex, Notify};
use units::lossless::{to_u64, to_usize};

/// What a server may send before it is read: of one stream, and of all. They bound this side's
/// memory; large enough for 10 Gbit/s over 10 ms.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
/// Larger frames cost fewer system calls; a server need not use them.
const MOST_FRAME: u32 = 256 << 10;
/// The library takes less than 2 GiB at once.
const MOST_PIECE: u64 = 1 << 30;
/// Length of a frame's head, and the type that a server's first frame has (RFC 9113, 3.4).
const FRAME_HEAD: usize = 9;
const SETTINGS: u8 = 4;

/// One connection that users of a thread share; opened by who needs it first, and again after it
/// has ended.
pub(crate) struct Line {
    pub(crate) peer: usize,
    open: Mutex<Option<Open>>,
}

#[derive(Clone)]
struct Open {
    requests: SendRequest<Content>,
    state: Rc<State>,
}

/// What the task of a connection and its users tell each other.
#[derive(Default)]
struct State {
    /// The server has begun as HTTP/2 begins.
    begun: Cell<bool>,
    ended: RefCell<Option<Failure>>,
    /// Told once, when one of both has happened.
    known: Notify,
    /// When anything was last received.
    heard: Cell<u64>,
    streams: Cell<usize>,
    /// Told when a stream has ended.
    freed: Notify,
}

/// A stream as long as it is counted.
struct Slot(Rc<State>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.streams.set(self.0.streams.get() - 1);
        self.0.freed.notify_one();
    }
}

/// When the parts of a request happened.
pub(crate) struct Parts {
    /// When the connection stood, if this request opened it or waited for it to be opened.
    pub(crate) connected: Option<u64>,
    pub(crate) sent: u64,
    pub(crate) first_byte: u64,
    pub(crate) done: u64,
}

impl Line {
    pub(crate) fn new(peer: usize) -> Self {
        Self {
            peer,
            open: Mutex::new(None),
        }
    }

    /// Sends a request as a stream and reads its answer into `response` and `body`.
    pub(crate) async fn exchange(
        &self,
        thread: &Rc<Thread>,
        ledger: &Ledger,
        outgoing: &Outgoing<'_>,
        (response, body, take): (&mut Response, &mut Body, Take),
    ) -> Result<Parts, Failure> {
        let peer = &thread.peers[self.peer];
        let (mut open, connected) = self.ready(peer, thread, ledger).await?;
        let _slot = open.slot().await;
        let (request, front) = request(peer, outgoing.head)?;
        let total = to_u64(front.len()) + outgoing.range.length + to_u64(outgoing.tail.len());
        let (answer, stream) = open
            .requests
            .send_request(request, total == 0)
            .map_err(|error| failure(&error))?;
        let progress = Rc::new(Progress::default());
        let mut answer = pin!(answer);
        let early = if total == 0 {
            // The task of the connection writes the head.
            tokio::task::yield_now().await;
            progress.sent.set(thread.settings.clock.now());
            None
        } else {
            send(
                stream,
                pieces(thread, front, outgoing, &progress),
                &progress,
                answer.as_mut(),
            )
            .await?
        };
        let head = match early {
            Some(head) => head,
            None => answer.await.map_err(|error| failure(&error))?,
        };
        let first_byte = thread.settings.clock.now();
        response.status = head.status().as_u16();
        for (name, value) in head.headers() {
            let kept = response.keep(name.as_str(), value.as_bytes());
            kept.map_err(|what| Failure::new(FailureKind::Content, what))?;
        }
        receive(head.into_body(), (response, body, take), thread).await?;
        // A server that refuses a body answers before it has read it.
        let sent = progress.sent.get();
        let sent = if sent > 0 { sent } else { first_byte };
        Ok(Parts {
            connected,
            sent,
            first_byte,
            done: thread.settings.clock.now(),
        })
    }

    /// Nobody answered for long: a connection over which nothing at all has come since then is
    /// given up.
    pub(crate) fn give_up(&self, since: u64) {
        if let Ok(mut open) = self.open.try_lock() {
            open.take_if(|open| open.state.heard.get() < since);
        }
    }

    /// The connection, and when it stood if it was not there at once.
    async fn ready(
        &self,
        peer: &Peer,
        thread: &Rc<Thread>,
        ledger: &Ledger,
    ) -> Result<(Open, Option<u64>), Failure> {
        let clock = &thread.settings.clock;
        let mut had_to_wait = false;
        let mut open = match self.open.try_lock() {
            Ok(open) => open,
            Err(_) => {
                had_to_wait = true;
                self.open.lock().await
            }
        };
        if let Some(open) = open
            .as_mut()
            .filter(|open| open.state.ended.borrow().is_none())
        {
            // Fails where the server has said that it takes no more.
            if poll_fn(|context| open.requests.poll_ready(context))
                .await
                .is_ok()
            {
                return Ok((open.clone(), had_to_wait.then(|| clock.now())));
            }
        }
        *open = None;
        let opened = connect(peer, thread).await;
        let endpoint = &ledger.endpoints[self.peer];
        add(
            if opened.is_ok() {
                &endpoint.opened
            } else {
                &endpoint.not_opened
            },
            1,
        );
        let opened = opened?;
        *open = Some(opened.clone());
        Ok((opened, Some(clock.now())))
    }
}

impl Open {
    /// Waits until the server takes one stream more.
    async fn slot(&self) -> Slot {
        while self.state.streams.get() >= self.requests.current_max_send_streams().max(1) {
            self.state.freed.notified().await;
        }
        self.state.streams.set(self.state.streams.get() + 1);
        Slot(Rc::clone(&self.state))
    }
}

/// Opens a connection; it stands once the server has begun to speak HTTP/2.
async fn connect(peer: &Peer, thread: &Rc<Thread>) -> Result<Open, Failure> {
    let stream = Stream::connect(peer)
        .await
        .map_err(|error| Failure::connect(&error))?;
    if !stream.agreed_on_http2() {
        return Err(Failure::connect(&speaks_no_http2(
            "TLS agreed on no protocol",
        )));
    }
    let state = Rc::new(State::default());
    let wire = Wire {
        stream,
        head: [0; FRAME_HEAD],
        have: 0,
        state: Rc::clone(&state),
        thread: Rc::clone(thread),
    };
    let mut builder = h2::client::Builder::new();
    builder
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(MOST_FRAME)
        .enable_push(false);
    let (requests, connection) = builder
        .handshake(wire)
        .await
        .map_err(|error| failure(&error))?;
    let told = Rc::clone(&state);
    drop(tokio::task::spawn_local(async move {
        let closed = || {
            Failure::new(
                FailureKind::Broken,
                "the server closed the HTTP/2 connection",
            )
        };
        let ended = connection
            .await
            .map_or_else(|error| failure(&error), |()| closed());
        *told.ended.borrow_mut() = Some(ended);
        told.known.notify_one();
    }));
    while !state.begun.get() {
        if let Some(ended) = state.ended.borrow_mut().take() {
            return Err(Failure::new(
                FailureKind::Connect,
                format!("connect: {}", ended.what),
            ));
        }
        state.known.notified().await;
    }
    Ok(Open { requests, state })
}

/// Whether a server speaks HTTP/2, which it is asked nothing over.
pub(crate) async fn reach(peer: &Peer, thread: &Rc<Thread>) -> Result<(), Failure> {
    connect(peer, thread).await.map(drop)
}

/// The head as HTTP/2 has it, and what follows it in `head` as the beginning of the body.
fn request(peer: &Peer, head: &[u8]) -> Result<(Request<()>, Bytes), Failure> {
    let refused = || Failure::new(FailureKind::Content, "a request that HTTP/2 cannot carry");
    let mut headers = [httparse::EMPTY_HEADER; 2 * crate::header::MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let Ok(httparse::Status::Complete(used)) = parsed.parse(head) else {
        return Err(refused());
    };
    let path = parsed.path.unwrap_or("/");
    let uri = Uri::builder()
        .scheme(peer.scheme())
        .authority(peer.authority.as_str())
        .path_and_query(path)
        .build();
    let mut request = Request::builder()
        .method(parsed.method.unwrap_or("GET"))
        .uri(uri.map_err(|_no_uri| refused())?);
    // The host is the authority, and connections are not the business of a stream (RFC 9113, 8.2.2
    // and 8.3.1).
    for header in parsed
        .headers
        .iter()
        .filter(|header| !matches!(header.name, "host" | "connection"))
    {
        request = request.header(header.name, header.value);
    }
    let front = Bytes::copy_from_slice(&head[used..]);
    Ok((request.body(()).map_err(|_no_request| refused())?, front))
}

/// How far a body has gone.
#[derive(Default)]
struct Progress {
    /// When the last byte of the piece under way was handed over; 0 before.
    sent: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

/// A part of a body: the bytes before the object's, a range of the object, the bytes after it.
/// Nothing of the object is copied, so a body of any length costs the same memory.
struct Content {
    thread: Rc<Thread>,
    front: Bytes,
    object: Object,
    from: u64,
    length: u64,
    back: Bytes,
    progress: Rc<Progress>,
}

impl Buf for Content {
    fn remaining(&self) -> usize {
        self.front.len() + to_usize(self.length) + self.back.len()
    }

    fn chunk(&self) -> &[u8] {
        if !self.front.is_empty() {
            return &self.front;
        }
        self.thread
            .settings
            .payload
            .pieces(self.object, self.from, self.length)
            .next()
            .unwrap_or(&self.back)
    }

    fn advance(&mut self, mut n: usize) {
        let front = n.min(self.front.len());
        self.front.advance(front);
        n -= front;
        let inside = to_u64(n).min(self.length);
        (self.from, self.length) = (self.from + inside, self.length - inside);
        self.back.advance(n - to_usize(inside));
        if self.remaining() == 0 {
            self.progress.sent.set(self.thread.settings.clock.now());
            if let Some(waker) = self.progress.waker.take() {
                waker.wake();
            }
        }
    }
}

/// The body in pieces that the library takes.
fn pieces(
    thread: &Rc<Thread>,
    front: Bytes,
    outgoing: &Outgoing<'_>,
    progress: &Rc<Progress>,
) -> Vec<Content> {
    let mut out = Vec::new();
    let (mut from, mut left, mut front) = (outgoing.range.from, outgoing.range.length, front);
    loop {
        let length = left.min(MOST_PIECE);
        let is_last = length == left;
        out.push(Content {
            thread: Rc::clone(thread),
            front: std::mem::take(&mut front),
            object: outgoing.range.object,
            from,
            length,
            back: if is_last {
                Bytes::copy_from_slice(outgoing.tail)
            } else {
                Bytes::new()
            },
            progress: Rc::clone(progress),
        });
        if is_last {
            return out;
        }
        (from, left) = (from + length, left - length);
    }
}

/// Hands a body over, piece after piece; the answer's head, if it came before the last piece was
/// gone.
async fn send(
    mut stream: SendStream<Content>,
    pieces: Vec<Content>,
    progress: &Progress,
    mut answer: Pin<&mut ResponseFuture>,
) -> Result<Option<http::Response<RecvStream>>, Failure> {
    let last = pieces.len() - 1;
    for (index, piece) in pieces.into_iter().enumerate() {
        progress.sent.set(0);
        if let Err(error) = stream.send_data(piece, index == last) {
            // A server that refuses a body ends the stream, and its answer says more than that.
            return answer.await.map(Some).map_err(|_same| failure(&error));
        }
        let wait = poll_fn(|context| {
            if let Poll::Ready(head) = answer.as_mut().poll(context) {
                return Poll::Ready(Some(head));
            }
            if progress.sent.get() > 0 {
                return Poll::Ready(None);
            }
            *progress.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        });
        if let Some(head) = wait.await {
            return head.map(Some).map_err(|error| failure(&error));
        }
    }
    Ok(None)
}

/// Reads the body of an answer; what was read may be sent anew.
async fn receive(
    mut stream: RecvStream,
    (response, body, take): (&mut Response, &mut Body, Take),
    thread: &Thread,
) -> Result<(), Failure> {
    while let Some(bytes) = stream.data().await {
        let bytes = bytes.map_err(|error| failure(&error))?;
        response.received += to_u64(bytes.len());
        body.take(take, &thread.settings.payload, response.status, &bytes);
        stream
            .flow_control()
            .release_capacity(bytes.len())
            .map_err(|error| failure(&error))?;
    }
    Ok(())
}

/// Why a stream or a connection ended, in few words.
fn failure(error: &h2::Error) -> Failure {
    if let Some(error) = error.get_io() {
        return Failure::broken(error);
    }
    let what = match error.reason() {
        Some(reason) if error.is_go_away() => {
            format!("the server ended the HTTP/2 connection: {reason:?}")
        }
        Some(reason) => format!("HTTP/2 stream reset: {reason:?}"),
        None => format!("HTTP/2: {error}"),
    };
    Failure::new(FailureKind::Broken, what)
}
