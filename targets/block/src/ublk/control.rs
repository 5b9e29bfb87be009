//! Commands to the driver, each with a limit, and what it means when they fail.

use super::error::UblkError;
use super::raw::{ControlRing, Pending, Plain};
use super::wire::{ControlCommand, DeviceFacts, Parameters, SECTOR, UblkCommand, feature, state};
use std::fs::File;
use std::io;
use std::path::Path;

/// How long the kernel may take to answer: some kernels hang in `ADD_DEV`, and one that waits for a
/// request that never ends waits for ever.
pub(super) const LIMIT_S: u64 = 30;
/// How long it may take to let go of a command that is taken back.
const LET_GO_NS: u64 = 2_000_000_000;

const CONTROL: &str = "/dev/ublk-control";
const ANY_QUEUE: u16 = u16::MAX;

/// Commands about devices, in the name of root or of a device's owner.
pub(super) struct Commander {
    ring: ControlRing,
    unprivileged: bool,
}

impl Commander {
    pub(super) fn open(unprivileged: bool) -> Result<Self, UblkError> {
        let control = File::options().read(true).write(true).open(CONTROL);
        let control = control.map_err(|error| why_closed(&error, &Machine::here()))?;
        let ring = ControlRing::new(control).map_err(UblkError::NoRing)?;
        Ok(Self { ring, unprivileged })
    }

    /// What the driver can do; 0 before Linux 6.5, which does not say.
    pub(super) fn features(&mut self) -> Result<u64, UblkError> {
        let command = ControlCommand {
            device: u32::MAX,
            queue: ANY_QUEUE,
            bytes: 8,
            ..ControlCommand::default()
        };
        match self.ask(UblkCommand::Features, command, vec![0; 8]) {
            Ok(answer) => Ok(u64::from_ne_bytes(*answer.first_chunk().unwrap_or(&[0; 8]))),
            Err(UblkError::Refused { .. }) => Ok(0),
            Err(other) => Err(other),
        }
    }

    /// Makes a device and returns what it became.
    pub(super) fn add(&mut self, wanted: DeviceFacts) -> Result<DeviceFacts, UblkError> {
        let answer = self.send(
            UblkCommand::Add,
            wanted.device,
            0,
            wanted.bytes().to_vec(),
            false,
        );
        match answer {
            Ok(answer) => Ok(DeviceFacts::of_bytes(&answer)),
            Err(UblkError::Refused { source, .. }) => Err(match source.raw_os_error() {
                Some(libc::EEXIST) => UblkError::Exists(wanted.device),
                Some(libc::EPERM) => UblkError::NotPermitted {
                    what: "making a ublk device",
                },
                Some(libc::EOPNOTSUPP) => too_old("this way of commands", "6.4"),
                _ => UblkError::Refused {
                    command: UblkCommand::Add.name(),
                    source,
                },
            }),
            Err(other) => Err(other),
        }
    }

    /// What a device is. Whose it is decides how every other command about it is put.
    pub(super) fn facts(&mut self, device: u32) -> Result<DeviceFacts, UblkError> {
        self.unprivileged = true;
        let empty = DeviceFacts::default().bytes().to_vec();
        let answer = self.about(UblkCommand::FactsOfAnybody, device, 0, empty)?;
        let facts = DeviceFacts::of_bytes(&answer);
        self.unprivileged = facts.flags & feature::UNPRIVILEGED != 0;
        Ok(facts)
    }

    pub(super) fn parameters(&mut self, device: u32) -> Result<Parameters, UblkError> {
        let asked = Parameters {
            bytes: u32::try_from(size_of::<Parameters>()).unwrap_or(0),
            ..Parameters::default()
        };
        let answer = self.about(UblkCommand::Parameters, device, 0, asked.bytes().to_vec())?;
        Ok(Parameters::of_bytes(&answer))
    }

    pub(super) fn set_parameters(
        &mut self,
        device: u32,
        parameters: &Parameters,
    ) -> Result<(), UblkError> {
        let bytes = parameters.bytes().to_vec();
        self.about(UblkCommand::SetParameters, device, 0, bytes)
            .map(drop)
    }

    /// Gives a device that is served another size.
    pub(super) fn update_size(&mut self, device: u32, bytes: u64) -> Result<(), UblkError> {
        let facts = self.facts(device)?;
        if facts.flags & feature::UPDATE_SIZE == 0 {
            return Err(too_old("another size for a device that is there", "6.16"));
        }
        let sectors = bytes / SECTOR;
        self.about(UblkCommand::UpdateSize, device, sectors, Vec::new())
            .map(drop)
    }

    /// The CPUs whose requests go to a queue.
    pub(super) fn affinity(&mut self, device: u32, queue: u16) -> Result<Vec<u32>, UblkError> {
        let mask = self.about(
            UblkCommand::Affinity,
            device,
            u64::from(queue),
            vec![0; 1024],
        )?;
        let cpus = (0..).zip(&mask).flat_map(|(at, byte)| {
            (0..8).filter_map(move |bit| (byte >> bit & 1 == 1).then_some(at * 8 + bit))
        });
        Ok(cpus.collect())
    }

    pub(super) fn command(&mut self, control: UblkCommand, device: u32) -> Result<(), UblkError> {
        self.about(control, device, 0, Vec::new()).map(drop)
    }

    /// Sends a command that may take long; [`Commander::within`] waits for its answer.
    pub(super) fn begin(
        &mut self,
        control: UblkCommand,
        device: u32,
        value: u64,
    ) -> Result<Awaited, UblkError> {
        let (command, payload) = self.compose(device, value, Vec::new(), true);
        let begun = self.ring.begin(control, command, payload);
        let pending = begun.map_err(UblkError::system("hand a command to the driver"))?;
        Ok(Awaited {
            control,
            device,
            pending,
        })
    }

    /// Waits for the answer so long; `None` when the time was over first.
    pub(super) fn within(
        &mut self,
        awaited: &mut Awaited,
        limit_ns: u64,
    ) -> Result<Option<()>, UblkError> {
        let answer = self.ring.answer(&mut awaited.pending, limit_ns);
        let answer = answer.map_err(UblkError::system("wait for the driver"))?;
        let Some((result, _)) = answer else {
            return Ok(None);
        };
        checked(awaited.control, awaited.device, result).map(Some)
    }

    /// Gives a command up; `false` where the kernel does not let go of it in time. It may have been
    /// done before.
    pub(super) fn take_back(&mut self, awaited: &mut Awaited) -> Result<bool, UblkError> {
        let cancelled = self.ring.cancel(&mut awaited.pending, LET_GO_NS);
        cancelled.map_err(UblkError::system("take a command back"))
    }

    fn about(
        &mut self,
        control: UblkCommand,
        device: u32,
        value: u64,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, UblkError> {
        self.send(control, device, value, payload, true)
    }

    fn send(
        &mut self,
        control: UblkCommand,
        device: u32,
        value: u64,
        payload: Vec<u8>,
        exists: bool,
    ) -> Result<Vec<u8>, UblkError> {
        let (command, payload) = self.compose(device, value, payload, exists);
        let mut answer = self.ask(control, command, payload)?;
        answer.drain(..usize::from(command.path_bytes));
        Ok(answer)
    }

    /// For a device of a user the path of its char device stands before the payload, by which the
    /// kernel judges whose it is.
    fn compose(
        &self,
        device: u32,
        value: u64,
        payload: Vec<u8>,
        exists: bool,
    ) -> (ControlCommand, Vec<u8>) {
        let mut path = Vec::new();
        if self.unprivileged && exists {
            path = char_path(device).into_bytes();
            path.push(0);
        }
        let short = |bytes: usize| u16::try_from(bytes).expect("a path and a small structure");
        let path_bytes = short(path.len());
        path.extend(payload);
        let command = ControlCommand {
            device,
            queue: ANY_QUEUE,
            bytes: short(path.len()),
            value,
            path_bytes,
            ..ControlCommand::default()
        };
        (command, path)
    }

    fn ask(
        &mut self,
        control: UblkCommand,
        command: ControlCommand,
        payload: Vec<u8>,
    ) -> Result<Vec<u8>, UblkError> {
        let began = self.ring.begin(control, command, payload);
        let mut pending = began.map_err(UblkError::system("hand a command to the driver"))?;
        let answer = self.ring.answer(&mut pending, LIMIT_S * 1_000_000_000);
        let answer = answer.map_err(UblkError::system("wait for the driver"))?;
        let (result, payload) = answer.ok_or(UblkError::NoAnswer {
            command: control.name(),
            seconds: LIMIT_S,
        })?;
        checked(control, command.device, result).map(|()| payload)
    }
}

/// A command whose answer may take long.
pub(super) struct Awaited {
    control: UblkCommand,
    device: u32,
    pending: Pending,
}

fn checked(control: UblkCommand, device: u32, result: i32) -> Result<(), UblkError> {
    match result {
        0.. => Ok(()),
        failure if failure == -libc::ENODEV && control != UblkCommand::Add => {
            Err(UblkError::NoDevice(device))
        }
        failure => Err(UblkError::Refused {
            command: control.name(),
            source: io::Error::from_raw_os_error(-failure),
        }),
    }
}

pub(super) fn char_path(device: u32) -> String {
    format!("/dev/ublkc{device}")
}

pub(super) fn block_path(device: u32) -> String {
    format!("/dev/ublkb{device}")
}

pub(super) fn state_name(number: u16) -> &'static str {
    state::NAMES
        .get(usize::from(number))
        .copied()
        .unwrap_or("unknown")
}

/// What is known of the kernel when its driver cannot be reached.
#[derive(Clone, Debug)]
struct Machine {
    release: String,
    module_is_loaded: bool,
    module_can_be_loaded: bool,
}

impl Machine {
    fn here() -> Self {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let release = release.trim().to_owned();
        let lists = format!("/lib/modules/{release}/modules.dep");
        Self {
            module_is_loaded: Path::new("/sys/module/ublk_drv").exists(),
            module_can_be_loaded: std::fs::read_to_string(lists)
                .is_ok_and(|modules| modules.contains("/ublk_drv.ko")),
            release,
        }
    }
}

/// What the running kernel lacks, and since which version others have it.
pub(super) fn too_old(needs: &'static str, version: &'static str) -> UblkError {
    UblkError::TooOld {
        needs,
        version,
        running: Machine::here().release,
    }
}

/// Why the control device cannot be opened, and what would help.
fn why_closed(error: &io::Error, machine: &Machine) -> UblkError {
    let Machine { release, .. } = machine;
    if error.kind() == io::ErrorKind::PermissionDenied {
        return UblkError::NotPermitted {
            what: "opening /dev/ublk-control",
        };
    }
    UblkError::NoDriver(if error.kind() != io::ErrorKind::NotFound {
        format!("{CONTROL} cannot be opened: {error}")
    } else if machine.module_is_loaded {
        format!(
            "the module ublk_drv is loaded, but {CONTROL} is missing: it has to be made in this container"
        )
    } else if machine.module_can_be_loaded {
        format!("{CONTROL} is missing: load the module with `modprobe ublk_drv`")
    } else {
        format!(
            "{CONTROL} is missing, and there is no module ublk_drv for this kernel ({release}): it takes Linux 6.4 or later with CONFIG_BLK_DEV_UBLK"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_missing_module_capability_or_kernel() {
        let said = |error: i32, loaded: bool, loadable: bool| {
            let machine = Machine {
                release: "6.1.0".to_owned(),
                module_is_loaded: loaded,
                module_can_be_loaded: loadable,
            };
            why_closed(&io::Error::from_raw_os_error(error), &machine).to_string()
        };
        insta::assert_snapshot!(
            [
                said(libc::ENOENT, false, false),
                said(libc::ENOENT, false, true),
                said(libc::ENOENT, true, true),
                said(libc::EACCES, true, true),
            ]
            .join("\n"),
            @"
        /dev/ublk-control is missing, and there is no module ublk_drv for this kernel (6.1.0): it takes Linux 6.4 or later with CONFIG_BLK_DEV_UBLK; --front nbd works without a driver
        /dev/ublk-control is missing: load the module with `modprobe ublk_drv`; --front nbd works without a driver
        the module ublk_drv is loaded, but /dev/ublk-control is missing: it has to be made in this container; --front nbd works without a driver
        opening /dev/ublk-control needs the capability CAP_SYS_ADMIN (run as root), or --unprivileged where /dev/ublk-control is open to this user
        "
        );
    }
}
