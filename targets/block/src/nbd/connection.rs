//! A conversation over a socket.

use super::conversation::Conversation;
use super::incoming::{INPUT, Incoming};
use super::pipe::Pipe;
use super::stay::{self, Keeps, Stay};
use super::{Awaits, HangUp};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno as SocketErrno;
use rustix::net::RecvFlags;
use rustls::ServerConfig;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How long somebody may take until requests can come.
const PATIENCE_NS: u64 = 10_000_000_000;
/// How long a thread looks for the next request before it sleeps, as long as requests come within
/// that time. To wake a thread takes longer than most requests, above all in a virtual machine,
/// where an idle CPU is left to the host.
const LOOKS_NS: u64 = 100_000;
/// How long a request waits for memory that others have, and how often it looks.
const SHORT_NS: u64 = 5_000_000_000;
const SHORT_LOOK_NS: u64 = 2_000_000;
/// How long a client may take for its last answers when the server ends.
const FAREWELL_NS: u64 = 1_000_000_000;

/// The end of the server, which wakes whoever waits for a client.
pub(super) struct ClosingTime {
    told: AtomicBool,
    /// Can be read for ever once it is told.
    waker: OwnedFd,
}

impl ClosingTime {
    pub(super) fn new() -> rustix::io::Result<Self> {
        Ok(Self {
            told: AtomicBool::new(false),
            waker: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub(super) fn tell(&self) {
        self.told.store(true, Relaxed);
        let _a_full_counter_wakes_as_well = rustix::io::write(&self.waker, &1_u64.to_ne_bytes());
    }

    fn is_told(&self) -> bool {
        self.told.load(Relaxed)
    }
}

/// Why nothing more is exchanged.
enum Over {
    /// The client or the server ended it.
    Ended,
    Socket,
}

impl From<SocketErrno> for Over {
    fn from(_: SocketErrno) -> Self {
        Self::Socket
    }
}

pub(super) struct Exchange<'a, S> {
    pipe: Pipe<'a, S>,
    conversation: Conversation,
    incoming: Incoming,
    /// Bytes of the message that is incomplete; 0 where none is.
    message: usize,
    /// Whether there is no use in reading more.
    full: bool,
    /// Since when the next request waits for memory that others have.
    short_since: Option<u64>,
    stay: Stay,
    /// Whether the last request came so soon that it is worth looking for the next.
    brisk: bool,
    /// Whether somebody else can run while this thread looks.
    has_company: bool,
    ending: &'a ClosingTime,
    /// When it is over whatever the client does; `None` until the server ends.
    last_moment: Option<u64>,
    begun: u64,
}

impl<'a, S: AsFd> Exchange<'a, S> {
    pub(super) fn new(socket: &'a S, conversation: Conversation, ending: &'a ClosingTime) -> Self {
        Self {
            pipe: Pipe::new(socket, None),
            conversation,
            incoming: Incoming::new(),
            message: 0,
            full: false,
            short_since: None,
            stay: Stay::default(),
            brisk: false,
            has_company: std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1),
            ending,
            last_moment: None,
            begun: sys::monotonic_ns(),
        }
    }

    /// Demands TLS of its client, to whom it shows itself so.
    pub(super) fn with_tls(self, config: Arc<ServerConfig>) -> Self {
        Self {
            pipe: Pipe::new(self.pipe.socket(), Some(config)),
            conversation: self.conversation.with_tls(),
            ..self
        }
    }

    /// Speaks until one side ends it.
    pub(super) fn run(mut self) {
        let _precise = sys::precise_sleeps();
        loop {
            let understood = self.understand();
            self.conversation.reap();
            if self.send().is_err() {
                return;
            }
            self.settle();
            if understood.is_err() || self.conversation.is_short() {
                return self.farewell();
            }
            match self.overstays() {
                Keeps::Nothing => {}
                Keeps::Message => {
                    self.conversation.give_up();
                    continue;
                }
                Keeps::Answers => return,
            }
            match self.receive() {
                Ok(()) => {}
                Err(Over::Ended) if self.ending.is_told() => {
                    self.conversation.abandon();
                    return self.farewell();
                }
                // It says nothing more, and may still hear what it was to be told.
                Err(Over::Ended) => return self.farewell(),
                Err(Over::Socket) => return,
            }
        }
    }

    /// Does all that has come whole.
    fn understand(&mut self) -> Result<(), HangUp> {
        (self.message, self.full) = (0, false);
        while self.incoming.start < self.incoming.end {
            match self.conversation.step(self.incoming.unread())? {
                Ok(bytes) => {
                    self.incoming.start += bytes;
                    self.short_since = None;
                }
                Err(Awaits::Bytes(bytes)) => {
                    self.message = bytes;
                    self.short_since = None;
                    return Ok(());
                }
                Err(Awaits::Memory) => {
                    let now = sys::monotonic_ns();
                    if now - *self.short_since.get_or_insert(now) >= SHORT_NS {
                        self.conversation.hurry();
                    } else {
                        self.full = true;
                        return Ok(());
                    }
                }
                Err(Awaits::Room) => {
                    self.full = true;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Sends what the socket takes at once.
    fn send(&mut self) -> Result<(), Over> {
        while !self.conversation.answer().is_empty() {
            match self.pipe.send(self.conversation.answer()) {
                Ok(bytes) => {
                    self.conversation.sent(bytes);
                    self.stay.moved(bytes);
                }
                Err(SocketErrno::AGAIN) => return Ok(()),
                Err(SocketErrno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.conversation.hides() {
            self.pipe.hide()?;
            self.conversation.hidden();
        }
        match self.pipe.flush() {
            Ok(()) | Err(SocketErrno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Keeps as much memory as there is use for.
    fn settle(&mut self) {
        if self.message <= INPUT && self.conversation.is_tight() {
            self.incoming.rest();
        }
        let takes = self.incoming.bytes.len().max(self.message);
        self.conversation.settle(takes);
    }

    /// What it has kept for too long while others wait for the memory.
    fn overstays(&mut self) -> Keeps {
        let keeps = self.conversation.keeps(self.message);
        if keeps == Keeps::Nothing && !self.stay.is_watched() {
            return Keeps::Nothing;
        }
        let (wanted, now) = (self.conversation.others_waited(), sys::monotonic_ns());
        if self.stay.is_over(keeps, wanted, now) {
            keeps
        } else {
            Keeps::Nothing
        }
    }

    /// Whether something waits to be sent.
    fn has_answers(&self) -> bool {
        !self.conversation.answer().is_empty() || self.pipe.is_pending()
    }

    /// Waits until there is something to do, and reads what has come.
    fn receive(&mut self) -> Result<(), Over> {
        if self.is_late() {
            return Err(Over::Ended);
        }
        let answers = self.has_answers();
        let alone = !answers && self.conversation.lane().held() == 0 && self.short_since.is_none();
        // A client that is read from when its answers wait would be read from for ever.
        if self.full && alone {
            return Ok(());
        }
        if alone && !self.conversation.negotiates() && !self.stay.is_watched() {
            self.next_request()
        } else if self.ready(answers)? {
            self.read(RecvFlags::DONTWAIT).map(|_| ())
        } else {
            Ok(())
        }
    }

    /// Waits for the next request of a client that has been answered.
    fn next_request(&mut self) -> Result<(), Over> {
        let since = sys::monotonic_ns();
        while self.brisk {
            if self.read(RecvFlags::DONTWAIT)? {
                return Ok(());
            }
            self.brisk = sys::monotonic_ns() - since < LOOKS_NS;
        }
        self.read(RecvFlags::empty())?;
        self.brisk = self.has_company && sys::monotonic_ns() - since < LOOKS_NS;
        Ok(())
    }

    /// Reads what has come, and whether anything has.
    fn read(&mut self, flags: RecvFlags) -> Result<bool, Over> {
        let Some(room) = self.incoming.room(self.message) else {
            return Err(Over::Socket);
        };
        match self.pipe.recv(room, flags) {
            Ok(0) => Err(Over::Ended),
            Ok(bytes) => {
                self.incoming.end += bytes;
                self.stay.moved(bytes);
                Ok(true)
            }
            Err(SocketErrno::AGAIN | SocketErrno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the server has ended and the client has had its time: what it had sent before is
    /// still done, and a client that takes no answers holds nobody up.
    fn is_late(&mut self) -> bool {
        if self.last_moment.is_none() && self.ending.is_told() {
            self.last_moment = Some(sys::monotonic_ns() + FAREWELL_NS);
        }
        self.last_moment
            .is_some_and(|end| sys::monotonic_ns() >= end)
    }

    /// Whether there is something to read, after waiting for that, for room to send, or for a
    /// request that ends.
    fn ready(&mut self, answers: bool) -> Result<bool, Over> {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, !self.full);
        wanted.set(PollFlags::OUT, answers);
        if !self.full && self.pipe.has_more() {
            return Ok(true);
        }
        let now = sys::monotonic_ns();
        let rest = self.conversation.rest();
        let mut until = rest.map(|rest| now.saturating_add(rest));
        if self.conversation.negotiates() {
            let end = self.begun + PATIENCE_NS;
            if now >= end {
                return Err(Over::Socket);
            }
            until = Some(until.map_or(end, |due| due.min(end)));
        }
        let look = self.short_since.map(|_| now + SHORT_LOOK_NS);
        let watched = self.stay.is_watched().then_some(now + stay::LOOK_NS);
        let until = until.into_iter().chain(self.last_moment).chain(look);
        let until = until.chain(watched).min();
        let limit = until.map(|until| span(until.saturating_sub(now)));
        let (lane, socket) = (self.conversation.lane(), self.pipe.socket());
        let waker = lane.waker().unwrap_or(socket.as_fd());
        // Whoever knows of the end is not woken by it again.
        let ending = match self.last_moment {
            None => PollFd::new(&self.ending.waker, PollFlags::IN),
            Some(_) => PollFd::new(socket, PollFlags::empty()),
        };
        let mut entries = [
            PollFd::new(socket, wanted),
            ending,
            PollFd::from_borrowed_fd(waker, PollFlags::IN),
        ];
        let watched = if lane.held() > 0 && lane.waker().is_some() {
            3
        } else {
            2
        };
        match poll(&mut entries[..watched], limit.as_ref()) {
            Ok(_) | Err(SocketErrno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let told = entries[0].revents();
        if told.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL)
            && !told.contains(PollFlags::IN)
        {
            return Err(Over::Ended);
        }
        Ok(told.contains(PollFlags::IN))
    }

    /// Sends what is still to be sent, unless the client takes it too slowly.
    fn farewell(mut self) {
        self.pipe.take_leave();
        let end = self
            .last_moment
            .unwrap_or_else(|| sys::monotonic_ns() + FAREWELL_NS);
        loop {
            let left = end.saturating_sub(sys::monotonic_ns());
            if self.send().is_err() || !self.has_answers() || left == 0 {
                return;
            }
            let mut entries = [PollFd::new(self.pipe.socket(), PollFlags::OUT)];
            let _told_by_the_next_attempt = poll(&mut entries, Some(&span(left)));
        }
    }
}

fn span(ns: u64) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(ns / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % 1_000_000_000).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nbd::ClientMemory;
    use crate::testing::memory;
    use std::io::{Read as _, Write as _};
    use std::net::Shutdown;
    use std::os::unix::net::UnixStream;

    const BYTES: u64 = 8 << 20;

    fn request(command: u16, length: u32) -> Vec<u8> {
        let mut out = 0x2560_9513_u32.to_be_bytes().to_vec();
        out.extend([0; 2]);
        out.extend(command.to_be_bytes());
        out.extend([0; 16]);
        out.extend(length.to_be_bytes());
        out
    }

    /// A client whose requests may come, and the other end of its socket.
    fn client() -> (UnixStream, UnixStream) {
        let (mut near, far) = UnixStream::pair().unwrap();
        near.write_all(&3_u32.to_be_bytes()).unwrap();
        near.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        (near, far)
    }

    #[test]
    fn a_client_that_never_reads_holds_up_no_end() {
        let device = memory(BYTES);
        let ending = ClosingTime::new().unwrap();
        let (mut near, far) = client();
        for _ in 0..64 {
            near.write_all(&request(0, 8 << 20)).unwrap();
        }
        std::thread::scope(|scope| {
            let conversation = Conversation::new(&device, "");
            let server = scope.spawn(|| Exchange::new(&far, conversation, &ending).run());
            while !device.seen().contains("\"read\"") {
                std::thread::yield_now();
            }
            ending.tell();
            far.shutdown(Shutdown::Read).unwrap();
            server.join().unwrap();
        });
    }

    #[test]
    fn a_client_that_goes_on_asking_holds_up_no_end() {
        let device = memory(BYTES);
        let ending = ClosingTime::new().unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        near.write_all(&3_u32.to_be_bytes()).unwrap();
        near.write_all(b"IHAVEOPT\0\0\0\x01\0\0\0\0").unwrap();
        let mut hears = near.try_clone().unwrap();
        std::thread::scope(|scope| {
            let conversation = Conversation::new(&device, "");
            let (ending, ends) = (&ending, far.try_clone().unwrap());
            let server = scope.spawn(move || Exchange::new(&far, conversation, ending).run());
            let asks = request(0, 4096).repeat(100);
            scope.spawn(move || while near.write_all(&asks).is_ok() {});
            scope.spawn(move || {
                let _until_the_end = std::io::copy(&mut hears, &mut std::io::sink());
            });
            while !device.seen().contains("\"read\"") {
                std::thread::yield_now();
            }
            ending.tell();
            ends.shutdown(Shutdown::Read).unwrap();
            server.join().unwrap();
        });
    }

    #[test]
    fn a_client_that_says_nothing_more_still_hears_what_it_had_asked_for() {
        const READ: usize = 1 << 20;
        let device = memory(BYTES);
        let ending = ClosingTime::new().unwrap();
        let (mut near, far) = client();
        // More than the socket takes before somebody reads.
        near.write_all(&request(0, u32::try_from(READ).unwrap()).repeat(3))
            .unwrap();
        near.shutdown(Shutdown::Write).unwrap();
        let heard = std::thread::scope(|scope| {
            let conversation = Conversation::new(&device, "");
            let ending = &ending;
            scope.spawn(move || Exchange::new(&far, conversation, ending).run());
            let mut heard = Vec::new();
            near.read_to_end(&mut heard).unwrap();
            heard
        });
        assert!(heard.len() > 3 * (16 + READ), "{}", heard.len());
        assert_eq!(heard[heard.len() - READ..], vec![0; READ]);
    }

    #[test]
    fn what_a_client_had_asked_for_before_the_end_is_answered() {
        let device = memory(BYTES);
        let ending = ClosingTime::new().unwrap();
        let (mut near, far) = client();
        near.write_all(&request(0, 32 << 10).repeat(3)).unwrap();
        ending.tell();
        far.shutdown(Shutdown::Read).unwrap();
        let heard = std::thread::scope(|scope| {
            let conversation = Conversation::new(&device, "");
            let (ending, far) = (&ending, &far);
            scope.spawn(move || {
                Exchange::new(far, conversation, ending).run();
                far.shutdown(Shutdown::Write).unwrap();
            });
            let mut heard = Vec::new();
            near.read_to_end(&mut heard).unwrap();
            heard.len()
        });
        assert_eq!(heard, 18 + 10 + 3 * ((32 << 10) + 16));
    }

    /// One client that misuses what it may take, and another that needs as much and is read from.
    fn beside_one_who_says(hostile: &[u8], then: impl FnOnce(&mut UnixStream) + Send) {
        const LONG: u32 = 24 << 20;
        let device = memory(64 << 20);
        let clients = Arc::new(ClientMemory::of(Some(160 << 20), || {}));
        let ending = ClosingTime::new().unwrap();
        let free = clients.unused();
        std::thread::scope(|scope| {
            let serve = || {
                let (near, far) = client();
                let conversation = Conversation::new(&device, "");
                let conversation = conversation.sharing(clients.admit().unwrap());
                let ending = &ending;
                scope.spawn(move || {
                    let mut exchange = Exchange::new(&far, conversation, ending);
                    exchange.stay = Stay::of(0);
                    exchange.run();
                });
                near
            };
            let (mut bad, mut good) = (serve(), serve());
            bad.write_all(hostile).unwrap();
            while clients.unused() > free - u64::from(LONG) {
                std::thread::yield_now();
            }
            good.write_all(&request(0, LONG)).unwrap();
            let mut heard = vec![0; 18 + 10 + 16];
            good.read_exact(&mut heard).unwrap();
            assert_eq!(heard[28 + 4..28 + 8], [0; 4], "it was refused");
            good.read_exact(&mut vec![0; LONG as usize]).unwrap();
            then(&mut bad);
        });
        assert_eq!(clients.unused(), free);
    }

    #[test]
    fn a_write_that_is_announced_and_not_sent_is_given_up_when_others_need_its_memory() {
        const LONG: usize = 24 << 20;
        let write = request(1, u32::try_from(LONG).unwrap());
        let begun = [write, vec![7; 1000]].concat();
        beside_one_who_says(&begun, |bad| {
            let mut heard = [0; 18 + 10 + 16];
            bad.read_exact(&mut heard).unwrap();
            assert_eq!(heard[28 + 4..28 + 8], 12_u32.to_be_bytes());
            // Its connection goes on once the rest has come.
            bad.write_all(&vec![7; LONG - 1000]).unwrap();
            bad.write_all(&request(0, 512)).unwrap();
            let mut heard = [1; 16 + 512];
            bad.read_exact(&mut heard).unwrap();
            assert_eq!(heard[16..], [0; 512], "nothing was written");
        });
    }

    #[test]
    fn who_takes_no_answers_is_hung_up_on_when_others_need_the_memory() {
        beside_one_who_says(&request(0, 24 << 20), |bad| {
            let mut heard = Vec::new();
            let _what_was_on_its_way = bad.read_to_end(&mut heard);
            assert!(heard.len() < 24 << 20, "{}", heard.len());
        });
    }
}
