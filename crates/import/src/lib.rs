//! Results of other tools, read as records, so that they can be audited, compared and reported like
//! our own.
//!
//! [`import`] recognises a file by what is in it, never by its name; [`import_as`] is told. One
//! file a format. A figure keeps the meaning that its tool gives it: units are taken from the
//! tool's source, a latency distribution becomes a histogram only where the tool gives
//! counts at values (fio's `json+`, k6's points, warp's operations, hyperfine's times), and
//! everything else is a [`Summary`](record::Summary). What a tool does not say stays unknown.
//!
//! Foreign bytes are hostile until read: sizes, counts of values and names are bounded, an error
//! says what is wrong and where, and nothing here panics on any input.
//!
//! # Deliberately absent
//! No decompression beyond that of what tools compress by themselves (zstd, gzip), no reading of
//! files, no guessing of units or of options that a tool leaves out, no repair of cut-off files.
#![forbid(unsafe_code)]

mod bins;
mod compressed;
mod device;
mod elbencho;
mod error;
mod fio;
mod format;
mod hyperfine;
mod input;
mod iopulse;
mod k6;
mod node;
mod origin;
mod quote;
mod repeat;
mod trials;
mod warp;

pub use error::{ImportError, Location};
pub use format::{Format, recognise};
pub use quote::{quote_csv, quote_toml};
pub use repeat::declare_repetitions;
pub use trials::{TrialColumns, TrialRoles, trials};

use input::Input;
use record::Record;

/// The longest file that is read, in bytes.
pub const MOST_BYTES: usize = 1 << 30;
/// The most records that one file may hold.
pub const MOST_RECORDS: usize = 1024;

/// Reads results of another tool; `name` is the file's, for messages and for the records.
///
/// # Errors
/// The bytes are none of the known formats, are malformed or cut off, or exceed a limit.
pub fn import(bytes: &[u8], name: &str) -> Result<Vec<Record>, ImportError> {
    if device::is_log(bytes) {
        return device::read(bytes, name);
    }
    let bytes = compressed::plain(bytes, name)?;
    let input = Input::new(&bytes, name)?;
    let format = format::of(&input)?;
    read(format, &input)
}

/// The text of a file that people wrote, such as a table, without a byte order mark.
///
/// # Errors
/// It is no UTF-8, or too long.
pub fn text_of<'a>(bytes: &'a [u8], name: &'a str) -> Result<&'a str, ImportError> {
    Ok(Input::new(bytes, name)?.text)
}

/// Reads results that the caller says are `format`.
///
/// # Errors
/// As [`import`]; also where the bytes are of another format.
pub fn import_as(format: Format, bytes: &[u8], name: &str) -> Result<Vec<Record>, ImportError> {
    read(format, &Input::new(&compressed::plain(bytes, name)?, name)?)
}

fn read(format: Format, input: &Input<'_>) -> Result<Vec<Record>, ImportError> {
    let origin = origin::Origin::new(format, input);
    let records = match format {
        Format::Fio => fio::read(input, &origin),
        Format::FioTerse => fio::terse::read(input, &origin),
        Format::K6Summary => k6::summary::read(input, &origin),
        Format::K6Points => k6::points::read(input, &origin),
        Format::WarpAnalysis => warp::analysis::read(input, &origin),
        Format::WarpOperations => warp::operations::read(input, &origin),
        Format::IoPulse => iopulse::read(input, &origin),
        Format::Hyperfine => hyperfine::read(input, &origin),
        Format::ElbenchoJson => elbencho::json::read(input, &origin),
        Format::ElbenchoCsv => elbencho::table::read(input, &origin),
    };
    match records {
        Ok(records) if records.is_empty() => {
            Err(error::Fault::whole("holds no results").into_error(format, input.name))
        }
        Ok(records) if !records.iter().all(origin::is_finite) => Err(error::Fault::whole(
            "holds numbers that no measurement gives",
        )
        .into_error(format, input.name)),
        Ok(mut records) => {
            origin.declare_repetitions(&mut records);
            Ok(records)
        }
        Err(fault) => Err(fault.into_error(format, input.name)),
    }
}
