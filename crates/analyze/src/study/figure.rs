//! One number over the blocks of a cell, and what lies around it.

use super::{Cell, Study};
use record::Quantity;
use stats::{Dependence, Estimate};

/// One metric of one kind of operation, over the blocks of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `read`, `write`, …, or `all`.
    pub kind: String,
    /// [`Quantity::LatencyPercentile`] of 100 is the maximum.
    pub metric: Quantity,
    /// Blocks, numbered from 0 over all plans of the cell, and their values in the unit of the
    /// metric: ns, bytes or operations a second.
    pub values: Vec<(u32, f64)>,
    /// The estimate's point; without an estimate the Hodges-Lehmann point of the few values there
    /// are; of maxima the largest.
    pub point: Option<f64>,
    /// What lies around the point; `None` below five blocks.
    pub bounds: Option<Bounds>,
    /// What its reader must know: `single observation`, `n = 4: too few for an interval`, `too few
    /// operations for p99`.
    pub note: Option<String>,
}

/// What is known of a level beyond its point, in the unit of the metric. Both are of the runs that
/// were made and of their time alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// Estimated on logarithms, as runs in no order in time.
    Interval(Estimate),
    /// Runs depend on when they ran, so that no interval over them has its level.
    Range(Range),
}

/// The least and the greatest of some runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// Runs.
    pub n: usize,
    /// Why this is no interval, and the p of it over all rows of the arm.
    pub why: Dependence,
    pub p: f64,
}

impl Bounds {
    /// The lower and the upper end.
    #[must_use]
    pub fn ends(&self) -> (f64, f64) {
        match self {
            Self::Interval(estimate) => (estimate.low, estimate.high),
            Self::Range(range) => (range.low, range.high),
        }
    }
}

impl Figure {
    /// The interval, where the runs allow one.
    #[must_use]
    pub fn interval(&self) -> Option<&Estimate> {
        match &self.bounds {
            Some(Bounds::Interval(estimate)) => Some(estimate),
            Some(Bounds::Range(_)) | None => None,
        }
    }

    /// The range that stands where runs depend on when they ran.
    #[must_use]
    pub fn range(&self) -> Option<&Range> {
        match &self.bounds {
            Some(Bounds::Range(range)) => Some(range),
            Some(Bounds::Interval(_)) | None => None,
        }
    }
}

impl Cell {
    /// The figure of a kind of operation; of the metric's own kind where it has one.
    #[must_use]
    pub fn figure(&self, kind: &str, metric: &Quantity) -> Option<&Figure> {
        let (kind, metric) = (metric.kind().unwrap_or(kind), metric.of_any_kind());
        self.figures
            .iter()
            .find(|figure| figure.kind == kind && figure.metric == metric)
    }

    /// What only loads have, of a kind of operation.
    #[must_use]
    pub fn of_load(&self, kind: &str, quantity: &Quantity) -> Option<&Figure> {
        let mut figures = self.of_loads.iter();
        figures.find(|figure| figure.kind == kind && figure.metric == *quantity)
    }
}

impl Study {
    /// The figures of all cells, row by row.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.rows
            .iter()
            .flat_map(|row| row.cells.iter().flatten())
            .flat_map(|cell| &cell.figures)
    }
}
