//! Thresholds of a load: conditions on a record that are of operations which a load has.

use crate::LoadError;
use crate::verbs::CALLS;
use record::Threshold;

/// Every kind of request that a load counts.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    CALLS.iter().map(|call| call.request().name)
}

/// Reads a threshold.
///
/// # Errors
/// The text is none, or is of operations that no load does.
pub fn threshold(text: &str) -> Result<Threshold, LoadError> {
    let threshold = Threshold::parse(text).map_err(|error| LoadError::asked(error.to_string()))?;
    match threshold.quantity().operation() {
        Some(kind) if !kinds().any(|name| name == kind) => Err(LoadError::asked(format!(
            "threshold {text:?}: {kind:?} is no kind of operation; kinds are {} and iteration",
            kinds().collect::<Vec<_>>().join(", ")
        ))),
        Some(_) | None => Ok(threshold),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_of_operations_that_a_load_has() {
        let refused = |text: &str| threshold(text).unwrap_err().to_string();
        assert!(
            refused("fetchx.p95<5ms").contains("\"fetchx\" is no kind of operation; kinds are")
        );
        assert!(refused("p95").contains("examples: get.p95<50ms"));
        for text in [
            "get.p95<5ms",
            "iteration.median<1s",
            "server.cpu/op<1ms",
            "errors<1%",
        ] {
            assert_eq!(threshold(text).unwrap().text(), text);
        }
    }
}
