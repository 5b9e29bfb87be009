//! Rates, byte rates and percentages: finite, in their range, and read back where they are written exactly.

use units::{ByteRate, Percent, Rate};

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    if let Ok(rate) = Rate::parse(text) {
        assert!(rate.0.is_finite() && rate.0 >= 0.0);
        assert_eq!(Rate::parse(&rate.0.to_string()), Ok(rate));
        assert!(!rate.to_string().is_empty());
    }
    if let Ok(rate) = ByteRate::parse(text) {
        assert!(rate.0.is_finite() && rate.0 >= 0.0);
        assert!(!rate.to_string().is_empty());
    }
    if let Ok(percent) = Percent::parse(text) {
        assert!((0.0..=100.0).contains(&percent.0));
        assert_eq!(Percent::parse(&percent.to_string()), Ok(percent));
    }
}
