//! The grammar of fio's command line.

use super::section::{Entry, Place, Section};
use super::table::{self, Takes};
use super::tool::{self, Argument, Tool};
use super::{FioFormat, FioOutput, Outside, lines};
use crate::SpecError;
use std::slice::Iter;

/// A command line, taken apart.
pub(super) struct CommandLine {
    pub(super) sections: Vec<Section>,
    /// The job sections asked for; empty: all.
    pub(super) only: Vec<String>,
    pub(super) read_only: bool,
    pub(super) output: FioOutput,
    pub(super) notices: Vec<String>,
}

/// Takes a command line apart and reads the job files that it names.
pub(super) fn read(args: &[String], outside: &Outside<'_>) -> Result<CommandLine, SpecError> {
    let mut line = CommandLine {
        sections: Vec::new(),
        only: Vec::new(),
        read_only: false,
        output: FioOutput::default(),
        notices: Vec::new(),
    };
    let mut files: Vec<(&str, Place)> = Vec::new();
    let mut rest = Rest {
        args: args.iter(),
        taken: 0,
    };
    if args.first().is_some_and(|first| first == "fio") {
        rest.next();
    }
    let mut options_ended = false;
    while let Some((arg, place)) = rest.next() {
        match arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) {
            Some("") if arg == "--" && !options_ended => options_ended = true,
            Some(option) if !options_ended && !option.is_empty() => {
                line.option(option, place, &mut rest)?
            }
            Some(_) | None => files.push((arg, place)),
        }
    }
    for (index, (file, place)) in files.into_iter().enumerate() {
        let text = (outside.read)(file)
            .map_err(|source| place.error(format!("cannot read the job file {file}: {source}")))?;
        let mut sections = lines::sections(&text, file, outside)?;
        if let Some(first) = sections
            .iter_mut()
            .find(|section| !section.is_global())
            .filter(|_| index > 0)
        {
            first.barrier = true;
        }
        line.sections.extend(sections);
    }
    Ok(line)
}

/// Arguments that were not read yet.
struct Rest<'a> {
    args: Iter<'a, String>,
    taken: usize,
}

impl<'a> Rest<'a> {
    fn next(&mut self) -> Option<(&'a str, Place)> {
        let arg = self.args.next()?;
        self.taken += 1;
        Some((arg, Place::Argument(self.taken)))
    }

    /// The value of an option that takes one: behind `=`, or else the next argument.
    fn value(
        &mut self,
        name: &str,
        attached: Option<&str>,
        place: &Place,
    ) -> Result<String, SpecError> {
        match attached {
            Some(value) => Ok(value.to_owned()),
            None => self
                .next()
                .map(|(value, _)| value.to_owned())
                .ok_or_else(|| place.error(format!("--{name} needs a value"))),
        }
    }
}

impl CommandLine {
    fn option(&mut self, option: &str, place: Place, rest: &mut Rest<'_>) -> Result<(), SpecError> {
        let (name, attached) = option
            .split_once('=')
            .map_or((option, None), |(name, value)| (name, Some(value)));
        // `profile` is an option of the whole tool and of a job; both are refused.
        if let Some(found) = tool::find(name) {
            let value = match found.argument {
                Argument::Needed => rest.value(name, attached, &place)?,
                Argument::Attached => attached.unwrap_or_default().to_owned(),
            };
            return self.tool_option(name, found.what, value, &place);
        }
        let row = table::find(name).ok_or_else(|| table::unknown(name, &place))?;
        let value = match row.takes {
            Takes::Value | Takes::ValueOrAlone => Some(rest.value(name, attached, &place)?),
            Takes::Flag => attached.map(str::to_owned),
        };
        if row.name == "name" {
            let name = value.clone().unwrap_or_default();
            self.sections.push(Section {
                name,
                place: place.clone(),
                entries: Vec::new(),
                barrier: false,
            });
        } else if self.sections.is_empty() {
            // What stands before the first --name is for all jobs, those of job files too.
            self.sections.push(Section {
                name: "global".into(),
                place: place.clone(),
                entries: Vec::new(),
                barrier: false,
            });
        }
        let section = self
            .sections
            .last_mut()
            .expect("one was pushed above if there was none");
        if row.name != "name" || !section.is_global() {
            section.entries.push(Entry {
                key: name.into(),
                value,
                place,
            });
        }
        Ok(())
    }

    fn tool_option(
        &mut self,
        name: &str,
        what: Tool,
        value: String,
        place: &Place,
    ) -> Result<(), SpecError> {
        match what {
            Tool::File => self.output.file = Some(value),
            Tool::Formats => {
                let formats: Option<Vec<FioFormat>> = value.split(',').map(format).collect();
                let unknown = || {
                    place.error(format!(
                        "--output-format={value}: is not a list of normal, json, json+, terse"
                    ))
                };
                self.output.formats = formats.ok_or_else(unknown)?;
            }
            Tool::Minimal => self.output.formats = vec![FioFormat::Terse],
            Tool::AppendTerse => {
                let formats = &mut self.output.formats;
                if formats.is_empty() {
                    formats.push(FioFormat::Normal);
                }
                formats.push(FioFormat::Terse);
            }
            Tool::TerseVersion if value == "3" => {}
            Tool::TerseVersion => {
                return Err(place.error(format!(
                    "--{name}={value}: terse output is written in version 3"
                )));
            }
            Tool::Section => self.only.push(value),
            Tool::ReadOnly => self.read_only = true,
            Tool::Silent => {}
            Tool::Noted(what) => self.notices.push(format!("{place}: --{name}: {what}")),
            Tool::Refused(reason) => return Err(place.error(format!("--{name}: {reason}"))),
        }
        Ok(())
    }
}

/// A form by its name in fio; minimal and csv are older names of terse.
fn format(name: &str) -> Option<FioFormat> {
    Some(match name.trim() {
        "normal" => FioFormat::Normal,
        "json" => FioFormat::Json,
        "json+" => FioFormat::JsonPlus,
        "terse" | "minimal" | "csv" => FioFormat::Terse,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::tests::{outside, with_files, words};

    fn shape(line: &CommandLine) -> Vec<String> {
        let entry = |e: &Entry| {
            e.value
                .as_ref()
                .map_or(e.key.clone(), |v| format!("{}={v}", e.key))
        };
        line.sections
            .iter()
            .map(|s| {
                format!(
                    "[{}] {}",
                    s.name,
                    s.entries.iter().map(entry).collect::<Vec<_>>().join(" ")
                )
            })
            .collect()
    }

    fn refusal(args: &str) -> String {
        read(&words(args), &outside())
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default()
    }

    #[test]
    fn both_spellings_of_values_and_both_dashes_are_read() {
        let line =
            read(&words("fio --rw randread -bs=4k --name=a --time_based --runtime 10 --thread=1 --name b --direct 1"), &outside()).unwrap();
        assert_eq!(
            shape(&line),
            [
                "[global] rw=randread bs=4k",
                "[a] name=a time_based runtime=10 thread=1",
                "[b] name=b direct=1"
            ]
        );
    }

    #[test]
    fn a_global_section_can_stand_anywhere() {
        let line = read(
            &words("--name=a --name=global --bs=8k --name=b"),
            &outside(),
        )
        .unwrap();
        assert_eq!(shape(&line), ["[a] name=a", "[global] bs=8k", "[b] name=b"]);
    }

    #[test]
    fn a_second_job_file_waits_for_the_first() {
        let files = with_files(&[("a.fio", "[a]\n"), ("b.fio", "[global]\nbs=4k\n[b]\n[c]\n")]);
        let line = read(
            &words("--rw=read a.fio --section=c -- b.fio"),
            &files.outside(),
        )
        .unwrap();
        assert_eq!(
            shape(&line),
            ["[global] rw=read", "[a] ", "[global] bs=4k", "[b] ", "[c] "]
        );
        assert_eq!(
            line.sections.iter().map(|s| s.barrier).collect::<Vec<_>>(),
            [false, false, false, true, false]
        );
        assert_eq!(line.only, ["c"]);
    }

    #[test]
    fn forms_of_output_combine_as_in_fio() {
        use FioFormat::{Json, JsonPlus, Normal, Terse};
        for (args, expected) in [
            ("--name=a", vec![]),
            ("--output-format=json,normal --name=a", vec![Json, Normal]),
            ("--output-format=json+ --name=a", vec![JsonPlus]),
            ("--minimal --name=a", vec![Terse]),
            ("--append-terse --name=a", vec![Normal, Terse]),
            (
                "--output-format=terse --terse-version=3 --name=a",
                vec![Terse],
            ),
        ] {
            assert_eq!(
                read(&words(args), &outside()).unwrap().output.formats,
                expected,
                "{args}"
            );
        }
    }

    #[test]
    fn options_of_the_tool_are_handed_on_or_refused() {
        let line = read(
            &words("--output=x.json --output-format json --eta never --readonly --name=a"),
            &outside(),
        )
        .unwrap();
        assert_eq!(
            line.output,
            FioOutput {
                file: Some("x.json".into()),
                formats: vec![FioFormat::Json]
            }
        );
        assert!(line.read_only);
        for (args, expected) in [
            (
                "--terse-version=5",
                "argument 1: --terse-version=5: terse output is written in version 3",
            ),
            (
                "--name=a --output-format=jason",
                "argument 2: --output-format=jason: is not a list of normal, json, json+, terse",
            ),
            ("--name=a --bs", "argument 2: --bs needs a value"),
            (
                "--name=a --bss=4k",
                "argument 2: \"bss\" is no option of fio, or one of an engine that Fathom does not have",
            ),
            (
                "--name=a none.fio",
                "argument 2: cannot read the job file none.fio: entity not found",
            ),
            (
                "--server",
                "argument 1: --server: fio's server and clients are not spoken here; start one run on each machine and compare the records",
            ),
        ] {
            assert_eq!(refusal(args), expected);
        }
    }
}
