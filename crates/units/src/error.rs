use std::fmt;

/// Why a text is not the quantity that was asked for; one variant for each thing that the reader
/// can do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Give a value: there was none.
    #[error("nothing was given where {what} is needed; write for example {}", what.example())]
    Empty {
        /// What was asked for.
        what: Expected,
    },
    /// Write it in the shape of the quantity.
    #[error("`{read}` is not {what}: expected {}; write for example {}", what.shape(), what.example())]
    Malformed {
        /// The text that was read, shortened if it is long.
        read: String,
        /// What was asked for.
        what: Expected,
    },
    /// Drop the minus sign.
    #[error("`{read}` is negative and {what} cannot be; write for example {}", what.example())]
    Negative {
        /// The text that was read, shortened if it is long.
        read: String,
        /// What was asked for.
        what: Expected,
    },
    /// Use a unit that exists.
    #[error("`{read}` ends in `{unit}`, which is no unit of {what} ({}); write for example {}", what.units(), what.example())]
    UnknownUnit {
        /// The text that was read, shortened if it is long.
        read: String,
        /// The part of it that was taken for the unit.
        unit: String,
        /// What was asked for.
        what: Expected,
    },
    /// Choose between the two meanings.
    #[error(
        "`{read}` is used for powers of 1000 and of 1024; write {decimal} for the first or {binary} for the second"
    )]
    Ambiguous {
        /// The text that was read, shortened if it is long.
        read: String,
        /// The same number with the decimal unit.
        decimal: String,
        /// The same number with the binary unit.
        binary: String,
    },
    /// Use a smaller unit or fewer decimals.
    #[error("`{read}` is not a whole number of {}; write for example {}", what.grain(), what.example())]
    NotWhole {
        /// The text that was read, shortened if it is long.
        read: String,
        /// What was asked for.
        what: Expected,
    },
    /// Stay inside the limits.
    #[error("`{read}` is outside the limits of {what} ({}); write for example {}", what.limits(), what.example())]
    OutOfRange {
        /// The text that was read, shortened if it is long.
        read: String,
        /// What was asked for.
        what: Expected,
    },
    /// Turn the range around.
    #[error("the range `{part}` in `{read}` runs downwards; write it as {upwards}")]
    Reversed {
        /// The text that was read, shortened if it is long.
        read: String,
        /// The range at fault.
        part: String,
        /// The same range with its ends exchanged.
        upwards: String,
    },
    /// Name each id once.
    #[error("`{read}` names {id} more than once, and each id counts once; write for example {}", Expected::IdList.example())]
    Duplicate {
        /// The text that was read, shortened if it is long.
        read: String,
        /// The first id that is repeated.
        id: u32,
    },
}

/// What a text was expected to be; the source of the wording of [`UnitError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// A [`Bytes`](crate::Bytes).
    Size,
    /// A [`Nanos`](crate::Nanos).
    Duration,
    /// A [`Rate`](crate::Rate).
    Rate,
    /// A [`ByteRate`](crate::ByteRate).
    ByteRate,
    /// A [`Percent`](crate::Percent).
    Percent,
    /// An [`IdList`](crate::IdList).
    IdList,
    /// A size in the fio dialect.
    FioSize,
    /// A time in the fio dialect.
    FioTime,
    /// One or more ranges in the fio dialect.
    FioRange,
    /// fio's `kb_base`.
    FioKbBase,
}

/// The words of one quantity.
struct Wording {
    noun: &'static str,
    shape: &'static str,
    units: &'static str,
    grain: &'static str,
    limits: &'static str,
    example: &'static str,
}

const SIZE: Wording = Wording {
    noun: "a size",
    shape: "a number and an optional unit",
    units: "k m g t p e or KiB MiB … for powers of 1024, kB MB GB … for powers of 1000",
    grain: "bytes",
    limits: "0 to 18446744073709551615 bytes, just under 16 EiB",
    example: "4k, 4KiB or 1.5G",
};
const DURATION: Wording = Wording {
    noun: "a duration",
    shape: "a number and an optional unit",
    units: "ns us ms s, m or min, h d; without a unit seconds",
    grain: "nanoseconds",
    limits: "0 to 18446744073709551615 ns, about 584 years",
    example: "10s, 1.5ms or 2m",
};
const RATE: Wording = Wording {
    noun: "a rate in operations per second",
    shape: "a number and an optional k, m or g",
    units: "k m g for powers of 1000, with or without /s",
    grain: "operations",
    limits: "0 to the largest finite number",
    example: "500, 10k or 0.5",
};
const BYTE_RATE: Wording = Wording {
    noun: "a rate in bytes per second",
    shape: "a size and an optional /s",
    example: "100M, 1GiB/s or 1.5G",
    ..SIZE
};
const PERCENT: Wording = Wording {
    noun: "a percentage",
    shape: "a number and an optional %",
    units: "%",
    grain: "percent",
    limits: "0 to 100",
    example: "70 or 70%",
};
const ID_LIST: Wording = Wording {
    noun: "a list of ids",
    shape: "ids and ranges of ids, separated by commas",
    units: "it has none",
    grain: "ids",
    limits: "at most 65536 ids of 0 to 4294967295",
    example: "0-31 or 0,2,4-7",
};
const FIO_SIZE: Wording = Wording {
    noun: "a size as fio writes it",
    shape: "a whole number, decimal or 0x…, and an optional unit without a space between",
    units: "k kb ki kib and the same for m g t p, or %",
    grain: "bytes",
    limits: "0 to 18446744073709551615 bytes, 0% to 100%",
    example: "4k, 0x1000 or 50%",
};
const FIO_TIME: Wording = Wording {
    noun: "a time as fio writes it",
    shape: "a whole number and an optional unit without a space between",
    units: "d h m s sec ms msec us usec",
    grain: "microseconds",
    limits: "0 to 18446744073709551615 us",
    example: "30s, 500ms or 2m",
};
const FIO_RANGE: Wording = Wording {
    noun: "a range of sizes as fio writes it",
    shape: "LOW-HIGH or LOW:HIGH, several separated by commas",
    example: "1k-64k",
    ..FIO_SIZE
};
const FIO_KB_BASE: Wording = Wording {
    noun: "a kb_base",
    shape: "1000 or 1024",
    units: "it has none",
    grain: "bytes",
    limits: "1000 or 1024",
    example: "kb_base=1024",
};

impl Expected {
    fn wording(self) -> Wording {
        match self {
            Expected::Size => SIZE,
            Expected::Duration => DURATION,
            Expected::Rate => RATE,
            Expected::ByteRate => BYTE_RATE,
            Expected::Percent => PERCENT,
            Expected::IdList => ID_LIST,
            Expected::FioSize => FIO_SIZE,
            Expected::FioTime => FIO_TIME,
            Expected::FioRange => FIO_RANGE,
            Expected::FioKbBase => FIO_KB_BASE,
        }
    }

    fn shape(self) -> &'static str {
        self.wording().shape
    }

    fn units(self) -> &'static str {
        self.wording().units
    }

    fn grain(self) -> &'static str {
        self.wording().grain
    }

    fn limits(self) -> &'static str {
        self.wording().limits
    }

    fn example(self) -> &'static str {
        self.wording().example
    }

    pub(crate) fn malformed(self, read: &str) -> UnitError {
        UnitError::Malformed {
            read: excerpt(read),
            what: self,
        }
    }

    pub(crate) fn negative(self, read: &str) -> UnitError {
        UnitError::Negative {
            read: excerpt(read),
            what: self,
        }
    }

    pub(crate) fn unknown_unit(self, read: &str, unit: &str) -> UnitError {
        UnitError::UnknownUnit {
            read: excerpt(read),
            unit: excerpt(unit),
            what: self,
        }
    }

    pub(crate) fn not_whole(self, read: &str) -> UnitError {
        UnitError::NotWhole {
            read: excerpt(read),
            what: self,
        }
    }

    pub(crate) fn out_of_range(self, read: &str) -> UnitError {
        UnitError::OutOfRange {
            read: excerpt(read),
            what: self,
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wording().noun)
    }
}

/// What was read, fit for one line of a terminal: control characters escaped, cut after 60
/// characters.
pub(crate) fn excerpt(read: &str) -> String {
    const LONGEST: usize = 60;
    let escaped = |c: char| {
        if crate::disturbs(c) {
            c.escape_default().collect()
        } else {
            String::from(c)
        }
    };
    let mut shown: String = read.chars().take(LONGEST).map(escaped).collect();
    if read.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// The name of the variant, for tables of what is refused.
#[cfg(test)]
pub(crate) fn kind_of(error: &UnitError) -> String {
    format!("{error:?}")
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Expected; 10] = [
        Expected::Size,
        Expected::Duration,
        Expected::Rate,
        Expected::ByteRate,
        Expected::Percent,
        Expected::IdList,
        Expected::FioSize,
        Expected::FioTime,
        Expected::FioRange,
        Expected::FioKbBase,
    ];

    #[test]
    fn every_message_shows_what_was_read_and_an_example() {
        for what in ALL {
            let errors = [
                what.malformed("7up"),
                what.negative("7up"),
                what.unknown_unit("7up", "up"),
                what.not_whole("7up"),
                what.out_of_range("7up"),
            ];
            for error in errors {
                let text = error.to_string();
                assert!(text.contains("`7up`"), "{text}");
                assert!(text.contains(what.example()), "{text}");
            }
            assert!(
                UnitError::Empty { what }
                    .to_string()
                    .contains(what.example())
            );
        }
    }

    #[test]
    fn a_long_or_binary_text_is_shown_short_and_on_one_line() {
        let text = Expected::Size.malformed(&"x\n".repeat(1000)).to_string();
        assert!(text.chars().count() < 250, "{text}");
        assert!(!text.contains('\n'), "{text}");
        assert!(text.contains("x\\nx\\n") && text.contains('…'), "{text}");
    }
}
