//! What a record says of a quantity, and what is said of quantities.

/// What a record says of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QuantityValue {
    Known(f64),
    /// A percentile that fewer than ten operations lie above, and what they give.
    TooFew(f64),
    Unknown,
}

/// Which values of a quantity are wished for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preference {
    Higher,
    Lower,
    /// The number is somebody else's, or says what was asked.
    #[default]
    Unsaid,
}

/// Where a quantity stands without being asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Among the figures of every study.
    InStudies,
    /// Among what is told of loads.
    OfLoads,
    WhenAsked,
}

/// A part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestPart {
    Connecting,
    Sending,
    Waiting,
    Receiving,
    /// The whole of it, from its issue.
    Duration,
}

/// A text that names no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct NoQuantity {
    pub(super) why: String,
}

impl RequestPart {
    /// In the order of a request's life, the whole last.
    pub const ALL: [Self; 5] = [
        Self::Connecting,
        Self::Sending,
        Self::Waiting,
        Self::Receiving,
        Self::Duration,
    ];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Sending => "sending",
            Self::Waiting => "waiting",
            Self::Receiving => "receiving",
            Self::Duration => "duration",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|part| part.name() == name)
    }
}

impl QuantityValue {
    /// The value, where the record supports it.
    #[must_use]
    pub fn known(self) -> Option<f64> {
        match self {
            Self::Known(value) => Some(value),
            Self::TooFew(_) | Self::Unknown => None,
        }
    }

    /// The value, however few operations it is of.
    #[must_use]
    pub fn of_any_support(self) -> Option<f64> {
        match self {
            Self::Known(value) | Self::TooFew(value) => Some(value),
            Self::Unknown => None,
        }
    }

    pub(super) fn of(value: Option<f64>) -> Self {
        value.map_or(Self::Unknown, Self::Known)
    }
}
