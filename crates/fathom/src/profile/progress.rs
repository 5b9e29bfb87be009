//! Where a profile stands, on a terminal; nothing in a pipe.

use clap::ArgMatches;
use host::{Event, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::SlotPlace;
use std::io::IsTerminal;
use units::Bytes;

const LOOK_NS: u64 = 200_000_000;
/// From so many slots on the time that they took tells more than the plan.
const ENOUGH_SLOTS: u64 = 12;

/// A bar of slots with words beside it.
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    pub(super) fn new(matches: &ArgMatches) -> Self {
        let shown = std::io::stderr().is_terminal() && !matches.get_flag("no-live");
        Self(shown.then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}") {
                bar.set_style(style);
            }
            bar
        }))
    }

    fn show(&self, done: u64, of: u64, text: String) {
        if let Some(bar) = &self.0 {
            bar.set_message(text);
            bar.set_length(of.max(1));
            bar.set_position(done);
        }
    }
}

impl Watch for Progress {
    fn on(&mut self, event: &Event<'_>) {
        match event {
            Event::Preparing { done, to_do } => self.show(
                *done,
                *to_do,
                format!("writing the file: {} of {}", Bytes(*done), Bytes(*to_do)),
            ),
            Event::Rehearsing { row, number, of } => self.show(
                *number as u64,
                *of as u64,
                format!("trying every row once: {row}"),
            ),
            Event::Slot(place) => {
                let passes = place.planned_slots / place.slots_per_pass.max(1);
                let text = format!(
                    "pass {} of {passes}, {}: {}",
                    place.pass + 1,
                    shown_left(place),
                    place.row
                );
                self.show(place.slot.into(), place.planned_slots.into(), text);
            }
            Event::Interval { .. } => {}
        }
    }

    fn every_ns(&self) -> Option<u64> {
        self.0.is_some().then_some(LOOK_NS)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn shown_left(place: &SlotPlace<'_>) -> String {
    let seconds = left_ns(place) / 1_000_000_000;
    if seconds < 120 {
        format!("{seconds} s left")
    } else {
        format!("{} min left", seconds / 60)
    }
}

/// What the slots that are left will take at the pace of those before; at first, what the plan
/// leaves.
fn left_ns(place: &SlotPlace<'_>) -> u64 {
    let (slot, planned) = (u64::from(place.slot), u64::from(place.planned_slots));
    if slot < ENOUGH_SLOTS {
        return place.budget_ns.saturating_sub(place.elapsed_ns);
    }
    (place.elapsed_ns / slot).saturating_mul(planned.saturating_sub(slot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_the_plan_s_at_first_and_then_that_of_the_slots() {
        let place = SlotPlace {
            row: "r",
            arm: "a",
            pass: 0,
            attempt: 0,
            slot: 2,
            planned_slots: 144,
            slots_per_pass: 24,
            elapsed_ns: 2_000_000_000,
            budget_ns: 150_000_000_000,
        };
        assert_eq!(shown_left(&place), "2 min left");
        assert_eq!(
            shown_left(&SlotPlace {
                slot: 72,
                elapsed_ns: 90_000_000_000,
                ..place
            }),
            "90 s left"
        );
        assert_eq!(
            shown_left(&SlotPlace {
                slot: 150,
                elapsed_ns: 200_000_000_000,
                ..place
            }),
            "0 s left"
        );
    }
}
