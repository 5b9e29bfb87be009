//! Puts a second of 4 KiB objects by threads and sync policy: `cargo run --release -p s3 --example
//! store [DIR] [SECONDS]`. Orientation for whoever changes the store; it asserts nothing.
#![forbid(unsafe_code)]

use s3::{
    ListQuery, NewBucket, ObjectStore, PutFinish, StorageOptions, SyncPolicy, open_disk,
    open_memory,
};
use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[allow(
    clippy::disallowed_methods,
    reason = "an example of this crate alone has no other clock"
)]
fn wall_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[allow(
    clippy::disallowed_methods,
    reason = "an example of this crate alone has no other clock"
)]
fn now() -> Instant {
    Instant::now()
}

/// CPU time of this process in seconds.
fn cpu() -> Outcome<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(str::parse::<f64>)
        .sum::<Result<f64, _>>()?;
    Ok(ticks / 100.0)
}

fn put(store: &dyn ObjectStore, key: &str, bytes: &[u8]) -> Outcome<()> {
    let mut upload = store.begin_put("b", key)?;
    upload.write(bytes)?;
    upload.finish(PutFinish::default())?;
    Ok(())
}

fn measure(
    name: &str,
    store: &dyn ObjectStore,
    threads: u64,
    size: usize,
    time: Duration,
) -> Outcome<()> {
    let bytes: Vec<u8> = (0..size).map(|at| at.to_le_bytes()[0]).collect();
    let (puts, gets) = (AtomicU64::new(0), AtomicU64::new(0));
    let (start, cpu_start) = (now(), cpu()?);
    let run = |work: &(dyn Fn(u64, u64) -> Outcome<()> + Sync)| -> Outcome<()> {
        let start = now();
        std::thread::scope(|scope| {
            let worker = |thread| {
                scope.spawn(move || {
                    (0u64..)
                        .take_while(|_| start.elapsed() < time)
                        .try_for_each(|number| work(thread, number))
                })
            };
            let workers: Vec<_> = (0..threads).map(worker).collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err("a thread panicked".into()))
            })
        })
    };
    run(&|thread, number| {
        puts.fetch_add(1, Ordering::Relaxed);
        put(store, &format!("{thread:02}/{number:08}"), &bytes)
    })?;
    let (put_time, put_cpu) = (start.elapsed(), cpu()? - cpu_start);
    let (start, cpu_start) = (now(), cpu()?);
    let most = puts.load(Ordering::Relaxed) / threads / 2;
    run(&|thread, number| {
        gets.fetch_add(1, Ordering::Relaxed);
        let key = format!("{thread:02}/{:08}", number.wrapping_mul(7919) % most.max(1));
        let (_, mut reader) = store.get("b", &key, None)?;
        while reader.next_chunk()?.is_some() {}
        Ok(())
    })?;
    let get_cpu = cpu()? - cpu_start;
    let rate = |count: &AtomicU64, seconds: f64| {
        Ok::<f64, Box<dyn Error + Send + Sync>>(
            count.load(Ordering::Relaxed).to_string().parse::<f64>()? / seconds,
        )
    };
    let (put_rate, get_rate) = (
        rate(&puts, put_time.as_secs_f64())?,
        rate(&gets, start.elapsed().as_secs_f64())?,
    );
    let (put_us, get_us) = (1e6 / rate(&puts, put_cpu)?, 1e6 / rate(&gets, get_cpu)?);
    let list = now();
    store.list_objects(
        "b",
        &ListQuery {
            max: 1000,
            ..Default::default()
        },
    )?;
    let counters = store.counters();
    writeln!(
        std::io::stdout(),
        "{name:<12} {threads:>2} threads {size:>8} B: {put_rate:>8.0} puts/s {put_us:>5.0} us CPU, {get_rate:>8.0} gets/s {get_us:>5.0} us CPU, {} commits, a page of 1,000 in {:.1} ms",
        counters.commits,
        list.elapsed().as_secs_f64() * 1e3
    )?;
    Ok(())
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let root = arguments.next().map_or_else(std::env::temp_dir, Into::into);
    let time = Duration::from_secs(arguments.next().map_or(Ok(3), |text| text.parse())?);
    let options = |sync| StorageOptions {
        sync,
        ..StorageOptions::new(Arc::new(wall_ms))
    };
    for (name, sync) in [
        ("always", SyncPolicy::Always),
        ("interval 100", SyncPolicy::Interval(100)),
        ("never", SyncPolicy::Never),
    ] {
        for (threads, size) in [(1, 4096), (16, 4096), (16, 128 << 10), (16, 1 << 20)] {
            let dir = root.join(format!("fathom-s3-store-{}", std::process::id()));
            let outcome = on_disk(name, &dir, options(sync), threads, size, time);
            std::fs::remove_dir_all(&dir)?;
            outcome?;
        }
    }
    for threads in [1, 16] {
        let store = open_memory(options(SyncPolicy::Never))?;
        store.create_bucket("b", NewBucket::default())?;
        measure("memory", &*store, threads, 4096, time)?;
    }
    Ok(())
}

fn on_disk(
    name: &str,
    dir: &Path,
    options: StorageOptions,
    threads: u64,
    size: usize,
    time: Duration,
) -> Outcome<()> {
    let store = open_disk(dir, options)?;
    store.create_bucket("b", NewBucket::default())?;
    measure(name, &*store, threads, size, time)
}
