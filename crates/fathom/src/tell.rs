//! What is said on standard output and standard error. Texts hold names that anybody gave, so that
//! what people read is made fit for a terminal here.

use anyhow::{Context as _, Result};
use std::io::Write;
use units::visible;

/// Prints a result for people; a reader that has gone is no error, and neither is a terminal that
/// hung up.
pub(crate) fn tell(text: &str) -> Result<()> {
    tell_form(&visible(text))
}

/// Prints a result for programs.
pub(crate) fn tell_form(form: &str) -> Result<()> {
    let end = if form.ends_with('\n') { "" } else { "\n" };
    match std::io::stdout().write_all(format!("{form}{end}").as_bytes()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(_) if sys::caught_signal().is_some_and(sys::CaughtSignal::terminal_is_gone) => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// Says something beside the result, which alone is on standard output.
pub(crate) fn say(text: &str) {
    let _nobody_reads_a_closed_terminal = writeln!(std::io::stderr(), "{}", visible(text));
}
