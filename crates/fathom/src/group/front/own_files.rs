//! Files that are this process's alone.

use std::ffi::OsStr;

/// Names under which a process finds what it was given open.
const OPEN: [&str; 3] = ["/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"];
/// What a rank says goes where this process says it.
const PASSED_ON: [&str; 2] = ["1", "2"];

/// Refuses words that name what this process alone has open: a rank would wait for ever for what nobody
/// writes to its own standard input, or find nothing.
pub(super) fn refuse_own_files<'w>(words: impl Iterator<Item = &'w OsStr>) -> Result<(), String> {
    for word in words {
        let word = word.to_string_lossy();
        let value = word.split_once('=').map_or(&*word, |(_, value)| value);
        // `-cFILE` is `-c FILE`.
        let is_short = word.starts_with('-') && !word.starts_with("--");
        let attached = word.get(2..).filter(|_| is_short).unwrap_or_default();
        let is_own = [&*word, value, attached].into_iter().any(|text| {
            let number = OPEN.iter().find_map(|before| text.strip_prefix(before));
            text == "/dev/stdin" || number.is_some_and(|number| !PASSED_ON.contains(&number))
        });
        if is_own {
            return Err(format!(
                "{word} is open in this process alone, and no rank on a host of --hosts reads it: put what it holds into a file that all hosts have, and name that"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_this_process_has_open_is_refused() {
        let said = |word: &str| refuse_own_files([OsStr::new("run"), OsStr::new(word)].into_iter());
        for word in [
            "/dev/stdin",
            "--config=/dev/stdin",
            "/dev/fd/0",
            "/dev/fd/63",
            "--fio=/proc/self/fd/0",
            "-c/dev/stdin",
        ] {
            let why = said(word).unwrap_err();
            assert!(why.starts_with(word), "{why}");
        }
        for word in ["/dev/stdout", "/dev/fd/1", "-c", "/mnt/dev/stdin", "a=b"] {
            assert_eq!(said(word), Ok(()), "{word}");
        }
    }
}
