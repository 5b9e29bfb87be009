//! Hosts by the machine that they ran on. Ranks of one machine each have CPU time and operations of
//! their own, and its CPUs, devices and memory in common: each of them counted these whole, so that
//! of all of them one account is true and a sum is not.

use crate::{DeviceAccount, HostAccount, Record};
use std::collections::{BTreeMap, BTreeSet};

impl HostAccount {
    /// The boot of the machine; `None` where nobody says.
    #[must_use]
    pub fn boot(&self) -> Option<&str> {
        self.environment.system.boot_id.as_deref()
    }

    /// The block device next to the target.
    #[must_use]
    pub fn nearest_device(&self) -> Option<&DeviceAccount> {
        self.devices.first()
    }

    fn device(&self, name: &str) -> Option<&DeviceAccount> {
        self.devices.iter().find(|device| device.name == name)
    }
}

impl DeviceAccount {
    /// Bytes that it read and wrote.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.written_bytes)
    }
}

impl Record {
    /// How many machines Fathom ran on: of what does not say its boot each name is one.
    pub(crate) fn machines_used(&self) -> usize {
        let by_boot = by_machine(
            self.generators().filter(|host| host.boot().is_some()),
            |host| host,
        );
        let silent = self.generators().filter(|host| host.boot().is_none());
        let (named, unnamed): (Vec<_>, Vec<_>) = silent
            .map(HostAccount::machine_name)
            .partition(Option::is_some);
        by_boot.len() + named.into_iter().collect::<BTreeSet<_>>().len() + unnamed.len()
    }

    /// The CPUs of all machines that Fathom ran on; unknown where one of them does not say.
    #[must_use]
    pub fn cpus_online(&self) -> Option<usize> {
        let nobody = self.generators().next().is_none();
        let of_machine = |machine: Vec<&HostAccount>| {
            let online = machine
                .iter()
                .map(|host| host.environment.cpu.online.as_ref());
            let online: Option<Vec<_>> = online.collect();
            let ids = online?.into_iter().flat_map(|list| list.ids());
            Some(ids.collect::<BTreeSet<_>>().len())
        };
        let machines = by_machine(self.generators(), |host| host).into_iter();
        machines
            .map(of_machine)
            .sum::<Option<usize>>()
            .filter(|_| !nobody)
    }
}

/// What is of several hosts, together where these ran on one machine, in the order of the first of
/// each. A host that does not say its boot is a machine of its own.
#[must_use]
pub fn by_machine<T>(
    items: impl IntoIterator<Item = T>,
    host: impl for<'t> Fn(&'t T) -> &'t HostAccount,
) -> Vec<Vec<T>> {
    grouped(items, |item| host(item).boot().map(str::to_owned))
}

/// The same, apart where the nearest devices of a machine's hosts are several.
#[must_use]
pub fn by_nearest_device<T>(
    items: impl IntoIterator<Item = T>,
    host: impl for<'t> Fn(&'t T) -> &'t HostAccount,
) -> Vec<Vec<T>> {
    grouped(items, |item| {
        let host = host(item);
        let device = host.nearest_device()?;
        Some((host.boot()?.to_owned(), device.name.clone()))
    })
}

/// Every device of a machine once, as that of its hosts counted it that looked for the longest: its
/// counters only grow.
#[must_use]
pub fn devices_of_machine<'h>(
    hosts: impl IntoIterator<Item = &'h HostAccount>,
) -> Vec<(&'h HostAccount, &'h DeviceAccount)> {
    let mut out: Vec<(&HostAccount, &DeviceAccount)> = Vec::new();
    for host in hosts {
        for device in &host.devices {
            match out.iter_mut().find(|(_, known)| known.name == device.name) {
                Some(known) if known.1.bytes() < device.bytes() => *known = (host, device),
                Some(_) => {}
                None => out.push((host, device)),
            }
        }
    }
    out
}

/// The nearest device of hosts that share it, as [`devices_of_machine`] takes it.
#[must_use]
pub fn nearest_of_all<'h>(hosts: &[&'h HostAccount]) -> Option<&'h DeviceAccount> {
    let name = &hosts.first()?.nearest_device()?.name;
    let seen = hosts.iter().filter_map(|host| host.device(name));
    seen.reduce(|most, device| match device.bytes() > most.bytes() {
        true => device,
        false => most,
    })
}

fn grouped<T, K: Ord>(
    items: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> Option<K>,
) -> Vec<Vec<T>> {
    let mut out: Vec<Vec<T>> = Vec::new();
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    for item in items {
        let place = match key(&item) {
            Some(key) => *places.entry(key).or_insert(out.len()),
            None => out.len(),
        };
        match out.get_mut(place) {
            Some(group) => group.push(item),
            None => out.push(vec![item]),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GroupAccount, Quantity, QuantityValue};

    /// A rank that did 1,000 bytes of I/O on a machine of two CPUs, whose disk moved `seen`.
    fn rank(number: u32, boot: Option<&str>, seen: u64) -> Record {
        let mut record = Record {
            id: number.to_string(),
            group: Some(GroupAccount::default()),
            elapsed_ns: 1,
            ..Record::default()
        };
        let done = crate::Operations {
            count: 1,
            bytes: 1000,
            ..crate::Operations::default()
        };
        record.operations.insert("read", done);
        let host = record.generator_mut();
        host.rank = Some(number);
        host.environment.system.boot_id = boot.map(str::to_owned);
        host.environment.cpu.online = "0-1".parse().ok();
        host.devices = vec![DeviceAccount {
            name: "vda".into(),
            read_bytes: seen,
            ..DeviceAccount::default()
        }];
        record
    }

    fn together(boots: [Option<&str>; 4]) -> Record {
        let ranks = (0..).zip(boots);
        let parts = ranks.map(|(number, boot)| rank(number, boot, 4000 + u64::from(number)));
        Record::merge_all(parts).unwrap()
    }

    /// CPUs, devices, and bytes at the device for each that was moved.
    fn counted(record: &Record) -> (Option<usize>, Vec<u64>, QuantityValue) {
        let machines = by_machine(record.generators(), |host| host).into_iter();
        let devices = machines.flat_map(devices_of_machine);
        (
            record.cpus_online(),
            devices.map(|(_, device)| device.read_bytes).collect(),
            Quantity::named("disk.bytes/byte").of(record),
        )
    }

    #[test]
    fn what_ranks_of_one_machine_share_counts_once() {
        assert_eq!(
            counted(&together([Some("one"); 4])),
            (Some(2), vec![4003], QuantityValue::Known(4003.0 / 4000.0))
        );
    }

    #[test]
    fn machines_are_added_and_ranks_of_each_are_not() {
        let two = together([Some("one"), Some("two"), Some("one"), Some("two")]);
        assert_eq!(
            counted(&two),
            (
                Some(4),
                vec![4002, 4003],
                QuantityValue::Known(8005.0 / 4000.0)
            )
        );
    }

    #[test]
    fn a_host_that_does_not_say_its_boot_is_a_machine_of_its_own() {
        let (cpus, devices, _) = counted(&together([None; 4]));
        assert_eq!((cpus, devices.len()), (Some(8), 4));
        assert_eq!(Record::default().cpus_online(), None);
        let mut silent = rank(0, Some("one"), 0);
        silent.generator_mut().environment.cpu.online = None;
        assert_eq!(silent.cpus_online(), None);
    }
}
