//! The units that sources name for numbers of their own. A number stays in the unit in which it is
//! stated: nothing is converted.

use super::{Quantity, Source};
use crate::{Record, Summary};
use std::collections::BTreeSet;
use units::format_count;

/// No name of a unit is longer.
const LONGEST: usize = 24;

impl Quantity {
    /// The same with the unit that all these records name for it, where they agree on one. Records
    /// that do not state it have no say.
    #[must_use]
    pub fn measured_in<'r>(self, records: impl IntoIterator<Item = &'r Record>) -> Self {
        let units = self.units_in(records);
        let mut all = units.iter();
        let stated = match (all.next(), all.next()) {
            (Some(Some(only)), None) => Some((*only).to_owned()),
            (None | Some(_), _) => None,
        };
        Self { stated, ..self }
    }

    /// The units that records name for what they state; `None` is of those that name none.
    #[must_use]
    pub fn units_in<'r>(
        &self,
        records: impl IntoIterator<Item = &'r Record>,
    ) -> BTreeSet<Option<&'r str>> {
        if !self.is_stated() {
            return BTreeSet::new();
        }
        let summaries = records.into_iter().flat_map(|record| &record.summaries);
        summaries
            .filter(|(kind, _)| self.kind().is_none_or(|own| own == kind.as_str()))
            .filter(|(_, summary)| summary.figures.contains_key(&self.parameter))
            .map(|(_, summary)| unit_of(summary, &self.parameter))
            .collect()
    }

    /// Whether it is a number that only its source knows, by a name of the source's own.
    #[must_use]
    pub fn is_stated(&self) -> bool {
        matches!(self.measure.source, Source::Stated(_))
    }

    /// The unit that its source names, if there is one.
    #[must_use]
    pub fn stated_unit(&self) -> Option<&str> {
        self.stated.as_deref()
    }

    /// The name of its unit for machines.
    #[must_use]
    pub fn unit_name(&self) -> &str {
        self.stated_unit().unwrap_or_else(|| self.unit().name())
    }

    /// A value of it for people.
    #[must_use]
    pub fn text(&self, value: f64) -> String {
        match self.stated_unit() {
            Some(unit) => format!("{} {unit}", format_count(value)),
            None => self.unit().text(value),
        }
    }

    /// A value of it for people where its name says already that it is of a second, as IOPS does.
    #[must_use]
    pub fn number(&self, value: f64) -> String {
        match self.stated_unit() {
            Some(_) => self.text(value),
            None => self.unit().number(value),
        }
    }
}

/// The unit that stands beside a figure. Some sources print the whole number there, as `2.07 us`,
/// which is no unit; `1/s` is one.
fn unit_of<'r>(summary: &'r Summary, name: &str) -> Option<&'r str> {
    let text = summary.as_written.get(name)?.trim();
    let is_number = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first));
    let is_unit = !text.is_empty()
        && (!is_number || text.starts_with("1/"))
        && text.chars().count() <= LONGEST
        && !text.chars().any(|c| c.is_control() || units::disturbs(c));
    is_unit.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stating(value: f64, unit: Option<&str>) -> Record {
        let summary = Summary {
            figures: [("speed".to_owned(), value)].into(),
            as_written: unit
                .map(|unit| ("speed".to_owned(), unit.to_owned()))
                .into_iter()
                .collect(),
            ..Summary::default()
        };
        Record {
            summaries: [("run".to_owned(), summary)].into(),
            ..Record::default()
        }
    }

    #[test]
    fn a_stated_number_has_the_unit_on_which_all_records_agree() {
        let of = |name: &str, records: &[Record]| {
            let quantity = Quantity::named(name).measured_in(records);
            (
                quantity.number(5_310_000.0),
                quantity.unit_name().to_owned(),
            )
        };
        let both = |text: &str, unit: &str| (text.to_owned(), unit.to_owned());
        let [kb, mb] = ["KB/s", "MB/s"].map(|unit| stating(1.0, Some(unit)));
        let (silent, lost) = (stating(1.0, None), Record::default());
        let agreed = [kb.clone(), lost, kb.clone()];
        assert_eq!(of("value:speed", &agreed), both("5.31M KB/s", "KB/s"));
        assert_eq!(of("run.value:speed", &agreed), both("5.31M KB/s", "KB/s"));
        for records in [vec![kb.clone(), mb], vec![kb.clone(), silent], Vec::new()] {
            assert_eq!(of("value:speed", &records), both("5.31M", "1"));
        }
        assert_eq!(of("get.value:speed", &agreed), both("5.31M", "1"));
        assert_eq!(of("iops", &agreed), both("5.31M", "1/s"));
        let plain = Quantity::named("value:speed");
        assert_eq!(plain.clone().measured_in(&agreed), plain);
    }

    #[test]
    fn what_is_no_name_of_a_unit_is_not_shown_as_one() {
        let unit = |text: &str| {
            let record = stating(1.0, Some(text));
            let quantity = Quantity::named("value:speed").measured_in([&record]);
            quantity.stated_unit().map(str::to_owned)
        };
        for text in [
            "2.07 us",
            "482,000",
            "-1",
            "",
            " ",
            "a\nb",
            "a\u{1b}[2J",
            &"x".repeat(25),
        ] {
            assert_eq!(unit(text), None, "{text:?}");
        }
        for text in ["1/s", "µs", "tokens per s", "%"] {
            assert_eq!(unit(text).as_deref(), Some(text));
        }
    }
}
