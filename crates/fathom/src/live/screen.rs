//! Progress on standard error: redrawn on a terminal, a line a pass in a log.

use super::LiveView;
use crate::tell::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use report::LiveState;
use std::io::IsTerminal as _;
use std::os::fd::AsFd as _;
use sys::{Clock as _, MachineClock};
use units::Nanos;

/// Where progress is shown.
pub(super) enum ProgressScreen {
    Terminal(ProgressBar),
    /// Through a launcher, which hands on lines, and not more often than this.
    Lines {
        every: Nanos,
        last_at: Option<u64>,
    },
    Log,
    Nothing,
}

const USUAL: (usize, usize) = (80, 24);

impl ProgressScreen {
    /// `in_lines`: of ranks behind a launcher, where somebody reads them, one in so much time.
    pub(super) fn new(is_silent: bool, in_lines: Option<Nanos>) -> Self {
        if is_silent {
            return Self::Nothing;
        }
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if !std::io::stderr().is_terminal() || is_dumb {
            return in_lines.map_or(Self::Log, |every| Self::Lines {
                every,
                last_at: None,
            });
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self::Terminal(bar)
    }

    /// Whether what changes all the time is shown.
    pub(super) fn is_live(&self) -> bool {
        matches!(self, Self::Terminal(_) | Self::Lines { .. })
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
            Self::Lines { every, last_at } => {
                let at = MachineClock::monotonic().now();
                // Edges of intervals come a little early and late.
                let gap = every.0 / 4 * 3;
                if last_at.is_none_or(|last| at.saturating_sub(last) >= gap) {
                    *last_at = Some(at);
                    say(now.line().trim_end());
                }
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
