//! Real devices and file systems: what is in use is never written to, and their failures are
//! recorded.
//!
//! Run with `cargo test -p fathom --test privileged -- --ignored` as root. What the machine lacks
//! is said and skipped.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/device.rs"]
mod device;
#[path = "ground/run.rs"]
mod ground;

use device::{Device, Freeze, Mount, Swap, has, tool};
use ground::{Ground, NOBODY, skipped, until};
use insta::assert_snapshot;
use record::{Operations, Record, Status};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const MIB: u64 = 1 << 20;
const LONG: &str = "60s";

fn operations<'a>(record: &'a Record, kind: &str) -> &'a Operations {
    record.operations.kind(kind).unwrap()
}

/// The first bytes of a device, past the page cache of earlier readers.
fn first_bytes(path: &str) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 20];
    File::open(path).unwrap().read_exact(&mut bytes).unwrap();
    bytes
}

/// A message with the device's name and numbers as words that are the same everywhere.
fn anonymous(message: &str, device: &Device) -> String {
    let minor = device
        .name()
        .trim_start_matches(|c: char| !c.is_ascii_digit());
    message
        .replace(&device.path, "[DEVICE]")
        .replace(device.name(), "[NAME]")
        .replace(&format!(":{minor})"), ":[MINOR])")
}

#[test]
#[ignore = "needs root"]
fn privileged_direct_random_reads_of_a_device_are_counted_by_the_device_too() {
    if !has(&["losetup"]) {
        return;
    }
    let ground = Ground::new();
    let Some(device) = Device::looped(&ground, "image", 16 * MIB) else {
        return;
    };
    for (engine, depth) in [("sync", "1"), ("io_uring", "16"), ("libaio", "16")] {
        let records = format!("{engine}.jsonl");
        let args = [
            "run",
            &device.path,
            "--direct",
            "--random",
            "--run-until-complete",
            "--engine",
            engine,
            "--queue-depth",
            depth,
        ];
        ground
            .fathom(&[&args[..], &["--records", &records]].concat())
            .expect(0);
        let record = ground.record(&records);
        assert_eq!(
            (record.targets[0].kind.as_str(), record.targets[0].bytes),
            ("block device", 16 * MIB)
        );
        assert_eq!(operations(&record, "read").count, 16 * MIB / 4096);
        let account = record
            .generator()
            .devices
            .iter()
            .find(|account| account.name == device.name())
            .unwrap();
        assert_eq!(
            (account.read_bytes, account.written_bytes),
            (16 * MIB, 0),
            "{engine}: {account:?}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_a_warm_up_is_left_out_of_the_counters_of_the_device() {
    if !has(&["losetup"]) {
        return;
    }
    let ground = Ground::new();
    let Some(device) = Device::looped(&ground, "image", 16 * MIB) else {
        return;
    };
    let pace = [
        "--rate-iops",
        "1000",
        "--warmup",
        "2s",
        "--duration",
        "400ms",
    ];
    ground
        .fathom(
            &[
                &[
                    "run",
                    &device.path,
                    "--direct",
                    "--random",
                    "--records",
                    "r.jsonl",
                ],
                &pace[..],
            ]
            .concat(),
        )
        .expect(0);
    let record = ground.record("r.jsonl");
    let account = record
        .generator()
        .devices
        .iter()
        .find(|account| account.name == device.name())
        .unwrap();
    let measured = record.operations.bytes();
    assert!(
        record.warmup.bytes() > 3 * measured,
        "the warm-up does far more"
    );
    assert!(
        (measured / 5..measured * 2).contains(&account.read_bytes),
        "{} of {measured} bytes",
        account.read_bytes
    );
    let (reads, counted) = (account.reads, operations(&record, "read").count);
    assert!(
        (counted / 5..counted * 2).contains(&reads),
        "{reads} of {counted} reads"
    );
}

#[test]
#[ignore = "needs root"]
fn privileged_a_device_is_written_to_only_when_it_is_named() {
    if !has(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let ground = Ground::new();
    let Some(device) = Device::looped(&ground, "image", 16 * MIB) else {
        return;
    };
    let Some(other) = Device::looped(&ground, "other", MIB) else {
        return;
    };
    let write = [
        "run",
        &device.path,
        "--write-percent",
        "100",
        "--run-until-complete",
        "--end-fsync",
    ];
    let named = [&write[..], &["--allow-destroy", &device.path]].concat();
    let refused = |more: &[&str]| {
        let before = first_bytes(&device.path);
        let message = ground.refused(&[&write[..], more].concat());
        assert_eq!(first_bytes(&device.path), before);
        anonymous(&message, &device)
    };
    assert_snapshot!(refused(&[]), @"[DEVICE] is a block device (7:[MINOR]) whose beginning and end are blank, which does not prove it empty; if its content may be destroyed, add --allow-destroy [DEVICE]");
    assert_eq!(
        refused(&["--allow-destroy", &other.path]),
        refused(&[]),
        "another device is no permission"
    );
    ground.fathom(&named).expect(0);
    assert!(first_bytes(&device.path).iter().any(|byte| *byte != 0));
    device.make_ext4("");
    assert_snapshot!(refused(&[]), @"[DEVICE] is a block device (7:[MINOR]) that holds an ext4 file system (signature at offset 1080); if its content may be destroyed, add --allow-destroy [DEVICE]");
    assert_eq!(refused(&["--allow-destroy", &other.path]), refused(&[]));
    ground.fathom(&named).expect(0);
    assert!(
        tool(&["fsck.ext4", "-fn", &device.path]).is_err(),
        "it was named, so the file system is gone"
    );
    assert_snapshot!(anonymous(&ground.refused(&[&named[..], &["--file-size", "17M"]].concat()), &device), @"[DEVICE] has 16777216 bytes, --file-size 17825792 is beyond its end; give at most that");
}

/// The directory in which the program runs, and one for images that the kernel itself may write to
/// at any time.
fn grounds() -> (Ground, Ground) {
    (Ground::new(), Ground::new())
}

/// Every way to write to what is mounted is refused, whatever is permitted, and the file system is
/// whole afterwards.
fn assert_untouched_while_mounted(
    ground: &Ground,
    device: &Device,
    partition: &str,
    targets: &[&str],
) {
    let source = format!("{}{partition}", device.path);
    let mount = Mount::new(ground, "mounted", "ext4", &source, "rw");
    fs::write(mount.at.join("kept"), "content").unwrap();
    tool(&["sync", "-f", &mount.at.to_string_lossy()]).unwrap();
    for target in targets {
        for fill in [&["--write-percent", "100"][..], &["--refill"]] {
            let args = [
                &[
                    "run",
                    target,
                    "--allow-destroy",
                    target,
                    "--total-bytes",
                    "1M",
                ],
                fill,
            ]
            .concat();
            let message = ground.refused(&args);
            assert!(
                message
                    .contains("is in use and is not written to, with or without --allow-destroy"),
                "{target}: {message}"
            );
            assert!(message.contains("mounted"), "{target}: {message}");
        }
    }
    drop(mount);
    fs::remove_dir(ground.path("mounted")).unwrap();
    tool(&["fsck.ext4", "-fn", &source]).unwrap();
    let mount = Mount::new(ground, "mounted", "ext4", &source, "ro");
    assert_eq!(
        fs::read_to_string(mount.at.join("kept")).unwrap(),
        "content"
    );
}

#[test]
#[ignore = "needs root"]
fn privileged_a_mounted_device_is_refused_by_every_name_it_has() {
    if !has(&["losetup", "mkfs.ext4", "fsck.ext4", "mount"]) {
        return;
    }
    let (ground, images) = grounds();
    let Some(device) = Device::looped(&images, "image", 16 * MIB) else {
        return;
    };
    device.make_ext4("");
    symlink(&device.path, ground.path("link")).unwrap();
    symlink(images.path("image"), ground.path("link-to-image")).unwrap();
    fs::hard_link(images.path("image"), images.path("hard-link")).unwrap();
    let (image, hard_link) = (images.path("image"), images.path("hard-link"));
    let targets = [
        &device.path,
        "link",
        &*image.to_string_lossy(),
        "link-to-image",
        &*hard_link.to_string_lossy(),
    ];
    assert_untouched_while_mounted(&ground, &device, "", &targets);
}

/// One partition from sector 2048 to the end (an MBR entry: type 0x83, start and length in sectors,
/// little-endian, at byte 446).
fn partition(image: &Path, bytes: u64) {
    let (start, sectors) = (2048_u32, u32::try_from(bytes / 512).unwrap() - 2048);
    let mut entry = [0_u8; 16];
    entry[4] = 0x83;
    entry[8..12].copy_from_slice(&start.to_le_bytes());
    entry[12..].copy_from_slice(&sectors.to_le_bytes());
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(image)
        .unwrap();
    file.set_len(bytes).unwrap();
    file.seek(SeekFrom::Start(446)).unwrap();
    file.write_all(&entry).unwrap();
    file.seek(SeekFrom::Start(510)).unwrap();
    file.write_all(&[0x55, 0xaa]).unwrap();
}

#[test]
#[ignore = "needs root"]
fn privileged_a_disk_with_a_mounted_partition_is_refused() {
    if !has(&["losetup", "addpart", "mkfs.ext4", "fsck.ext4", "mount"]) {
        return;
    }
    let (ground, images) = grounds();
    let image = images.path("image");
    partition(&image, 32 * MIB);
    let Some(device) = Device::attached(&image) else {
        return;
    };
    let part = format!("{}p1", device.path);
    // Only needed where the kernel does not read such tables.
    let _it_may_be_there = tool(&["addpart", &device.path, "1", "2048", "63488"]);
    until("the partition has a node", || {
        Path::new(&part).exists().then_some(())
    });
    device.make_ext4("p1");
    let unmounted = ground.refused(&[
        "run",
        &device.path,
        "--write-percent",
        "100",
        "--total-bytes",
        "1M",
    ]);
    assert!(unmounted.contains("partition table"), "{unmounted}");
    assert_untouched_while_mounted(
        &ground,
        &device,
        "p1",
        &[&device.path, &part, &image.to_string_lossy()],
    );
}

#[test]
#[ignore = "needs root"]
fn privileged_a_device_that_is_swapped_to_is_refused() {
    if !has(&["losetup", "mkswap", "swapon", "swapoff"]) {
        return;
    }
    let (ground, images) = grounds();
    let Some(device) = Device::looped(&images, "image", 16 * MIB) else {
        return;
    };
    let Some(_swap) = Swap::on(&device) else {
        return;
    };
    for target in [
        device.path.as_str(),
        &images.path("image").to_string_lossy(),
    ] {
        let message = ground.refused(&[
            "run",
            target,
            "--write-percent",
            "100",
            "--total-bytes",
            "1M",
            "--allow-destroy",
            target,
        ]);
        assert!(
            message.contains("is in use and is not written to") && message.contains("swap"),
            "{message}"
        );
    }
}

/// A small ext4 file system, and the device under it.
fn small_ext4(ground: &Ground, bytes: u64) -> Option<(Device, Mount)> {
    let device = Device::looped(ground, "image", bytes)?;
    device.make_ext4("");
    let mount = Mount::new(ground, "m", "ext4", &device.path, "rw");
    Some((device, mount))
}

#[test]
#[ignore = "needs root"]
fn privileged_a_disk_that_fills_up_ends_the_run_with_what_was_measured() {
    if !has(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let engines = [
        ("sync", "1", "No space left on device (os error 28)"),
        ("io_uring", "8", "No space left on device (os error 28)"),
    ];
    for (engine, depth, expected) in engines {
        let ground = Ground::new();
        let Some((_device, _mount)) = small_ext4(&ground, 16 * MIB) else {
            return;
        };
        let args = [
            "run",
            "m/f",
            "--file-size",
            "64M",
            "--write-percent",
            "100",
            "--engine",
            engine,
            "--queue-depth",
            depth,
        ];
        let long = [&args[..], &["--duration", LONG, "--records", "r.jsonl"]].concat();
        assert!(
            ground
                .refused(&long)
                .contains("64 MiB more would be written")
        );
        let ended = ground.fathom(&[&long[..], &["--no-refill"]].concat());
        ended.expect(1);
        let record = ground.record("r.jsonl");
        assert_eq!(
            (record.outcome.status, record.outcome.exit_code),
            (Status::Failed, 1)
        );
        let written = operations(&record, "write");
        assert!(
            written.count > 0 && written.bytes < 16 * MIB,
            "{engine}: {}",
            written.bytes
        );
        assert_eq!(written.latency.count(), written.count);
        assert!(
            record
                .errors
                .iter()
                .any(|error| error.error == expected && error.first_file == "m/f"),
            "{engine}: {:?}",
            record.errors
        );
        assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_a_mapping_of_holes_on_a_full_disk_fails_without_a_crash() {
    if !has(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let ground = Ground::new();
    let Some((_device, mount)) = small_ext4(&ground, 16 * MIB) else {
        return;
    };
    File::create_new(mount.at.join("holes"))
        .unwrap()
        .set_len(64 * MIB)
        .unwrap();
    let args = [
        "run",
        "m/holes",
        "--engine",
        "mmap",
        "--write-percent",
        "100",
        "--no-refill",
        "--allow-destroy",
        "m/holes",
    ];
    ground
        .fathom(&[&args[..], &["--duration", LONG, "--records", "r.jsonl"]].concat())
        .expect(1);
    let record = ground.record("r.jsonl");
    assert!(operations(&record, "write").count > 0);
    assert_eq!(
        (record.errors[0].error.as_str(), record.errors[0].count),
        ("Input/output error (os error 5)", 1)
    );
}

#[test]
#[ignore = "needs root"]
fn privileged_a_disk_that_fills_up_before_the_run_is_left_as_it_was() {
    if !has(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let ground = Ground::new();
    let Some((_device, _mount)) = small_ext4(&ground, 16 * MIB) else {
        return;
    };
    let before = ground.tree().into_keys().collect::<Vec<_>>();
    for more in [
        &[][..],
        &["--preallocate"],
        &["--num-files", "3", "--num-dirs", "2"],
    ] {
        let ended = ground.fathom(
            &[
                &["run", "m/f", "--file-size", "32M", "--duration", LONG],
                more,
            ]
            .concat(),
        );
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        assert!(
            ended
                .error()
                .ends_with("are free where m lies; free space, or give a smaller --file-size"),
            "{}",
            ended.stderr
        );
        assert_eq!(
            ground.tree().into_keys().collect::<Vec<_>>(),
            before,
            "{more:?}"
        );
    }
    ground
        .fathom(&["run", "m/f", "--file-size", "4M", "--run-until-complete"])
        .expect(0);
}

#[test]
#[ignore = "needs root"]
fn privileged_a_full_disk_under_the_records_keeps_the_earlier_ones_and_the_summary() {
    if !has(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let ground = Ground::new();
    let Some((_device, mount)) = small_ext4(&ground, 16 * MIB) else {
        return;
    };
    let run = [
        "run",
        "f",
        "--file-size",
        "1M",
        "--total-bytes",
        "1M",
        "--records",
        "m/r.jsonl",
    ];
    ground.fathom(&run).expect(0);
    let earlier = ground.read("m/r.jsonl");
    let mut ballast = File::create_new(mount.at.join("ballast")).unwrap();
    for size in [1 << 16, 1] {
        while ballast
            .write_all(&vec![1; size])
            .and_then(|()| ballast.sync_data())
            .is_ok()
            && size > 1
        {}
    }
    until("a record does not fit any more", || {
        let ended = ground.fathom(&run);
        (ended.code == Some(1)).then(|| {
            assert!(
                ended.error().contains("No space left on device"),
                "{}",
                ended.stderr
            );
            assert!(
                ended.stdout.contains("outcome       ok"),
                "{}",
                ended.stdout
            );
        })
    });
    assert!(ground.read("m/r.jsonl").starts_with(&earlier));
    drop(ballast);
    fs::remove_file(mount.at.join("ballast")).unwrap();
    ground.fathom(&run).expect(0);
    let read = record::read_records(&mount.at.join("r.jsonl")).unwrap();
    assert!(
        read.records.len() >= 2 && read.damaged.len() <= 1,
        "{:?}",
        read.damaged
    );
}

#[test]
#[ignore = "needs root"]
fn privileged_a_device_that_breaks_during_a_run_is_recorded_with_its_error() {
    if !has(&["losetup"]) {
        return;
    }
    for (engine, depth) in [("sync", "1"), ("io_uring", "16"), ("libaio", "16")] {
        let ground = Ground::new();
        let Some(device) = Device::looped(&ground, "image", 16 * MIB) else {
            return;
        };
        let args = [
            "run",
            &device.path,
            "--direct",
            "--random",
            "--duration",
            LONG,
            "--engine",
            engine,
            "--queue-depth",
            depth,
        ];
        let run = ground.start(&[&args[..], &["--records", "r.jsonl"]].concat());
        run.wait_until_busy();
        // A loop device whose image has lost its content answers reads with EIO.
        OpenOptions::new()
            .write(true)
            .open(ground.path("image"))
            .unwrap()
            .set_len(0)
            .unwrap();
        let ended = run.end();
        ended.expect(1);
        let record = ground.record("r.jsonl");
        assert_eq!(
            (record.outcome.status, record.outcome.exit_code),
            (Status::Failed, 1)
        );
        assert!(operations(&record, "read").count > 0);
        assert_eq!(record.errors.len(), 1, "{:?}", record.errors);
        let error = &record.errors[0];
        assert_eq!(
            (error.error.as_str(), error.first_file.as_str()),
            ("Input/output error (os error 5)", device.path.as_str()),
            "{engine}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_a_mapped_device_that_always_fails_is_recorded_with_its_error() {
    if !has(&["dmsetup"]) {
        return;
    }
    let ground = Ground::new();
    let Some(device) = Device::mapped(
        &format!("fathom-test-{}", std::process::id()),
        "0 32768 error",
    ) else {
        return;
    };
    let args = [
        "run",
        &device.path,
        "--direct",
        "--random",
        "--continue-on-error",
        "--max-errors",
        "100",
        "--duration",
        LONG,
    ];
    ground
        .fathom(&[&args[..], &["--records", "r.jsonl"]].concat())
        .expect(1);
    let record = ground.record("r.jsonl");
    assert_eq!(
        (
            operations(&record, "read").count,
            operations(&record, "read").errors
        ),
        (0, 100)
    );
    assert_eq!(record.errors[0].error, "Input/output error (os error 5)");
}

// 10,000 writes are intended, one a millisecond, so that the 100 slowest are those of the first
// tenth of a second of the stall, each of which waits for at least 1.9 s.
#[test]
#[ignore = "needs root"]
fn privileged_a_file_system_frozen_for_two_seconds_shows_in_the_percentiles() {
    if !has(&["losetup", "mkfs.ext4", "mount", "fsfreeze"]) {
        return;
    }
    for durability in [&["--direct"][..], &["--fdatasync", "100"]] {
        let ground = Ground::new();
        let Some((_device, mount)) = small_ext4(&ground, 32 * MIB) else {
            return;
        };
        ground
            .fathom(&["run", "m/f", "--file-size", "8M", "--run-until-complete"])
            .expect(0);
        let pace = [
            "--write-percent",
            "100",
            "--random",
            "--rate-iops",
            "1000",
            "--duration",
            "10s",
            "--records",
            "r.jsonl",
        ];
        let run = ground.start(&[&["run", "m/f"], &pace[..], durability].concat());
        run.wait_until_busy();
        let freeze = Freeze::new(&mount);
        tool(&["sleep", "2"]).unwrap();
        drop(freeze);
        run.end().expect(0);
        let record = ground.record("r.jsonl");
        let write = operations(&record, "write");
        let latency = |q| write.latency.quantile(q).unwrap();
        assert!(
            latency(0.99) >= 1.9e9,
            "{durability:?}: p99 is {} ns",
            latency(0.99)
        );
        assert!(
            latency(0.5) < 1e8,
            "{durability:?}: p50 is {} ns",
            latency(0.5)
        );
        assert_eq!(write.latency.count(), write.count);
        let service = write.service.as_ref().unwrap();
        assert!(
            service.quantile(0.99).unwrap() < 1e9,
            "from the issue on, few operations saw the stall"
        );
        assert_eq!(write.count + record.pace.as_ref().unwrap().unsent, 10_000);
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_ctrl_c_is_heard_while_the_file_system_stands_still() {
    if !has(&["losetup", "mkfs.ext4", "mount", "fsfreeze"]) {
        return;
    }
    let ground = Ground::new();
    let Some((_device, mount)) = small_ext4(&ground, 32 * MIB) else {
        return;
    };
    let run = ground.start(&[
        "run",
        "m/f",
        "--file-size",
        "1M",
        "--write-percent",
        "100",
        "--duration",
        LONG,
        "--records",
        "r.jsonl",
    ]);
    run.wait_until_busy();
    let freeze = Freeze::new(&mount);
    run.signal("INT");
    let whole = || std::fs::read(ground.path("r.jsonl")).is_ok_and(|text| text.ends_with(b"\n"));
    // What is kept while a run goes on is incomplete until its last record takes its place.
    let record = until("there is the last record", || {
        let record = whole().then(|| ground.record("r.jsonl"))?;
        (record.outcome.status != Status::Incomplete).then_some(record)
    });
    assert_eq!(
        (record.outcome.status, record.outcome.exit_code),
        (Status::Interrupted, 130)
    );
    assert!(
        record
            .outcome
            .message
            .as_deref()
            .unwrap()
            .contains("given up")
            && operations(&record, "write").count > 0
    );
    drop(freeze);
    run.end().expect(130);
}

#[test]
#[ignore = "needs root"]
fn privileged_memory_as_a_device_takes_direct_io_through_io_uring() {
    if !has(&["zramctl"]) {
        return;
    }
    let ground = Ground::new();
    let Some(device) = Device::zram("32M") else {
        return;
    };
    let target = [
        "run",
        &device.path,
        "--direct",
        "--engine",
        "io_uring",
        "--queue-depth",
        "32",
        "--random",
        "--run-until-complete",
    ];
    let named = [
        "--allow-destroy",
        &device.path,
        "--verify",
        "--verify-pattern",
        "header",
    ];
    ground
        .fathom(
            &[
                &target[..],
                &["--write-percent", "100"],
                &named,
                &["--records", "w.jsonl"],
            ]
            .concat(),
        )
        .expect(0);
    ground
        .fathom(&[&target[..], &named, &["--records", "r.jsonl"]].concat())
        .expect(0);
    assert_eq!(
        operations(&ground.record("w.jsonl"), "write").count,
        32 * MIB / 4096
    );
    let record = ground.record("r.jsonl");
    let verified = record.verification.as_ref().unwrap();
    assert_eq!(
        (verified.operations, verified.failures),
        (32 * MIB / 4096, 0)
    );
    let account = record
        .generator()
        .devices
        .iter()
        .find(|account| account.name == device.name())
        .unwrap();
    assert_eq!(account.read_bytes, 32 * MIB, "{account:?}");
}

#[test]
#[ignore = "needs root"]
fn privileged_a_file_system_in_memory_is_measured_as_one_and_refuses_direct_io() {
    if !has(&["mount"]) {
        return;
    }
    let ground = Ground::new();
    let _mount = Mount::new(&ground, "m", "tmpfs", "none", "size=8m");
    assert_snapshot!(ground.refused(&["run", "m/f", "--file-size", "1M", "--direct"]), @"--direct bypasses the page cache, but the target lies on tmpfs, which is the page cache; choose a target on a disk or drop --direct");
    ground
        .fathom(&[
            "run",
            "m/f",
            "--file-size",
            "1M",
            "--cache",
            "cold",
            "--total-bytes",
            "1M",
            "--records",
            "r.jsonl",
        ])
        .expect(0);
    let record = ground.record("r.jsonl");
    assert_eq!(operations(&record, "read").count, 256);
    let difference = record
        .differences
        .iter()
        .find(|difference| difference.key == "cache")
        .unwrap();
    assert_eq!(
        (difference.asked.as_deref(), difference.effective.as_deref()),
        (Some("cold"), Some("as-is"))
    );
    let full = ground.fathom(&["run", "m/g", "--file-size", "32M"]);
    assert_eq!(full.code, Some(2));
    assert!(
        full.error().contains("are free where m lies"),
        "{}",
        full.stderr
    );
    assert!(!ground.exists("m/g"));
}

#[test]
#[ignore = "needs root"]
fn privileged_without_extended_attributes_a_neighbouring_file_remembers_what_is_ours() {
    if !has(&["mount"]) {
        return;
    }
    let ground = Ground::new();
    let mount = Mount::new(&ground, "m", "ramfs", "none", "mode=777");
    let write = [
        "run",
        "m/f",
        "--file-size",
        "1M",
        "--write-percent",
        "100",
        "--total-bytes",
        "1M",
    ];
    ground.fathom(&write).expect(0);
    assert!(ground.exists("m/.f.fathom"));
    ground.fathom(&write).expect(0);
    // Times of files advance in ticks, so that a write within the same one would not show by
    // itself.
    let mut file = OpenOptions::new()
        .write(true)
        .open(mount.at.join("f"))
        .unwrap();
    file.write_all(b"from somebody else").unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let message = ground.refused(&write);
    assert!(
        message.contains("somebody wrote to it since Fathom made it"),
        "{message}"
    );

    fs::set_permissions(ground.path("."), fs::Permissions::from_mode(0o755)).unwrap();
    let limited = format!(
        "ulimit -l 64; exec {} run m/g --file-size 1M --engine io_uring --queue-depth 64 --fixed-buffers",
        env!("CARGO_BIN_EXE_fathom")
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &limited])
        .current_dir(ground.path("."))
        .uid(NOBODY)
        .gid(NOBODY);
    if command
        .output()
        .is_ok_and(|output| output.status.code() == Some(2))
    {
        let message = ground.refused_by(&mut command);
        assert!(message.starts_with("io_uring refuses"), "{message}");
        assert!(
            !ground.exists("m/.g.fathom"),
            "the memory goes with its file"
        );
    } else {
        skipped("a build directory that other users can reach");
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_a_file_system_that_is_read_only_is_read_and_refuses_writes() {
    if !has(&["losetup", "mkfs.ext4", "mount"]) {
        return;
    }
    let ground = Ground::new();
    let Some((device, mount)) = small_ext4(&ground, 16 * MIB) else {
        return;
    };
    ground
        .fathom(&["run", "m/f", "--file-size", "1M", "--total-bytes", "1M"])
        .expect(0);
    drop(mount);
    let _mount = Mount::new(&ground, "read-only", "ext4", &device.path, "ro");
    ground
        .fathom(&["run", "read-only/f", "--random", "--total-bytes", "1M"])
        .expect(0);
    let commands: &[&str] = &[
        "run read-only/f --write-percent 100",
        "run read-only/new --file-size 1M",
        "run f --file-size 1M --records read-only/r.jsonl",
    ];
    assert_snapshot!(ground.refusals(commands), @r"
    $ fathom run read-only/f --write-percent 100
    cannot open for writing read-only/f: Read-only file system (os error 30); choose a target that can be written
    $ fathom run read-only/new --file-size 1M
    cannot open for writing read-only/new: Read-only file system (os error 30); choose a target that can be written
    $ fathom run f --file-size 1M --records read-only/r.jsonl
    cannot write read-only/r.jsonl: Read-only file system (os error 30); choose another place
    ");
}

/// A control group of version 2 with a process that never rests; both end with it.
struct BusyGroup {
    path: std::path::PathBuf,
    busy: std::process::Child,
    _mount: Mount,
}

impl BusyGroup {
    fn new(ground: &Ground) -> Self {
        let mount = Mount::new(ground, "groups", "cgroup2", "none", "rw");
        let path = mount.at.join(format!("fathom-test-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        let mut busy = Command::new("sh");
        let busy = busy.args(["-c", "while :; do :; done"]).spawn().unwrap();
        fs::write(path.join("cgroup.procs"), busy.id().to_string()).unwrap();
        Self {
            path,
            busy,
            _mount: mount,
        }
    }

    /// CPU time that its processes used.
    fn used_ns(&self) -> u64 {
        let text = fs::read_to_string(self.path.join("cpu.stat")).unwrap();
        let time = text
            .lines()
            .find_map(|line| line.strip_prefix("usage_usec "));
        time.unwrap().parse::<u64>().unwrap() * 1000
    }
}

impl Drop for BusyGroup {
    fn drop(&mut self) {
        let _it_may_have_ended = self.busy.kill().and_then(|()| self.busy.wait());
        until("the group is empty", || fs::remove_dir(&self.path).ok());
    }
}

#[test]
#[ignore = "needs root"]
fn privileged_a_control_group_is_watched_as_the_server_and_not_the_rest_of_the_machine() {
    let ground = Ground::new();
    let group = BusyGroup::new(&ground);
    let path = group.path.to_str().unwrap().to_owned();
    let args = "run x --engine null --file-size 1G --duration 400ms --series-interval 100ms --records r.jsonl --server-cgroup";
    let args: Vec<&str> = args.split(' ').chain([path.as_str()]).collect();
    let before = group.used_ns();
    let ended = ground.fathom(&args);
    let used = group.used_ns() - before;
    ended.expect(0);
    let record = ground.record("r.jsonl");
    let target = record.target().unwrap();
    assert_eq!(target.name, Some(format!("control group {path}")));
    assert_eq!((target.pid, target.gone), (None, false));
    let watched = target.process.user_ns + target.process.system_ns;
    assert!((1..=used).contains(&watched), "{watched} of {used} ns");
    let by_interval: u64 = record
        .series
        .iter()
        .filter_map(|interval| interval.target_cpu_ns)
        .sum();
    assert!(
        (1..=used).contains(&by_interval),
        "{by_interval} of {used} ns"
    );
    let memory = fs::read_to_string(group.path.join("memory.current"));
    assert_eq!(target.process.max_resident_bytes > 0, memory.is_ok());

    drop(group);
    let ended = ground.fathom(&args);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("is none of version 2"),
        "{}",
        ended.stderr
    );
}
