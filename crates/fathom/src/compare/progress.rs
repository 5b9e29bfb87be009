//! Where an experiment stands, on a terminal.

use host::{Event, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::SlotPlace;
use std::io::IsTerminal as _;
use units::Nanos;

/// Where the experiment stands, on a terminal.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(crate) fn new() -> Self {
        Self(std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{msg}") {
                bar.set_style(style);
            }
            bar
        }))
    }
}

impl Watch for Progress {
    fn on(&mut self, event: &Event<'_>) {
        let Some(bar) = &self.0 else { return };
        let text = match event {
            Event::Preparing { done, to_do } => format!(
                "preparing: {} of {} written",
                units::Bytes(*done),
                units::Bytes(*to_do)
            ),
            Event::Rehearsing { row, number, of } => {
                format!("trying every row once, {number} of {of}: {row}")
            }
            Event::Slot(place) => shown(place),
            Event::Interval { .. } => return,
        };
        bar.set_message(text);
    }
}

fn shown(place: &SlotPlace<'_>) -> String {
    let again = if place.attempt > 0 {
        format!(", attempt {}", place.attempt + 1)
    } else {
        String::new()
    };
    let row = if place.row == "run" {
        String::new()
    } else {
        format!(" {}", place.row)
    };
    format!(
        "block {}{again}, slot {} of at most {}: {}{row}, {} so far",
        place.pass + 1,
        place.slot + 1,
        place.planned_slots,
        place.arm,
        Nanos(place.elapsed_ns)
    )
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
