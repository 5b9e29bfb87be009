//! Messages of any length between ranks, on transfers of lengths that are known before.

use crate::MpiChoice;
use crate::error::MpiError;
use crate::family::{Calls, Ticket};
use crate::library::open;
use libc::c_int;
use std::collections::{BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// No message is longer: what another rank says is foreign.
pub const MOST_BYTES: usize = 256 << 20;

/// Every message begins with as many bytes: who sends it, how long it is, and its beginning.
const HEAD: usize = 256;
const INLINE: usize = HEAD - 8;
/// The length of a rank's last word.
const LAST: u32 = u32::MAX;
const HEAD_TAG: c_int = 4201;
const BODY_TAG: c_int = 4202;

/// The processes that one launcher started, seen from one of them. It stays on one thread.
pub struct World {
    calls: Box<dyn Calls>,
    library: PathBuf,
    /// The beginning of a message that is on its way here.
    head: Option<(u32, Ticket)>,
    /// What is on its way here: from whom, what is there of it, and the rest.
    bodies: Vec<(u32, Vec<u8>, Ticket)>,
    sending: Vec<Ticket>,
    arrived: VecDeque<(u32, Vec<u8>)>,
    /// With whom messages were exchanged, and who of them has said its last word.
    peers: BTreeSet<u32>,
    parted: BTreeSet<u32>,
}

impl World {
    /// Opens the library and begins, which waits until all processes have.
    ///
    /// # Errors
    /// No library opens, or it cannot begin.
    pub fn open(choice: &MpiChoice) -> Result<Self, MpiError> {
        let (calls, library) = open(choice)?;
        Ok(Self {
            calls,
            library,
            head: None,
            bodies: Vec::new(),
            sending: Vec::new(),
            arrived: VecDeque::new(),
            peers: BTreeSet::new(),
            parted: BTreeSet::new(),
        })
    }

    #[must_use]
    pub fn rank(&self) -> u32 {
        self.calls.rank()
    }

    #[must_use]
    pub fn size(&self) -> u32 {
        self.calls.size()
    }

    /// What the library calls itself.
    #[must_use]
    pub fn version(&self) -> String {
        self.calls.version()
    }

    /// Where it was found.
    #[must_use]
    pub fn library(&self) -> &Path {
        &self.library
    }

    /// Begins to send.
    ///
    /// # Errors
    /// The library refuses, or the message is too long.
    pub fn send(&mut self, to: u32, message: &[u8]) -> Result<(), MpiError> {
        let length = u32::try_from(message.len()).ok();
        let length = length.filter(|_| message.len() <= MOST_BYTES);
        let Some(length) = length else {
            return Err(MpiError::Message("a message is longer than 256 MiB"));
        };
        self.forget_sent()?;
        let (begin, rest) = message.split_at(message.len().min(INLINE));
        self.send_head(to, length, begin)?;
        if !rest.is_empty() {
            let body = self.calls.send(to, BODY_TAG, rest.into())?;
            self.sending.push(body);
        }
        Ok(())
    }

    fn send_head(&mut self, to: u32, length: u32, begin: &[u8]) -> Result<(), MpiError> {
        let mut head = vec![0; HEAD];
        head[..4].copy_from_slice(&self.rank().to_le_bytes());
        head[4..8].copy_from_slice(&length.to_le_bytes());
        head[8..8 + begin.len()].copy_from_slice(begin);
        let head = self.calls.send(to, HEAD_TAG, head.into_boxed_slice())?;
        self.sending.push(head);
        self.peers.insert(to);
        Ok(())
    }

    /// Says to all with whom messages were exchanged that nothing more comes.
    ///
    /// # Errors
    /// The library refuses.
    pub fn part(&mut self) -> Result<(), MpiError> {
        for peer in self.peers.clone() {
            self.send_head(peer, LAST, &[])?;
        }
        Ok(())
    }

    /// Whether nothing is on its way here any more: all with whom messages were exchanged have said
    /// their last word, before which everything else arrives.
    ///
    /// # Errors
    /// The library refuses.
    pub fn has_heard_all(&mut self) -> Result<bool, MpiError> {
        while self.receive()?.is_some() {}
        Ok(self.peers.is_subset(&self.parted) && self.bodies.is_empty())
    }

    /// The same, and nothing is on its way from here either.
    ///
    /// # Errors
    /// The library refuses.
    pub fn has_parted(&mut self) -> Result<bool, MpiError> {
        Ok(self.has_heard_all()? && self.has_sent()?)
    }

    /// With whom messages were exchanged, and who has not said its last word.
    #[must_use]
    pub fn unparted(&self) -> Vec<u32> {
        self.peers.difference(&self.parted).copied().collect()
    }

    /// Lets go of what has been sent.
    fn forget_sent(&mut self) -> Result<(), MpiError> {
        let mut still = Vec::with_capacity(self.sending.len());
        for ticket in std::mem::take(&mut self.sending) {
            if self.calls.test(ticket)?.is_none() {
                still.push(ticket);
            }
        }
        self.sending = still;
        Ok(())
    }

    /// A message that has arrived, and from whom.
    ///
    /// # Errors
    /// The library refuses, or what came is no message.
    pub fn receive(&mut self) -> Result<Option<(u32, Vec<u8>)>, MpiError> {
        self.forget_sent()?;
        self.take_heads()?;
        self.take_bodies()?;
        Ok(self.arrived.pop_front())
    }

    fn take_heads(&mut self) -> Result<(), MpiError> {
        loop {
            let (from, ticket) = match self.head {
                Some(begun) => begun,
                None => {
                    let Some(from) = self.calls.waiting(HEAD_TAG)? else {
                        return Ok(());
                    };
                    let ticket = self.calls.receive(from, HEAD_TAG, HEAD)?;
                    *self.head.insert((from, ticket))
                }
            };
            let Some(head) = self.calls.test(ticket)? else {
                return Ok(());
            };
            self.head = None;
            let (sender, length) = read_head(&head);
            if sender == from && length == LAST as usize {
                self.parted.insert(from);
                continue;
            }
            if sender != from || length > MOST_BYTES {
                return Err(MpiError::Message("what came is no message of Fathom's"));
            }
            self.peers.insert(from);
            let mut message = vec![0; length.min(INLINE)];
            message.copy_from_slice(&head[8..8 + length.min(INLINE)]);
            if length > INLINE {
                let body = self.calls.receive(from, BODY_TAG, length - INLINE)?;
                self.bodies.push((from, message, body));
            } else {
                self.arrived.push_back((from, message));
            }
        }
    }

    fn take_bodies(&mut self) -> Result<(), MpiError> {
        for (from, mut message, ticket) in std::mem::take(&mut self.bodies) {
            match self.calls.test(ticket)? {
                Some(rest) => {
                    message.extend_from_slice(&rest);
                    self.arrived.push_back((from, message));
                }
                None => self.bodies.push((from, message, ticket)),
            }
        }
        Ok(())
    }

    /// Whether everything that was sent has gone.
    ///
    /// # Errors
    /// The library refuses.
    pub fn has_sent(&mut self) -> Result<bool, MpiError> {
        self.forget_sent()?;
        Ok(self.sending.is_empty())
    }

    /// Ends the library. It may wait for other processes for ever: whoever calls this keeps a watch.
    ///
    /// # Errors
    /// The library refuses.
    pub fn close(mut self) -> Result<(), MpiError> {
        self.calls.finalize()
    }

    /// Ends all processes of the launcher, this one as well; it may come back.
    pub fn abort(mut self, code: i32) {
        self.calls.abort(code);
    }
}

/// From whom, and how long.
fn read_head(head: &[u8]) -> (u32, usize) {
    let number = |at: usize| {
        let bytes = head.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or_default())
    };
    (number(0), usize::try_from(number(4)).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// What lies between ranks: to whom, by which tag, and what.
    type Wires = Rc<RefCell<Vec<(u32, u32, c_int, Box<[u8]>)>>>;

    /// From whom a call under way takes, by which tag, and what it carries.
    type Open = (u32, c_int, Option<Box<[u8]>>);

    /// A library in which everything has arrived as soon as it is sent.
    struct Near {
        rank: u32,
        wires: Wires,
        open: Vec<Open>,
    }

    impl Calls for Near {
        fn rank(&self) -> u32 {
            self.rank
        }
        fn size(&self) -> u32 {
            2
        }
        fn version(&self) -> String {
            "near".into()
        }
        fn send(&mut self, to: u32, tag: c_int, bytes: Box<[u8]>) -> Result<Ticket, MpiError> {
            self.wires
                .borrow_mut()
                .push((to, self.rank, tag, bytes.clone()));
            self.open.push((to, tag, Some(bytes)));
            Ok(Ticket::numbered(self.open.len() - 1))
        }
        fn waiting(&mut self, tag: c_int) -> Result<Option<u32>, MpiError> {
            let wires = self.wires.borrow();
            let mut ours = wires.iter();
            let found = ours.find(|(to, _, with, _)| *to == self.rank && *with == tag);
            Ok(found.map(|(_, by, _, _)| *by))
        }
        fn receive(&mut self, from: u32, tag: c_int, bytes: usize) -> Result<Ticket, MpiError> {
            assert!(bytes > 0);
            self.open.push((from, tag, None));
            Ok(Ticket::numbered(self.open.len() - 1))
        }
        fn test(&mut self, ticket: Ticket) -> Result<Option<Box<[u8]>>, MpiError> {
            let (from, tag, sent) = &mut self.open[ticket.number()];
            if let Some(sent) = sent.take() {
                return Ok(Some(sent));
            }
            let mut wires = self.wires.borrow_mut();
            let found = wires
                .iter()
                .position(|(to, by, with, _)| *to == self.rank && from == by && with == tag);
            Ok(found.map(|at| wires.remove(at).3))
        }
        fn finalize(&mut self) -> Result<(), MpiError> {
            Ok(())
        }
        fn abort(&mut self, _: i32) {}
    }

    fn worlds() -> [World; 2] {
        let wires = Wires::default();
        [0, 1].map(|rank| World {
            calls: Box::new(Near {
                rank,
                wires: Rc::clone(&wires),
                open: Vec::new(),
            }),
            library: PathBuf::new(),
            head: None,
            bodies: Vec::new(),
            sending: Vec::new(),
            arrived: VecDeque::new(),
            peers: BTreeSet::new(),
            parted: BTreeSet::new(),
        })
    }

    #[test]
    fn messages_of_every_length_arrive_whole_and_in_order_of_their_kind() {
        let [mut one, mut two] = worlds();
        for length in [0, 1, INLINE - 1, INLINE, INLINE + 1, 100_000] {
            let message: Vec<u8> = (0..length)
                .map(|n| u8::try_from(n % 251).unwrap())
                .collect();
            one.send(1, &message).unwrap();
            assert_eq!(two.receive().unwrap(), Some((0, message)), "{length}");
            assert_eq!(two.receive().unwrap(), None);
        }
        assert!(one.has_sent().unwrap());
        two.close().unwrap();
    }

    #[test]
    fn ranks_part_when_each_has_taken_all_that_the_other_had_sent() {
        let [mut one, mut two] = worlds();
        one.send(1, b"first").unwrap();
        assert_eq!(two.receive().unwrap(), Some((0, b"first".to_vec())));
        one.part().unwrap();
        two.send(0, &[7; 3 * INLINE]).unwrap();
        assert!(!one.has_parted().unwrap(), "the other may say more");
        assert_eq!(one.unparted(), [1]);
        two.part().unwrap();
        assert!(two.has_parted().unwrap());
        assert!(one.has_parted().unwrap());
        assert_eq!(one.unparted(), []);
        assert!(one.calls.waiting(HEAD_TAG).unwrap().is_none());
        assert!(one.calls.waiting(BODY_TAG).unwrap().is_none());
        // A last word that comes early is no message.
        let [mut one, mut two] = worlds();
        two.send(0, b"a").unwrap();
        two.part().unwrap();
        assert_eq!(one.receive().unwrap(), Some((1, b"a".to_vec())));
        assert_eq!(one.receive().unwrap(), None);
        assert!(one.has_parted().unwrap());
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let [mut one, mut two] = worlds();
        let mut head = vec![0; HEAD];
        head[..4].copy_from_slice(&7_u32.to_le_bytes());
        let _begun = one.calls.send(1, HEAD_TAG, head.into()).unwrap();
        assert!(two.receive().is_err(), "of another rank than says so");
        let [mut one, mut two] = worlds();
        let mut head = vec![0; HEAD];
        head[4..8].copy_from_slice(&(u32::MAX - 1).to_le_bytes());
        let _begun = one.calls.send(1, HEAD_TAG, head.into()).unwrap();
        assert!(two.receive().is_err(), "longer than any");
    }
}
