//! When stages end, and how.

use crate::exit::{code_of, told};
use record::Record;
use sys::CaughtSignal;

/// The exit code of a record that missed a threshold, after which other stages still run.
const MISSED: i32 = 3;

/// Whether no further stage is to begin.
pub(crate) fn is_over(records: &[Record]) -> bool {
    let last = records.last().map(|record| record.outcome.exit_code);
    sys::caught_signal().is_some() || last.is_some_and(|code| ![0, MISSED].contains(&code))
}

pub(crate) const OTHERS_NOT_BEGUN: &str =
    "stopped by a signal between two phases: the others were not begun";

/// The signal that came between two stages, so that it ended none of them, and yet what was asked for is not
/// all there.
pub(crate) fn cut_between(
    code: i32,
    lacks_some: bool,
    caught: Option<CaughtSignal>,
) -> Option<CaughtSignal> {
    caught.filter(|_| lacks_some && [0, MISSED].contains(&code))
}

/// Why a phase did not begin after so many others had been measured. What was refused before anything was done has code
/// 2, and this was not.
pub(crate) fn after_others(error: anyhow::Error, before: usize) -> anyhow::Error {
    if code_of(&error) != 2 {
        return error;
    }
    let others = match before {
        1 => "the phase before it was measured, and its result stands".to_owned(),
        several => format!("the {several} phases before it were measured, and their results stand"),
    };
    anyhow::anyhow!("{}; {others}", told(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_between_two_stages_is_the_end_of_all_of_them() {
        let caught = CaughtSignal {
            signal: 2,
            impatient: false,
        };
        let code = |code, lacks_some| {
            let cut = cut_between(code, lacks_some, Some(caught));
            cut.map_or(code, CaughtSignal::exit_code)
        };
        assert_eq!(code(0, true), 130);
        assert_eq!(code(MISSED, true), 130);
        assert_eq!(code(1, true), 1, "what failed ended it");
        assert_eq!(code(0, false), 0, "all had been done");
        assert_eq!(cut_between(0, true, None), None);
    }
}
