//! The grammar of job files: sections, comments, includes, environment variables and keywords.

use super::section::{Entry, Place, Section};
use super::{Keywords, Outside};
use crate::SpecError;
use std::io::{Error, ErrorKind};

/// Far deeper than anybody nests, far shallower than what would exhaust the stack.
const DEEPEST_INCLUDE: usize = 16;
/// Files that include one another several times multiply with every level; nobody needs as many as
/// this.
const MOST_INCLUDES: usize = 1000;

/// Splits a job file into its sections.
pub(super) fn sections(
    text: &str,
    file: &str,
    outside: &Outside<'_>,
) -> Result<Vec<Section>, SpecError> {
    let mut out: Vec<Section> = Vec::new();
    let mut includes = Includes {
        depth: 0,
        files: &mut 0,
    };
    for (line, place) in numbered(text, file) {
        let line = without_comment(line).map_err(|reason| place.error(reason))?;
        if line.is_empty() {
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').ok_or_else(|| {
                place.error(format!(
                    "{line:?} opens a section and does not close it with ]"
                ))
            })?;
            if name.is_empty() {
                return Err(place.error("a section needs a name between [ and ]"));
            }
            out.push(Section {
                name: name.into(),
                place,
                entries: Vec::new(),
                barrier: false,
            });
            continue;
        }
        let section = out
            .last_mut()
            .ok_or_else(|| place.error(format!("{line:?} stands before the first [section]")))?;
        add_line(
            line,
            place,
            file,
            outside,
            &mut includes,
            &mut section.entries,
        )?;
    }
    Ok(out)
}

fn numbered<'t>(text: &'t str, file: &str) -> impl Iterator<Item = (&'t str, Place)> {
    text.lines().zip(1..).map(move |(text, line)| {
        (
            text,
            Place::Line {
                file: file.to_owned(),
                line,
            },
        )
    })
}

/// Where one stands among included files: how deep, and how many there were so far.
struct Includes<'a> {
    depth: usize,
    files: &'a mut usize,
}

/// Adds one option, or the options of an included file.
fn add_line(
    line: &str,
    place: Place,
    file: &str,
    outside: &Outside<'_>,
    includes: &mut Includes<'_>,
    out: &mut Vec<Entry>,
) -> Result<(), SpecError> {
    match line
        .strip_prefix("include")
        .filter(|rest| rest.starts_with([' ', '\t']))
    {
        Some(path) => include(path.trim(), &place, file, outside, includes, out),
        None => {
            out.push(entry(line, place, outside)?);
            Ok(())
        }
    }
}

/// fio looks for an included file where it stands and, if nothing is there, beside the file that includes it.
fn include(
    path: &str,
    place: &Place,
    file: &str,
    outside: &Outside<'_>,
    includes: &mut Includes<'_>,
    out: &mut Vec<Entry>,
) -> Result<(), SpecError> {
    if includes.depth >= DEEPEST_INCLUDE {
        return Err(place.error(format!(
            "files include one another more than {DEEPEST_INCLUDE} deep"
        )));
    }
    *includes.files += 1;
    if *includes.files > MOST_INCLUDES {
        return Err(place.error(format!("more than {MOST_INCLUDES} files are included")));
    }
    let beside = file
        .rsplit_once('/')
        .map(|(folder, _)| format!("{folder}/{path}"));
    let is_elsewhere =
        |e: &Error| [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&e.kind());
    let (read, name) = match ((outside.read)(path), beside) {
        (Err(error), Some(beside)) if is_elsewhere(&error) => ((outside.read)(&beside), beside),
        (read, _) => (read, path.to_owned()),
    };
    let text = read.map_err(|source| place.error(format!("cannot include {name}: {source}")))?;
    let mut within = Includes {
        depth: includes.depth + 1,
        files: includes.files,
    };
    for (line, place) in numbered(&text, &name) {
        let line = without_comment(line).map_err(|reason| place.error(reason))?;
        if line.starts_with('[') {
            return Err(place.error("an included file cannot open a section"));
        }
        if !line.is_empty() {
            add_line(line, place, &name, outside, &mut within, out)?;
        }
    }
    Ok(())
}

/// The line without blanks at its ends and without its comment.
///
/// fio ends a line at `;` or `#` wherever they stand. In the middle of a word (`/dev/x#1`) that is
/// hardly meant.
fn without_comment(line: &str) -> Result<&str, String> {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    let line = line.trim_matches(blank);
    match line.find([';', '#']) {
        None => Ok(line),
        Some(at) if at == 0 || line[..at].ends_with(blank) => {
            Ok(line[..at].trim_end_matches(blank))
        }
        Some(at) => {
            let sign = &line[at..=at];
            Err(format!(
                "fio ends a line at {sign}, also within a word; put a blank before a comment, and rename what has a {sign} in its name"
            ))
        }
    }
}

fn entry(line: &str, place: Place, outside: &Outside<'_>) -> Result<Entry, SpecError> {
    let Some((key, value)) = line.split_once('=') else {
        return Ok(Entry {
            key: line.into(),
            value: None,
            place,
        });
    };
    let value = expanded(value, outside).map_err(|reason| place.error(reason))?;
    let after_blanks = value.trim_start();
    // Measured: `bs= 8k` is 8 bytes in fio, and `rw= read` is an error; `iodepth= 8` is 8.
    if after_blanks.len() != value.len() && !after_blanks.bytes().all(|b| b.is_ascii_digit()) {
        return Err(place.error(format!(
            "{line:?}: fio takes a blank after = for a part of the value and misreads it; remove it"
        )));
    }
    Ok(Entry {
        key: key.trim_end().into(),
        value: Some(after_blanks.into()),
        place,
    })
}

fn expanded(value: &str, outside: &Outside<'_>) -> Result<String, String> {
    with_keywords(&with_environment(value, outside)?, outside.keywords)
}

fn with_environment(value: &str, outside: &Outside<'_>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        let found = (outside.env)(name);
        // fio puts nothing in its place, and `/data/${DIR}/x` becomes another path.
        out.push_str(before);
        out.push_str(&found.ok_or_else(|| format!("the environment variable {name} is not set"))?);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn with_keywords(value: &str, keywords: Keywords) -> Result<String, String> {
    let mut out = value.to_owned();
    for (word, number) in [
        ("$pagesize", keywords.page_size),
        ("$mb_memory", keywords.memory_mib),
        ("$ncpus", keywords.cpus),
    ] {
        out = out.replace(word, &number.to_string());
    }
    if out != value && out.contains(['+', '-', '*', '/', '(']) {
        return Err(format!(
            "{value:?}: fio calculates here, which Fathom does not; write the result"
        ));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::tests::{outside, with_files};

    fn entries(text: &str) -> Vec<(String, Option<String>)> {
        let sections = sections(text, "job.fio", &outside()).unwrap();
        sections
            .into_iter()
            .flat_map(|s| s.entries)
            .map(|e| (e.key, e.value))
            .collect()
    }

    fn refusal(text: &str) -> String {
        sections(text, "job.fio", &outside())
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn comments_blanks_and_options_without_a_value_are_read_as_fio_reads_them() {
        let text = "# one\n; two\n[j]\n  bs = \t\n\trw =read  ; three\r\n\nthread # four\niodepth= 8\nsize=1m";
        let expected = [
            ("bs", Some("")),
            ("rw", Some("read")),
            ("thread", None),
            ("iodepth", Some("8")),
            ("size", Some("1m")),
        ];
        assert_eq!(
            entries(text),
            expected.map(|(k, v)| (k.to_owned(), v.map(str::to_owned)))
        );
    }

    #[test]
    fn variables_and_keywords_are_replaced_in_values() {
        let text = "[j]\nsize=${SIZE}m\nfilename=/a/${SIZE}/${EMPTY}x${open\nbs=$pagesize\nnumjobs=$ncpus\n";
        let values: Vec<String> = entries(text)
            .into_iter()
            .filter_map(|(_, value)| value)
            .collect();
        assert_eq!(values, ["64m", "/a/64/x${open", "4096", "8"]);
    }

    #[test]
    fn what_is_no_job_file_is_refused_with_its_line() {
        for (text, expected) in [
            (
                "bs=4k\n",
                "job.fio:1: \"bs=4k\" stands before the first [section]",
            ),
            (
                "\n[j\n",
                "job.fio:2: \"[j\" opens a section and does not close it with ]",
            ),
            ("[]\n", "job.fio:1: a section needs a name between [ and ]"),
            (
                "[j]\nbs= 8k\n",
                "job.fio:2: \"bs= 8k\": fio takes a blank after = for a part of the value and misreads it; remove it",
            ),
            (
                "[j]\n\nsize=${NONE}\n",
                "job.fio:3: the environment variable NONE is not set",
            ),
            (
                "[j]\nsize=8*$mb_memory\n",
                "job.fio:2: \"8*$mb_memory\": fio calculates here, which Fathom does not; write the result",
            ),
            (
                "[j]\nfilename=/x#1\n",
                "job.fio:2: fio ends a line at #, also within a word; put a blank before a comment, and rename what has a # in its name",
            ),
        ] {
            assert_eq!(refusal(text), expected, "{text:?}");
        }
    }

    #[test]
    fn includes_are_found_beside_the_file_and_keep_their_own_lines() {
        let files = with_files(&[
            ("dir/a.inc", "; a\nbs=4k\ninclude b.inc\n"),
            ("dir/b.inc", "rw=read\n"),
        ]);
        let found = sections(
            "[j]\ninclude a.inc\nsize=1m\n",
            "dir/job.fio",
            &files.outside(),
        )
        .unwrap();
        let places: Vec<String> = found[0]
            .entries
            .iter()
            .map(|e| format!("{} {}", e.key, e.place))
            .collect();
        assert_eq!(
            places,
            ["bs dir/a.inc:2", "rw dir/b.inc:1", "size dir/job.fio:3"]
        );
    }

    #[test]
    fn bad_includes_are_refused_where_they_stand() {
        let (many, too_many) = ("include b.inc\n".repeat(40), "include c.inc\n".repeat(40));
        let files = with_files(&[
            ("loop.inc", "include loop.inc\n"),
            ("section.inc", "\n[x]\n"),
            ("a.inc", &many),
            ("b.inc", &too_many),
            ("c.inc", "rw=read\n"),
        ]);
        for (name, expected) in [
            (
                "loop.inc",
                "loop.inc:1: files include one another more than 16 deep",
            ),
            ("a.inc", "b.inc:15: more than 1000 files are included"),
            (
                "section.inc",
                "section.inc:2: an included file cannot open a section",
            ),
            (
                "none.inc",
                "job.fio:2: cannot include none.inc: entity not found",
            ),
        ] {
            let error = sections(
                &format!("[j]\ninclude {name}\n"),
                "job.fio",
                &files.outside(),
            )
            .unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }
}
