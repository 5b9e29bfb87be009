//! Records as text: for people, for spreadsheets, and in the formats that other tools read.
//!
//! Every function takes records and gives text; none reads a clock, a file or the environment, so
//! the same records give the same bytes. Nothing is judged here: findings come in as data from
//! `analyze`. What a record does not know is empty or null in the machine formats and left out of
//! the text for people; it is never zero.
//!
//! One file a format. Deliberately absent: averages over records. A mean of percentiles is no
//! percentile, and several records need an interval, which is a matter of statistics.
#![forbid(unsafe_code)]

mod annotation;
mod audit;
mod comparison;
mod csv;
mod differing;
mod document;
mod ends;
#[cfg(test)]
mod example;
pub mod export;
mod fio_json;
mod fio_log;
mod hdr_log;
mod html;
mod json;
mod junit;
mod live;
mod moment;
mod picture;
mod plot;
mod profile;
mod prometheus;
mod study;
mod terminal;
mod verdicts;
mod words;

pub use annotation::{AnnotationLevel, annotation, json_without_commands, without_commands};
pub use audit::{
    AuditAccount, audit_annotations, audit_json, audit_junit, audit_markdown, is_audit,
};
pub use comparison::{arms_text, comparison_text, sentence};
pub use csv::{csv, csv_summary};
pub use fio_json::{Entries, FioOptions, fio_json, fio_terse, fio_version};
pub use fio_log::{FioLog, fio_log};
pub use hdr_log::{HdrLogError, hdr_log};
pub use html::{
    LIVE_POLICY, LivePage, LivePart, Packing, PageCheck, PageDifference, PageDifferences,
    PageSource, WrittenPage, check_page, html, live_file, live_now, live_study, page,
};
pub use json::{histograms_json, json};
pub use live::{ExperimentNow, LiveState, Looked, NowTable, ProfileNow, RankNow, WorkNow};
pub use picture::{card_png, card_svg, is_card};
pub use profile::{ProfileAccount, ProfileEnd, profile_text};
pub use prometheus::prometheus;
pub use study::{is_study, study_csv, study_json, study_markdown};
pub use terminal::{
    Page, TerminalOptions, TextLayout, broken, closing_answer, coloured, knee_text, study_text,
    terminal,
};
pub use verdicts::{
    Gate, GateOutcome, VerdictFailure, Verdicts, failure_annotation, failure_json, failure_junit,
    failure_markdown, is_verdicts, verdicts_annotations, verdicts_json, verdicts_junit,
    verdicts_markdown,
};

/// `amount` in `elapsed_ns` as a rate a second; 0 if no time passed.
fn per_second(amount: u64, elapsed_ns: u64) -> f64 {
    if elapsed_ns == 0 {
        0.0
    } else {
        amount as f64 * 1e9 / elapsed_ns as f64
    }
}
