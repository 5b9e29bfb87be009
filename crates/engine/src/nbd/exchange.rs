//! Requests going out and replies coming in over a socket that never blocks, at any cut.

use super::protocol::{Command, NbdFault, REPLY_BYTES, REQUEST_BYTES, Reply, request};
use crate::{Arena, Completion, Op, Request, Slot};
use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};

/// Payloads up to this are copied, so that one system call moves several; longer ones go straight
/// between socket and slot. In bytes.
const COPY_LIMIT: usize = 16 << 10;
/// Requests are gathered up to about this before they are sent, in bytes.
const STAGE_LIMIT: usize = 128 << 10;
/// Read ahead of the current reply where payloads are copied, in bytes.
const AHEAD: usize = 64 << 10;
/// The same where they are not: room for the heads of replies.
const AHEAD_OF_LONG_PAYLOADS: usize = 4 << 10;

#[derive(Clone, Copy, Debug)]
struct Awaited {
    op: Op,
    len: u32,
    /// Position in the outgoing stream behind the request's last byte.
    end: u64,
}

/// Requests without their reply, by slot, which is also the cookie.
#[derive(Debug)]
pub(super) struct Outstanding {
    slots: Vec<Option<Awaited>>,
    count: usize,
    /// Bytes of the outgoing stream that the socket took.
    sent: u64,
}

impl Outstanding {
    pub(super) fn new(depth: u32) -> Self {
        Self {
            slots: vec![None; depth as usize],
            count: 0,
            sent: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn begin(&mut self, request: &Request) {
        let place = &mut self.slots[request.slot as usize];
        debug_assert!(
            place.is_none(),
            "slot {} is already in flight",
            request.slot
        );
        *place = Some(Awaited {
            op: request.op,
            len: request.len,
            end: u64::MAX,
        });
        self.count += 1;
    }

    fn placed(&mut self, slot: Slot, end: u64) {
        if let Some(awaited) = &mut self.slots[slot as usize] {
            awaited.end = end;
        }
    }

    fn replied(&self, cookie: u64) -> Result<(Slot, Awaited), NbdFault> {
        let place = usize::try_from(cookie)
            .ok()
            .and_then(|index| self.slots.get(index))
            .copied()
            .flatten();
        match (Slot::try_from(cookie).ok(), place) {
            (Some(_), Some(awaited)) if awaited.end > self.sent => {
                Err(NbdFault::EarlyReply(cookie))
            }
            (Some(slot), Some(awaited)) => Ok((slot, awaited)),
            (_, _) => Err(NbdFault::UnknownRequest(cookie)),
        }
    }

    fn finish(&mut self, slot: Slot) {
        if self.slots[slot as usize].take().is_some() {
            self.count -= 1;
        }
    }
}

/// A payload on its way between the socket and the buffer of its slot.
#[derive(Clone, Copy, Debug)]
struct Payload {
    slot: Slot,
    len: usize,
    moved: usize,
}

/// The outgoing stream. A write's buffer is read until its last byte is sent, which is before its
/// reply can end the slot.
#[derive(Debug)]
pub(super) struct Sender {
    queue: VecDeque<Request>,
    staged: Vec<u8>,
    /// Bytes of `staged` that the socket took.
    taken: usize,
    /// A long payload that follows what is staged.
    long: Option<Payload>,
    /// Length of the stream up to the end of what is staged and of `long`.
    placed: u64,
    pub(super) write: Command,
}

impl Sender {
    pub(super) fn new(depth: u32, block: usize) -> Self {
        let most = (REQUEST_BYTES + block.min(COPY_LIMIT))
            .saturating_mul(depth as usize)
            .min(STAGE_LIMIT + REQUEST_BYTES + COPY_LIMIT);
        Self {
            queue: VecDeque::with_capacity(depth as usize),
            staged: Vec::with_capacity(most),
            taken: 0,
            long: None,
            placed: 0,
            write: Command::Write,
        }
    }

    pub(super) fn push(&mut self, request: &Request, outstanding: &mut Outstanding) {
        outstanding.begin(request);
        self.queue.push_back(*request);
    }

    pub(super) fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.taken == self.staged.len() && self.long.is_none()
    }

    /// Sends as much as the sink takes without blocking.
    pub(super) fn send(
        &mut self,
        sink: &mut impl Write,
        arena: &mut Arena,
        outstanding: &mut Outstanding,
    ) -> io::Result<()> {
        loop {
            self.stage(arena, outstanding);
            if self.is_drained() {
                return sink.flush();
            }
            let payload: &[u8] = match self.long {
                Some(long) => &arena.buffer(long.slot)[long.moved..long.len],
                None => &[],
            };
            match sink.write_vectored(&[
                IoSlice::new(&self.staged[self.taken..]),
                IoSlice::new(payload),
            ]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => self.advance(bytes, outstanding),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn stage(&mut self, arena: &mut Arena, outstanding: &mut Outstanding) {
        if self.taken == self.staged.len() {
            self.staged.clear();
            self.taken = 0;
        }
        while self.long.is_none()
            && self.staged.len() < STAGE_LIMIT
            && let Some(next) = self.queue.pop_front()
        {
            let cookie = u64::from(next.slot);
            self.staged.extend_from_slice(&if next.op == Op::Read {
                request(Command::Read, cookie, next.offset, next.len)
            } else if next.op == Op::Write {
                request(self.write, cookie, next.offset, next.len)
            } else {
                request(Command::Flush, cookie, 0, 0)
            });
            self.placed += REQUEST_BYTES as u64;
            if next.op == Op::Write {
                let payload = &arena.buffer(next.slot)[..next.len as usize];
                if payload.len() <= COPY_LIMIT {
                    self.staged.extend_from_slice(payload);
                } else {
                    self.long = Some(Payload {
                        slot: next.slot,
                        len: payload.len(),
                        moved: 0,
                    });
                }
                self.placed += u64::from(next.len);
            }
            outstanding.placed(next.slot, self.placed);
        }
    }

    fn advance(&mut self, bytes: usize, outstanding: &mut Outstanding) {
        outstanding.sent += bytes as u64;
        let of_staged = bytes.min(self.staged.len() - self.taken);
        self.taken += of_staged;
        if let Some(long) = &mut self.long {
            long.moved += bytes - of_staged;
            if long.moved == long.len {
                self.long = None;
            }
        }
    }
}

/// Why no more replies can be read.
#[derive(Debug)]
pub(super) enum Broken {
    Io(io::Error),
    Fault(NbdFault),
}

/// Whether the source may have more at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    Perhaps,
    Drained,
}

/// The incoming stream: replies, of which reads carry their data into the slot's buffer.
#[derive(Debug)]
pub(super) struct Receiver {
    ahead: Box<[u8]>,
    /// The bytes of `ahead` that are read and not yet understood.
    start: usize,
    end: usize,
    payload: Option<Payload>,
}

impl Receiver {
    pub(super) fn new(block: usize) -> Self {
        let ahead = if block <= COPY_LIMIT {
            AHEAD
        } else {
            AHEAD_OF_LONG_PAYLOADS
        };
        Self {
            ahead: vec![0; ahead].into_boxed_slice(),
            start: 0,
            end: 0,
            payload: None,
        }
    }

    /// Reads once and appends the completions that this makes whole.
    pub(super) fn receive(
        &mut self,
        source: &mut impl Read,
        arena: &mut Arena,
        outstanding: &mut Outstanding,
        out: &mut Vec<Completion>,
    ) -> Result<Supply, Broken> {
        self.ahead.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let rest: &mut [u8] = match self.payload {
            Some(payload) => &mut arena.buffer(payload.slot)[payload.moved..payload.len],
            None => &mut [],
        };
        let (direct, room) = (rest.len(), rest.len() + self.ahead.len() - self.end);
        let bytes = match source.read_vectored(&mut [
            IoSliceMut::new(rest),
            IoSliceMut::new(&mut self.ahead[self.end..]),
        ]) {
            Ok(0) => return Err(Broken::Io(io::ErrorKind::UnexpectedEof.into())),
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Supply::Drained),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(Supply::Perhaps),
            Err(e) => return Err(Broken::Io(e)),
        };
        if let Some(payload) = &mut self.payload {
            payload.moved += bytes.min(direct);
        }
        self.end += bytes - bytes.min(direct);
        self.understand(arena, outstanding, out)
            .map_err(Broken::Fault)?;
        Ok(if bytes < room {
            Supply::Drained
        } else {
            Supply::Perhaps
        })
    }

    fn understand(
        &mut self,
        arena: &mut Arena,
        outstanding: &mut Outstanding,
        out: &mut Vec<Completion>,
    ) -> Result<(), NbdFault> {
        loop {
            if let Some(payload) = &mut self.payload {
                let bytes = (payload.len - payload.moved).min(self.end - self.start);
                let into = &mut arena.buffer(payload.slot)[payload.moved..payload.moved + bytes];
                into.copy_from_slice(&self.ahead[self.start..self.start + bytes]);
                self.start += bytes;
                payload.moved += bytes;
                if payload.moved < payload.len {
                    return Ok(());
                }
                outstanding.finish(payload.slot);
                out.push(Completion {
                    slot: payload.slot,
                    result: payload.len as i64,
                });
                self.payload = None;
            }
            let Some(head) = self.ahead[self.start..self.end].first_chunk::<REPLY_BYTES>() else {
                return Ok(());
            };
            let reply = Reply::parse(head)?;
            let (slot, awaited) = outstanding.replied(reply.cookie)?;
            self.start += REPLY_BYTES;
            if reply.errno == 0 && awaited.op == Op::Read {
                self.payload = Some(Payload {
                    slot,
                    len: awaited.len as usize,
                    moved: 0,
                });
                continue;
            }
            let done = if awaited.op.transfers() {
                i64::from(awaited.len)
            } else {
                0
            };
            outstanding.finish(slot);
            out.push(Completion {
                slot,
                result: if reply.errno == 0 {
                    done
                } else {
                    -i64::from(reply.errno)
                },
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEPTH: u32 = 4;
    const BLOCK: usize = 20 << 10;

    /// Moves at most the next of `cuts` bytes a call, in turn; 0 is a socket that would block.
    struct Cut<'a, T> {
        inner: T,
        cuts: std::iter::Cycle<std::iter::Copied<std::slice::Iter<'a, usize>>>,
    }

    fn cut<T>(inner: T, cuts: &[usize]) -> Cut<'_, T> {
        Cut {
            inner,
            cuts: cuts.iter().copied().cycle(),
        }
    }

    impl Read for Cut<'_, io::Cursor<Vec<u8>>> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.read_vectored(&mut [IoSliceMut::new(into)])
        }

        fn read_vectored(&mut self, into: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
            let mut left = self.cuts.next().unwrap();
            if left == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let mut total = 0;
            for slice in into {
                let most = left.min(slice.len());
                let bytes = self.inner.read(&mut slice[..most])?;
                (total, left) = (total + bytes, left - bytes);
            }
            Ok(total)
        }
    }

    impl Write for Cut<'_, Vec<u8>> {
        fn write(&mut self, from: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(from)])
        }

        fn write_vectored(&mut self, from: &[IoSlice<'_>]) -> io::Result<usize> {
            let left = self.cuts.next().unwrap();
            if left == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let bytes: Vec<u8> = from
                .iter()
                .flat_map(|slice| slice.iter().copied())
                .take(left)
                .collect();
            self.inner.write(&bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn fill(slot: Slot) -> u8 {
        u8::try_from(slot).unwrap() + 1
    }

    fn arena(depth: u32) -> Arena {
        let mut arena = Arena::new(depth, BLOCK).unwrap();
        (0..depth).for_each(|slot| arena.buffer(slot).fill(fill(slot)));
        arena
    }

    fn outstanding(requests: &[Request]) -> Outstanding {
        let mut outstanding = Outstanding::new(DEPTH);
        for request in requests {
            outstanding.begin(request);
            outstanding.placed(request.slot, 0);
        }
        outstanding
    }

    fn any_request(slot: Slot) -> impl Strategy<Value = Request> {
        let op = prop_oneof![Just(Op::Read), Just(Op::Write), Just(Op::Fsync)];
        (op, any::<u32>(), 1..=u32::try_from(BLOCK).unwrap()).prop_map(move |(op, offset, len)| {
            Request {
                slot,
                file: 0,
                op,
                offset: offset.into(),
                len,
            }
        })
    }

    fn any_requests() -> impl Strategy<Value = Vec<Request>> {
        (0..DEPTH)
            .map(any_request)
            .collect::<Vec<_>>()
            .prop_shuffle()
    }

    fn any_cuts() -> impl Strategy<Value = Vec<usize>> {
        proptest::collection::vec(
            prop_oneof![Just(0_usize), 1..40_usize, 1..30_000_usize],
            1..12,
        )
        .prop_map(|mut cuts| {
            cuts.push(1000);
            cuts
        })
    }

    fn received(
        bytes: Vec<u8>,
        cuts: &[usize],
        outstanding: &mut Outstanding,
        arena: &mut Arena,
    ) -> (Vec<Completion>, Broken) {
        let mut source = cut(io::Cursor::new(bytes), cuts);
        let (mut receiver, mut out) = (Receiver::new(BLOCK), Vec::new());
        loop {
            if let Err(broken) = receiver.receive(&mut source, arena, outstanding, &mut out) {
                return (out, broken);
            }
        }
    }

    fn reply(slot: Slot, errno: u32) -> Vec<u8> {
        [
            &b"\x67\x44\x66\x98"[..],
            &errno.to_be_bytes(),
            &u64::from(slot).to_be_bytes(),
        ]
        .concat()
    }

    #[test]
    fn a_reply_before_the_end_of_its_request_is_a_fault() {
        let request = Request {
            slot: 1,
            file: 0,
            op: Op::Write,
            offset: 0,
            len: 20_000,
        };
        let (mut arena, mut outstanding) = (arena(DEPTH), Outstanding::new(DEPTH));
        let mut sender = Sender::new(DEPTH, BLOCK);
        sender.push(&request, &mut outstanding);
        sender
            .send(
                &mut cut(Vec::new(), &[19_000, 0]),
                &mut arena,
                &mut outstanding,
            )
            .unwrap();
        let (out, broken) = received(reply(1, 5), &[100], &mut outstanding, &mut arena);
        assert!(
            out.is_empty() && matches!(broken, Broken::Fault(NbdFault::EarlyReply(1))),
            "{broken:?}"
        );
        sender
            .send(&mut cut(Vec::new(), &[2_000]), &mut arena, &mut outstanding)
            .unwrap();
        let (out, _) = received(reply(1, 5), &[100], &mut outstanding, &mut arena);
        assert_eq!(
            out,
            [Completion {
                slot: 1,
                result: -5
            }]
        );
    }

    #[test]
    fn a_request_is_answered_once() {
        let request = Request {
            slot: 3,
            file: 0,
            op: Op::Fsync,
            offset: 0,
            len: 0,
        };
        let mut outstanding = outstanding(&[request]);
        let (out, broken) = received(
            reply(3, 0).repeat(2),
            &[100],
            &mut outstanding,
            &mut arena(DEPTH),
        );
        assert_eq!(out, [Completion { slot: 3, result: 0 }]);
        assert!(matches!(broken, Broken::Fault(NbdFault::UnknownRequest(3))));
        assert_eq!(outstanding.count(), 0);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn requests_arrive_whole_and_in_order_at_any_cut(requests in any_requests(), cuts in any_cuts()) {
            let (mut arena, mut outstanding) = (arena(DEPTH), Outstanding::new(DEPTH));
            let mut sender = Sender::new(DEPTH, BLOCK);
            let mut sink = cut(Vec::new(), &cuts);
            let mut wanted = Vec::new();
            for r in &requests {
                sender.push(r, &mut outstanding);
                sender.send(&mut sink, &mut arena, &mut outstanding).unwrap();
                let kind = [Op::Read, Op::Write].iter().position(|op| *op == r.op).map_or(3, |kind| u8::try_from(kind).unwrap());
                let (place, len) = if r.op.transfers() { (r.offset, r.len) } else { (0, 0) };
                wanted.extend_from_slice(&[0x25, 0x60, 0x95, 0x13, 0, 0, 0, kind]);
                wanted.extend_from_slice(&u64::from(r.slot).to_be_bytes());
                wanted.extend_from_slice(&place.to_be_bytes());
                wanted.extend_from_slice(&len.to_be_bytes());
                if r.op == Op::Write { wanted.extend(std::iter::repeat_n(fill(r.slot), len as usize)); }
            }
            while !sender.is_drained() {
                sender.send(&mut sink, &mut arena, &mut outstanding).unwrap();
            }
            prop_assert_eq!(outstanding.sent, wanted.len() as u64);
            prop_assert!(sink.inner == wanted);
        }

        #[test]
        fn replies_complete_their_requests_at_any_cut(requests in any_requests(), cuts in any_cuts(), errors in proptest::collection::vec(prop_oneof![Just(0_u32), Just(28)], 4)) {
            let mut arena = arena(DEPTH);
            let mut stream = Vec::new();
            for (r, errno) in requests.iter().zip(&errors) {
                stream.extend(reply(r.slot, *errno));
                if r.op == Op::Read && *errno == 0 { stream.extend(std::iter::repeat_n(0x80 | fill(r.slot), r.len as usize)); }
            }
            let (out, broken) = received(stream, &cuts, &mut outstanding(&requests), &mut arena);
            prop_assert!(matches!(broken, Broken::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof));
            prop_assert_eq!(out.len(), requests.len());
            for ((completion, r), errno) in out.iter().zip(&requests).zip(&errors) {
                let done = if r.op.transfers() { i64::from(r.len) } else { 0 };
                prop_assert_eq!(*completion, Completion { slot: r.slot, result: if *errno == 0 { done } else { -28 } });
                let (data, beyond) = arena.buffer(r.slot).split_at(if r.op == Op::Read && *errno == 0 { r.len as usize } else { 0 });
                prop_assert!(data.iter().all(|byte| *byte == 0x80 | fill(r.slot)) && beyond.iter().all(|byte| *byte == fill(r.slot)));
            }
        }

        #[test]
        fn no_server_makes_the_receiver_panic_or_end_a_request_twice(
            requests in any_requests(),
            parts in proptest::collection::vec((any::<bool>(), 0..6_u32, proptest::collection::vec(any::<u8>(), 0..50)), 0..20),
            cuts in any_cuts(),
        ) {
            let stream = parts.iter().flat_map(|(well_formed, slot, noise)| if *well_formed { reply(*slot, 0) } else { noise.clone() }).collect();
            let mut outstanding = outstanding(&requests);
            let (out, _) = received(stream, &cuts, &mut outstanding, &mut arena(DEPTH));
            let mut slots: Vec<Slot> = out.iter().map(|completion| completion.slot).collect();
            slots.sort_unstable();
            slots.dedup();
            prop_assert_eq!(slots.len(), out.len());
            prop_assert_eq!(outstanding.count(), requests.len() - out.len());
        }
    }
}
