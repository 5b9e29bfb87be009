//! What is said on standard output and standard error. Texts hold names that anybody gave, so that
//! what people read is made fit for a terminal here, and for the log of a job whose runner obeys
//! some lines.

mod held;

pub(crate) use held::{hold_back, is_held};

use crate::run::switch;
use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches};
use report::{TextLayout, broken, coloured, without_commands};
use std::io::{IsTerminal, Write};
use std::os::fd::AsFd;
use units::visible;

/// Prints a result for people, as wide as the terminal is and in colours where it has them; a reader
/// that has gone is no error, and neither is a terminal that hung up.
pub(crate) fn tell(text: &str) -> Result<()> {
    tell_form(&fit(text, &std::io::stdout()))
}

/// Text as `out` can show it: broken between words where a terminal ends, in colours where it has
/// them, and without what would change the look of other text.
fn fit(text: &str, out: &(impl IsTerminal + AsFd)) -> String {
    let text = match columns_of(out) {
        Some(columns) => broken(text, columns),
        None => visible(text),
    };
    in_colour(&without_commands(&text), out)
}

/// Columns of the terminal that shows the result, where one does.
fn columns() -> Option<usize> {
    columns_of(&std::io::stdout())
}

fn columns_of(out: &(impl IsTerminal + AsFd)) -> Option<usize> {
    let size = sys::terminal_size(out.as_fd()).filter(|_| is_on_terminal(out));
    size.map(|(columns, _)| columns)
}

/// Whether somebody sees this on a terminal. A launcher gives the ranks that it starts terminals of
/// its own, and what they write there goes wherever the launcher's output goes, often into a file.
pub(crate) fn is_on_terminal(out: &impl IsTerminal) -> bool {
    out.is_terminal() && !crate::group::is_launched()
}

/// How a result is laid out; whoever has no `--findings` folds none.
pub(crate) fn layout(matches: &ArgMatches) -> TextLayout {
    let shows_all = matches.try_get_one::<bool>("findings").ok().flatten();
    TextLayout {
        columns: columns(),
        folds_findings: is_on_terminal(&std::io::stdout()) && shows_all == Some(&false),
    }
}

/// The option that unfolds findings.
pub(crate) fn findings_argument() -> Arg {
    switch(
        "findings",
        "Show each finding in full, with its advice; without it a terminal shows one line of each",
    )
}

/// The text with colours if `out` shows them: a terminal that has some does unless somebody says
/// otherwise, by the names that many tools know.
fn in_colour(text: &str, out: &impl IsTerminal) -> String {
    let said = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let has = HasColour {
        is_terminal: is_on_terminal(out),
        is_dumb: said("TERM").is_none_or(|term| term == "dumb"),
        no_color: said("NO_COLOR").is_some(),
        clicolor: said("CLICOLOR"),
        clicolor_force: said("CLICOLOR_FORCE"),
    };
    if has.colour() {
        coloured(text)
    } else {
        text.to_owned()
    }
}

/// What decides whether text has colours.
struct HasColour {
    is_terminal: bool,
    is_dumb: bool,
    no_color: bool,
    clicolor: Option<String>,
    clicolor_force: Option<String>,
}

impl HasColour {
    fn colour(&self) -> bool {
        let is_on = |value: &Option<String>| value.as_ref().map(|value| value != "0");
        if self.no_color {
            return false;
        }
        is_on(&self.clicolor_force) == Some(true)
            || self.is_terminal && !self.is_dumb && is_on(&self.clicolor) != Some(false)
    }
}

/// Prints a result for programs.
pub(crate) fn tell_form(form: &str) -> Result<()> {
    let end = if form.ends_with('\n') { "" } else { "\n" };
    unless_nobody_reads(held::print(format!("{form}{end}")))
}

/// Prints what was held back, if something was.
pub(crate) fn print_held() -> Result<()> {
    unless_nobody_reads(held::print_held())
}

/// A reader that has gone is no error, and neither is a terminal that hung up.
fn unless_nobody_reads(printed: std::io::Result<()>) -> Result<()> {
    match printed {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(_) if sys::caught_signal().is_some_and(sys::CaughtSignal::terminal_is_gone) => Ok(()),
        other => other.context("cannot write to standard output"),
    }
}

/// A line as standard error shows it.
pub(crate) fn said(text: &str) -> String {
    let mut text = fit(text, &std::io::stderr());
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Says something beside the result, which alone is on standard output. A line is written at once:
/// others may say something in the same place, as ranks do. Who asks twice for the end waits for no reader of it.
pub(crate) fn say(text: &str) {
    let mut err = std::io::stderr();
    let text = said(text);
    let is_read = || sys::wait_ready(&err, sys::Readiness::Output, 0).unwrap_or(true);
    if sys::is_told_twice() && !is_read() {
        return;
    }
    let _nobody_reads_a_closed_terminal = err.write_all(text.as_bytes());
}

/// Says the annotations of a job's log, as they are: its runner reads them.
pub(crate) fn annotate(annotations: &str) {
    let _nobody_reads_a_closed_terminal = std::io::stderr().write_all(annotations.as_bytes());
}

/// The option that asks for annotations.
pub(crate) fn annotate_argument() -> Arg {
    switch(
        "annotate",
        "Also annotate the log of a job on GitHub or what reads its commands: lines that begin with ::",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_terminal_and_the_names_that_many_tools_know() {
        let colour = |is_terminal, no_color, clicolor: Option<&str>, force: Option<&str>| {
            HasColour {
                is_terminal,
                is_dumb: false,
                no_color,
                clicolor: clicolor.map(str::to_owned),
                clicolor_force: force.map(str::to_owned),
            }
            .colour()
        };
        assert!(colour(true, false, None, None) && !colour(false, false, None, None));
        assert!(!colour(true, true, None, None) && !colour(true, false, Some("0"), None));
        assert!(colour(false, false, None, Some("1")) && !colour(false, false, None, Some("0")));
        assert!(
            !colour(true, true, None, Some("1")),
            "NO_COLOR is obeyed first"
        );
    }
}
