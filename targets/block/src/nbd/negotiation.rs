//! What is settled before requests: which export, and in which form replies are.

use super::reply_queue::ReplyQueue;
use super::wire::{
    CLIENT_FIXED, CLIENT_NO_ZEROES, Fields, MOST_PAYLOAD, OPTION_BYTES, OPTION_MAGIC, answer, can,
    option, option_reply, part,
};
use super::{Awaits, HangUp};
use crate::device::ServedDevice;
use std::sync::Arc;

/// Longest payload of an option that is looked at; names end at 4096 bytes.
const LONGEST_OPTION: usize = 16 << 10;
/// The one thing that can be asked of extents, and its number.
const ALLOCATION: &[u8] = b"base:allocation";
pub(super) const ALLOCATION_ID: u32 = 1;

/// What both sides have settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) structured: bool,
    pub(super) allocation: bool,
}

/// Whether others can read what is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrecy {
    /// There is no certificate to show.
    Impossible,
    /// Nothing is said of an export before TLS has begun.
    Demanded,
    Begun,
}

/// Where a negotiation stands.
#[derive(Debug)]
pub(super) struct Negotiation {
    greeted: bool,
    no_zeroes: bool,
    secrecy: Secrecy,
    terms: Terms,
}

/// One step of it.
pub(super) enum Negotiated {
    /// So many bytes were read; more options may follow.
    Goes(usize),
    /// So many bytes were read; TLS follows the answer.
    Hides(usize),
    /// So many bytes were read; requests follow.
    Ends(usize, Terms),
}

impl Negotiation {
    pub(super) fn new(secrecy: Secrecy) -> Self {
        Self {
            greeted: false,
            no_zeroes: false,
            secrecy,
            terms: Terms::default(),
        }
    }

    /// Reads the client's flags or one option, and answers.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        device: &Arc<ServedDevice>,
        export: &str,
        out: &mut ReplyQueue,
    ) -> Result<Result<Negotiated, Awaits>, HangUp> {
        let mut fields = Fields(input);
        if !self.greeted {
            let Some(flags) = fields.u32() else {
                return Ok(Err(Awaits::Bytes(4)));
            };
            if flags & !(CLIENT_FIXED | CLIENT_NO_ZEROES) != 0 {
                return Err(HangUp::Broken);
            }
            self.greeted = true;
            self.no_zeroes = flags & CLIENT_NO_ZEROES != 0;
            return Ok(Ok(Negotiated::Goes(4)));
        }
        let (Some(magic), Some(asked), Some(length)) = (fields.u64(), fields.u32(), fields.u32())
        else {
            return Ok(Err(Awaits::Bytes(OPTION_BYTES)));
        };
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if magic != OPTION_MAGIC || length > LONGEST_OPTION {
            return Err(HangUp::Broken);
        }
        let whole = OPTION_BYTES + length;
        let Some(payload) = input.get(OPTION_BYTES..whole) else {
            return Ok(Err(Awaits::Bytes(whole)));
        };
        let desk = Desk {
            device,
            export,
            out,
            asked,
        };
        self.answer(desk, payload).map(|answered| {
            Ok(match answered {
                Answered::Goes => Negotiated::Goes(whole),
                Answered::Hides => Negotiated::Hides(whole),
                Answered::Ends => Negotiated::Ends(whole, self.terms),
            })
        })
    }

    /// Answers one option.
    fn answer(&mut self, mut desk: Desk<'_>, payload: &[u8]) -> Result<Answered, HangUp> {
        match desk.asked {
            option::ABORT => {
                desk.answer(answer::ACK, &[]);
                return Err(HangUp::Leave);
            }
            option::START_TLS if self.secrecy == Secrecy::Demanded && payload.is_empty() => {
                desk.answer(answer::ACK, &[]);
                self.secrecy = Secrecy::Begun;
                return Ok(Answered::Hides);
            }
            option::START_TLS if self.secrecy == Secrecy::Impossible => {
                desk.answer(answer::UNSUPPORTED, &[b"it has no certificate"]);
            }
            option::START_TLS => desk.answer(answer::INVALID, &[]),
            // It has no answer that refuses.
            option::EXPORT_NAME if self.secrecy == Secrecy::Demanded => return Err(HangUp::Broken),
            _ if self.secrecy == Secrecy::Demanded => desk.answer(answer::TLS_REQUIRED, &[]),
            option::EXPORT_NAME => {
                if !desk.knows(payload) {
                    return Err(HangUp::Broken);
                }
                desk.export_name(self.no_zeroes, self.terms);
                return Ok(Answered::Ends);
            }
            option::GO | option::INFO => {
                if desk.describe(payload, self.terms) && desk.asked == option::GO {
                    return Ok(Answered::Ends);
                }
            }
            option::LIST if payload.is_empty() => desk.list(),
            option::STRUCTURED_REPLY if payload.is_empty() => {
                self.terms.structured = true;
                desk.answer(answer::ACK, &[]);
            }
            option::LIST | option::STRUCTURED_REPLY => desk.answer(answer::INVALID, &[]),
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                let chosen = desk.contexts(payload, self.terms);
                if desk.asked == option::SET_META_CONTEXT {
                    self.terms.allocation = chosen;
                }
            }
            _ => desk.answer(answer::UNSUPPORTED, &[]),
        }
        Ok(Answered::Goes)
    }
}

/// What follows an option.
enum Answered {
    Goes,
    Hides,
    Ends,
}

/// Where one option is answered.
struct Desk<'a> {
    device: &'a Arc<ServedDevice>,
    export: &'a str,
    out: &'a mut ReplyQueue,
    asked: u32,
}

impl Desk<'_> {
    /// The empty name is that of the one export there is.
    fn knows(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.as_bytes()
    }

    fn answer(&mut self, kind: u32, parts: &[&[u8]]) {
        let bytes = parts.iter().map(|part| part.len()).sum();
        self.out.push(&option_reply(self.asked, kind, bytes));
        for part in parts {
            self.out.push(part);
        }
    }

    fn flags(&self, terms: Terms) -> u16 {
        let mut flags = can::HAS_FLAGS | can::FLUSH | can::MULTI_CONN;
        if self.device.geometry().read_only {
            flags |= can::READ_ONLY;
        } else {
            flags |= can::FUA | can::TRIM | can::WRITE_ZEROES;
        }
        if terms.structured {
            flags |= can::DONT_FRAGMENT;
        }
        flags
    }

    fn export_name(&mut self, no_zeroes: bool, terms: Terms) {
        self.out.push(&self.device.size().to_be_bytes());
        self.out.push(&self.flags(terms).to_be_bytes());
        if !no_zeroes {
            self.out.push(&[0; 124]);
        }
    }

    fn list(&mut self) {
        let export = self.export;
        let length = u32::try_from(export.len()).unwrap_or(0).to_be_bytes();
        self.answer(answer::SERVER, &[&length, export.as_bytes()]);
        self.answer(answer::ACK, &[]);
    }

    /// Describes the export that is asked for, and says whether there is such a one.
    fn describe(&mut self, payload: &[u8], terms: Terms) -> bool {
        let mut fields = Fields(payload);
        let (Some(name), Some(count)) = (fields.counted(), fields.u16()) else {
            self.answer(answer::INVALID, &[]);
            return false;
        };
        if fields.0.len() != usize::from(count) * 2 {
            self.answer(answer::INVALID, &[]);
            return false;
        }
        if !self.knows(name) {
            self.answer(answer::UNKNOWN, &[b"there is no such export"]);
            return false;
        }
        let (size, flags) = (self.device.size(), self.flags(terms));
        let described = [&part::EXPORT.to_be_bytes()[..], &size.to_be_bytes()];
        let [kind, size] = described;
        self.answer(answer::INFO, &[kind, size, &flags.to_be_bytes()]);
        while let Some(wanted) = fields.u16() {
            if wanted == part::NAME {
                let kind = part::NAME.to_be_bytes();
                let export = self.export;
                self.answer(answer::INFO, &[&kind, export.as_bytes()]);
            }
        }
        let block = self.device.geometry().block;
        let kind = part::BLOCK_SIZE.to_be_bytes();
        let sizes = [block, block.max(4096), MOST_PAYLOAD].map(u32::to_be_bytes);
        self.answer(answer::INFO, &[&kind, &sizes[0], &sizes[1], &sizes[2]]);
        self.answer(answer::ACK, &[]);
        true
    }

    /// Says which of the things that are asked for can be told of extents; whether there is one.
    fn contexts(&mut self, payload: &[u8], terms: Terms) -> bool {
        let mut fields = Fields(payload);
        let (Some(name), Some(count)) = (fields.counted(), fields.u32()) else {
            self.answer(answer::INVALID, &[]);
            return false;
        };
        let mut queries = Vec::new();
        while let Some(query) = fields.counted() {
            queries.push(query);
        }
        if !fields.0.is_empty() || u32::try_from(queries.len()) != Ok(count) || !terms.structured {
            self.answer(answer::INVALID, &[]);
            return false;
        }
        if !self.knows(name) {
            self.answer(answer::UNKNOWN, &[b"there is no such export"]);
            return false;
        }
        let lists = self.asked == option::LIST_META_CONTEXT;
        let chosen = (lists && queries.is_empty())
            || queries
                .iter()
                .any(|query| *query == ALLOCATION || (lists && *query == b"base:"));
        if chosen {
            let id = if lists { 0 } else { ALLOCATION_ID };
            self.answer(answer::META_CONTEXT, &[&id.to_be_bytes(), ALLOCATION]);
        }
        self.answer(answer::ACK, &[]);
        chosen
    }
}
