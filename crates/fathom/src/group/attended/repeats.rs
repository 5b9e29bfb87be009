//! Which lines of several ranks people need: a mistake that each of them makes is said once, with what
//! stands below it.

use std::collections::BTreeMap;

/// What begins the text of a mistake.
const ERROR: &str = "error: ";
/// Below a mistake no more lines belong to it; what comes later is somebody else's, and may come for hours.
const MOST_LINES: usize = 64;

/// The mistakes that were said, each by its first line with those that came behind it.
#[derive(Debug, Default)]
pub(super) struct Mistakes {
    said: BTreeMap<String, Vec<String>>,
    /// The one whose lines come.
    current: Option<Telling>,
}

#[derive(Debug)]
struct Telling {
    error: String,
    /// Of a repeat, how many of its lines have come.
    repeated: Option<usize>,
}

impl Mistakes {
    /// Whether a line is not one that was said in the same place of the same mistake.
    pub(super) fn is_new(&mut self, line: &str) -> bool {
        let line = line.trim_end();
        if line.starts_with(ERROR) {
            let is_new = !self.said.contains_key(line);
            self.said.entry(line.to_owned()).or_default();
            self.current = Some(Telling {
                error: line.to_owned(),
                repeated: (!is_new).then_some(0),
            });
            return is_new;
        }
        let Some(current) = &mut self.current else {
            return true;
        };
        let lines = self.said.entry(current.error.clone()).or_default();
        match &mut current.repeated {
            None if lines.len() < MOST_LINES => lines.push(line.to_owned()),
            Some(come) if lines.get(*come).is_some_and(|said| said == line) => {
                *come += 1;
                return false;
            }
            None | Some(_) => self.current = None,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handed_on(lines: &[&str]) -> Vec<String> {
        let mut mistakes = Mistakes::default();
        let new = lines.iter().filter(|line| mistakes.is_new(line));
        new.map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn a_mistake_of_several_ranks_is_said_once_with_what_stands_below_it() {
        let of_one = ["error: no --x", "", "  tip: --y", "", "Usage: fathom"];
        let other = ["error: no --z", "", "  tip: --y"];
        assert_eq!(handed_on(&[of_one; 3].concat()), of_one);
        let both = [&of_one[..], &other, &of_one, &other].concat();
        assert_eq!(handed_on(&both), [&of_one[..], &other].concat());
    }

    #[test]
    fn what_comes_behind_a_repeated_mistake_and_is_none_of_it_is_handed_on() {
        let of_one = ["error: x", "  cause"];
        let rest = ["mpirun has ended", "  cause", "  cause"];
        let all = [&of_one[..], &of_one, &rest].concat();
        assert_eq!(handed_on(&all), [&of_one[..], &rest].concat());
        assert_eq!(handed_on(&["a", "a", "  cause"]), ["a", "a", "  cause"]);
        // Another rank says more.
        let more = ["error: x", "  cause", "error: x", "  cause", "  and more"];
        assert_eq!(handed_on(&more), ["error: x", "  cause", "  and more"]);
    }

    #[test]
    fn what_comes_for_hours_behind_a_mistake_is_not_kept() {
        let mut mistakes = Mistakes::default();
        assert!(mistakes.is_new("error: x"));
        assert!((0..10_000).all(|line| mistakes.is_new(&line.to_string())));
        assert_eq!(mistakes.said["error: x"].len(), MOST_LINES);
    }
}
