//! Ranks that nobody connects do not wait for each other between kinds of operations, whose rates are then of a time
//! in which some of them did other things.

use super::{percent, ratio};
use crate::audit::rule::{Check, Rule};
use crate::{Finding, Severity};
use record::Record;
use units::Nanos;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "kinds_apart",
    catalogue_number: None,
    severity: Severity::Invalid,
    title: "Ranks did not do a kind of operation at the same time",
    text: "\
Of ranks that are not connected and do several kinds of operations that follow each other
(--meta create,stat; the passes of --verify-when passes): the time of a kind from the first
rank's start to the last one's end (spans), beside the longest that a rank took for it
(hosts, part, spans). 1 % more is a warning, 5 % invalid.
Each rank begins its next kind when it has ended the last, whatever the others do. The rate
of a kind is over a time in which some ranks did something else: with creates that took one
rank 1.5 s and the others 0.1 s, stats of 10 ms were said to take 1.5 s.
What to do: give one kind a command, each with a --start-at of its own, or connect the ranks
(mpirun, srun, --hosts), which then wait for each other between kinds.",
    checks: &[Check::Alone(check)],
};

const MOST: f64 = 0.01;
const INVALID: f64 = 0.05;

fn check(record: &Record) -> Vec<Finding> {
    let group = record.group.as_ref();
    let is_apart = group.is_some_and(|group| group.size > 1 && !group.is_connected());
    if !is_apart || record.spans.len() < 2 {
        return Vec::new();
    }
    let parts = record.host_parts();
    let apart = record.spans.iter().filter_map(|(kind, together)| {
        let own = parts.iter().filter_map(|own| own.part.spans.get(kind));
        let longest = own.map(|own| own.elapsed_ns).max()?;
        let more_ns = together.elapsed_ns.saturating_sub(longest);
        let share = ratio(more_ns, together.elapsed_ns);
        (share > MOST).then_some((share, kind, together.elapsed_ns, longest))
    });
    let Some((share, kind, together, longest)) = apart.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Vec::new();
    };
    let severity = match share > INVALID {
        true => Severity::Invalid,
        false => Severity::Warning,
    };
    let message = format!(
        "`{kind}` took all ranks {} together and no rank more than {}: for {} of the time of its rate some ranks did other kinds",
        Nanos(together),
        Nanos(longest),
        percent(share)
    );
    vec![RULE.finding(
        severity,
        message,
        "give one kind a command, each with a --start-at of its own, or connect the ranks (mpirun, srun, --hosts)",
    )]
}

#[cfg(test)]
mod tests {
    use super::super::example::{SECOND, group_of, only};
    use super::*;
    use record::{GroupAccount, Span};

    /// Two ranks that created from their start on, and then looked up for a second.
    fn of(created: [u64; 2], launcher: &str) -> Vec<Finding> {
        let span = |start_ns, end_ns| Span {
            start_ns,
            end_ns,
            elapsed_ns: end_ns - start_ns,
        };
        let kinds = |create: [u64; 2], stat: [u64; 2]| {
            let of = |[start, end]: [u64; 2]| span(start, end);
            [("create", of(create)), ("stat", of(stat))].map(|(kind, span)| (kind.to_owned(), span))
        };
        let mut all = group_of(2, |rank, part| {
            let own = created[rank as usize];
            part.spans = kinds([0, own], [own, own + SECOND]).into();
        });
        let [least, most] = [created[0].min(created[1]), created[0].max(created[1])];
        all.spans = kinds([0, most], [least, most + SECOND]).into();
        all.group = Some(GroupAccount {
            size: 2,
            launcher: launcher.into(),
            ..GroupAccount::default()
        });
        check(&all)
    }

    #[test]
    fn a_kind_that_ranks_did_one_after_the_other_has_no_rate_in_common() {
        let found = of([SECOND, 4 * SECOND], "none");
        assert_eq!(
            (only(&found), found[0].severity),
            (
                "`stat` took all ranks 4 s together and no rank more than 1 s: for 75% of the time of its rate some ranks did other kinds",
                Severity::Invalid
            )
        );
        let little = of([SECOND, SECOND + SECOND / 40], "none");
        assert_eq!(little[0].severity, Severity::Warning);
    }

    #[test]
    fn ranks_that_kept_together_or_waited_for_each_other_are_silent() {
        assert_eq!(of([SECOND, SECOND], "none"), []);
        assert_eq!(of([SECOND, 4 * SECOND], "open-mpi"), []);
    }
}
