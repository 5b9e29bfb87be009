//! Whether a word was drawn by a machine, as keys are, or is made of words, numbers and dates, as names of
//! objects are. This is a guess: a name that is taken for a key is only not recorded, so doubt counts as
//! drawn.

/// A word with so many letters and digits may be a key.
const LONG: usize = 20;
/// So many of them, in parts that are neither words nor numbers, are drawn in a long word.
const DRAWN_OF_LONG: usize = 8;
/// So many are drawn in any word.
const DRAWN: usize = 16;
/// Digits of a date with its time. What is longer is no number that somebody wrote.
const MOST_DIGITS: usize = 14;
/// No word of a language has more consonants in a row, but for a few.
const MOST_CONSONANTS: usize = 5;
/// Lengths of the parts of a UUID.
const UUID: [usize; 5] = [8, 4, 4, 4, 12];
/// So many parts of one length, none of them shorter than that, are how keys are written for people.
const GROUPS: usize = 4;
const SHORTEST_GROUP: usize = 4;

/// What keys of well known services begin with, which is there so that they are recognised. A `?` is any
/// letter. A word that begins so is hidden whatever follows.
const KEYS: [&str; 33] = [
    "AIza",
    "AKIA",
    "GOCSPX-",
    "SG.",
    "dckr_pat_",
    "dckr_oat_",
    "dop_v1_",
    "eyJ",
    "gh?_",
    "github_pat_",
    "glpat-",
    "glptt-",
    "glrt-",
    "gldt-",
    "glsa_",
    "gsk_",
    "hf_",
    "hvs.",
    "lin_api_",
    "npm_",
    "nvapi-",
    "pypi-",
    "rk_live_",
    "rk_test_",
    "shpat_",
    "sk-",
    "sk_live_",
    "sk_test_",
    "tskey-",
    "whsec_",
    "xapp-",
    "xox?-",
    "ya29.",
];

/// What names of devices and network interfaces begin with.
const DEVICES: [&str; 12] = [
    "enp", "ens", "eno", "loop", "mmcblk", "nbd", "nvme", "rbd", "ublkb", "ublkc", "wlp", "zd",
];

/// What names of instance types of clouds end with.
const SIZES: [&str; 7] = [
    "xlarge", "large", "medium", "small", "micro", "nano", "metal",
];

/// Whether a word, with whatever parts it in itself (`-`, `_`, `:`, `~`, `.`), was drawn.
pub(crate) fn is_drawn(word: &str) -> bool {
    let parts = word.split(|c: char| !c.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let all: usize = parts.iter().map(|part| part.len()).sum();
    let is_drawn = |at: &usize| !is_plain(parts[*at]) && !is_instance(&parts[*at..]);
    let drawn = (0..parts.len()).filter(is_drawn);
    let drawn: usize = drawn.map(|at| parts[at].len()).sum();
    drawn >= DRAWN
        || all >= LONG && drawn >= DRAWN_OF_LONG
        || has_uuid(&parts)
        || has_groups(&parts)
        || has_key(word)
}

/// Whether a key of a well known service begins anywhere in a word where a part of it begins.
fn has_key(word: &str) -> bool {
    let begins = |text: &str, key: &str| {
        let mut both = text.chars().zip(key.chars());
        let is_alike = |(c, of): (char, char)| c == of || of == '?' && c.is_ascii_lowercase();
        text.len() >= key.len() && both.all(is_alike)
    };
    let is_begin = |at: usize| !word[..at].ends_with(|c: char| c.is_ascii_alphanumeric());
    let places = word.char_indices().map(|(at, _)| at);
    let mut places = places.filter(|at| is_begin(*at));
    places.any(|at| KEYS.iter().any(|key| begins(&word[at..], key)))
}

/// Whether it has parts of one length in a row, some of small and some of capital letters, or more than one
/// of digits or of both: `ABCD-1234-EFGH-5678`.
fn has_groups(parts: &[&str]) -> bool {
    let is_odd = |part: &&&str| {
        let runs = runs(part);
        runs.len() > 2 || !is_of_letters(runs[0])
    };
    let has = |groups: &[&str], kind: fn(&u8) -> bool| {
        let mut of_letters = groups.iter().filter(|part| is_of_letters(part));
        of_letters.any(|part| part.as_bytes().iter().all(kind))
    };
    parts.windows(GROUPS).any(|groups| {
        let length = groups[0].len();
        let are_of_keys = groups.iter().filter(is_odd).count() > 1
            || has(groups, u8::is_ascii_lowercase) && has(groups, u8::is_ascii_uppercase);
        let is_one = |part: &&str| part.len() == length && !is_device(&runs(part));
        length >= SHORTEST_GROUP && are_of_keys && groups.iter().all(is_one)
    })
}

/// Whether a value is made of short words and numbers alone, none of which has both letters and digits.
pub(crate) fn is_of_words_and_numbers(value: &str) -> bool {
    let may = |c: char| c.is_ascii_alphanumeric() || "-_./+%".contains(c);
    let mut parts = value.split(|c: char| !c.is_ascii_alphanumeric());
    value.chars().all(may)
        && parts.all(|part| is_short_number(part) || is_of_letters(part) && is_words(part))
}

/// As identifiers are that count.
pub(crate) fn is_short_number(text: &str) -> bool {
    text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn has_uuid(parts: &[&str]) -> bool {
    let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut fives = parts.windows(UUID.len());
    fives.any(|five| {
        let mut both = five.iter().zip(UUID);
        both.all(|(part, length)| part.len() == length && is_hex(part))
    })
}

fn is_of_letters(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a part without a separator is a word, a number, a word with its number, or a device: `v2`,
/// `10GiB`, `sha256sum`, `20261127T120000Z`, `nvme0n1p2`.
fn is_plain(part: &str) -> bool {
    let runs = runs(part);
    if is_device(&runs) {
        return true;
    }
    let is_time = matches!(runs.as_slice(), [_, "T", _] | [_, "T", _, "Z"]);
    let is_between = |run: &&str| match is_of_letters(run) {
        true => run.len() > 2 && run.bytes().all(|byte| byte.is_ascii_lowercase()),
        false => run.len() < 5,
    };
    let has_few = runs.len() < 3 || runs.len() == 3 && runs.iter().all(is_between);
    let is_run = |run: &&str| match is_of_letters(run) {
        true => is_words(run),
        false => run.len() <= MOST_DIGITS,
    };
    let is_short = part.len() < LONG || runs.len() == 1;
    is_short && (has_few || is_time) && runs.iter().all(is_run)
}

/// A known kind with its number, and the numbers of what lies in it, each behind a letter or two.
fn is_device(runs: &[&str]) -> bool {
    let Some((kind, rest)) = runs.split_first().filter(|(_, rest)| rest.len() < 8) else {
        return false;
    };
    let is_marked = |run: &&str| match is_of_letters(run) {
        true => run.len() < 3,
        false => run.len() < 4,
    };
    let disk = ["sd", "vd", "xvd"].into_iter();
    let is_disk =
        |letter: &str| letter.len() == 1 && letter.bytes().all(|of| of.is_ascii_lowercase());
    let is_one = disk.filter_map(|of| kind.strip_prefix(of)).any(is_disk);
    (is_one || DEVICES.contains(kind)) && rest.iter().all(is_marked)
}

/// Whether parts begin with the type of a machine in a cloud: `c5d` before `18xlarge`, `c5d18xlarge`, or
/// `D16ds` behind which stands its version, as `v5`.
fn is_instance(parts: &[&str]) -> bool {
    let Some((part, rest)) = parts.split_first() else {
        return false;
    };
    let next = rest.first().copied().unwrap_or_default();
    let size = |part: &str| {
        let sizes = SIZES.iter();
        let mut known = sizes.filter_map(|size| part.strip_suffix(size).map(str::len));
        known.next()
    };
    let is_size = |part: &str| {
        size(part).is_some_and(|at| at < 4 && part[..at].bytes().all(|byte| byte.is_ascii_digit()))
    };
    let whole = size(part).map(|at| part[..at].trim_end_matches(|c: char| c.is_ascii_digit()));
    let is_with_version = matches!(runs(next).as_slice(), ["v", number] if number.len() == 1);
    is_size(next) && is_family(part)
        || whole.is_some_and(is_family)
        || is_with_version && is_family(&part.to_ascii_lowercase())
}

/// A letter or a few, a generation, and letters for what it has: `c5d`, `im4gn`, `x2iedn`.
fn is_family(text: &str) -> bool {
    let is_lower = |run: &&str| run.bytes().all(|byte| byte.is_ascii_lowercase());
    match runs(text).as_slice() {
        [kind, generation] => kind.len() < 5 && is_lower(kind) && generation.len() < 4,
        [kind, generation, has] => {
            let is_short = kind.len() < 5 && generation.len() < 4 && has.len() < 5;
            is_short && is_lower(kind) && is_lower(has)
        }
        _ => false,
    }
}

/// Its longest parts of letters alone or digits alone.
fn runs(part: &str) -> Vec<&str> {
    let bytes = part.as_bytes();
    let alike = |a: u8, b: u8| a.is_ascii_digit() == b.is_ascii_digit();
    let mut out = Vec::new();
    let mut from = 0;
    for at in 1..=bytes.len() {
        if at == bytes.len() || !alike(bytes[at - 1], bytes[at]) {
            out.push(&part[from..at]);
            from = at;
        }
    }
    out
}

/// Whether letters are a word, or several as `ReportOfMay` has them.
fn is_words(letters: &str) -> bool {
    if letters.len() < 5 {
        return true;
    }
    let is_upper = |byte: &u8| byte.is_ascii_uppercase();
    let bytes = letters.as_bytes();
    let words = 1 + bytes[1..].iter().filter(|byte| is_upper(byte)).count();
    let is_one = bytes.iter().all(is_upper) || words == 1;
    let is_several =
        bytes.windows(2).all(|two| !two.iter().all(is_upper)) && letters.len() >= 3 * words;
    let vowel = |c: char| "aeiouyAEIOUY".contains(c);
    let consonants = letters.split(vowel).map(str::len).max().unwrap_or(0);
    consonants <= MOST_CONSONANTS && (is_one && letters.len() < LONG || is_several && words > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_drew_is_known_with_and_without_separators() {
        for word in [
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "report-12345678-1234-1234-1234-123456789012.pdf",
            "bot110201543:AAHdqTcvCH1vGWJx-eSeofSAs0K5PALDsaw",
            "ABC_DEF1234ghIkl_zyx57W2v1u12_3ew1",
            "qzjwkxhvbnmtrplkdsgfycaeio",
            "aeiouaeiouaeiouaeiou",
            "qWeRtYuIoPaSdFgHjKlZxCvBnM",
            "01234567890123456789",
            "0123456789abcdef0123",
            "AKIAIOSFODNN7EXAMPLE",
            "ghp~16C7e42F292c6912E7.710c838347Ae178B4a",
            "4242-abcd-EFGH-ijkl",
            "ABCD-1234-EFGH-5678",
            "1234-5678-9012-3456",
        ] {
            assert!(is_drawn(word), "{word}");
        }
    }

    #[test]
    fn what_begins_as_the_keys_of_well_known_services_is_hidden_whatever_follows() {
        for key in KEYS {
            for begin in ["", "key.", "a_long_name-of-words~"] {
                for end in ["", "a", "live-4242", "report_final_v2"] {
                    let word = format!("{begin}{}{end}", key.replace('?', "p"));
                    assert!(is_drawn(&word), "{word}");
                }
            }
        }
        for word in ["sk-live-4242-abcd-EFGH-ijkl", "xoxb-1-a", "gho_x", "AKIA:x"] {
            assert!(is_drawn(word), "{word}");
        }
        for word in [
            "disk-01",
            "risk_live_report",
            "gh-pages",
            "npm",
            "monkeyJam",
        ] {
            assert!(!is_drawn(word), "{word}");
        }
    }

    #[test]
    fn names_of_machines_and_devices_are_shown() {
        for word in [
            "bench-c5d18xlarge-nvme0n1",
            "c5d.18xlarge",
            "im4gn.16xlarge-x2iedn.32xlarge-p4de.24xlarge",
            "i3en.metal-and-m7gd.metal",
            "Standard_L80as_v3-and-Standard_E96ias_v6",
            "n2-standard-128-local-ssd-0",
            "nvme0n1p2-nvme1n1p2-nvme2n1p2",
            "nvme0n1-nvme1n1-nvme2n1-nvme3n1",
            "mmcblk0p1-mmcblk1p1-mmcblk2p1",
            "sda1-sdb2-sdc3-sdd4",
            "enp129s0f0np0-ens1f1np1",
            "bs4k-qd32-rw70-nj08",
            "test-data-2026-disk-load-file",
            "us-east-1-throughput-benchmark",
        ] {
            assert!(!is_drawn(word), "{word}");
        }
        for word in ["c5d18xlarge0a1b2c3d4e5f", "nvme0n1a2b3c4d5e6f7a8b9c0d"] {
            assert!(is_drawn(word), "{word}");
        }
    }

    #[test]
    fn names_of_objects_are_words_numbers_and_dates() {
        for word in [
            "my-bucket-2026-11-27",
            "benchmark-2026-11-27-objects",
            "report_final_v2",
            "build-artifacts",
            "FinalReportOfTheBenchmark.pdf",
            "part-00000-c000.snappy.parquet",
            "IMG_20261127_120000.jpg",
            "20261127T120000Z-backup-of-volume",
            "x86_64-unknown-linux-gnu",
            "ubuntu-24.04.1-live-server-amd64.iso",
            "sha256sum-of-all-files-v1.txt",
            "bench-10GiB-object-000017",
            "events-1764201600000-0001.json",
            "application/vnd.github.v3+json",
            "Mozilla/5.0",
            "",
        ] {
            assert!(!is_drawn(word), "{word}");
        }
    }

    #[test]
    fn words_and_numbers_are_no_mix_of_both() {
        for value in [
            "",
            "5",
            "logs/2026/11/",
            "two+words",
            "my-bucket",
            "May_2026",
        ] {
            assert!(is_of_words_and_numbers(value), "{value}");
        }
        for value in ["hunter2", "1234567890", "a:b", "a@b", "x=y", "qzjwkxhv"] {
            assert!(!is_of_words_and_numbers(value), "{value}");
        }
    }
}
