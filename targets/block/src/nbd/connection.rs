//! A conversation over a socket.

use super::conversation::Conversation;
use super::{Awaits, HangUp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno as SocketErrno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is read at once, unless one message is longer.
const INPUT: usize = 256 << 10;
/// How long somebody may take until requests can come.
const PATIENCE_NS: u64 = 10_000_000_000;
/// How long a thread looks for the next request before it sleeps, as long as requests come within
/// that time. To wake a thread takes longer than most requests, above all in a virtual machine,
/// where an idle CPU is left to the host.
const LOOKS_NS: u64 = 100_000;
/// How long a client may take for its last answers when the server ends.
const FAREWELL_NS: u64 = 1_000_000_000;

/// Bytes that came and were not read yet.
struct Incoming {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Incoming {
    fn new() -> Self {
        Self {
            bytes: vec![0; INPUT],
            start: 0,
            end: 0,
        }
    }

    fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Room for the rest of a message of so many bytes, or for whatever comes.
    fn room(&mut self, message: usize) -> &mut [u8] {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if message > INPUT || self.start + message.max(INPUT / 2) > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let wanted = message.max(INPUT);
            if self.bytes.len() < wanted {
                self.bytes.resize(wanted, 0);
            } else if self.bytes.len() > wanted && self.end <= wanted {
                self.bytes.truncate(wanted);
                self.bytes.shrink_to_fit();
            }
        }
        &mut self.bytes[self.end..]
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
    socket: &'a S,
    conversation: Conversation,
    incoming: Incoming,
    /// Bytes of the message that is incomplete; 0 where none is.
    message: usize,
    /// Whether there is no use in reading more.
    full: bool,
    /// Whether the last request came so soon that it is worth looking for the next.
    brisk: bool,
    /// Whether somebody else can run while this thread looks.
    has_company: bool,
    stopping: &'a AtomicBool,
    begun: u64,
}

impl<'a, S: AsFd> Exchange<'a, S> {
    pub(super) fn new(socket: &'a S, conversation: Conversation, stopping: &'a AtomicBool) -> Self {
        Self {
            socket,
            conversation,
            incoming: Incoming::new(),
            message: 0,
            full: false,
            brisk: false,
            has_company: std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1),
            stopping,
            begun: sys::monotonic_ns(),
        }
    }

    /// Speaks until one side ends it.
    pub(super) fn run(mut self) {
        sys::precise_sleeps();
        loop {
            let understood = self.understand();
            self.conversation.reap();
            if self.send().is_err() {
                return;
            }
            if understood.is_err() {
                return self.farewell();
            }
            match self.receive() {
                Ok(()) => {}
                Err(Over::Ended) if self.stopping.load(Relaxed) => {
                    self.conversation.abandon();
                    return self.farewell();
                }
                Err(Over::Ended | Over::Socket) => return,
            }
        }
    }

    /// Does all that has come whole.
    fn understand(&mut self) -> Result<(), HangUp> {
        (self.message, self.full) = (0, false);
        while self.incoming.start < self.incoming.end {
            match self.conversation.step(self.incoming.unread())? {
                Ok(bytes) => self.incoming.start += bytes,
                Err(Awaits::Bytes(bytes)) => {
                    self.message = bytes;
                    return Ok(());
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
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            match send(self.socket, self.conversation.answer(), flags) {
                Ok(bytes) => self.conversation.sent(bytes),
                Err(SocketErrno::AGAIN) => return Ok(()),
                Err(SocketErrno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until there is something to do, and reads what has come.
    fn receive(&mut self) -> Result<(), Over> {
        let answers = !self.conversation.answer().is_empty();
        // A client that is read from when its answers wait would be read from for ever.
        if self.full && !answers && self.conversation.lane().held() == 0 {
            return Ok(());
        }
        let alone = !answers && self.conversation.lane().held() == 0;
        if alone && !self.conversation.negotiates() {
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
        let room = self.incoming.room(self.message);
        match recv(self.socket, &mut room[..], flags) {
            Ok((0, _)) => Err(Over::Ended),
            Ok((bytes, _)) => {
                self.incoming.end += bytes;
                Ok(true)
            }
            Err(SocketErrno::AGAIN | SocketErrno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether there is something to read, after waiting for that, for room to send, or for a
    /// request that ends.
    fn ready(&self, answers: bool) -> Result<bool, Over> {
        let mut wanted = PollFlags::empty();
        wanted.set(PollFlags::IN, !self.full);
        wanted.set(PollFlags::OUT, answers);
        let now = sys::monotonic_ns();
        let mut until = self.conversation.lane().due();
        if self.conversation.negotiates() {
            let end = self.begun + PATIENCE_NS;
            if now >= end {
                return Err(Over::Socket);
            }
            until = Some(until.map_or(end, |due| due.min(end)));
        }
        let limit = until.map(|until| span(until.saturating_sub(now)));
        let lane = self.conversation.lane();
        let waker = lane.waker().unwrap_or(self.socket.as_fd());
        let mut entries = [
            PollFd::new(self.socket, wanted),
            PollFd::from_borrowed_fd(waker, PollFlags::IN),
        ];
        let watched = if lane.held() > 0 && lane.waker().is_some() {
            2
        } else {
            1
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
        let end = sys::monotonic_ns() + FAREWELL_NS;
        loop {
            let left = end.saturating_sub(sys::monotonic_ns());
            if self.send().is_err() || self.conversation.answer().is_empty() || left == 0 {
                return;
            }
            let mut entries = [PollFd::new(self.socket, PollFlags::OUT)];
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
