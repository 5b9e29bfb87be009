//! Network block devices: a client of the NBD protocol over TCP or a Unix socket.
//!
//! One connection an engine and one thread a connection; the cookie of a request is its slot. The
//! socket never blocks: waiting is `ppoll`, so that a server that is slow to read cannot keep
//! replies from being read. Only simple replies are negotiated. TLS begins before anything is said
//! of the export, and a server without it is told nothing.

mod enciphered;
mod exchange;
mod handshake;
mod protocol;
mod stream;
#[cfg(test)]
mod test_server;
mod url;

pub use protocol::{BlockSizes, NbdFault};
pub use url::NbdUrl;

use crate::{Arena, Completion, Engine, EngineError, EngineSetup, Op, OpenEngine, Request, Slot};
use exchange::{Broken, Outstanding, Receiver, Sender, Supply};
use handshake::{Disagreement, Export, agree, greet, start_tls};
use protocol::Command;
use std::io::{self, Write};
use std::time::Duration;
use stream::Stream;
use sys::Readiness;

/// How long a server may take for each step of connecting and negotiating.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct NbdEngine {
    server: String,
    stream: Stream,
    export: Export,
    arena: Arena,
    block: usize,
    sender: Sender,
    receiver: Receiver,
    outstanding: Outstanding,
    /// Completions of requests that must not be sent.
    refused: Vec<Completion>,
    /// Why the connection ended, told after all completions before it.
    failure: Option<Broken>,
}

impl NbdEngine {
    /// Connects, negotiates the export and makes `depth` buffers of `block` bytes.
    ///
    /// # Errors
    /// No server, no such export, a server that breaks the protocol or is silent for ten seconds, a
    /// block longer than the server takes.
    pub fn connect(url: &NbdUrl, depth: u32, block: usize) -> Result<Self, EngineError> {
        let server = url.to_string();
        let agreed = Self::agree(url).map_err(|disagreement| match disagreement {
            Disagreement::Io(source) => EngineError::NbdConnect {
                server: server.clone(),
                source: patient(source),
            },
            Disagreement::Fault(fault) => EngineError::NbdProtocol {
                server: server.clone(),
                fault,
            },
            Disagreement::Refused(reason) => EngineError::NbdRefused {
                server: server.clone(),
                reason,
            },
        });
        let (mut stream, export) = agreed?;
        let most = export.block_sizes.maximum;
        if block as u64 > u64::from(most) {
            return Err(EngineError::NbdRefused {
                server,
                reason: format!("takes at most {most} bytes at once; the block size is {block}"),
            });
        }
        stream
            .stop_blocking()
            .map_err(|source| EngineError::NbdConnect {
                server: server.clone(),
                source,
            })?;
        Ok(Self {
            server,
            stream,
            export,
            arena: Arena::new(depth, block)?,
            block,
            sender: Sender::new(depth, block),
            receiver: Receiver::new(block),
            outstanding: Outstanding::new(depth),
            refused: Vec::with_capacity(depth as usize),
            failure: None,
        })
    }

    fn agree(url: &NbdUrl) -> Result<(Stream, Export), Disagreement> {
        let mut stream = Stream::connect(&url.address, PATIENCE)?;
        let greeting = greet(&mut stream)?;
        if let Some(tls) = &url.tls {
            start_tls(&mut stream, greeting)?;
            stream = stream.hide(tls, url.shown_by())?;
        }
        let export = agree(&mut stream, url.export(), greeting)?;
        Ok((stream, export))
    }

    /// Makes every write end only when its data is stable (`NBD_CMD_FLAG_FUA`), the protocol's
    /// O_DSYNC.
    ///
    /// # Errors
    /// The server cannot; see [`Self::can_fua`].
    pub fn with_stable_writes(mut self) -> Result<Self, EngineError> {
        if !self.can_fua() {
            return Err(EngineError::NbdRefused {
                server: self.server.clone(),
                reason: "has no stable writes (FUA)".into(),
            });
        }
        self.sender.write = Command::StableWrite;
        Ok(self)
    }

    /// Bytes of the export.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.export.size
    }

    /// Alignment and longest payload, as the server told or as the protocol assumes
    /// ([`BlockSizes::UNTOLD`]).
    #[must_use]
    pub fn block_sizes(&self) -> BlockSizes {
        self.export.block_sizes
    }

    /// Whether the server can flush; without it, fsync and fdatasync end with EOPNOTSUPP.
    #[must_use]
    pub fn can_flush(&self) -> bool {
        self.export.flags.flush()
    }

    /// Whether the server has stable writes.
    #[must_use]
    pub fn can_fua(&self) -> bool {
        self.export.flags.fua()
    }

    /// Whether the server promises that a flush on one connection covers the writes of all.
    #[must_use]
    pub fn can_multi_conn(&self) -> bool {
        self.export.flags.multi_conn()
    }

    /// Whether writes end with EROFS.
    #[must_use]
    pub fn read_only(&self) -> bool {
        self.export.flags.read_only()
    }

    /// The errno of a request that a client must not send: servers may answer such a one by hanging
    /// up.
    fn refusal(&self, request: &Request) -> Option<i32> {
        let (len, sizes) = (u64::from(request.len), self.export.block_sizes);
        let aligned = request.offset.is_multiple_of(u64::from(sizes.minimum))
            && len.is_multiple_of(u64::from(sizes.minimum));
        let inside = request
            .offset
            .checked_add(len)
            .is_some_and(|end| end <= self.export.size);
        match request.op {
            Op::Write if self.read_only() => Some(libc::EROFS),
            Op::Read | Op::Write if len == 0 || !aligned || request.len as usize > self.block => {
                Some(libc::EINVAL)
            }
            Op::Read if !inside => Some(libc::EINVAL),
            Op::Write if !inside => Some(libc::ENOSPC),
            Op::Fsync | Op::Fdatasync if !self.can_flush() => Some(libc::EOPNOTSUPP),
            Op::Create | Op::Stat | Op::Open | Op::Readdir | Op::Rename | Op::Unlink | Op::Walk => {
                Some(libc::EOPNOTSUPP)
            }
            Op::Read | Op::Write | Op::Fsync | Op::Fdatasync => None,
        }
    }

    fn lost(&self, broken: Broken) -> EngineError {
        let server = self.server.clone();
        match broken {
            Broken::Fault(fault) => EngineError::NbdProtocol { server, fault },
            Broken::Io(source) => {
                let unanswered = self.outstanding.count();
                let closed = source.kind() == io::ErrorKind::UnexpectedEof;
                let source = if closed {
                    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed it")
                } else {
                    source
                };
                EngineError::NbdLost {
                    server,
                    unanswered,
                    source,
                }
            }
        }
    }

    /// Sends what the socket takes. After a failure replies may still wait to be read, so it is
    /// kept for later.
    fn send(&mut self) {
        if self.failure.is_none() {
            self.failure = self
                .sender
                .send(&mut self.stream, &mut self.arena, &mut self.outstanding)
                .err()
                .map(Broken::Io);
        }
    }

    fn receive(&mut self, out: &mut Vec<Completion>) {
        while self.outstanding.count() > 0 {
            match self.receiver.receive(
                &mut self.stream,
                &mut self.arena,
                &mut self.outstanding,
                out,
            ) {
                Ok(Supply::Perhaps) => {}
                Ok(Supply::Drained) => return,
                Err(broken) => {
                    self.failure.get_or_insert(broken);
                    self.stream.shut_down();
                    return;
                }
            }
        }
    }

    /// Exchanges until `out` holds `wanted` completions, nothing more can come, or the time is
    /// over.
    fn exchange(&mut self, wanted: usize, timeout_ns: u64, out: &mut Vec<Completion>) {
        let mut deadline = None;
        loop {
            self.send();
            self.receive(out);
            if out.len() >= wanted
                || self.outstanding.count() == 0
                || self.failure.is_some()
                || timeout_ns == 0
            {
                return;
            }
            let left = if timeout_ns == u64::MAX {
                u64::MAX
            } else {
                let now = sys::monotonic_ns();
                deadline
                    .get_or_insert(now.saturating_add(timeout_ns))
                    .saturating_sub(now)
            };
            let readiness = if self.sender.is_drained() && !self.stream.is_pending() {
                Readiness::Input
            } else {
                Readiness::InputOrOutput
            };
            match sys::wait_ready(&self.stream, readiness, left) {
                Ok(true) => {}
                Ok(false) => return,
                // The caller looks at its stop flag.
                Err(e) if e.kind() == io::ErrorKind::Interrupted => return,
                Err(source) => self.failure = Some(Broken::Io(source)),
            }
        }
    }
}

fn patient(error: io::Error) -> io::Error {
    let kind = error.kind();
    if kind == io::ErrorKind::WouldBlock || kind == io::ErrorKind::TimedOut {
        io::Error::new(
            io::ErrorKind::TimedOut,
            format!("no answer within {} seconds", PATIENCE.as_secs()),
        )
    } else if kind == io::ErrorKind::UnexpectedEof {
        io::Error::new(kind, "the server hung up during the negotiation")
    } else {
        error
    }
}

impl OpenEngine for NbdEngine {
    fn open(setup: EngineSetup) -> Result<Self, EngineError> {
        let url = NbdUrl::parse(&setup.target)?;
        let engine = Self::connect(&url, setup.depth, setup.block)?;
        match setup.stable_writes {
            true => engine.with_stable_writes(),
            false => Ok(engine),
        }
    }
}

impl Engine for NbdEngine {
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.arena.buffer(slot)
    }

    /// Sends the batch as far as the socket takes it at once; the rest follows in [`Engine::reap`].
    #[inline]
    fn submit(&mut self, batch: &[Request]) -> Result<usize, EngineError> {
        for request in batch {
            match self.refusal(request) {
                Some(errno) => self.refused.push(Completion {
                    slot: request.slot,
                    result: -i64::from(errno),
                }),
                None => self.sender.push(request, &mut self.outstanding),
            }
        }
        self.send();
        Ok(batch.len())
    }

    #[inline]
    fn reap(
        &mut self,
        min: usize,
        timeout_ns: u64,
        out: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let before = out.len();
        out.append(&mut self.refused);
        self.exchange(before.saturating_add(min), timeout_ns, out);
        if out.len() > before {
            return Ok(());
        }
        match self.failure.take() {
            Some(broken) => Err(self.lost(broken)),
            None => Ok(()),
        }
    }
}

/// Takes leave, as the protocol asks, unless that would have to wait.
impl Drop for NbdEngine {
    fn drop(&mut self) {
        if self.sender.is_drained() && self.failure.is_none() {
            let _nobody_is_left_to_tell =
                self.stream
                    .write(&protocol::request(Command::Disconnect, 0, 0, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::test_server::{Behaviour, End, FLUSH, FUA, HAS_FLAGS, READ_ONLY, Seen, start};
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::thread::JoinHandle;

    struct Served {
        url: NbdUrl,
        server: JoinHandle<Seen>,
        _directory: tempfile::TempDir,
    }

    fn served(behaviour: Behaviour) -> Served {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("nbd.sock");
        let server = start(UnixListener::bind(&socket).unwrap(), behaviour);
        let url = NbdUrl::parse(&format!("nbd:unix:{}:exportname=disk", socket.display())).unwrap();
        Served {
            url,
            server,
            _directory: directory,
        }
    }

    fn op(op: Op, slot: Slot, offset: u64, len: u32) -> Request {
        Request {
            slot,
            file: 0,
            op,
            offset,
            len,
        }
    }

    /// Completions of the batch, by slot.
    fn results(engine: &mut NbdEngine, batch: &[Request]) -> Vec<i64> {
        assert_eq!(engine.submit(batch).unwrap(), batch.len());
        let mut out = Vec::new();
        while out.len() < batch.len() {
            engine.reap(1, u64::MAX, &mut out).unwrap();
        }
        out.sort_unstable_by_key(|completion| completion.slot);
        out.iter().map(|completion| completion.result).collect()
    }

    #[test]
    fn what_is_written_is_read_back_at_depth_with_replies_in_reverse() {
        for block in [4096_u32, 1 << 20] {
            let served = served(Behaviour {
                gather: 8,
                ..Behaviour::default()
            });
            let mut engine = NbdEngine::connect(&served.url, 8, block as usize).unwrap();
            assert_eq!(
                (engine.size(), engine.block_sizes().preferred),
                (8 << 20, 4096)
            );
            let place = |slot: Slot| u64::from(slot * 5 % 8) * u64::from(block);
            for slot in 0..8 {
                engine.buffer(slot).fill(u8::try_from(slot).unwrap() + 1);
            }
            let writes: Vec<Request> = (0..8)
                .map(|slot| op(Op::Write, slot, place(slot), block))
                .collect();
            assert_eq!(results(&mut engine, &writes), [i64::from(block); 8]);
            let reads: Vec<Request> = (0..8)
                .map(|slot| op(Op::Read, slot, place(7 - slot), block))
                .collect();
            assert_eq!(results(&mut engine, &reads), [i64::from(block); 8]);
            for slot in 0..8 {
                assert!(
                    engine
                        .buffer(slot)
                        .iter()
                        .all(|byte| *byte == 8 - u8::try_from(slot).unwrap()),
                    "slot {slot} of block {block}"
                );
            }
            drop(engine);
            let seen = served.server.join().unwrap();
            assert!(seen.took_leave && seen.requests == 16);
            for slot in 0..8 {
                assert_eq!(
                    seen.memory[usize::try_from(place(slot)).unwrap()],
                    u8::try_from(slot).unwrap() + 1
                );
            }
        }
    }

    #[test]
    fn flushes_and_stable_writes_reach_the_server() {
        let served = served(Behaviour::default());
        let mut engine = NbdEngine::connect(&served.url, 2, 4096)
            .unwrap()
            .with_stable_writes()
            .unwrap();
        assert!(
            engine.can_flush()
                && engine.can_fua()
                && !engine.read_only()
                && !engine.can_multi_conn()
        );
        assert_eq!(
            results(
                &mut engine,
                &[op(Op::Write, 0, 0, 512), op(Op::Fsync, 1, 0, 0)]
            ),
            [512, 0]
        );
        assert_eq!(results(&mut engine, &[op(Op::Fdatasync, 0, 0, 0)]), [0]);
        drop(engine);
        let seen = served.server.join().unwrap();
        assert_eq!((seen.flushes, seen.stable_writes), (2, 1));
    }

    #[test]
    fn an_error_of_the_server_is_the_result_of_its_operation_alone() {
        let served = served(Behaviour {
            fault: Some((4100, 28)),
            ..Behaviour::default()
        });
        let mut engine = NbdEngine::connect(&served.url, 4, 4096).unwrap();
        let batch = [
            op(Op::Write, 0, 0, 4096),
            op(Op::Write, 1, 4096, 4096),
            op(Op::Read, 2, 4096, 4096),
            op(Op::Read, 3, 8192, 4096),
        ];
        assert_eq!(
            results(&mut engine, &batch),
            [
                4096,
                -i64::from(libc::ENOSPC),
                -i64::from(libc::ENOSPC),
                4096
            ]
        );
    }

    #[test]
    fn what_a_client_must_not_send_is_refused_and_never_sent() {
        let behaviour = Behaviour {
            flags: HAS_FLAGS | READ_ONLY,
            sizes: Some([512, 4096, 1 << 20]),
            ..Behaviour::default()
        };
        let size = behaviour.size as u64;
        let served = served(behaviour);
        let mut engine = NbdEngine::connect(&served.url, 8, 4096).unwrap();
        let batch = [
            op(Op::Write, 0, 0, 4096),
            op(Op::Fsync, 1, 0, 0),
            op(Op::Read, 2, 100, 512),
            op(Op::Read, 3, 0, 0),
            op(Op::Read, 4, size - 512, 1024),
            op(Op::Read, 5, 0, 8192),
            op(Op::Read, 6, u64::MAX - 511, 512),
            op(Op::Read, 7, size - 512, 512),
        ];
        let invalid = -i64::from(libc::EINVAL);
        let wanted = [
            -i64::from(libc::EROFS),
            -i64::from(libc::EOPNOTSUPP),
            invalid,
            invalid,
            invalid,
            invalid,
            invalid,
            512,
        ];
        assert_eq!(results(&mut engine, &batch), wanted);
        assert!(
            engine.with_stable_writes().is_err(),
            "the server has no FUA"
        );
        assert_eq!(served.server.join().unwrap().requests, 1);
    }

    #[test]
    fn a_write_beyond_the_end_finds_no_space() {
        let served = served(Behaviour {
            size: 4096,
            ..Behaviour::default()
        });
        let mut engine = NbdEngine::connect(&served.url, 1, 4096).unwrap();
        assert_eq!(
            results(&mut engine, &[op(Op::Write, 0, 512, 4096)]),
            [-i64::from(libc::ENOSPC)]
        );
    }

    #[test]
    fn a_server_that_dies_inside_a_reply_costs_no_completion_before_it() {
        let served = served(Behaviour {
            gather: 4,
            end: End::InsideReply(2),
            ..Behaviour::default()
        });
        let mut engine = NbdEngine::connect(&served.url, 4, 4096).unwrap();
        engine
            .submit(&[
                op(Op::Read, 0, 0, 4096),
                op(Op::Read, 1, 0, 4096),
                op(Op::Read, 2, 0, 4096),
                op(Op::Write, 3, 0, 4096),
            ])
            .unwrap();
        let mut out = Vec::new();
        let error = loop {
            if let Err(error) = engine.reap(4, u64::MAX, &mut out) {
                break error;
            }
        };
        assert_eq!(
            out,
            [
                Completion {
                    slot: 3,
                    result: 4096
                },
                Completion {
                    slot: 2,
                    result: 4096
                }
            ]
        );
        let text = error.to_string();
        assert!(
            text.contains("2 operations unanswered")
                && text.contains("nbd.sock")
                && text.contains("closed"),
            "{text}"
        );
        assert!(
            engine.reap(1, u64::MAX, &mut out).is_err(),
            "a dead server stays dead"
        );
        engine.submit(&[op(Op::Write, 3, 0, 4096)]).unwrap();
        assert!(engine.reap(1, u64::MAX, &mut out).is_err());
        assert_eq!(out.len(), 2);
    }

    #[test]
    fn a_reply_to_nothing_ends_the_engine() {
        let served = served(Behaviour {
            end: End::WithNonsense(1),
            ..Behaviour::default()
        });
        let mut engine = NbdEngine::connect(&served.url, 2, 4096).unwrap();
        assert_eq!(results(&mut engine, &[op(Op::Read, 0, 0, 4096)]), [4096]);
        engine.submit(&[op(Op::Read, 0, 0, 4096)]).unwrap();
        let error = engine.reap(1, u64::MAX, &mut Vec::new()).unwrap_err();
        assert!(
            matches!(
                error,
                EngineError::NbdProtocol {
                    fault: NbdFault::UnknownRequest(0xEEEE_EEEE_EEEE_EEEE),
                    ..
                }
            ),
            "{error}"
        );
    }

    #[test]
    fn a_silent_server_costs_the_timeout_and_no_more() {
        let served = served(Behaviour {
            gather: 2,
            ..Behaviour::default()
        });
        let mut engine = NbdEngine::connect(&served.url, 2, 4096).unwrap();
        let mut out = Vec::new();
        engine.reap(1, u64::MAX, &mut out).unwrap();
        engine.submit(&[op(Op::Read, 0, 0, 4096)]).unwrap();
        engine.reap(1, 1_000_000, &mut out).unwrap();
        engine.reap(0, 0, &mut out).unwrap();
        assert!(
            out.is_empty(),
            "nothing was answered, and nothing in flight means nothing to wait for"
        );
        engine.submit(&[op(Op::Read, 1, 0, 4096)]).unwrap();
        engine.reap(2, u64::MAX, &mut out).unwrap();
        assert_eq!(out.len(), 2);
    }

    #[test]
    fn a_server_without_go_is_used_by_bare_name() {
        let served = served(Behaviour {
            sizes: None,
            flags: HAS_FLAGS | FLUSH | FUA,
            ..Behaviour::default()
        });
        let mut engine = NbdEngine::connect(&served.url, 1, 4096).unwrap();
        assert_eq!(
            (engine.size(), engine.block_sizes()),
            (8 << 20, BlockSizes::UNTOLD)
        );
        assert_eq!(results(&mut engine, &[op(Op::Read, 0, 0, 4096)]), [4096]);
    }

    #[test]
    fn whoever_cannot_be_used_is_named_with_the_reason() {
        let missing = NbdUrl::parse("nbd+unix:///disk?socket=/nonexistent/nbd.sock").unwrap();
        let error = NbdEngine::connect(&missing, 1, 4096)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("/nonexistent/nbd.sock") && error.contains("No such file"),
            "{error}"
        );

        let served_once = served(Behaviour::default());
        let other = NbdUrl::parse(&served_once.url.to_string().replace("disk", "else")).unwrap();
        let error = NbdEngine::connect(&other, 1, 4096)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("no such export: only disk"), "{error}");

        let served_once = served(Behaviour {
            sizes: Some([1, 4096, 65_536]),
            ..Behaviour::default()
        });
        let error = NbdEngine::connect(&served_once.url, 1, 1 << 20)
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.contains("at most 65536 bytes") && error.contains("1048576"),
            "{error}"
        );
    }
}
