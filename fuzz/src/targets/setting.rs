//! Single options as typed: the first line is the key or the row's number, the rest its value.

use workload::Workload;
use workload::settings::{SETTINGS, apply};

pub fn run(bytes: &[u8]) {
    let Some((key, value)) = crate::text(bytes).and_then(|text| text.split_once('\n')) else {
        return;
    };
    let row = key
        .parse::<usize>()
        .ok()
        .map(|number| SETTINGS[number % SETTINGS.len()].key);
    let mut workload = Workload::default();
    match apply(&mut workload, row.unwrap_or(key), value) {
        Ok(()) => crate::shown_options_read_back(&workload),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
