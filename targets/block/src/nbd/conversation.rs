//! One client's conversation, from bytes to bytes: it knows no socket.

mod extents;
mod held;
mod thrift;

use super::client_memory::{MemoryGrant, MemoryShare};
use super::negotiation::{Negotiated, Negotiation, Secrecy, Terms};
use super::reply_queue::ReplyQueue;
use super::wire::{
    CHUNK_BYTES, GREETING, MOST_PAYLOAD, REQUEST_BYTES, SIMPLE_REPLY_BYTES, WireRequest, chunk,
    command, error_number, flag, last_chunk, simple_reply,
};
use super::{Awaits, HangUp};
use crate::device::ServedDevice;
use crate::lane::{Lane, Reaped, Submitted};
use crate::request::{BlockOperation, BlockRequest, Buffer, DeviceResult, Errno};
use std::sync::Arc;

/// Requests of one client that are held at once; more wait in its socket.
const DEPTH: u16 = 256;
/// Bytes that its held reads may take, unless there is only one.
const HELD_BYTES: usize = 64 << 20;
/// While so much waits to be sent, no more is done.
const WAITING_BYTES: usize = 4 << 20;

/// A request that is held.
#[derive(Clone, Debug, Default)]
struct Waiting {
    cookie: u64,
    offset: u64,
    is_read: bool,
    /// What a read found.
    data: Vec<u8>,
}

/// What one client says, and what it is answered.
pub struct Conversation {
    export: String,
    lane: Lane,
    /// `None` once requests may come.
    negotiation: Option<Negotiation>,
    /// TLS follows what is to be sent.
    hides: bool,
    terms: Terms,
    waiting: Vec<Waiting>,
    free: Vec<u16>,
    held_bytes: usize,
    reaped: Vec<Reaped>,
    /// Bytes of a write that was refused and still come.
    skipped: u32,
    /// What it has of the memory for all clients; `None` where nobody limits it.
    share: Option<MemoryShare>,
    /// Bytes that its input takes beyond a short message, or will.
    incoming: usize,
    /// The next request is refused where its memory is not to be had.
    hurries: bool,
    /// The write that has not come whole is refused.
    gives_up: bool,
    pub(super) out: ReplyQueue,
}

impl Conversation {
    pub fn new(device: &Arc<ServedDevice>, export: &str) -> Self {
        let mut out = ReplyQueue::default();
        out.push(&GREETING);
        Self {
            export: export.to_owned(),
            lane: device.lane(DEPTH),
            negotiation: Some(Negotiation::new(Secrecy::Impossible)),
            hides: false,
            terms: Terms::default(),
            waiting: vec![Waiting::default(); usize::from(DEPTH)],
            free: (0..DEPTH).collect(),
            held_bytes: 0,
            reaped: Vec::with_capacity(usize::from(DEPTH)),
            skipped: 0,
            share: None,
            incoming: 0,
            hurries: false,
            gives_up: false,
            out,
        }
    }

    /// Demands TLS before anything is said of the export.
    #[must_use]
    pub fn with_tls(self) -> Self {
        Self {
            negotiation: Some(Negotiation::new(Secrecy::Demanded)),
            ..self
        }
    }

    /// Whether TLS begins once all that is to be sent has been.
    pub fn hides(&self) -> bool {
        self.hides
    }

    /// TLS has begun.
    pub(super) fn hidden(&mut self) {
        self.hides = false;
    }

    /// Whether nothing was asked for yet.
    pub(super) fn negotiates(&self) -> bool {
        self.negotiation.is_some()
    }

    pub(super) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Whether an answer is missing for want of memory: its client would wait for it for ever.
    pub(super) fn is_short(&self) -> bool {
        self.out.is_short()
    }

    /// As [`Lane::rest`].
    pub(super) fn rest(&mut self) -> Option<u64> {
        self.lane.rest()
    }

    /// Bytes that are to be sent.
    pub fn answer(&self) -> &[u8] {
        self.out.waiting()
    }

    /// So many of them have been.
    pub fn sent(&mut self, bytes: usize) {
        self.out.gone(bytes);
    }

    /// Reads one message from the front of `input` and says how long it was, or what is needed
    /// first.
    ///
    /// # Errors
    /// The conversation is over; what is to be sent still is.
    pub fn step(&mut self, input: &[u8]) -> Result<Result<usize, Awaits>, HangUp> {
        if self.hides {
            // What came with the question was not enciphered, and is nobody's: whoever stands
            // between client and server could have put it there.
            return Err(HangUp::Broken);
        }
        // Who asks and never reads an answer takes no more memory than this.
        if self.out.waiting().len() >= WAITING_BYTES {
            return Ok(Err(Awaits::Room));
        }
        if let Some(negotiation) = &mut self.negotiation {
            let device = Arc::clone(self.lane.device());
            let step = negotiation.step(input, &device, &self.export, &mut self.out)?;
            return Ok(match step {
                Err(need) => Err(need),
                Ok(Negotiated::Goes(bytes)) => Ok(bytes),
                Ok(Negotiated::Hides(bytes)) => {
                    self.hides = true;
                    Ok(bytes)
                }
                Ok(Negotiated::Ends(bytes, terms)) => {
                    self.negotiation = None;
                    self.terms = terms;
                    Ok(bytes)
                }
            });
        }
        if self.skipped > 0 {
            let here = u32::try_from(input.len()).unwrap_or(u32::MAX);
            let bytes = here.min(self.skipped);
            self.skipped -= bytes;
            return Ok(if bytes == 0 {
                Err(Awaits::Bytes(1))
            } else {
                Ok(bytes as usize)
            });
        }
        self.transmission(input)
    }

    #[inline]
    fn transmission(&mut self, input: &[u8]) -> Result<Result<usize, Awaits>, HangUp> {
        let Some((head, rest)) = input.split_first_chunk() else {
            return Ok(Err(Awaits::Bytes(REQUEST_BYTES)));
        };
        let wire = WireRequest::parse(head).ok_or(HangUp::Broken)?;
        if self.free.is_empty() {
            return Ok(Err(Awaits::Room));
        }
        match wire.command {
            command::WRITE => {
                let bytes = wire.length as usize;
                if wire.length > MOST_PAYLOAD || wire.flags & !flag::FUA != 0 {
                    self.skipped = wire.length;
                    self.end(wire.cookie, Err(Errno::EINVAL));
                    return Ok(Ok(REQUEST_BYTES));
                }
                let Some(payload) = rest.get(..bytes) else {
                    return Ok(self.expect(&wire));
                };
                self.write(&wire, payload);
                return Ok(Ok(REQUEST_BYTES + bytes));
            }
            command::READ => {
                let held = self.held_bytes + wire.length as usize;
                if held > HELD_BYTES && self.lane.held() > 0 {
                    return Ok(Err(Awaits::Room));
                }
                if wire.length > MOST_PAYLOAD || wire.flags & !flag::DONT_FRAGMENT != 0 {
                    self.end(wire.cookie, Err(Errno::EINVAL));
                } else {
                    match self.afford(self.takes_with_read(wire.length as usize)) {
                        MemoryGrant::Taken => self.read(&wire),
                        MemoryGrant::Waits => return Ok(Err(Awaits::Memory)),
                        MemoryGrant::Never => self.end(wire.cookie, Err(Errno::ENOMEM)),
                    }
                }
            }
            command::DISCONNECT => return Err(HangUp::Leave),
            command::FLUSH => self.other(&wire, BlockOperation::Flush, flag::FUA),
            command::TRIM => self.other(&wire, BlockOperation::Trim, flag::FUA),
            command::WRITE_ZEROES => {
                self.other(&wire, BlockOperation::Zero, flag::FUA | flag::NO_HOLE);
            }
            command::BLOCK_STATUS => self.block_status(&wire),
            _ => self.end(wire.cookie, Err(Errno::EINVAL)),
        }
        Ok(Ok(REQUEST_BYTES))
    }

    fn request(wire: &WireRequest, operation: BlockOperation) -> BlockRequest {
        let length = if operation == BlockOperation::Flush {
            0
        } else {
            u64::from(wire.length)
        };
        BlockRequest {
            operation,
            offset: wire.offset,
            length,
            fua: wire.flags & flag::FUA != 0,
            keep_room: wire.flags & flag::NO_HOLE != 0,
        }
    }

    /// The tag that the next request takes.
    fn tag(&self) -> u16 {
        *self
            .free
            .last()
            .expect("the caller has seen that one is free")
    }

    fn read_head(&self) -> usize {
        if self.terms.structured {
            CHUNK_BYTES + 8
        } else {
            SIMPLE_REPLY_BYTES
        }
    }

    fn write_read_head(into: &mut [u8], structured: bool, cookie: u64, offset: u64, length: u32) {
        if structured {
            let head = last_chunk(chunk::DATA, cookie, length + 8);
            into[..CHUNK_BYTES].copy_from_slice(&head);
            into[CHUNK_BYTES..CHUNK_BYTES + 8].copy_from_slice(&offset.to_be_bytes());
        } else {
            into[..SIMPLE_REPLY_BYTES].copy_from_slice(&simple_reply(0, cookie));
        }
    }

    #[inline]
    fn read(&mut self, wire: &WireRequest) {
        let (tag, head, bytes) = (self.tag(), self.read_head(), wire.length as usize);
        let request = Self::request(wire, BlockOperation::Read);
        // A structured reply without data is none of data.
        if bytes == 0 {
            return self.end(wire.cookie, Err(Errno::EINVAL));
        }
        let Some(room) = self.out.room(head + bytes) else {
            return self.end(wire.cookie, Err(Errno::ENOMEM));
        };
        match self
            .lane
            .submit(tag, &request, Buffer::Takes(&mut room[head..]))
        {
            Submitted::Done(Ok(())) => {
                let structured = self.terms.structured;
                Self::write_read_head(room, structured, wire.cookie, wire.offset, wire.length);
                self.out.add(head + bytes);
            }
            Submitted::Done(Err(error)) => self.end(wire.cookie, Err(error)),
            Submitted::Held => {
                let mut data = std::mem::take(self.hold(wire, true));
                data.clear();
                if let Some(room) = self.out.room(head + bytes)
                    && data.try_reserve_exact(bytes).is_ok()
                {
                    data.extend_from_slice(&room[head..]);
                }
                self.held_bytes += data.len();
                self.waiting[usize::from(tag)].data = data;
            }
        }
    }

    #[inline]
    fn write(&mut self, wire: &WireRequest, payload: &[u8]) {
        let request = Self::request(wire, BlockOperation::Write);
        match self
            .lane
            .submit(self.tag(), &request, Buffer::Brings(payload))
        {
            Submitted::Done(outcome) => self.end(wire.cookie, outcome),
            Submitted::Held => {
                self.hold(wire, false);
            }
        }
    }

    fn other(&mut self, wire: &WireRequest, operation: BlockOperation, flags: u16) {
        if wire.flags & !flags != 0 {
            return self.end(wire.cookie, Err(Errno::EINVAL));
        }
        let request = Self::request(wire, operation);
        match self.lane.submit(self.tag(), &request, Buffer::Nothing) {
            Submitted::Done(outcome) => self.end(wire.cookie, outcome),
            Submitted::Held => {
                self.hold(wire, false);
            }
        }
    }

    /// Answers a request that has no data to give.
    #[inline]
    fn end(&mut self, cookie: u64, outcome: DeviceResult) {
        match (self.terms.structured, outcome) {
            (false, _) => {
                let error = outcome.err().map_or(0, error_number);
                self.out.push(&simple_reply(error, cookie));
            }
            (true, Ok(())) => self.out.push(&last_chunk(chunk::NONE, cookie, 0)),
            (true, Err(error)) => {
                self.out.push(&last_chunk(chunk::ERROR, cookie, 6));
                self.out.push(&error_number(error).to_be_bytes());
                self.out.push(&0_u16.to_be_bytes());
            }
        }
    }
}
