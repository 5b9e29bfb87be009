//! Of which runs a level speaks: how long they took, and whether they depend on when they ran.

use super::cells::ALL;
use super::rows::{Row, Slot};
use super::{Bounds, Figure, Range, StudyRow};
use record::Quantity;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};
use units::Nanos;

/// From the beginning of the first run to the end of the last.
pub(super) fn span(slots: &[Slot<'_>]) -> Option<Nanos> {
    let begun: Vec<SystemTime> = slots
        .iter()
        .map(|slot| humantime::parse_rfc3339(&slot.record.started_at).ok())
        .collect::<Option<Vec<_>>>()?;
    let ended = begun
        .iter()
        .zip(slots)
        .filter_map(|(at, slot)| at.checked_add(Duration::from_nanos(slot.record.elapsed_ns)))
        .max()?;
    let whole = ended.duration_since(*begun.iter().min()?).ok()?;
    Some(Nanos(u64::try_from(whole.as_nanos()).ok()?))
}

/// Sets ranges for intervals wherever the runs of an arm depend on when they ran, metric by metric,
/// by the evidence of all its rows.
pub(super) fn ranges_where_runs_depend_on_time(rows: &[Row<'_>], out: &mut [StudyRow]) {
    let arms = rows.iter().map(|row| row.slots.len()).max().unwrap_or(0);
    for arm in 0..arms {
        for metric in metrics_with_intervals(out, arm) {
            let found = stats::serial(&in_time(rows, out, arm, &metric))
                .and_then(|tests| tests.dependence());
            let Some((why, p)) = found else { continue };
            for figure in figures_mut(out, arm)
                .filter(|figure| figure.metric == metric && figure.interval().is_some())
            {
                let values = || figure.values.iter().map(|(_, value)| *value);
                if let (Some(low), Some(high)) =
                    (values().reduce(f64::min), values().reduce(f64::max))
                {
                    figure.bounds = Some(Bounds::Range(Range {
                        low,
                        high,
                        n: figure.values.len(),
                        why,
                        p,
                    }));
                }
            }
        }
    }
}

fn figures_mut(rows: &mut [StudyRow], arm: usize) -> impl Iterator<Item = &mut Figure> {
    rows.iter_mut()
        .filter_map(move |row| row.cells.get_mut(arm)?.as_mut())
        .flat_map(|cell| &mut cell.figures)
}

fn metrics_with_intervals(rows: &[StudyRow], arm: usize) -> Vec<Quantity> {
    let mut out: Vec<Quantity> = Vec::new();
    for figure in rows
        .iter()
        .filter_map(|row| row.cells.get(arm)?.as_ref())
        .flat_map(|cell| &cell.figures)
    {
        if figure.interval().is_some() && !out.contains(&figure.metric) {
            out.push(figure.metric.clone());
        }
    }
    out
}

/// One kind of operation of each row, in the order in time: kinds of one run are no runs that
/// follow each other.
fn in_time(rows: &[Row<'_>], out: &[StudyRow], arm: usize, metric: &Quantity) -> Vec<(usize, f64)> {
    let mut runs = Vec::new();
    for (index, (row, study_row)) in rows.iter().zip(out).enumerate() {
        let Some((cell, slots)) = study_row
            .cells
            .get(arm)
            .and_then(Option::as_ref)
            .zip(row.slots.get(arm))
        else {
            continue;
        };
        let mut known = cell
            .figures
            .iter()
            .filter(|figure| figure.metric == *metric && figure.interval().is_some());
        let Some(figure) = cell
            .figure(ALL, metric)
            .filter(|figure| figure.interval().is_some())
            .or_else(|| known.next())
        else {
            continue;
        };
        let by_block: BTreeMap<u32, &Slot<'_>> =
            slots.iter().map(|slot| (slot.block, slot)).collect();
        for (block, value) in &figure.values {
            if let Some(slot) = by_block.get(block) {
                let place = slot.record.trial.as_ref().map(|trial| trial.slot);
                runs.push((
                    (
                        slot.record.started_at.as_str(),
                        place,
                        row.name.as_str(),
                        *block,
                    ),
                    index,
                    *value,
                ));
            }
        }
    }
    runs.sort_by(|a, b| a.0.cmp(&b.0));
    runs.into_iter()
        .map(|(_, row, value)| (row, value))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::audit::example::sound;
    use crate::{StudyOptions, study};
    use record::{Quantity, Record};
    use stats::Dependence;
    use units::Nanos;

    /// Six runs a row, one row after the other in each pass, half a minute apart; every run takes
    /// `pace` of its number times as long.
    fn profile(rows: u64, pace: impl Fn(u64) -> u64) -> Vec<Record> {
        let slot = |number: u64| {
            let mut record = sound();
            record.name = format!("row {}", number % rows);
            record.id = format!("r-{number}");
            record.started_at = format!(
                "2026-01-01T00:{:02}:{:02}.000Z",
                number / 2,
                number % 2 * 30
            );
            record.elapsed_ns += pace(number);
            record
        };
        (0..6 * rows).map(slot).collect()
    }

    #[test]
    fn runs_that_slow_down_have_a_range_and_no_interval() {
        let records = profile(4, |number| number * 10_000_000);
        let found = study(&records, &StudyOptions::default());
        assert_eq!(found.rows.len(), 4);
        for cell in found.rows.iter().flat_map(|row| row.cells.iter().flatten()) {
            let rate = cell.figure("read", &Quantity::named("iops")).unwrap();
            let range = rate.range().unwrap();
            let least = rate
                .values
                .iter()
                .map(|(_, value)| *value)
                .fold(f64::INFINITY, f64::min);
            assert_eq!(
                (range.n, range.why, range.low.to_bits()),
                (6, Dependence::Trend, least.to_bits())
            );
            assert!(range.p <= stats::SERIAL_ALPHA && rate.interval().is_none());
        }
    }

    #[test]
    fn runs_in_no_order_keep_their_interval_and_say_their_span() {
        let records = profile(2, |number| {
            number * 7 % 5 * 3_000_000 + number * 11 % 7 * 1_000_000
        });
        let found = study(&records, &StudyOptions::default());
        let cell = found.rows[0].cells[0].as_ref().unwrap();
        assert!(
            cell.figure("read", &Quantity::named("iops"))
                .unwrap()
                .interval()
                .is_some()
        );
        // The first run began at 0 s, the sixth at 300 s.
        let last = Nanos(300_000_000_000 + records[10].elapsed_ns);
        assert_eq!((cell.blocks, cell.span), (6, Some(last)));
    }

    #[test]
    fn runs_of_which_one_does_not_say_when_it_began_have_no_span() {
        let mut records = profile(1, |number| number * 7 % 5 * 3_000_000);
        records[3].started_at = String::new();
        assert_eq!(
            study(&records, &StudyOptions::default()).rows[0].cells[0]
                .as_ref()
                .unwrap()
                .span,
            None
        );
    }
}
