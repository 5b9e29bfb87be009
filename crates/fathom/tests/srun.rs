//! Ranks that Slurm starts: a controller and a node of this test's own on the loopback, with keys and
//! directories of their own. The test installs nothing.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "what fails here fails the test, and what is skipped is told"
)]

#[path = "ground/ranks.rs"]
mod ground;

use ground::{nobody_is_left, place, ranks_once, record, said, signal, wait_for};
use record::{Record, Status, read_records};
use std::fs::{self, File};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");
const MUNGED: &str = "/usr/sbin/munged";
const CONTROLLER: &str = "/usr/sbin/slurmctld";
const NODE: &str = "/usr/sbin/slurmd";

/// What each node calls itself.
const NODES: [&str; 2] = ["fathom-n1", "fathom-n2"];

/// Slurm for two nodes, which are this machine under other names; dropped, nothing of it is left.
struct Cluster {
    dir: tempfile::TempDir,
    servers: Vec<Child>,
}

impl Cluster {
    /// `None` where this machine cannot have one, which is told.
    fn new() -> Option<Self> {
        let programs = [MUNGED, CONTROLLER, NODE, "/usr/bin/srun"];
        if !sys::is_root() || !programs.iter().all(|program| Path::new(program).exists()) {
            println!(
                "SKIPPED: needs root and Slurm (apt-get install munge slurmctld slurmd slurm-client)"
            );
            return None;
        }
        let mut cluster = Self {
            dir: place(),
            servers: Vec::new(),
        };
        cluster.configure();
        let at = |file: &str| cluster.dir.path().join(file).display().to_string();
        let munged = [
            MUNGED.to_owned(),
            "--foreground".into(),
            "--force".into(),
            format!("--key-file={}", at("munge.key")),
            format!("--socket={}", at("munge.socket")),
            format!("--pid-file={}", at("munge.pid")),
            format!("--log-file={}", at("munge.log")),
            format!("--seed-file={}", at("munge.seed")),
        ];
        let socket = at("munge.socket");
        let config = at("slurm.conf");
        cluster.serve("munged", &munged);
        wait_for("munged", || Path::new(&socket).exists().then_some(()));
        cluster.serve(
            "slurmctld",
            &[CONTROLLER, "-D", "-f", &config].map(str::to_owned),
        );
        for name in NODES {
            let named = format!("hostname {name} && exec {NODE} -D -N {name} -f {config}");
            let line = ["unshare", "--uts", "sh", "-c", &named].map(str::to_owned);
            cluster.serve(name, &line);
        }
        wait_for("two nodes without work", || {
            let state = cluster
                .command("sinfo")
                .args(["-h", "-o", "%t %D"])
                .output();
            let state = String::from_utf8(state.unwrap().stdout).unwrap();
            (state.trim() == "idle 2").then_some(())
        });
        Some(cluster)
    }

    fn configure(&self) {
        let dir = self.dir.path();
        let of_nodes = NODES.map(|node| format!("tmp-{node}"));
        for folder in ["state"]
            .into_iter()
            .chain(of_nodes.iter().map(String::as_str))
        {
            fs::create_dir(dir.join(folder)).unwrap();
        }
        // Slurm's programs pass through it under other names of users.
        fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
        let key = dir.join("munge.key");
        fs::write(&key, (0..=255).collect::<Vec<u8>>()).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        let taken = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [controller, first, second] = taken.map(|port| port.local_addr().unwrap().port());
        let host = Command::new("hostname").arg("-s").output().unwrap();
        let host = String::from_utf8(host.stdout).unwrap();
        let (name, dir) = (host.trim(), dir.display());
        let [one, other] = NODES;
        let text = format!(
            "ClusterName=fathom-test\n\
             SlurmctldHost={name}(127.0.0.1)\n\
             SlurmctldPort={controller}\n\
             SlurmUser=root\n\
             AuthType=auth/munge\n\
             AuthInfo=socket={dir}/munge.socket\n\
             CredType=cred/munge\n\
             StateSaveLocation={dir}/state\n\
             SlurmdSpoolDir={dir}/spool-%n\n\
             SlurmctldPidFile={dir}/slurmctld.pid\n\
             SlurmdPidFile={dir}/slurmd-%n.pid\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             SwitchType=switch/none\n\
             MpiDefault=none\n\
             TmpFS={dir}/tmp-%n\n\
             ReturnToService=2\n\
             SlurmdParameters=config_overrides\n\
             NodeName={one} NodeHostname={one} NodeAddr=127.0.0.1 Port={first} CPUs=8\n\
             NodeName={other} NodeHostname={other} NodeAddr=127.0.0.1 Port={second} CPUs=8\n\
             PartitionName=all Nodes={one},{other} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES\n"
        );
        fs::write(self.dir.path().join("slurm.conf"), text).unwrap();
    }

    fn serve(&mut self, name: &str, words: &[String]) {
        let log = File::create(self.dir.path().join(format!("{name}.out"))).unwrap();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.servers.push(command.spawn().unwrap());
    }

    /// A program that asks this cluster.
    fn command(&self, program: &str) -> Command {
        let mut out = Command::new(program);
        out.env("SLURM_CONF", self.dir.path().join("slurm.conf"))
            .stdin(Stdio::null());
        out
    }

    /// `srun` of four ranks in `dir`; whatever happens, it ends.
    fn srun(&self, dir: &Path, mpi: &str, words: &str) -> Command {
        let mut out = self.command("timeout");
        out.args(["-k", "5", "100", "srun", "-N", "2", "-n", "4"])
            .args([
                &format!("--mpi={mpi}"),
                "--kill-on-bad-exit=1",
                "--cpu-bind=none",
            ])
            .arg(FATHOM)
            .args(words.split_whitespace())
            .current_dir(dir);
        out
    }

    /// Ways by which Slurm's processes find each other, as far as a library here speaks them.
    fn ways(&self) -> Vec<&'static str> {
        let list = self.command("srun").arg("--mpi=list").output().unwrap();
        let list = said(&list);
        let libraries = "/usr/lib/x86_64-linux-gnu";
        let has = |library: &str| Path::new(libraries).join(library).exists();
        let mut out = Vec::new();
        for (way, library, package) in [
            ("pmi2", "libmpich.so.12", "libmpich12"),
            ("pmix", "libmpi.so.40", "libopenmpi3"),
        ] {
            if list.contains(way) && has(library) {
                out.push(way);
            } else {
                println!("SKIPPED: needs Slurm with {way}, and {package}");
            }
        }
        out
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for server in self.servers.iter_mut().rev() {
            let _it_has_ended = sys::signal_process(server.id(), 15);
            let _it_has_ended = server.wait();
        }
    }
}

fn ended(mut command: Command) -> (Option<i32>, String) {
    let output: Output = command.output().unwrap();
    (output.status.code(), said(&output))
}

const SHORT: &str =
    "run x --file-size 4M --random --duration 1s --no-live --max-skew 60s --records r.jsonl";
const LONG: &str = "run x --file-size 4M --random --rate-iops 400 --duration 60s --no-live --lead 1s --max-skew 60s --lost-after 4s --save-every 500ms --records r.jsonl";

#[test]
#[ignore = "needs root, Slurm and MPI libraries"]
fn privileged_ranks_under_srun_are_one_record_and_one_that_dies_is_no_success() {
    let Some(cluster) = Cluster::new() else {
        return;
    };
    for way in cluster.ways() {
        let dir = place();
        let (code, said) = ended(cluster.srun(dir.path(), way, SHORT));
        assert_eq!(code, Some(0), "{way}: {said}");
        let record = record(dir.path(), way);
        assert_eq!(record.outcome.status, Status::Ok, "{way}");
        let group = record.group.as_ref().unwrap();
        assert_eq!((group.size, record.hosts.len()), (4, 4), "{way}");
        are_on_both(&record, way);
        nobody_is_left(dir.path(), way);
        by_front(&cluster, way);
        by_script(&cluster, way);
        for (rank, how) in [(2, "KILL"), (2, "STOP"), (0, "KILL")] {
            dies(&cluster, way, rank, how);
        }
    }
    let dir = place();
    let (code, said) = ended(cluster.srun(dir.path(), "none", SHORT));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("srun --mpi=pmi2"), "{said}");
    nobody_is_left(dir.path(), "srun without means");
}

/// Two ranks on each node, in the order of the nodes.
fn are_on_both(record: &Record, way: &str) {
    let hosts = record.by_host();
    let names = hosts
        .iter()
        .map(|host| host.generator().called().into_owned());
    let wanted = (0..4).map(|rank| format!("{} (rank {rank})", NODES[rank / 2]));
    assert!(names.eq(wanted), "{way}");
}

/// The same by `--hosts`, which chooses srun where it is told to.
fn by_front(cluster: &Cluster, way: &str) {
    let dir = place();
    let hosts = NODES.map(|node| format!("{node}:2")).join(",");
    let launcher = format!("srun --mpi={way}");
    let front = |words: &str| {
        let mut command = cluster.command("timeout");
        command
            .args(["-k", "5", "100", FATHOM])
            .args(words.split_whitespace())
            .args(["--hosts", &hosts, "--launcher", &launcher])
            .current_dir(dir.path());
        ended(command)
    };
    let (code, said) = front(SHORT);
    assert_eq!(code, Some(0), "{way}: {said}");
    are_on_both(&record(dir.path(), way), way);
    let (code, said) = front(&format!("{SHORT} --threshold iops>1000g"));
    assert_eq!(code, Some(3), "{way}: {said}");
    nobody_is_left(dir.path(), way);
    for (name, wanted) in [("INT", 130), ("TERM", 143)] {
        let dir = place();
        // Its signal reaches the program, and once.
        let mut command = cluster.command("timeout");
        let command = command
            .args(["--foreground", "-k", "30", "150", FATHOM])
            .args(LONG.split_whitespace())
            .args(["--hosts", &hosts, "--launcher", &launcher])
            .current_dir(dir.path());
        let child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let child = child.unwrap();
        wait_for("a record of four ranks that go on", || {
            let read = read_records(&dir.path().join("r.jsonl")).ok()?;
            let record = read.records.last()?;
            (record.hosts.len() == 4 && record.operations.count() > 0).then_some(())
        });
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(wanted),
            "{way} {name}: {}",
            ground::said(&output)
        );
        let record = record(dir.path(), way);
        // Slurm kills a few tenths of a second after it has asked.
        assert!(
            matches!(
                record.outcome.status,
                Status::Interrupted | Status::Incomplete
            ),
            "{way} {name}: {:?}",
            record.outcome
        );
        assert!(record.operations.count() > 0, "{way} {name}");
        nobody_is_left(dir.path(), way);
    }
}

/// The script of the documents, with two ranks on each node and less work.
fn by_script(cluster: &Cluster, way: &str) {
    let dir = place();
    let mut text = include_str!("../../../docs/hosts/fathom.sbatch").to_owned();
    for (of_four, of_two) in [
        ("--nodes=4", "--nodes=2"),
        ("--ntasks-per-node=1", "--ntasks-per-node=2"),
        ("--file-size 8G", "--file-size 4M"),
        ("--duration 60s", "--duration 1s --max-skew 60s"),
        ("--threads 4", "--threads 1"),
    ] {
        assert_eq!(text.matches(of_four).count(), 1, "{of_four}");
        text = text.replace(of_four, of_two);
    }
    fs::write(dir.path().join("script"), text).unwrap();
    let bin = Path::new(FATHOM).parent().unwrap().display();
    let mut command = cluster.command("timeout");
    command
        .args(["-k", "5", "100", "sbatch", "--wait", "--output=said"])
        .args(["script", ".", "r.jsonl"])
        .env("PATH", format!("{bin}:/usr/bin:/bin"))
        .env("FATHOM_PMI", way)
        .current_dir(dir.path());
    let (code, told) = ended(command);
    let said = fs::read_to_string(dir.path().join("said")).unwrap_or_default();
    // It ends with what it says of the record, which on a busy machine may be invalid.
    assert!(matches!(code, Some(0 | 4)), "{way}: {code:?} {told} {said}");
    let record = record(dir.path(), way);
    assert_eq!(record.outcome.status, Status::Ok, "{way}: {said}");
    are_on_both(&record, way);
    assert!(said.contains("shared_machine"), "{way}: {said}");
    nobody_is_left(dir.path(), way);
}

/// One of four ranks in the midst of a run.
fn dies(cluster: &Cluster, way: &str, rank: usize, how: &str) {
    let dir = place();
    let name = format!("{way} rank {rank} {how}");
    let mut command = cluster.srun(dir.path(), way, LONG);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let what = "a record of four ranks that go on";
    let ranks = ranks_once(&mut child, dir.path(), what, || {
        let read = read_records(&dir.path().join("r.jsonl"));
        read.is_ok_and(|read| {
            let last = read.records.last();
            last.is_some_and(|record| record.hosts.len() == 4 && record.operations.count() > 0)
        })
    });
    let ranks = ranks.unwrap();
    signal(ranks[rank], how);
    let output = child.wait_with_output().unwrap();
    let (code, said) = (output.status.code(), said(&output));
    assert!(
        code != Some(0) && code != Some(124),
        "{name}: {code:?} {said}"
    );
    let record = record(dir.path(), &name);
    assert_eq!(record.outcome.status, Status::Incomplete, "{name}");
    assert!(record.operations.count() > 0, "{name}");
    println!("{name}: srun ended with {code:?}");
    nobody_is_left(dir.path(), &name);
}
