//! One user's side of the protocol: requests on one connection, one at a time.
//!
//! Buffers are kept from request to request. The head and what fits of the body leave in one
//! vectored write, straight from the pool of payload; the response is read into one buffer a thread
//! and judged as it arrives.

mod head;
mod uncounted;

use crate::connection::Stream;
use crate::exchange::{Body, Outgoing, Take, receive, send};
use crate::failure::{Failure, FailureKind};
use crate::http2::{Line, Parts};
use crate::ledger::{Ledger, Moments, add};
use crate::payload::{GivenName, Object, ObjectRange};
use crate::settings::Thread;
use crate::sign::Signer;
use crate::verbs::{About, Call, CountedBytes, GoodAnswer, RequestKind, TakenBody, share};
use crate::wire::{Expect, Response};
use head::content;
use std::rc::Rc;
use std::time::Duration;
use sys::Clock;

/// First and longest pause after a failure to reach the server.
const BACKOFF_NS: (u64, u64) = (10_000_000, 1_000_000_000);

pub(crate) struct Client {
    pub(crate) thread: Rc<Thread>,
    peer: usize,
    stream: Option<Stream>,
    /// The connection that is shared with others, in place of `stream`.
    line: Option<Rc<Line>>,
    signer: Option<Signer>,
    path: Vec<u8>,
    query: Vec<u8>,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Value of a request's own header.
    header: Vec<u8>,
    response: Response,
    body: Body,
    /// Where in its object the answer begins.
    from: u64,
    /// By which name the server knows what was put up last.
    given: Option<GivenName>,
    failures_in_a_row: u32,
    /// Whether the server may have done what was asked last, though no try went well.
    is_in_doubt: bool,
    /// When the turn began or was due, which decides whether its requests are of the warm-up.
    pub(crate) turn_at: u64,
}

impl Client {
    pub(crate) fn new(thread: &Rc<Thread>, index: u32) -> Self {
        let (peer, line) = thread.way(index);
        Self {
            thread: Rc::clone(thread),
            peer,
            stream: None,
            line,
            signer: thread.settings.credentials.clone().map(Signer::new),
            path: Vec::new(),
            query: Vec::new(),
            head: Vec::new(),
            tail: Vec::new(),
            header: Vec::new(),
            response: Response::new(),
            body: Body::default(),
            from: 0,
            given: None,
            failures_in_a_row: 0,
            is_in_doubt: false,
            turn_at: 0,
        }
    }

    /// Sends a request and waits for its answer, counts it, and returns how many bytes of content
    /// it moved. `intended` is when it should have begun.
    pub(crate) async fn call(
        &mut self,
        call: Call,
        about: About<'_>,
        verify: bool,
        intended: Option<u64>,
    ) -> Result<u64, Failure> {
        let thread = Rc::clone(&self.thread);
        let settings = &thread.settings;
        let request = call.on(&settings.service);
        (self.given, self.is_in_doubt) = (None, false);
        let take = taken(request, about.object.filter(|_| verify));
        let mut tries = 0;
        let prepared = settings.clock.now();
        self.prepare(request, &about, prepared);
        let mut issued = settings.clock.now();
        let intended = intended.unwrap_or(issued);
        let ledger = thread.ledger_of(self.turn_at);
        if self.signer.is_some() {
            add(&ledger.signed, 1);
            add(&ledger.signing_ns, issued - prepared);
        }
        ledger.enter(call, issued);
        let endpoint = &ledger.endpoints[self.peer];
        add(&endpoint.begun, 1);
        let begun = issued;
        loop {
            let failure = match self.tried(ledger, call, &about, take, issued).await {
                Ok(moments) => {
                    self.failures_in_a_row = 0;
                    if request.takes == TakenBody::Name {
                        self.given = share::name_of(&self.body.collected);
                    }
                    let bytes = match request.counts {
                        CountedBytes::Nothing => 0,
                        CountedBytes::Sent => about.length,
                        CountedBytes::Received => self.response.received,
                    };
                    ledger.succeeded(
                        call,
                        bytes,
                        &Moments {
                            intended,
                            issued: begun,
                            ..moments
                        },
                    );
                    add(&endpoint.succeeded, 1);
                    if let Take::Verify(_) = take {
                        add(&ledger.verified, 1);
                    }
                    return Ok(bytes);
                }
                Err(failure) => failure,
            };
            if failure.may_pass() {
                self.failures_in_a_row += 1;
            }
            if tries >= settings.retries || !failure.may_pass() {
                if failure.kind == FailureKind::Verification {
                    add(&ledger.verified, 1);
                    add(&ledger.wrong, 1);
                }
                let failure = self.placed(failure);
                ledger.failed(call, &failure, &self.path, settings.clock.now());
                return Err(failure);
            }
            tries += 1;
            add(&ledger.retries, 1);
            self.back_off().await;
            // A signature is of its time.
            self.prepare(request, &about, settings.clock.now());
            issued = settings.clock.now();
        }
    }

    /// The failure with its endpoint, where there are several.
    fn placed(&self, mut failure: Failure) -> Failure {
        if let [_, _, ..] = self.thread.peers.as_slice() {
            failure.what = format!(
                "{} at {}",
                failure.what, self.thread.peers[self.peer].authority
            );
        }
        failure
    }

    /// Body of the last answer, where it was collected.
    pub(crate) fn collected(&self) -> &[u8] {
        &self.body.collected
    }

    /// Bytes of the last answer's body.
    pub(crate) fn received(&self) -> u64 {
        self.response.received
    }

    /// An object under the name that the last answer gave it, if that gave one.
    pub(crate) fn named(&self, object: Object) -> Object {
        self.given.map_or(object, |given| object.named(given))
    }

    pub(crate) fn etag(&self) -> &[u8] {
        &self.response.etag
    }

    /// Whether the server may have done what was asked last: a try of it was not answered.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.is_in_doubt
    }

    /// After failures to reach the server, a pause that doubles; nothing after a success.
    pub(crate) async fn back_off(&self) {
        if self.failures_in_a_row > 0 {
            let pause = BACKOFF_NS.0 << (self.failures_in_a_row - 1).min(10);
            tokio::time::sleep(Duration::from_nanos(pause.min(BACKOFF_NS.1))).await;
        }
    }

    /// Has the next request go to the next server, where there are several.
    pub(crate) fn turn_to_next(&mut self) {
        let next = (self.peer + 1) % self.thread.peers.len();
        (self.peer, self.line) = self.thread.way_to(next);
        self.stream = None;
    }

    /// One try, which is in doubt until it is known what came of it.
    async fn tried(
        &mut self,
        ledger: &Ledger,
        call: Call,
        about: &About<'_>,
        take: Take,
        issued: u64,
    ) -> Result<Moments, Failure> {
        ledger.doubt(call);
        let request = call.on(&self.thread.settings.service);
        let result = self.attempt(ledger, request, about, take, issued).await;
        if result.as_ref().is_err_and(Failure::is_in_doubt) {
            self.is_in_doubt = true;
        } else {
            ledger.know(call);
        }
        result
    }

    /// One try, from the connection to the judgement of the answer.
    async fn attempt(
        &mut self,
        ledger: &Ledger,
        request: &RequestKind,
        about: &About<'_>,
        take: Take,
        issued: u64,
    ) -> Result<Moments, Failure> {
        let timeout = self.thread.settings.timeout;
        let range = content(request, about);
        let result = match tokio::time::timeout(
            timeout,
            self.exchange(ledger, request.method, range, take, issued),
        )
        .await
        {
            Ok(result) => result,
            Err(_elapsed) => Err(Failure::new(FailureKind::Timeout, "timeout")),
        };
        if result.is_err() || self.response.closes || self.thread.settings.closes {
            self.stream = None;
        }
        if let (
            Some(line),
            Err(Failure {
                kind: FailureKind::Timeout,
                ..
            }),
        ) = (&self.line, &result)
        {
            line.give_up(issued);
        }
        let moments = result?;
        self.judge(request, about, take)?;
        Ok(moments)
    }

    async fn exchange(
        &mut self,
        ledger: &Ledger,
        method: &str,
        range: ObjectRange,
        take: Take,
        issued: u64,
    ) -> Result<Moments, Failure> {
        let thread = Rc::clone(&self.thread);
        let settings = &thread.settings;
        self.response.begin(if method == "HEAD" {
            Expect::HeadOnly
        } else {
            Expect::Body
        });
        self.body.collected.clear();
        (self.body.at, self.body.wrong) = (self.from, None);
        let outgoing = Outgoing {
            head: &self.head,
            range,
            tail: &self.tail,
        };
        if let Some(line) = &self.line {
            let into = (&mut self.response, &mut self.body, take);
            let Parts {
                connected,
                sent,
                first_byte,
                done,
            } = line.exchange(&thread, ledger, &outgoing, into).await?;
            return Ok(Moments {
                intended: issued,
                issued,
                connected,
                sent,
                first_byte,
                done,
            });
        }
        if self.stream.as_mut().is_some_and(Stream::is_stale) {
            self.stream = None;
        }
        let mut connected = None;
        if self.stream.is_none() {
            let stream = Stream::connect(&thread.peers[self.peer]).await;
            let endpoint = &ledger.endpoints[self.peer];
            add(
                if stream.is_ok() {
                    &endpoint.opened
                } else {
                    &endpoint.not_opened
                },
                1,
            );
            self.stream = Some(stream.map_err(|error| Failure::connect(&error))?);
            connected = Some(settings.clock.now());
        }
        let stream = self.stream.as_mut().expect("it was just opened");
        let sending = send(stream, &outgoing, &settings.payload).await;
        let sent = settings.clock.now();
        // A server that refuses a body answers and closes before it has read it: the answer says
        // more than the broken pipe.
        let received = receive(stream, &mut self.response, &mut self.body, take, &thread).await;
        let (first_byte, done) = match (sending, received) {
            (_, Ok(received)) => received,
            (Err(error), Err(_)) => return Err(Failure::broken(&error)),
            (Ok(()), Err(failure)) => return Err(failure),
        };
        Ok(Moments {
            intended: issued,
            issued,
            connected,
            sent,
            first_byte,
            done,
        })
    }

    /// Whether the answer is what the request asked for.
    fn judge(&self, request: &RequestKind, about: &About<'_>, take: Take) -> Result<(), Failure> {
        let status = self.response.status;
        if !(200..300).contains(&status) {
            return Err(Failure::status(status, &self.body.collected));
        }
        let answer = GoodAnswer {
            status,
            length: self.response.length,
            received: self.response.received,
            etag: &self.response.etag,
            range: &self.response.range,
            body: self.collected(),
        };
        (request.proof)(about, &answer)?;
        if let (Take::Verify(_), Some(offset)) = (take, self.body.wrong) {
            let what = "the bytes are not those that were written";
            return Err(Failure {
                offset,
                ..Failure::new(FailureKind::Verification, what)
            });
        }
        Ok(())
    }
}

/// What becomes of the body of an answer, with the object that it must be, if one.
fn taken(request: &RequestKind, verified: Option<Object>) -> Take {
    match (request.takes, verified) {
        (TakenBody::Object, Some(object)) => Take::Verify(object),
        (TakenBody::Text | TakenBody::Name, _) => Take::Collect,
        (TakenBody::Nothing | TakenBody::Object, _) => Take::Discard,
    }
}
