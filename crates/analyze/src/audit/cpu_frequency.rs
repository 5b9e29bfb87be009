//! A CPU that changes its speed changes what every operation costs.

use crate::audit::rule::{Check, Rule};
use crate::{Effective, Finding, Severity};
use record::Record;

/// Its text and what finds it.
pub(in crate::audit) const RULE: Rule = Rule {
    id: "cpu_frequency",
    catalogue_number: Some(53),
    severity: Severity::Warning,
    title: "The CPUs change their frequency",
    text: "\
The governor (cpu.governor) is another than performance, and the frequencies that it
permits differ.
A CPU that sleeps between operations takes tens of microseconds to wake and runs slowly
at first, so that a light load has longer latencies than a heavy one. At 800 instead of
3600 MHz a null operation of 0.4 us costs 1.8.
What to do: set the governor to performance for the time of the measurement; otherwise
compare only within randomised blocks, where each arm meets the same CPU.",
    checks: &[Check::OfHost(check)],
};

const FIXED: &str = "performance";

pub(super) fn check(record: &Record) -> Vec<Finding> {
    let cpu = &record.generator().environment.cpu;
    let fixed = cpu.min_mhz.is_some() && cpu.min_mhz == cpu.max_mhz;
    // Virtual time does not depend on the speed of anything.
    let virtual_time = Effective::of(record).has_virtual_time();
    let governor = cpu
        .governor
        .as_deref()
        .filter(|governor| !fixed && !virtual_time && *governor != FIXED);
    let Some(governor) = governor else {
        return Vec::new();
    };
    let range = cpu
        .min_mhz
        .zip(cpu.max_mhz)
        .map(|(least, most)| format!(" from {least} to {most} MHz"))
        .unwrap_or_default();
    let driver = cpu
        .frequency_driver
        .as_deref()
        .map(|driver| format!(" of {driver}"))
        .unwrap_or_default();
    let message = format!("the CPUs change their frequency{range} (governor {governor}{driver})");
    let advice = "set the governor to performance for the time of the measurement; otherwise compare only within randomised blocks";
    vec![RULE.finding(Severity::Warning, message, advice)]
}

#[cfg(test)]
mod tests {
    use super::super::example::{only, set, sound};
    use super::*;

    #[test]
    fn a_governor_that_follows_the_load_is_found() {
        let mut record = sound();
        let cpu = &mut record.generator_mut().environment.cpu;
        (cpu.governor, cpu.frequency_driver) =
            (Some("schedutil".into()), Some("acpi-cpufreq".into()));
        (cpu.min_mhz, cpu.max_mhz) = (Some(800), Some(3600));
        let message = "the CPUs change their frequency from 800 to 3600 MHz (governor schedutil of acpi-cpufreq)";
        assert_eq!(only(&check(&record)), message);
        record.generator_mut().environment.cpu.min_mhz = Some(3600);
        assert_eq!(check(&record), [], "nothing to change");
    }

    #[test]
    fn a_fixed_or_unknown_speed_and_virtual_time_are_silent() {
        let mut record = sound();
        assert_eq!(check(&record), []);
        record.generator_mut().environment.cpu.governor = Some("performance".into());
        assert_eq!(check(&record), []);
        record.generator_mut().environment.cpu.governor = Some("powersave".into());
        set(&mut record, "engine", "sim");
        assert_eq!(check(&record), []);
    }
}
