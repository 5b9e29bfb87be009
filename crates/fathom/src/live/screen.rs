//! Progress on standard error: redrawn on a terminal, a line a pass in a log.

use super::LiveView;
use crate::tell::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::LiveState;
use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;

/// Where progress is shown.
pub(super) enum ProgressScreen {
    Terminal(ProgressBar),
    Log,
    Nothing,
}

const USUAL: (usize, usize) = (80, 24);

impl ProgressScreen {
    pub(super) fn new(is_silent: bool) -> Self {
        if is_silent {
            return Self::Nothing;
        }
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if !std::io::stderr().is_terminal() || is_dumb {
            return Self::Log;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self::Terminal(bar)
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    pub(super) fn show(&mut self, now: &LiveState, view: Option<&LiveView>) {
        match self {
            Self::Terminal(bar) => {
                let (columns, lines) =
                    sys::terminal_size(std::io::stderr().as_fd()).unwrap_or(USUAL);
                // The last column is where some terminals break a line already.
                let text = now.text(columns.saturating_sub(1), lines.saturating_sub(2));
                bar.set_message(text.trim_end().to_owned());
            }
            Self::Log => view
                .and_then(LiveView::log_line)
                .iter()
                .for_each(|line| say(line)),
            Self::Nothing => {}
        }
    }

    /// The last state: a log has its last pass too.
    pub(super) fn last(&mut self, now: &LiveState, view: Option<&LiveView>) {
        if matches!(self, Self::Log) {
            self.show(now, view);
        }
    }

    pub(super) fn clear(&mut self) {
        if let Self::Terminal(bar) = self {
            bar.finish_and_clear();
        }
    }
}
