//! What ranks say to each other, and as which bytes.

use std::sync::Arc;

/// What a rank says in a round, or of how far it is; for its users to read.
pub type Word = Arc<[u8]>;

/// What ranks say to each other. Times are of the clock of who says them, or of the root's where it
/// is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What time is it?
    Ask { sent: u64 },
    /// The asker's `sent` again, the time of who answers, and where the root's clock is from there.
    Time {
        sent: u64,
        read: u64,
        root: Option<(i128, i128)>,
    },
    /// What who says it shows of its clock to those that run on the same kernel; before an answer.
    Reader { word: Word },
    /// How far a rank is: the rounds that it has heard the answer of, the start that it waits for, and
    /// how well it knows the root's clock, where it knows it well enough.
    Here {
        heard: u32,
        wants: u32,
        bound_ns: Option<u64>,
    },
    /// A rank's word in a round.
    Said { round: u32, word: Word },
    /// The root has it.
    Got { round: u32 },
    /// What came of a round.
    Answer { round: u32, word: Word },
    /// To begin at this time of the root; how far ahead is that?
    Propose { attempt: u32, at: u64 },
    /// So far, in nanoseconds.
    Ahead { attempt: u32, ns: u64 },
    /// All begin at this time of the root.
    Go { start: u32, at: u64 },
    /// The root is there.
    Still,
    /// What a rank has measured so far.
    Snapshot { word: Word },
    /// What was begun is to end: a rank wants it, or the root says it to all.
    Halt { start: u32 },
    /// How much a rank had done when the time was over, which it says once; or the root says to all
    /// what the greatest of all is.
    Reached { start: u32, most: u64 },
    /// So many steps of the work a rank has left; or the root says that all have.
    Left { start: u32, steps: u64 },
    /// These are lost.
    Lost { ranks: Vec<u32> },
    /// A rank heard of the start when it was over.
    Late,
    /// Nothing more comes after the answers of so many rounds; these were lost.
    End { rounds: u32, lost: Vec<u32> },
    /// It has heard of the end.
    Bye,
}

impl Message {
    /// Bytes that [`Message::read`] reads.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Bytes(vec![self.kind()]);
        match self {
            Self::Ask { sent } => out.long(*sent),
            Self::Time { sent, read, root } => {
                out.long(*sent);
                out.long(*read);
                out.0.push(u8::from(root.is_some()));
                if let Some((low, high)) = root {
                    out.0.extend(low.to_le_bytes());
                    out.0.extend(high.to_le_bytes());
                }
            }
            Self::Here {
                heard,
                wants,
                bound_ns,
            } => {
                out.short(*heard);
                out.short(*wants);
                out.0.push(u8::from(bound_ns.is_some()));
                out.long(bound_ns.unwrap_or(0));
            }
            Self::Said { round, word } | Self::Answer { round, word } => {
                out.short(*round);
                out.0.extend_from_slice(word);
            }
            Self::Got { round: number } | Self::Halt { start: number } => out.short(*number),
            Self::Propose { attempt, at: long } | Self::Ahead { attempt, ns: long } => {
                out.short(*attempt);
                out.long(*long);
            }
            Self::Go { start, at: long }
            | Self::Reached { start, most: long }
            | Self::Left { start, steps: long } => {
                out.short(*start);
                out.long(*long);
            }
            Self::Snapshot { word } | Self::Reader { word } => out.0.extend_from_slice(word),
            Self::Lost { ranks } => ranks.iter().for_each(|rank| out.short(*rank)),
            Self::End { rounds, lost } => {
                out.short(*rounds);
                lost.iter().for_each(|rank| out.short(*rank));
            }
            Self::Still | Self::Late | Self::Bye => {}
        }
        out.0
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Ask { .. } => 1,
            Self::Time { .. } => 2,
            Self::Here { .. } => 3,
            Self::Said { .. } => 4,
            Self::Got { .. } => 5,
            Self::Answer { .. } => 6,
            Self::Propose { .. } => 7,
            Self::Ahead { .. } => 8,
            Self::Go { .. } => 9,
            Self::Still => 10,
            Self::Snapshot { .. } => 11,
            Self::Halt { .. } => 12,
            Self::Lost { .. } => 13,
            Self::Late => 14,
            Self::End { .. } => 15,
            Self::Bye => 16,
            Self::Reached { .. } => 17,
            Self::Left { .. } => 19,
            Self::Reader { .. } => 18,
        }
    }

    /// What the bytes of another rank say; `None` where they say nothing.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let mut rest = Rest(rest);
        let message = match kind {
            1 => Self::Ask { sent: rest.long()? },
            2 => Self::Time {
                sent: rest.long()?,
                read: rest.long()?,
                root: match rest.byte()? {
                    0 => None,
                    1 => Some((rest.offset()?, rest.offset()?)),
                    _ => return None,
                },
            },
            3 => {
                let (heard, wants, knows) = (rest.short()?, rest.short()?, rest.byte()?);
                let bound_ns = rest.long()?;
                let bound_ns = (knows == 1).then_some(bound_ns);
                Self::Here {
                    heard,
                    wants,
                    bound_ns,
                }
            }
            4 => Self::Said {
                round: rest.short()?,
                word: rest.all(),
            },
            5 => Self::Got {
                round: rest.short()?,
            },
            6 => Self::Answer {
                round: rest.short()?,
                word: rest.all(),
            },
            7 => Self::Propose {
                attempt: rest.short()?,
                at: rest.long()?,
            },
            8 => Self::Ahead {
                attempt: rest.short()?,
                ns: rest.long()?,
            },
            9 => Self::Go {
                start: rest.short()?,
                at: rest.long()?,
            },
            10 => Self::Still,
            11 => Self::Snapshot { word: rest.all() },
            12 => Self::Halt {
                start: rest.short()?,
            },
            13 => Self::Lost {
                ranks: std::iter::from_fn(|| rest.short()).collect(),
            },
            14 => Self::Late,
            15 => Self::End {
                rounds: rest.short()?,
                lost: std::iter::from_fn(|| rest.short()).collect(),
            },
            16 => Self::Bye,
            18 => Self::Reader { word: rest.all() },
            _ => Self::of_work(*kind, &mut rest)?,
        };
        rest.0.is_empty().then_some(message)
    }

    /// How far a rank, or all of them, are in the work that was begun.
    fn of_work(kind: u8, rest: &mut Rest<'_>) -> Option<Self> {
        let (start, far) = (rest.short()?, rest.long()?);
        match kind {
            17 => Some(Self::Reached { start, most: far }),
            19 => Some(Self::Left { start, steps: far }),
            _ => None,
        }
    }
}

struct Bytes(Vec<u8>);

impl Bytes {
    fn short(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn long(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (own, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*own)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn short(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// Where a clock can be: no two clocks are further apart than they can count.
    fn offset(&mut self) -> Option<i128> {
        const MOST: u128 = 1 << 66;
        let offset = self.take().map(i128::from_le_bytes)?;
        (offset.unsigned_abs() < MOST).then_some(offset)
    }

    fn all(&mut self) -> Word {
        std::mem::take(&mut self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_message() -> impl Strategy<Value = Message> {
        let word = || prop::collection::vec(any::<u8>(), 0..300).prop_map(Word::from);
        let offset = || -(1_i128 << 60)..(1_i128 << 60);
        prop_oneof![
            any::<u64>().prop_map(|sent| Message::Ask { sent }),
            (
                any::<u64>(),
                any::<u64>(),
                prop::option::of((offset(), offset()))
            )
                .prop_map(|(sent, read, root)| Message::Time { sent, read, root }),
            (any::<u32>(), any::<u32>(), prop::option::of(any::<u64>())).prop_map(
                |(heard, wants, bound_ns)| Message::Here {
                    heard,
                    wants,
                    bound_ns
                }
            ),
            (any::<u32>(), word()).prop_map(|(round, word)| Message::Said { round, word }),
            (any::<u32>(), word()).prop_map(|(round, word)| Message::Answer { round, word }),
            any::<u32>().prop_map(|round| Message::Got { round }),
            (any::<u32>(), any::<u64>()).prop_map(|(attempt, at)| Message::Propose { attempt, at }),
            (any::<u32>(), any::<u64>()).prop_map(|(attempt, ns)| Message::Ahead { attempt, ns }),
            (any::<u32>(), any::<u64>()).prop_map(|(start, at)| Message::Go { start, at }),
            word().prop_map(|word| Message::Snapshot { word }),
            any::<u32>().prop_map(|start| Message::Halt { start }),
            any::<(u32, u64)>().prop_map(|(start, most)| Message::Reached { start, most }),
            any::<(u32, u64)>().prop_map(|(start, steps)| Message::Left { start, steps }),
            prop::collection::vec(any::<u32>(), 0..9).prop_map(|ranks| Message::Lost { ranks }),
            Just(Message::Still),
            Just(Message::Late),
            (any::<u32>(), prop::collection::vec(any::<u32>(), 0..9))
                .prop_map(|(rounds, lost)| Message::End { rounds, lost }),
            Just(Message::Bye),
            prop::collection::vec(any::<u8>(), 0..80)
                .prop_map(|word| Message::Reader { word: word.into() }),
        ]
    }

    proptest! {
        #[test]
        fn what_was_said_is_what_is_read(message in any_message()) {
            prop_assert_eq!(Message::read(&message.bytes()), Some(message));
        }

        #[test]
        fn bytes_of_any_kind_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Some(message) = Message::read(&bytes) {
                let again = Message::read(&message.bytes());
                prop_assert_eq!(again, Some(message));
            }
        }
    }

    #[test]
    fn what_says_nothing_is_told_from_what_does() {
        for bytes in [&[][..], &[0], &[99, 1], &[1, 2, 3], &[10, 0], &[13, 1, 0]] {
            assert_eq!(Message::read(bytes), None, "{bytes:?}");
        }
        let mut far = Message::Time {
            sent: 0,
            read: 0,
            root: Some((0, 0)),
        }
        .bytes();
        far[18..34].copy_from_slice(&i128::MAX.to_le_bytes());
        assert_eq!(Message::read(&far), None, "no clock is so far away");
    }
}
