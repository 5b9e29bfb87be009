//! Plots as inline SVG: numbers in, text out.
//!
//! An arm is told from its neighbours by colour (the Okabe–Ito palette, made for colour-blind
//! eyes), by marker and by dashes: there are seven dashes and eight markers, so that a grey print
//! of many arms can still be read. Colours are custom properties of the page's style sheet; a plot
//! names classes only. Every plot scales with its view box and says in its label what it shows.
//!
//! Values that are not finite are not drawn. A plot that would be empty is `None`, so that nobody
//! frames nothing.

mod axis;
mod density;
mod depth;
mod drift;
mod frame;
mod heat;
mod intervals;
mod knee;
mod latency;
mod matrix;
mod series;
mod svg;

pub(crate) use axis::ValueUnit;
pub(crate) use density::{DensityLine, FEWEST_TO_SMOOTH, density};
pub(crate) use depth::{DepthLine, DepthPoint, depth};
pub(crate) use drift::{DriftLine, drift};
pub(crate) use heat::{LEVELS, access_map, latency_map};
pub(crate) use intervals::{IntervalLine, Reference, intervals};
pub(crate) use knee::{KneeLine, KneePoint, knee};
pub(crate) use latency::{LatencyLine, latency};
pub(crate) use matrix::{MatrixCell, MatrixLine, Tone, matrix};
pub(crate) use series::{Regime, SeriesLine, series};
pub(crate) use svg::{escape, key};
