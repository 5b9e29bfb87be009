//! Scenarios of object loads: refused with a reason, or with a course that can be gone through.

use object::Scenario;

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let scenario = match Scenario::parse(text, "fuzz.toml") {
        Ok(scenario) => scenario,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let course = scenario.course();
    assert!(
        course.total_ns() > 0
            && course.peak() > 0.0
            && course.peak().is_finite()
            && course.mean() >= 0.0
    );
    assert!(course.mean() <= course.peak() * 1.000_001);
    for step in &scenario.steps {
        let _any = (step.sleep_ns(0), step.sleep_ns(u64::MAX));
        assert!(step.weight.is_finite());
    }
    let _any = (scenario.seed_count(), scenario.most_users());
    assert_eq!(Scenario::parse(text, "fuzz.toml").ok(), Some(scenario));
}
