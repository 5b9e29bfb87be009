//! Who may serve a file, and what else uses it.

use crate::served::Served;
use std::path::Path;
use std::process::Command;

fn fathom(args: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(args)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn a_file_is_served_by_one_server_and_no_run_writes_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (own, link, hard) = (path("own"), path("link"), path("hard"));
    let served = Served::start(&["--size", "1m", "--file", &own]);
    std::os::unix::fs::symlink(&own, &link).unwrap();
    std::fs::hard_link(&own, &hard).unwrap();
    let socket = path("s");
    for name in [&own, &link, &hard] {
        let refused = Served::refused(&["--file", name, "--unix", &socket]);
        assert!(
            refused.contains("another server or run writes"),
            "{refused}"
        );
    }
    let write = [
        "run",
        &own,
        "--write-percent",
        "100",
        "--total-bytes",
        "64k",
    ];
    let (code, said) = fathom(&[&write[..], &["--no-live", "--allow-destroy", &own]].concat());
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("(fathom)"), "{said}");
    let reader = Served::start(&["--file", &own, "--read-only"]);
    assert_eq!(reader.end(), Some(0));
    assert_eq!(served.end(), Some(0));
    let next = Served::start(&["--file", &link]);
    assert_eq!(next.end(), Some(0));
}

/// Detaches what a test attached.
pub(crate) struct Attached(pub(crate) String);

impl Attached {
    pub(crate) fn new(file: &Path) -> Self {
        let output = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(file)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        Self(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _it_goes_with_its_last_user = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
#[ignore = "needs root and a loop device"]
fn privileged_a_file_behind_a_loop_device_is_not_served() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(1 << 20)
        .unwrap();
    let attached = Attached::new(&path);
    let (file, socket) = (path.to_str().unwrap(), dir.path().join("s"));
    let refused = Served::refused(&["--file", file, "--unix", socket.to_str().unwrap()]);
    assert!(
        refused.contains("is attached to the loop device"),
        "{refused}"
    );
    let name = attached.0.trim_start_matches("/dev/");
    let behind = format!("/sys/block/{name}/loop/backing_file");
    drop(attached);
    // It goes with whoever has the device open last, as another test that looks at all devices.
    while std::fs::read_to_string(&behind).is_ok_and(|of| of.trim_end() == file) {
        std::thread::yield_now();
    }
    assert_eq!(Served::start(&["--file", file]).end(), Some(0));
}
