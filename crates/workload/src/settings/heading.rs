//! Groups of options.

/// Where an option stands in the help text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    Target,
    Access,
    Engine,
    Stop,
    Pace,
    Data,
    Placement,
    Observation,
}

impl Heading {
    /// Title in the help text.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Target => "Target and files",
            Self::Access => "Access pattern",
            Self::Engine => "Engine and durability",
            Self::Stop => "When to stop",
            Self::Pace => "Pace",
            Self::Data => "Data and verification",
            Self::Placement => "Placement",
            Self::Observation => "Observation",
        }
    }
}
