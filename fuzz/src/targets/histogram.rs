//! Stored histograms: what is accepted is answers every question, merges, and is stored as the same again.

use record::Histogram;

pub fn run(bytes: &[u8]) {
    let Ok(histogram) = serde_json::from_slice::<Histogram>(bytes) else {
        return;
    };
    let text = serde_json::to_string(&histogram).expect("a histogram is JSON");
    assert_eq!(
        serde_json::from_str::<Histogram>(&text).expect("it reads its own form"),
        histogram
    );
    assert_eq!(
        histogram.buckets().map(|(_, _, count)| count).sum::<u64>(),
        histogram.count()
    );
    if let (Some(min), Some(max)) = (histogram.min(), histogram.max()) {
        let (mut last, (low, high)) = (0.0, (min as f64, max as f64));
        for q in [0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let value = histogram.quantile(q).expect("it is not empty");
            assert!(
                (low..=high).contains(&value) && value >= last,
                "quantile {q} is {value} in [{min}, {max}]"
            );
            last = value;
        }
        assert!(histogram.stddev().is_some_and(f64::is_finite));
    }
    let mut twice = histogram.clone();
    twice.merge(&histogram);
    assert_eq!(twice.count(), 2 * histogram.count());
    assert_eq!(twice.since(&histogram).count(), histogram.count());
}
