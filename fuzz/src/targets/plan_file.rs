//! Plan files of experiments: refused with a line that the file has, or with cells that every slot
//! can fill in.

use lab::{Builtins, PlanFile};

pub fn run(bytes: &[u8]) {
    let Some(text) = crate::text(bytes) else {
        return;
    };
    let plan = match PlanFile::parse(text, "fuzz.toml") {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.reason.is_empty() && error.line >= 1);
            return assert!(error.line <= text.lines().count() + 1);
        }
    };
    assert!(plan.arms.len() >= 2 && !plan.rows.is_empty() && plan.margin > 0.0);
    assert!(
        plan.cells
            .iter()
            .all(|cells| cells.len() == plan.arms.len())
    );
    for cell in plan.cells.iter().flatten() {
        let sample = Builtins::sample("fathom");
        assert!(cell.work(&sample).is_ok() && cell.server(&sample).is_ok());
        let _any = (cell.planned(), cell.build(&sample).is_ok());
    }
    assert_eq!(PlanFile::parse(text, "fuzz.toml").ok(), Some(plan));
}
