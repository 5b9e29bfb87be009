//! What is known of the storage below the targets, a line each: devices count once a machine, however
//! many ranks ran there.

use super::page::{Page, counted, share_of};
use crate::ends::MOST_TOLD;
use record::{HostPart, by_machine, devices_of_machine};
use units::Bytes;

/// Of an account that works which started together share.
pub(super) const FOR_ALL: &str = ", for all jobs that ran together";

/// Of more machines those whose devices were busiest.
const OF_MANY: usize = 4;

/// Of each machine its devices, or what its processes moved.
pub(super) fn below(page: &mut Page, hosts: Vec<HostPart<'_>>) {
    let is_of_several = hosts.len() > 1;
    let mut machines = by_machine(hosts, |own| own.host);
    let told = match machines.len() {
        0..=MOST_TOLD => machines.len(),
        _ => {
            machines.sort_by(|a, b| busiest(b).total_cmp(&busiest(a)));
            OF_MANY
        }
    };
    for machine in machines.iter().take(told) {
        let place = match machine.as_slice() {
            [own] if is_of_several => format!(" on {}", own.host.called()),
            [own, ..] if machines.len() > 1 => format!(" on {}", own.host.machine_called()),
            [] | [_, ..] => String::new(),
        };
        devices(page, machine, &place);
        storage(page, machine, is_of_several);
    }
    let more = machines.len() - told;
    if more > 0 {
        let text = format!("of {} were not busier", counted(more, "more machine"));
        page.fact("devices", &text);
    }
}

/// The largest share of the time that a device of a machine was busy.
fn busiest(machine: &Vec<HostPart<'_>>) -> f64 {
    let shares = machine.iter().flat_map(|own| {
        let over_ns = own.counted_over_ns().max(1);
        let devices = own.host.devices.iter();
        devices.map(move |device| device.busy_ns as f64 / over_ns as f64)
    });
    shares.fold(0.0, f64::max)
}

/// What the devices of one machine counted, beside what its ranks did on them together.
fn devices(page: &mut Page, machine: &[HostPart<'_>], place: &str) {
    let is_alone = machine.iter().all(|own| own.part.companions.is_empty());
    let hosts = machine.iter().map(|own| own.host);
    for (host, device) in devices_of_machine(hosts) {
        let ours = |kind| {
            let uses = |own: &&HostPart<'_>| {
                let mut devices = own.host.devices.iter();
                devices.any(|of| of.name == device.name)
            };
            let done = machine.iter().filter(uses);
            let done = done.filter_map(|own| own.part.operations.kind(kind));
            done.fold(0_u64, |sum, done| sum.saturating_add(done.bytes))
        };
        let against = |bytes, kind| match share_of(bytes, ours(kind)).filter(|_| is_alone) {
            Some(share) => format!("{} ({share} of ours)", Bytes(bytes)),
            None => Bytes(bytes).to_string(),
        };
        let of_host = |own: &&HostPart<'_>| std::ptr::eq(own.host, host);
        let own = machine.iter().find(of_host);
        let busy = own
            .and_then(|own| share_of(device.busy_ns, own.counted_over_ns()))
            .map_or_else(String::new, |share| format!(", busy {share}"));
        let flushes = device
            .flushes
            .filter(|n| *n > 0)
            .map_or_else(String::new, |n| format!(", {}", counted(n, "flush")));
        let (read, written) = (
            against(device.read_bytes, "read"),
            against(device.written_bytes, "write"),
        );
        page.fact(
            "device",
            &format!(
                "{}{place}: read {read}, wrote {written}{flushes}{busy}{}",
                device.name,
                if is_alone { "" } else { FOR_ALL }
            ),
        );
    }
}

/// What each process caused, where no device is known.
fn storage(page: &mut Page, machine: &[HostPart<'_>], is_of_several: bool) {
    let hosts = machine.iter().map(|own| own.host);
    for host in hosts.filter(|host| host.devices.is_empty()) {
        let process = &host.process;
        let place = is_of_several.then(|| format!(" on {}", host.called()));
        let place = place.unwrap_or_default();
        if let (Some(read), Some(written)) =
            (process.storage_read_bytes, process.storage_written_bytes)
        {
            page.fact(
                "storage",
                &format!(
                    "this process{place} caused {} to be read and {} to be written",
                    Bytes(read),
                    Bytes(written)
                ),
            );
        }
    }
}
