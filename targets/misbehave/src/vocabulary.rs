//! The words that a target has for what is done to its requests.

/// Lowest value, number of values and count of each bucket of a histogram, from the lowest.
pub type Buckets = Vec<(u64, u64, u64)>;

/// Reads the histogram that a name stands for. The error is a reason.
pub type Histograms = fn(&str) -> Result<Buckets, String>;

/// What its errors are called.
#[derive(Debug, Clone, Copy)]
pub enum Codes<'a> {
    /// Statuses of HTTP, from 400 to 599.
    Statuses,
    /// Names with their numbers.
    Names(&'a [(&'a str, u16)]),
}

/// What one target can be told to do.
#[derive(Clone, Copy)]
pub struct Vocabulary<'a> {
    pub operations: &'a [&'a str],
    pub codes: Codes<'a>,
    pub models: &'a [&'a str],
    /// Models that only some operations can have, with these: of another they would do nothing.
    pub only: &'a [(&'a str, &'a [&'a str])],
    /// Operations that are about no place.
    pub placeless: &'a [&'a str],
    /// Operations that are the writing which cures a place.
    pub curing: &'a [&'a str],
    pub histogram: Histograms,
}

impl<'a> Vocabulary<'a> {
    /// What every server over HTTP can do.
    pub const HTTP: [&'static str; 9] = [
        "latency",
        "jitter",
        "rate",
        "bandwidth",
        "channels",
        "errors",
        "stall",
        "truncate",
        "corrupt",
    ];

    /// Of a server over HTTP with these operations.
    pub fn http(operations: &'a [&'a str]) -> Self {
        Self {
            operations,
            codes: Codes::Statuses,
            models: &Self::HTTP,
            only: &[],
            placeless: &[],
            curing: &[],
            histogram: |_| Err("histograms cannot be read here".to_owned()),
        }
    }

    /// The same with histograms that are read so.
    #[must_use]
    pub fn with_histograms(self, histogram: Histograms) -> Self {
        Self { histogram, ..self }
    }

    /// The number of an error, or why it is none.
    pub(crate) fn code(&self, text: &str) -> Result<u16, String> {
        match self.codes {
            Codes::Statuses => text
                .parse()
                .ok()
                .filter(|status| (400..=599).contains(status))
                .ok_or_else(|| "the status of an error is a number from 400 to 599".to_owned()),
            Codes::Names(names) => names
                .iter()
                .find(|(name, _)| *name == text)
                .map(|(_, code)| *code)
                .ok_or_else(|| {
                    let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                    format!("`{text}` is no error here; there are {}", known.join(", "))
                }),
        }
    }
}
