//! Which JSON documents of one file are states of one run, and which are runs of their own.
//!
//! With `--status-interval` fio prints the same jobs again and again, each time counted from the
//! start: the last says all. Whoever appends one result to another (`fio … >> file`) has runs that
//! are as different as if they stood in two files.

use serde_json::Value;

/// The last report of each run, in the order of the file.
pub(super) fn last_of_each_run(values: &[Value]) -> Vec<&Value> {
    let mut out: Vec<&Value> = Vec::new();
    for value in values {
        match out.last_mut() {
            Some(last) if is_state_of_one_run(last, value) => *last = value,
            Some(_) | None => out.push(value),
        }
    }
    out
}

/// Whether the later of two reports counts on from the earlier.
fn is_state_of_one_run(earlier: &Value, later: &Value) -> bool {
    let [Some(before), Some(after)] = [earlier, later].map(first_job) else {
        return false;
    };
    let text = |job: &Value, key: &str| job.get(key).cloned();
    if ["jobname", "job options"]
        .iter()
        .any(|key| text(before, key) != text(after, key))
    {
        return false;
    }
    if let [Some(one), Some(two)] = [before, after].map(|job| {
        job.get("job_start")
            .and_then(Value::as_u64)
            .filter(|ms| *ms > 0)
    }) {
        return one == two;
    }
    let [Some(one), Some(two)] =
        [(earlier, before), (later, after)].map(|(report, job)| began_ms(report, job))
    else {
        return runtime_ms(after) > runtime_ms(before);
    };
    // A run of its own begins when the earlier has ended; a state of the same run has the same
    // beginning, but for rounding and flushes.
    let [length, longer] = [before, after].map(runtime_ms);
    longer >= length && two - one < (length / 2.0).max(1.0)
}

fn first_job(report: &Value) -> Option<&Value> {
    report
        .get("client_stats")
        .or_else(|| report.get("jobs"))?
        .get(0)
}

/// When a job began, in milliseconds since 1970, by the time of the report and the time that the
/// job has run.
fn began_ms(report: &Value, job: &Value) -> Option<f64> {
    let seconds = report
        .get("timestamp")
        .and_then(Value::as_f64)
        .map(|seconds| seconds * 1000.0);
    let now = report
        .get("timestamp_ms")
        .and_then(Value::as_f64)
        .or(seconds)?;
    Some(now - runtime_ms(job))
}

fn runtime_ms(job: &Value) -> f64 {
    let of = |direction: &str| job.get(direction)?.get("runtime")?.as_f64();
    ["read", "write", "trim"]
        .iter()
        .filter_map(|direction| of(direction))
        .fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn report(at_ms: u64, runtime_ms: u64) -> Value {
        json!({"timestamp_ms": at_ms, "jobs": [{"jobname": "j", "read": {"runtime": runtime_ms}, "write": {"runtime": 0}}]})
    }

    fn kept(reports: &[Value]) -> usize {
        last_of_each_run(reports).len()
    }

    #[test]
    fn states_of_one_run_begin_together_and_runs_one_after_the_other_do_not() {
        assert_eq!(
            kept(&[
                report(1_001_000, 1000),
                report(1_002_000, 2000),
                report(1_010_000, 10_000)
            ]),
            1
        );
        assert_eq!(
            kept(&[report(1_010_000, 10_000), report(1_020_100, 10_000)]),
            2
        );
        assert_eq!(
            kept(&[report(1_001_000, 1000), report(1_003_000, 2000)]),
            2,
            "a short run and a longer one after it"
        );
        assert_eq!(
            kept(&[report(1_010_000, 10_000), report(1_010_000, 10_000)]),
            1,
            "the same report twice"
        );
    }

    #[test]
    fn the_start_of_a_job_and_its_options_decide_where_they_are_known() {
        let with = |start: u64, options: &str| json!({"jobs": [{"jobname": "j", "job_start": start, "job options": {"filename": options}}]});
        assert_eq!(kept(&[with(5, "/dev/sda"), with(5, "/dev/sda")]), 1);
        assert_eq!(kept(&[with(5, "/dev/sda"), with(6, "/dev/sda")]), 2);
        assert_eq!(kept(&[with(5, "/dev/sda"), with(5, "/dev/sdb")]), 2);
    }

    #[test]
    fn documents_of_another_shape_are_kept() {
        assert_eq!(kept(&[json!({}), json!([1]), json!({"jobs": []})]), 3);
    }
}
