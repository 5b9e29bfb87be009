//! Conversations without a socket: what a client says and what it hears.

use super::{Awaits, ClientMemory, Conversation, HangUp};
use crate::testing::{memory, told};
use crate::{Geometry, MemoryBackend, ServedDevice};
use proptest::prelude::*;
use std::sync::Arc;

const MAGIC: u64 = 0x4948_4156_454f_5054;

/// One client of a device of 1 MiB called `disk`.
struct Talk {
    conversation: Conversation,
    input: Vec<u8>,
}

fn option(number: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap();
    [
        &MAGIC.to_be_bytes()[..],
        &number.to_be_bytes(),
        &length.to_be_bytes(),
        payload,
    ]
    .concat()
}

fn go(name: &str) -> Vec<u8> {
    let length = u32::try_from(name.len()).unwrap().to_be_bytes();
    option(7, &[&length, name.as_bytes(), &[0, 0]].concat())
}

fn request(command: u16, flags: u16, cookie: u64, offset: u64, length: u32) -> Vec<u8> {
    [
        &0x2560_9513_u32.to_be_bytes()[..],
        &flags.to_be_bytes(),
        &command.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}

impl Talk {
    fn with(device: &Arc<ServedDevice>) -> Self {
        Self::of(Conversation::new(device, "disk"))
    }

    fn of(conversation: Conversation) -> Self {
        let mut talk = Self {
            conversation,
            input: Vec::new(),
        };
        assert_eq!(talk.hear(), b"NBDMAGICIHAVEOPT\0\x03");
        talk
    }

    /// A client whose requests may come.
    fn ready(device: &Arc<ServedDevice>, structured: bool) -> Self {
        Self::with(device).begun(structured)
    }

    fn begun(mut self, structured: bool) -> Self {
        self.say(&3_u32.to_be_bytes()).unwrap();
        if structured {
            self.say(&option(8, &[])).unwrap();
        }
        self.say(&go("disk")).unwrap();
        self.hear();
        self
    }

    /// Says bytes, whose messages are understood as far as they are whole.
    fn say(&mut self, bytes: &[u8]) -> Result<Option<Awaits>, HangUp> {
        self.input.extend_from_slice(bytes);
        while !self.input.is_empty() {
            match self.conversation.step(&self.input)? {
                Ok(read) => drop(self.input.drain(..read)),
                Err(awaits) => return Ok(Some(awaits)),
            }
        }
        Ok(None)
    }

    fn hear(&mut self) -> Vec<u8> {
        let heard = self.conversation.answer().to_vec();
        self.conversation.sent(heard.len());
        heard
    }

    fn ask(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.say(bytes).unwrap();
        self.hear()
    }
}

/// A simple reply.
fn reply(error: u32, cookie: u64, data: &[u8]) -> Vec<u8> {
    [
        &0x6744_6698_u32.to_be_bytes()[..],
        &error.to_be_bytes(),
        &cookie.to_be_bytes(),
        data,
    ]
    .concat()
}

/// The kind and the error of an answer to an option.
fn answered(heard: &[u8]) -> Vec<u32> {
    let mut kinds = Vec::new();
    let mut rest = heard;
    while let Some(head) = rest.first_chunk::<20>() {
        let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        kinds.push(number(12));
        rest = &rest[20 + number(16) as usize..];
    }
    kinds
}

#[test]
fn requests_are_answered_in_simple_replies() {
    let mut talk = Talk::ready(&memory(1 << 20), false);
    let write = [request(1, 1, 7, 4096, 4), b"abcd".to_vec()].concat();
    assert_eq!(talk.ask(&write), reply(0, 7, &[]));
    assert_eq!(
        talk.ask(&request(0, 0, 8, 4094, 8)),
        reply(0, 8, b"\0\0abcd\0\0")
    );
    assert_eq!(talk.ask(&request(3, 0, 9, 0, 0)), reply(0, 9, &[]));
    assert_eq!(talk.ask(&request(4, 0, 9, 4096, 2)), reply(0, 9, &[]));
    assert_eq!(talk.ask(&request(6, 2, 9, 4098, 1)), reply(0, 9, &[]));
    assert_eq!(
        talk.ask(&request(0, 0, 1, 4096, 4)),
        reply(0, 1, b"\0\0\0d")
    );
    assert_eq!(talk.say(&request(2, 0, 0, 0, 0)), Err(HangUp::Leave));
}

#[test]
fn requests_are_answered_in_chunks_where_that_was_settled() {
    let mut talk = Talk::ready(&memory(1 << 20), true);
    let heard = talk.ask(&request(0, 4, 8, 512, 4));
    let expected = [
        &0x668e_33ef_u32.to_be_bytes()[..],
        &[0, 1, 0, 1],
        &8_u64.to_be_bytes(),
        &12_u32.to_be_bytes(),
        &512_u64.to_be_bytes(),
        &[0; 4],
    ];
    assert_eq!(heard, expected.concat());
    let refused = talk.ask(&request(0, 0, 8, 1 << 20, 4));
    assert_eq!(refused[6..8], [0x80, 1]);
    assert_eq!(refused[20..24], 22_u32.to_be_bytes());
    // Nobody has asked for what is told of extents.
    let refused = talk.ask(&request(7, 0, 8, 0, 4096));
    assert_eq!(refused[20..24], 22_u32.to_be_bytes());
}

#[test]
fn extents_are_told_to_those_who_have_asked_for_it() {
    let device = memory(1 << 20);
    let mut talk = Talk::with(&device);
    talk.say(&3_u32.to_be_bytes()).unwrap();
    let context = [
        &4_u32.to_be_bytes()[..],
        b"disk",
        &1_u32.to_be_bytes(),
        &15_u32.to_be_bytes(),
        b"base:allocation",
    ]
    .concat();
    assert_eq!(answered(&talk.ask(&option(10, &context))), [0x8000_0003]);
    assert_eq!(answered(&talk.ask(&option(8, &[]))), [1]);
    assert_eq!(answered(&talk.ask(&option(10, &context))), [4, 1]);
    talk.ask(&go("disk"));
    let write = [request(1, 0, 7, 8192, 4096), vec![1; 4096]].concat();
    talk.ask(&write);
    let heard = talk.ask(&request(7, 0, 8, 0, 65536));
    let pieces = [(8192_u32, 3_u32), (4096, 0), (53248, 3)];
    let pieces = pieces.map(|(length, state)| [length.to_be_bytes(), state.to_be_bytes()].concat());
    assert_eq!(heard[24..], pieces.concat());
    let one = talk.ask(&request(7, 8, 8, 0, 65536));
    assert_eq!(one.len(), 32);
}

#[test]
fn options_that_make_no_sense_are_refused_and_the_client_may_go_on() {
    let mut talk = Talk::with(&memory(1 << 20));
    talk.say(&3_u32.to_be_bytes()).unwrap();
    for (asked, answers) in [
        (option(3, &[]), vec![2, 1]),
        (option(3, &[1]), vec![0x8000_0003]),
        (option(5, &[]), vec![0x8000_0001]),
        (option(99, b"anything"), vec![0x8000_0001]),
        (go("other"), vec![0x8000_0006]),
        (option(7, &[0, 0, 0, 9, 1]), vec![0x8000_0003]),
        (option(6, &[0, 0, 0, 0, 0, 1]), vec![0x8000_0003]),
        (option(6, &[0, 0, 0, 0, 0, 1, 0, 1]), vec![3, 3, 3, 1]),
        (option(8, &[1]), vec![0x8000_0003]),
    ] {
        assert_eq!(answered(&talk.ask(&asked)), answers, "{asked:?}");
    }
    assert_eq!(answered(&talk.ask(&go(""))), [3, 3, 1]);
    assert_eq!(talk.ask(&request(3, 0, 9, 0, 0)), reply(0, 9, &[]));
}

#[test]
fn what_is_no_nbd_ends_the_conversation() {
    let device = memory(1 << 20);
    let flags = 3_u32.to_be_bytes();
    let name = |name: &[u8]| [&flags[..], &option(1, name)].concat();
    for (says, end) in [
        (u32::MAX.to_be_bytes().to_vec(), HangUp::Broken),
        ([&flags[..], b"GET / HTTP/1.1\r\n"].concat(), HangUp::Broken),
        (name(b"other"), HangUp::Broken),
        ([&flags[..], &option(2, &[])].concat(), HangUp::Leave),
        ([name(b""), vec![0; 28]].concat(), HangUp::Broken),
        (
            [&flags[..], &MAGIC.to_be_bytes(), &[0xff; 8]].concat(),
            HangUp::Broken,
        ),
    ] {
        assert_eq!(Talk::with(&device).say(&says), Err(end), "{says:?}");
    }
    let mut talk = Talk::with(&device);
    talk.say(&name(b"disk")).unwrap();
    assert_eq!(talk.hear()[..8], (1_u64 << 20).to_be_bytes());
}

#[test]
fn where_tls_is_demanded_nothing_is_said_of_the_export_before_it() {
    let device = memory(1 << 20);
    let fresh = || {
        let mut talk = Talk::with(&device);
        talk.conversation = talk.conversation.with_tls();
        talk.say(&3_u32.to_be_bytes()).unwrap();
        talk
    };
    let mut talk = fresh();
    for asked in [go("disk"), option(3, &[]), option(8, &[]), option(99, &[])] {
        assert_eq!(answered(&talk.ask(&asked)), [0x8000_0005]);
    }
    assert_eq!(answered(&talk.ask(&option(5, &[1]))), [0x8000_0003]);
    assert_eq!(answered(&talk.ask(&option(5, &[]))), [1]);
    assert!(talk.conversation.hides());
    talk.conversation.hidden();
    assert_eq!(answered(&talk.ask(&option(5, &[]))), [0x8000_0003]);
    assert_eq!(answered(&talk.ask(&go("disk"))), [3, 3, 1]);
    assert_eq!(fresh().say(&option(1, b"disk")), Err(HangUp::Broken));
    assert_eq!(fresh().say(&option(2, &[])), Err(HangUp::Leave));
}

#[test]
fn what_comes_in_the_clear_behind_the_question_for_tls_ends_the_conversation() {
    let mut talk = Talk::with(&memory(1 << 20));
    talk.conversation = talk.conversation.with_tls();
    talk.say(&3_u32.to_be_bytes()).unwrap();
    let both = [option(5, &[]), option(8, &[])].concat();
    assert_eq!(talk.say(&both), Err(HangUp::Broken));
}

#[test]
fn without_a_certificate_tls_is_refused_and_the_client_may_go_on() {
    let mut talk = Talk::with(&memory(1 << 20));
    talk.say(&3_u32.to_be_bytes()).unwrap();
    assert_eq!(answered(&talk.ask(&option(5, &[]))), [0x8000_0001]);
    assert_eq!(answered(&talk.ask(&go("disk"))), [3, 3, 1]);
}

#[test]
fn a_write_that_is_too_long_is_refused_and_what_it_brings_is_passed_over() {
    let mut talk = Talk::ready(&memory(1 << 20), false);
    let length = (32 << 20) + 1;
    assert_eq!(talk.ask(&request(1, 0, 7, 0, length)), reply(22, 7, &[]));
    let piece = vec![0x25; 1 << 20];
    for _ in 0..32 {
        assert_eq!(talk.say(&piece), Ok(None));
    }
    talk.say(&[0]).unwrap();
    assert_eq!(talk.ask(&request(3, 0, 9, 0, 0)), reply(0, 9, &[]));
}

#[test]
fn whoever_reads_nothing_is_asked_nothing_more() {
    let mut talk = Talk::ready(&memory(1 << 20), false);
    let reads: Vec<u8> = (0..64)
        .flat_map(|cookie| request(0, 0, cookie, 0, 1 << 20))
        .collect();
    assert_eq!(talk.say(&reads), Ok(Some(Awaits::Room)));
    assert!(talk.conversation.answer().len() < 6 << 20);
    let mut heard = 0;
    loop {
        heard += talk.hear().len();
        if talk.say(&[]).unwrap().is_none() {
            break;
        }
    }
    heard += talk.hear().len();
    assert_eq!(heard, 64 * ((1 << 20) + 16));
}

#[test]
fn a_request_that_needs_memory_waits_for_those_who_have_it_and_short_ones_do_not() {
    let device = memory(64 << 20);
    let clients = Arc::new(ClientMemory::of(Some(160 << 20), || {}));
    let client = || {
        let share = clients.admit().unwrap();
        Talk::of(Conversation::new(&device, "disk").sharing(share)).begun(false)
    };
    let free = clients.unused();
    let (mut one, mut other, mut writes) = (client(), client(), client());
    assert_eq!(one.say(&request(0, 0, 1, 0, 24 << 20)), Ok(None));
    assert_eq!(
        other.say(&request(0, 0, 2, 0, 24 << 20)),
        Ok(Some(Awaits::Memory))
    );
    let write = request(1, 0, 3, 0, 20 << 20);
    assert_eq!(writes.say(&write), Ok(Some(Awaits::Memory)));
    let mut short = client();
    assert_eq!(short.ask(&request(0, 0, 4, 0, 4096)).len(), 16 + 4096);
    let brings = [request(1, 0, 5, 0, 65_536), vec![7; 65_536]].concat();
    assert_eq!(short.ask(&brings), reply(0, 5, &[]));
    // One that waited for long is refused, and what it brings is passed over.
    writes.conversation.hurry();
    assert_eq!(writes.say(&[]), Ok(None));
    assert_eq!(writes.hear(), reply(12, 3, &[]));
    assert_eq!(writes.say(&vec![9; 20 << 20]), Ok(None));
    assert_eq!(writes.ask(&request(3, 0, 6, 0, 0)), reply(0, 6, &[]));
    // When the first has its answer, the next is done.
    assert_eq!(one.hear().len(), 16 + (24 << 20));
    one.conversation.settle(0);
    assert_eq!(other.say(&[]), Ok(None));
    assert_eq!(other.hear().len(), 16 + (24 << 20));
    other.conversation.settle(0);
    assert_eq!(writes.say(&write), Ok(Some(Awaits::Bytes(28 + (20 << 20)))));
    assert_eq!(
        other.say(&request(0, 0, 2, 0, 24 << 20)),
        Ok(Some(Awaits::Memory)),
        "a write that comes has its room"
    );
    drop((one, other, writes, short));
    assert_eq!(clients.unused(), free);
}

#[test]
fn a_read_that_never_has_memory_is_refused_at_once() {
    let device = memory(64 << 20);
    told(&device, "misbehave latency=1us");
    let clients = Arc::new(ClientMemory::of(Some(160 << 20), || {}));
    let share = clients.admit().unwrap();
    let conversation = Conversation::new(&device, "disk").sharing(share);
    let mut talk = Talk::of(conversation).begun(false);
    assert_eq!(talk.ask(&request(3, 0, 8, 0, 0)).len(), 0, "it is told");
    let held = talk.say(&request(0, 0, 7, 0, 30 << 20));
    assert_eq!(held, Ok(None));
    assert_eq!(talk.hear(), reply(12, 7, &[]), "it is kept twice");
}

#[test]
fn whoever_asks_for_exports_and_reads_nothing_takes_no_memory_for_it() {
    let mut talk = Talk::with(&memory(1 << 20));
    talk.say(&3_u32.to_be_bytes()).unwrap();
    let lists = option(3, &[]).repeat(1000);
    let mut pieces = 1;
    while talk.say(&lists).unwrap().is_none() {
        pieces += 1;
        assert!(pieces < 1000, "all of them were answered");
    }
    assert!(talk.conversation.answer().len() < 5 << 20);
    let mut heard = talk.hear().len();
    while talk.say(&[]).unwrap().is_some() {
        heard += talk.hear().len();
    }
    heard += talk.hear().len();
    assert_eq!(heard, pieces * 1000 * (20 + 4 + "disk".len() + 20));
}

#[test]
fn reads_that_are_held_take_no_more_memory_than_they_may() {
    let device = memory(32 << 20);
    told(&device, "misbehave hang=100%");
    let mut talk = Talk::ready(&device, false);
    let reads: Vec<u8> = (0..8)
        .flat_map(|cookie| request(0, 0, cookie, 0, 32 << 20))
        .collect();
    assert_eq!(talk.say(&reads), Ok(Some(Awaits::Room)));
    assert_eq!(talk.conversation.lane().held(), 2);
    let flushes: Vec<u8> = (0..300)
        .flat_map(|cookie| request(3, 0, cookie, 0, 0))
        .collect();
    let mut other = Talk::ready(&device, false);
    assert_eq!(other.say(&flushes), Ok(Some(Awaits::Room)));
    assert_eq!(other.conversation.lane().held(), 256);
}

#[test]
fn a_device_that_is_read_only_says_so_and_refuses_what_changes_it() {
    let geometry = Geometry {
        block: 512,
        read_only: true,
    };
    let backend = MemoryBackend::new(1 << 20).unwrap();
    let device = Arc::new(ServedDevice::new(Box::new(backend), geometry));
    let mut talk = Talk::ready(&device, false);
    let write = [request(1, 0, 7, 0, 512), vec![1; 512]].concat();
    assert_eq!(talk.ask(&write), reply(1, 7, &[]));
    assert_eq!(talk.ask(&request(4, 0, 7, 0, 512)), reply(1, 7, &[]));
    assert_eq!(talk.ask(&request(0, 0, 7, 1, 512)), reply(22, 7, &[]));
    assert_eq!(talk.ask(&request(0, 0, 7, 0, 511)), reply(22, 7, &[]));
    assert_eq!(talk.ask(&request(0, 0, 7, 512, 4)).len(), 16);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_no_message_is_read_beyond_its_end(
        sound in 0_usize..3,
        messages in proptest::collection::vec((0_u16..9, 0_u16..64, any::<u64>(), 0_u64..(2 << 20), 0_u32..70_000), 0..8),
        noise in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let device = memory(1 << 20);
        let mut talk = match sound {
            0 => Talk::with(&device),
            _ => Talk::ready(&device, sound == 2),
        };
        let mut says: Vec<u8> = messages
            .into_iter()
            .flat_map(|(command, flags, cookie, offset, length)| {
                let payload = if command == 1 { length as usize } else { 0 };
                [request(command, flags, cookie, offset, length), vec![0; payload]].concat()
            })
            .collect();
        says.extend(noise);
        let _it_may_hang_up = talk.say(&says);
    }
}
