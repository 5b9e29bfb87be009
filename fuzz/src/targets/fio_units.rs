//! The units of fio: the two kilos agree where no unit is written, ranges ascend.

use units::fio::{FioSize, FioTimeUnit, ranges, size, time};

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let sizes = [1024, 1000].map(|kilo| size(text, kilo));
    if let [Ok(FioSize::Bytes(a)), Ok(FioSize::Bytes(b))] = sizes {
        assert_eq!(size(&a.to_string(), 1024), Ok(FioSize::Bytes(a)));
        assert!(
            a == b
                || text
                    .to_ascii_lowercase()
                    .contains(['k', 'm', 'g', 't', 'p'])
        );
    }
    assert!(!matches!(sizes[0], Ok(FioSize::Percent(101..))));
    for unit in [
        FioTimeUnit::Seconds,
        FioTimeUnit::Millis,
        FioTimeUnit::Micros,
    ] {
        if let Ok(micros) = time(text, unit) {
            assert_eq!(time(&micros.to_string(), FioTimeUnit::Micros), Ok(micros));
        }
    }
    for kilo in [1024, 1000] {
        if let Ok(ranges) = ranges(text, kilo) {
            assert!(!ranges.is_empty() && ranges.iter().all(|range| range.low <= range.high));
        }
    }
}
