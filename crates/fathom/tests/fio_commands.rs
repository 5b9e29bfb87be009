//! Command lines of fio as public documents have them, run by `fathom run --`: sizes and times are
//! smaller, devices are files, and what is written to is permitted; nothing else is changed. What
//! cannot run is refused by the name of the option.
#![allow(
    clippy::unwrap_used,
    reason = "a test ends at the first thing that does not work"
)]

#[path = "ground/run.rs"]
mod ground;

use ground::{Ground, skipped};

/// Source, and command line. `disk` stands where a device stood.
const LINES: &[(&str, &str)] = &[
    // docs.oracle.com, Block Volume, "Sample FIO Commands" for Linux.
    (
        "oracle",
        "--filename=disk --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=256 --runtime=50ms --numjobs=4 --time_based --group_reporting --name=iops-test-job --eta-newline=1 --readonly",
    ),
    (
        "oracle",
        "--filename=file --size=4M --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=256 --runtime=50ms --numjobs=4 --time_based --group_reporting --name=iops-test-job --eta-newline=1",
    ),
    (
        "oracle",
        "--filename=disk --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=256 --runtime=50ms --numjobs=4 --time_based --group_reporting --name=iops-test-job --eta-newline=1",
    ),
    (
        "oracle",
        "--filename=disk --direct=1 --rw=read --bs=4k --ioengine=libaio --iodepth=256 --runtime=50ms --numjobs=4 --time_based --group_reporting --name=iops-test-job --eta-newline=1 --readonly",
    ),
    (
        "oracle",
        "--filename=disk --direct=1 --rw=randread --bs=64k --ioengine=libaio --iodepth=64 --runtime=50ms --numjobs=4 --time_based --group_reporting --name=throughput-test-job --eta-newline=1 --readonly",
    ),
    (
        "oracle",
        "--filename=file --size=4M --direct=1 --rw=randrw --bs=64k --ioengine=libaio --iodepth=64 --runtime=50ms --numjobs=4 --time_based --group_reporting --name=throughput-test-job --eta-newline=1",
    ),
    (
        "oracle",
        "--filename=disk --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=1 --numjobs=1 --time_based --group_reporting --name=readlatency-test-job --runtime=50ms --eta-newline=1 --readonly",
    ),
    (
        "oracle",
        "--filename=disk --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=1 --numjobs=1 --time_based --group_reporting --name=rwlatency-test-job --runtime=50ms --eta-newline=1",
    ),
    // cloud.google.com, Compute Engine, "Benchmark Persistent Disk performance on a Linux VM" and
    // its local SSD counterpart.
    (
        "google",
        "--name=write_throughput --directory=. --numjobs=4 --size=4M --time_based --runtime=50ms --ramp_time=10ms --ioengine=libaio --direct=1 --verify=0 --bs=1M --iodepth=64 --rw=write --group_reporting=1 --iodepth_batch_submit=64 --iodepth_batch_complete_max=64",
    ),
    (
        "google",
        "--name=write_iops --directory=. --size=4M --time_based --runtime=50ms --ramp_time=10ms --ioengine=libaio --direct=1 --verify=0 --bs=4K --iodepth=256 --rw=randwrite --group_reporting=1 --iodepth_batch_submit=256 --iodepth_batch_complete_max=256",
    ),
    (
        "google",
        "--name=read_throughput --directory=. --numjobs=4 --size=4M --time_based --runtime=50ms --ramp_time=10ms --ioengine=libaio --direct=1 --verify=0 --bs=1M --iodepth=64 --rw=read --group_reporting=1 --iodepth_batch_submit=64 --iodepth_batch_complete_max=64",
    ),
    (
        "google",
        "--name=read_iops --directory=. --size=4M --time_based --runtime=50ms --ramp_time=10ms --ioengine=libaio --direct=1 --verify=0 --bs=4K --iodepth=256 --rw=randread --group_reporting=1 --iodepth_batch_submit=256 --iodepth_batch_complete_max=256",
    ),
    (
        "google",
        "--name=fill_disk --filename=disk --filesize=4M --ioengine=libaio --direct=1 --verify=0 --randrepeat=0 --bs=128K --iodepth=64 --rw=randwrite --iodepth_batch_submit=64 --iodepth_batch_complete_max=64",
    ),
    (
        "google",
        "--name=write_bandwidth_test --filename=disk --filesize=4M --time_based --ramp_time=10ms --runtime=50ms --ioengine=libaio --direct=1 --verify=0 --randrepeat=0 --bs=128K --iodepth=64 --iodepth_batch_submit=64 --iodepth_batch_complete_max=64 --rw=write --numjobs=4 --offset_increment=1M",
    ),
    (
        "google",
        "--name=read_bandwidth_test --filename=disk --filesize=4M --time_based --ramp_time=10ms --runtime=50ms --ioengine=libaio --direct=1 --verify=0 --randrepeat=0 --thread --bs=128K --iodepth=64 --iodepth_batch_submit=64 --iodepth_batch_complete_max=64 --rw=read --numjobs=4 --offset_increment=1M",
    ),
    (
        "google",
        "--name=write_iops_test --filename=disk --filesize=4M --time_based --ramp_time=10ms --runtime=50ms --ioengine=libaio --direct=1 --verify=0 --randrepeat=0 --bs=4K --iodepth=256 --rw=randwrite --iodepth_batch_submit=256 --iodepth_batch_complete_max=256",
    ),
    (
        "google",
        "--name=writefile --size=4M --filesize=4M --filename=disk --bs=1M --nrfiles=1 --direct=1 --sync=0 --randrepeat=0 --rw=write --end_fsync=1 --iodepth=128 --ioengine=libaio",
    ),
    (
        "google",
        "--time_based --name=benchmark --size=4M --runtime=50ms --filename=disk --ioengine=libaio --randrepeat=0 --iodepth=128 --direct=1 --invalidate=1 --verify=0 --verify_fatal=0 --numjobs=4 --rw=randread --blocksize=4k --group_reporting",
    ),
    // learn.microsoft.com, "Benchmark your application on Azure Disk Storage": its job files in
    // one line each.
    (
        "azure",
        "--size=4m --direct=1 --iodepth=256 --ioengine=libaio --bs=4k --numjobs=4 --name=writer1 --rw=randwrite --directory=.",
    ),
    (
        "azure",
        "--size=4m --direct=1 --iodepth=256 --ioengine=libaio --bs=4k --numjobs=4 --name=reader1 --rw=randread --directory=.",
    ),
    (
        "azure",
        "--size=4m --direct=1 --iodepth=128 --ioengine=libaio --bs=4k --numjobs=4 --name=reader1 --rw=randread --directory=. --name=writer1 --rw=randwrite --directory=. --rate_iops=3200",
    ),
    // microsoft/VirtualClient, profiles PERF-IO-FIO.
    (
        "virtualclient",
        "--name=disk_fill --filename=disk --size=4M --numjobs=1 --rw=write --bs=256k --iodepth=64 --ioengine=libaio --direct=1 --overwrite=1 --thread",
    ),
    (
        "virtualclient",
        "--name=fio_randwrite_4k --filename=disk --size=4M --numjobs=2 --rw=randwrite --bs=4k --iodepth=64 --ioengine=libaio --direct=1 --ramp_time=10ms --runtime=50ms --time_based --overwrite=1 --thread --group_reporting --output-format=json",
    ),
    (
        "virtualclient",
        "--name=fio_randread_4k --filename=disk --size=4M --numjobs=2 --rw=randread --bs=4k --iodepth=64 --ioengine=libaio --direct=1 --ramp_time=10ms --runtime=50ms --time_based --overwrite=1 --thread --group_reporting --output-format=json",
    ),
    (
        "virtualclient",
        "--name=fio_write_1024k --filename=disk --size=4M --numjobs=2 --rw=write --bs=1024k --iodepth=16 --ioengine=libaio --direct=1 --ramp_time=10ms --runtime=50ms --overwrite=1 --thread --group_reporting --output-format=json",
    ),
    (
        "virtualclient",
        "--name=fio_randwrite_integrity --filename=disk --size=1M --numjobs=1 --rw=randwrite --bs=4k --iodepth=16 --ioengine=libaio --direct=1 --overwrite=1 --thread --group_reporting --do_verify=1 --verify=sha256 --output-format=json",
    ),
    // leeliu/dbench, docker-entrypoint.sh.
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_iops --filename=fiotest --bs=4K --iodepth=64 --size=4M --readwrite=randread --time_based --ramp_time=10ms --runtime=50ms",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=write_iops --filename=fiotest --bs=4K --iodepth=64 --size=4M --readwrite=randwrite --time_based --ramp_time=10ms --runtime=50ms",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_bw --filename=fiotest --bs=128K --iodepth=64 --size=4M --readwrite=randread --time_based --ramp_time=10ms --runtime=50ms",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=write_bw --filename=fiotest --bs=128K --iodepth=64 --size=4M --readwrite=randwrite --time_based --ramp_time=10ms --runtime=50ms",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --name=read_latency --filename=fiotest --bs=4K --iodepth=4 --size=4M --readwrite=randread --time_based --ramp_time=10ms --runtime=50ms",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --name=write_latency --filename=fiotest --bs=4K --iodepth=4 --size=4M --readwrite=randwrite --time_based --ramp_time=10ms --runtime=50ms",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_seq --filename=fiotest --bs=1M --iodepth=16 --size=8M --readwrite=read --time_based --ramp_time=10ms --runtime=50ms --thread --numjobs=4 --offset_increment=2M",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=write_seq --filename=fiotest --bs=1M --iodepth=16 --size=8M --readwrite=write --time_based --ramp_time=10ms --runtime=50ms --thread --numjobs=4 --offset_increment=2M",
    ),
    (
        "dbench",
        "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=rw_mix --filename=fiotest --bs=4k --iodepth=64 --size=4M --readwrite=randrw --rwmixread=75 --time_based --ramp_time=10ms --runtime=50ms",
    ),
    // Copies of dbench that stop by size: offset_increment without time_based.
    (
        "dbench copies",
        "--name=read_seq --filename=fiotest --bs=256K --iodepth=16 --size=4M --readwrite=read --ioengine=libaio --thread --numjobs=4 --offset_increment=1M",
    ),
    // ibm.com/cloud/blog, "Using Fio to Tell Whether Your Storage is Fast Enough for Etcd";
    // etcd.io says the same.
    (
        "etcd",
        "--rw=write --ioengine=sync --fdatasync=1 --directory=. --size=230k --bs=2300 --name=mytest",
    ),
    // yasker/kbench (Longhorn): its bandwidth and latency jobs.
    (
        "longhorn",
        "--name=rand-read-bw --filename=test --randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --bs=128K --iodepth=16 --numjobs=4 --rw=randread --size=4M --output-format=json",
    ),
    (
        "longhorn",
        "--name=seq-write-lat --filename=test --randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --bs=4K --iodepth=1 --numjobs=1 --rw=write --size=1M --output-format=json --output=latency.json",
    ),
    // juicefs.com, "Performance Evaluation Guide".
    (
        "juicefs",
        "--name=sequential-read --directory=. --rw=read --refill_buffers --bs=256k --size=4M",
    ),
    (
        "juicefs",
        "--name=sequential-write --directory=. --rw=write --refill_buffers --bs=256k --size=4M --end_fsync=1",
    ),
    (
        "juicefs",
        "--name=big-file-multi-write --directory=. --rw=write --refill_buffers --bs=256k --size=4M --numjobs=4 --end_fsync=1",
    ),
    (
        "juicefs",
        "--name=rand-read --directory=. --rw=randread --bs=4k --size=1M --numjobs=2 --openfiles=1 --file_service_type=roundrobin --group_reporting --write_bw_log=jfs --write_iops_log=jfs --write_lat_log=jfs --log_avg_msec=100",
    ),
    // arstechnica.com, "How fast are your disks? Find out the open source way, with fio".
    (
        "arstechnica",
        "--name=random-write --ioengine=posixaio --rw=randwrite --bs=4k --size=4m --numjobs=1 --iodepth=1 --runtime=50ms --time_based --end_fsync=1",
    ),
    (
        "arstechnica",
        "--name=random-write --ioengine=posixaio --rw=randwrite --bs=64k --size=1m --numjobs=4 --iodepth=16 --runtime=50ms --time_based --end_fsync=1",
    ),
    (
        "arstechnica",
        "--name=random-write --ioengine=posixaio --rw=randwrite --bs=1m --size=4m --numjobs=1 --iodepth=1 --runtime=50ms --time_based --end_fsync=1",
    ),
    // gist.github.com/gmelikov, a file system benchmark with its rationale.
    (
        "gmelikov",
        "--name=seqwrite --rw=write --bs=128k --size=1m --end_fsync=1 --loops=4",
    ),
    // openzfs/zfs, tests/zfs-tests/tests/perf: its job files in one line each.
    (
        "openzfs",
        "--bs=8k --rw=randrw --rwmixread=80 --ioengine=psync --sync=0 --numjobs=2 --thread --directory=. --size=1M --nrfiles=2 --direct=0 --fallocate=0 --buffer_compress_percentage=66 --buffer_compress_chunk=4096 --name=job",
    ),
    (
        "openzfs",
        "--bs=8k --rw=randread --ioengine=psync --thread --directory=. --size=1M --fallocate=0 --group_reporting=1 --time_based --runtime=50ms --minimal --name=job",
    ),
    // tiagoprn/devops and sagudeloo/ApoloDiskMark: CrystalDiskMark's rows as scripts.
    (
        "diskmark",
        "--loops=1 --size=1m --filename=fiomark.tmp --stonewall --ioengine=libaio --direct=1 --zero_buffers=0 --name=Rnd4KQ32T16 --bs=4k --iodepth=32 --numjobs=4 --rw=randwrite --output-format=json",
    ),
    (
        "diskmark",
        "--loops=1 --size=4m --filename=fiomark.tmp --stonewall --ioengine=libaio --direct=1 --name=seq1mq8t1read --iodepth=8 --numjobs=1 --rw=read --output-format=json",
    ),
    (
        "diskmark",
        "--loops=5 --size=1m --filename=fiomark.tmp --stonewall --ioengine=libaio --direct=1 --name=Seqread --bs=1m --rw=read --name=Bigwrite --bs=512k --rw=write --name=4kQD32read --bs=4k --iodepth=32 --rw=randread",
    ),
    // red-hat-storage/ocs-workloads, mix-fs-rbd/run-fio.sh.
    (
        "ocs",
        "--name=fio-rand-readwrite --filename=rw --readwrite=randrw --bs=4K --direct=1 --numjobs=1 --time_based=1 --runtime=100ms --size=4M --iodepth=4 --fsync_on_close=1 --rwmixread=75 --ioengine=libaio --rate=768k,256k --rate_process=poisson --output-format=json --output fio_result.json",
    ),
    // chamdoo/bdbm_drv, run/fio.
    (
        "bdbm",
        "--randrepeat=1 --ioengine=libaio --name=fio --filename=fio --bs=4k --iodepth=128 --size=1M --readwrite=randrw --rwmixread=0 --overwrite=0 --numjobs=4 --direct=0 --buffered=0",
    ),
    // stackhpc/stackhpc-io-tools, fio_jobfiles.
    (
        "stackhpc",
        "--name=read_random --rw=randread --size=1m --runtime=1s --directory=. --output-format=json+ --blocksize=4096 --output=4096.json",
    ),
    // thomas-krenn.com, "Fio Grundlagen", as soerenmetje/linux-benchmarking has it.
    (
        "thomas-krenn",
        "--rw=randwrite --name=kube-fio-write --output-format=normal,terse --bs=256k --size=4M",
    ),
    (
        "thomas-krenn",
        "--rw=randread --name=kube-fio-read --output-format=normal,terse --bs=256k --size=4M",
    ),
    (
        "thomas-krenn",
        "--rw=write --name=test --size=1M --direct=1 --bs=1024k",
    ),
    // pastebin.com/rwmPp27y and /KF99ZpBF: the random mix that most tutorials have.
    (
        "tutorials",
        "--ioengine=libaio --direct=1 --name=test --filename=test --bs=4k --iodepth=64 --size=4M --randrepeat=0 --group_reporting=1 --readwrite=randrw --rwmixread=75",
    ),
    (
        "tutorials",
        "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test --filename=test --bs=4k --iodepth=64 --size=4M --readwrite=randrw --rwmixread=50",
    ),
    // blog.csdn.net 103480625, Ceph: one dash before each option.
    (
        "csdn",
        "-filename=disk -direct=1 -iodepth 64 -thread -rw=randread -ioengine=libaio -bs=4k -size=4M -numjobs=4 -runtime=50ms -group_reporting -name=mytest",
    ),
    (
        "csdn",
        "-filename=disk -direct=1 -iodepth 64 -thread -rw=randwrite -ioengine=libaio -bs=64k -size=4M -numjobs=4 -runtime=50ms -group_reporting -name=mytest_4k_10G_randwrite",
    ),
    (
        "csdn",
        "-filename=disk -direct=1 -iodepth 64 -thread -rw=randrw -rwmixread=70 -ioengine=libaio -bs=4k -size=4M -numjobs=4 -runtime=50ms -group_reporting -name=mytest",
    ),
    // gist.github.com/tibkiss/24e71c1a5dc48c4a3e56a8cecd59fd8d.
    (
        "tibkiss",
        "--name=seqread --rw=read --direct=1 --ioengine=libaio --bs=8k --numjobs=4 --size=1M --runtime=1 --group_reporting",
    ),
    (
        "tibkiss",
        "--name=randwrite --rw=randwrite --direct=1 --ioengine=libaio --bs=64k --numjobs=4 --size=1m --runtime=1 --group_reporting",
    ),
    (
        "tibkiss",
        "--name=randrw --rw=randrw --direct=1 --ioengine=libaio --bs=16k --numjobs=4 --rwmixread=90 --size=1M --runtime=1 --group_reporting",
    ),
    // kubectl exec lines of Kubernetes guides, and the job of medium.com/@joshua_robinson.
    (
        "kubernetes",
        "--name=benchtest --size=1m --filename=test --direct=1 --rw=randrw --ioengine=libaio --bs=4k --iodepth=16 --numjobs=1 --time_based --runtime=50ms",
    ),
    (
        "kubernetes",
        "--ioengine=libaio --group_reporting --norandommap --randrepeat=0 --name=testjob --bs=128K --rw=write --iodepth=32 --numjobs=1 --size=1Mi --stonewall --name=mixedwork --bs=8K --iodepth=32 --numjobs=1 --rw=randrw --rwmixread=80 --size=2Mi",
    ),
    // docs.ceph.com and its users: sizes by share, without a time.
    (
        "ceph",
        "--name=mix --filename=disk --rw=randrw --bssplit=4k/10:64k/50:128k/40 --rwmixread=70 --size=2M --ioengine=libaio --iodepth=8 --direct=1",
    ),
    // The fio manual's own uses: shares of a device, a generator without I/O, recordings with a
    // name of their own.
    (
        "fio manual",
        "--name=half --filename=disk --rw=randread --size=50% --offset=25% --bs=4k --exitall --unlink=0",
    ),
    (
        "fio manual",
        "--name=null --ioengine=null --size=64M --rw=randread --bs=4k --iodepth=16 --numjobs=4 --direct=1",
    ),
    (
        "fio manual",
        "--name=files --directory=. --nrfiles=8 --openfiles=4 --filesize=64k --rw=randwrite --bs=4k --unlink=1 --nice=5",
    ),
    (
        "fio manual",
        "--name=w --filename=disk --rw=write --bs=64k --size=1M --fsync_on_close=1 --ioengine=psync --status-interval=1 --eta=never",
    ),
    // Preconditioning of solid-state drives as vendors describe it: the whole drive twice.
    (
        "ssd vendors",
        "--name=precondition --filename=disk --rw=write --bs=128k --iodepth=32 --ioengine=libaio --direct=1 --loops=2 --size=4M",
    ),
];

/// Source, command line, and the words of its refusal.
const REFUSED: &[(&str, &str, &str)] = &[
    // yasker/kbench asks for the idleness of processors.
    (
        "longhorn",
        "--name=bw --filename=test --size=4M --rw=read --idle-prof=percpu --output-format=json",
        "--idle-prof: CPU idleness is not calibrated this way",
    ),
    // blog.csdn.net 103480625.
    (
        "csdn",
        "-filename=disk -direct=1 -thread -rw=randrw -bs=4k -size=4M -name=mytest -ioscheduler=noop",
        "ioscheduler=noop: a run does not change the machine",
    ),
    // Trims, as in preconditioning by discards.
    (
        "ssd vendors",
        "--name=trim --filename=disk --rw=trim --bs=1m --size=4M",
        "rw=trim: trims discard data",
    ),
];

#[test]
fn command_lines_of_public_documents_run_as_written() {
    assert!(
        LINES.len() >= 71 && REFUSED.len() <= 3,
        "{} run, {} are refused",
        LINES.len(),
        REFUSED.len()
    );
    let mut failed = Vec::new();
    for (source, line) in LINES {
        let ground = Ground::new();
        ground.write("disk", vec![5; 4 << 20]);
        let words: Vec<&str> = ["run", "--no-live", "--allow-destroy", "disk", "--"]
            .into_iter()
            .chain(line.split_whitespace())
            .collect();
        let ended = ground.fathom(&words);
        // A build on a file system without direct I/O cannot run the half of them that asks for it.
        if ended.stderr.contains("has no direct I/O") {
            skipped("direct I/O under the build");
        } else if ended.code != Some(0) {
            failed.push(format!(
                "{source}: {line}\n  {:?} {}",
                ended.code,
                ended.stderr.trim()
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {}:\n{}",
        failed.len(),
        LINES.len(),
        failed.join("\n")
    );
}

#[test]
fn what_cannot_run_is_refused_by_the_name_of_its_option() {
    for (source, line, reason) in REFUSED {
        let ground = Ground::new();
        ground.write("disk", vec![5; 4 << 20]);
        let words: Vec<&str> = ["run", "--allow-destroy", "disk", "--"]
            .into_iter()
            .chain(line.split_whitespace())
            .collect();
        let told = ground.refused(&words);
        assert!(told.contains(reason), "{source}: {told}");
    }
}
