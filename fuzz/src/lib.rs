//! The fuzz targets, and what they share: laws that hold of whatever a reader accepted.
//!
//! They are a library, which is compiled while the slowest of what it uses still is; the program beside it only chooses one.

mod s3_client;
mod targets;

pub use targets::TARGETS;

use workload::fio::{Keywords, Outside};
use workload::{Workload, settings};

/// Text, if the bytes are any.
fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

/// Every option of an accepted workload is shown as text that the option accepts and that means the same again.
fn shown_options_read_back(workload: &Workload) {
    let shown = settings::shown(workload);
    let mut again = Workload::default();
    for (key, value) in &shown {
        if let Err(error) = settings::apply(&mut again, key, value) {
            panic!("--{key} is shown as {value:?}, which it does not take: {error}");
        }
    }
    assert_eq!(settings::shown(&again), shown);
}

/// The world of a job file: the files that `read` reads, one variable `SET`, and a small machine.
fn outside<'a>(read: &'a dyn Fn(&str) -> std::io::Result<String>) -> Outside<'a> {
    Outside {
        env: &|name| (name == "SET").then(|| "4k".to_owned()),
        read,
        length: &|_| Some(1 << 20),
        keywords: Keywords {
            page_size: 4096,
            memory_mib: 1024,
            cpus: 2,
        },
    }
}
