//! Whether what is to be done can give the number that is asked for, before anything is done.

use crate::Task;
use record::Quantity;

/// Quantities that a slot of a command has beside those of its repetitions' times and number.
const OF_COMMANDS: [&str; 4] = ["time", "cpu/op", "rss.max", "n"];

/// The work of an arm in a row.
#[derive(Clone, Copy, Debug)]
pub struct Giver<'a> {
    pub arm: &'a str,
    pub task: &'a Task,
    /// A server stands around it, which is watched.
    pub has_server: bool,
}

/// Refuses a quantity that no slot can ever have, or only the slots of some arms of a row. Rows in
/// which no arm has it are measured, and left out of the verdict.
///
/// # Errors
/// Who cannot give it, and what there is instead.
pub fn check_given<'a>(metric: &Quantity, rows: &[(&str, Vec<Giver<'a>>)]) -> Result<(), String> {
    let told = |giver: &Giver<'a>, row: &str, why: String| {
        let place = if rows.len() == 1 {
            String::new()
        } else {
            format!(" in {row}")
        };
        format!("{metric} of {}{place}: {why}", giver.arm)
    };
    let mut refusals = Vec::new();
    let mut is_given = false;
    for (row, givers) in rows {
        let lacking: Vec<(&Giver<'_>, String)> = givers
            .iter()
            .filter_map(|giver| Some((giver, lacks(metric, giver)?)))
            .collect();
        let is_given_here = lacking.len() < givers.len();
        is_given |= is_given_here;
        let told = lacking
            .into_iter()
            .map(|(giver, why)| told(giver, row, why));
        refusals.extend(told.map(|text| (is_given_here, text)));
    }
    let refused = refusals
        .into_iter()
        .find(|(is_of_some_arms, _)| *is_of_some_arms || !is_given);
    refused.map_or(Ok(()), |(_, text)| Err(text))
}

/// Why a task has no such number; `None` if it may have one.
fn lacks(metric: &Quantity, giver: &Giver<'_>) -> Option<String> {
    let task = giver.task;
    let is_of_a_server = metric.key().starts_with("server.");
    if is_of_a_server && !giver.has_server && !matches!(task, Task::Command(_)) {
        return Some("nobody watches a server; one that is started by [server] is watched".into());
    }
    if !is_of_a_server && let Err(why) = metric.check_given(&task.measurable()) {
        return Some(format!("it has {why}"));
    }
    match task {
        Task::Command(_) => of_command(metric),
        Task::Run(_) if metric.is_of_loads() || is_of_a_server => {
            Some("it is a number of loads over a network, and this is a run".into())
        }
        Task::Run(_) | Task::Load(_) => None,
    }
}

fn of_command(metric: &Quantity) -> Option<String> {
    if metric.stated().is_some() {
        return None;
    }
    let is_counted = metric.is_of_operations() && !metric.is_of_bytes() && metric.part().is_none();
    let has = is_counted || OF_COMMANDS.iter().any(|name| metric.is(name));
    (!has).then(|| {
        format!(
            "a command that is timed has {}, iops, mean, p50, p99, and value:NAME of what is read of it",
            OF_COMMANDS[..3].join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{CommandTask, SlotDirs};
    use lab::{CommandSpec, RepeatFor, StatedValue, ValueSource};
    use workload::{Workload, settings};

    fn command(read: &[(&str, ValueSource)]) -> Task {
        let value = |(name, source): &(&str, ValueSource)| StatedValue {
            name: (*name).into(),
            unit: None,
            source: source.clone(),
            file: None,
            is_standard_error: false,
        };
        Task::Command(Box::new(CommandTask {
            spec: CommandSpec {
                command: vec!["true".into()],
                env: std::collections::BTreeMap::new(),
                prepare: None,
                cleanup: None,
                warmup: 0,
                repeat: RepeatFor::Times(1),
                timeout_ns: 1,
                exit_codes: vec![0],
                input: None,
                read: read.iter().map(value).collect(),
            },
            place: SlotDirs {
                dir: "/".into(),
                scratch: "/".into(),
                prints: "/".into(),
                mark: String::new(),
                until_ns: 0,
            },
            is_warmup: false,
        }))
    }

    fn run(options: &[(&str, &str)]) -> Task {
        let mut out = Workload::default();
        for (key, value) in options {
            settings::apply(&mut out, key, value).unwrap();
        }
        Task::Run(Box::new(out))
    }

    fn given(metric: &str, rows: &[&[&Task]]) -> Result<(), String> {
        let giver = |task| Giver {
            arm: "b",
            task,
            has_server: false,
        };
        let rows: Vec<_> = rows
            .iter()
            .map(|tasks| ("r", tasks.iter().map(|task| giver(*task)).collect()))
            .collect();
        check_given(&Quantity::parse(metric).unwrap(), &rows)
    }

    #[test]
    fn a_command_gives_times_and_what_is_read_of_it() {
        let regex = || ValueSource::Regex("(.)".into());
        let timed = command(&[("speed", regex())]);
        for metric in [
            "time",
            "cpu/op",
            "rss.max",
            "iops",
            "run.mean",
            "value:speed",
        ] {
            assert_eq!(given(metric, &[&[&timed]]), Ok(()), "{metric}");
        }
        for (metric, expected) in [
            (
                "put.throughput",
                "no operations of the kind \"put\"; the kinds there are run",
            ),
            (
                "throughput",
                "a command that is timed has time, cpu/op, rss.max",
            ),
            ("server.rss.max", "a command that is timed has"),
            ("p99", "at most 1 operation a slot, and p99 needs 1000"),
            ("disk.bytes/byte", "a command that is timed has"),
            ("value:sped", "no number \"sped\"; it states speed"),
        ] {
            let why = given(metric, &[&[&timed]]).unwrap_err();
            assert!(why.contains(expected), "{metric}: {why}");
        }
        let why = given("value:v", &[&[&command(&[])]]).unwrap_err();
        assert!(why.contains("no number \"v\": it states none"), "{why}");
        let imported = command(&[("", ValueSource::Import("fio".into()))]);
        assert_eq!(given("value:anything", &[&[&imported]]), Ok(()));
    }

    #[test]
    fn a_run_states_no_value_and_has_no_server() {
        let run = run(&[]);
        assert_eq!(given("read.p99", &[&[&run]]), Ok(()));
        for metric in [
            "value:x",
            "server.cpu/op",
            "connections.opened",
            "write.p99",
        ] {
            assert!(given(metric, &[&[&run]]).is_err(), "{metric}");
        }
    }

    #[test]
    fn a_row_may_be_left_out_as_a_whole_but_no_arm_of_it() {
        let [reads, writes] = [run(&[]), run(&[("read-percent", "0")])];
        let metric = "write.p99";
        assert_eq!(
            given(metric, &[&[&reads, &reads], &[&writes, &writes]]),
            Ok(())
        );
        assert!(given(metric, &[&[&reads, &writes]]).is_err());
        assert!(given(metric, &[&[&reads, &reads]]).is_err());
    }
}
