//! Records of schema 1, in which what is known of the generator's host stood in the record itself,
//! and what the server's process used in the account of a load.

use crate::{
    Calibration, DeviceAccount, Environment, HostAccount, HostRole, LoopAccount, MachineAccount,
    ProcessAccount, Record, SCHEMA,
};
use serde::Deserialize;

/// The fields that stand elsewhere in a record of this version.
#[derive(Deserialize)]
struct SchemaOne {
    environment: Environment,
    calibration: Calibration,
    generator: LoopAccount,
    process: ProcessAccount,
    machine: MachineAccount,
    devices: Vec<DeviceAccount>,
    #[serde(default)]
    load: Option<Load>,
}

#[derive(Deserialize)]
struct Load {
    #[serde(default)]
    server: Option<Server>,
}

#[derive(Deserialize)]
struct Server {
    process: Option<u32>,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
}

/// Reads a line of schema 1 as a record of this version.
pub(crate) fn read(line: &[u8]) -> serde_json::Result<Record> {
    let mut record: Record = serde_json::from_slice(line)?;
    let old: SchemaOne = serde_json::from_slice(line)?;
    if let Some(server) = old.load.and_then(|load| load.server) {
        server.book(&mut record);
    }
    let generator = HostAccount {
        environment: old.environment,
        calibration: old.calibration,
        process: old.process,
        machine: old.machine,
        devices: old.devices,
        ..HostAccount::default()
    };
    record.hosts.insert(0, generator);
    record.loops = old.generator;
    record.schema = SCHEMA;
    Ok(record)
}

impl Server {
    /// Its process is the target that was watched, which the first records of loads had nowhere
    /// else.
    fn book(self, record: &mut Record) {
        let used = self.user_ns.zip(self.system_ns);
        if self.process.is_none() && used.is_none() {
            return;
        }
        let mut targets = record.hosts.iter_mut();
        if let Some(target) = targets.find(|host| host.role == HostRole::Target) {
            target.pid = self.process;
            return;
        }
        let (user_ns, system_ns) = used.unwrap_or_default();
        record.hosts.push(HostAccount {
            role: HostRole::Target,
            pid: self.process,
            gone: used.is_none(),
            process: ProcessAccount {
                user_ns,
                system_ns,
                ..ProcessAccount::default()
            },
            ..HostAccount::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_records;
    use serde_json::{Value, json};

    /// A record of nothing with a host, in the form of schema 1.
    fn line() -> Value {
        let mut line = serde_json::to_value(Record::default()).unwrap();
        line.as_object_mut()
            .unwrap()
            .retain(|key, _| !["hosts", "loops"].contains(&key.as_str()));
        line["schema"] = 1.into();
        line["generator"] = json!(LoopAccount {
            submitted: 7,
            ..LoopAccount::default()
        });
        line["environment"] = json!({"system": {"hostname": "a"}});
        line["calibration"] = json!(Calibration {
            clock_read_ns: 0.1 + 0.2,
            ..Calibration::default()
        });
        line["process"] = json!(ProcessAccount {
            user_ns: 5,
            ..ProcessAccount::default()
        });
        line["machine"] = json!(MachineAccount {
            busy_share: Some(0.1),
            ..MachineAccount::default()
        });
        line["devices"] = json!([DeviceAccount {
            name: "sda".into(),
            ..DeviceAccount::default()
        }]);
        line
    }

    fn read(line: &Value) -> Record {
        // Larger than any number that the library for JSON holds in a value.
        let large = format!("\"in_flight_ns\":{}", 1_u128 << 70);
        let line = line.to_string().replacen("\"in_flight_ns\":0", &large, 1);
        let read = parse_records(line.as_bytes());
        assert_eq!(read.damaged, []);
        read.records.into_iter().next().unwrap()
    }

    #[test]
    fn what_stood_in_the_record_stands_with_the_host_that_fathom_ran_on() {
        let record = read(&line());
        let host = record.generator();
        assert_eq!(host.environment.system.hostname.as_deref(), Some("a"));
        assert_eq!(
            (host.calibration.clock_read_ns, host.process.user_ns),
            (0.1 + 0.2, 5)
        );
        assert_eq!(
            (host.machine.busy_share, host.devices[0].name.as_str()),
            (Some(0.1), "sda")
        );
        assert_eq!(
            (record.loops.submitted, record.loops.in_flight_ns),
            (7, 1 << 70)
        );
        assert_eq!((record.schema, record.target()), (SCHEMA, None));
        let again = parse_records(&serde_json::to_vec(&record).unwrap());
        assert_eq!(again.records, [record]);
    }

    #[test]
    fn the_process_of_a_server_is_a_target_that_was_watched() {
        let used = ProcessAccount {
            max_resident_bytes: 9,
            user_ns: 30,
            ..ProcessAccount::default()
        };
        let watched = HostAccount {
            role: HostRole::Target,
            process: used,
            ..HostAccount::default()
        };
        for (server, hosts, used) in [
            (
                json!({"process": 8, "user_ns": 30, "system_ns": 4}),
                json!([]),
                Some((30, 4, 0)),
            ),
            (
                json!({"process": 8, "user_ns": 30, "system_ns": 0}),
                json!([watched]),
                Some((30, 0, 9)),
            ),
            (json!({"process": 8}), json!([]), None),
        ] {
            let mut line = line();
            line["load"] = json!({"server": server});
            line["hosts"] = hosts;
            let record = read(&line);
            let targets: Vec<&HostAccount> = record.targets_watched().collect();
            assert_eq!((targets.len(), targets[0].pid), (1, Some(8)));
            let found = targets[0].used();
            let found = found.map(|used| (used.user_ns, used.system_ns, used.max_resident_bytes));
            assert_eq!(found, used);
            assert_eq!(record.generator().process.user_ns, 5);
        }
        let mut line = line();
        line["load"] = json!({"server": {"counters": {"requests": 3.0}}});
        assert_eq!(read(&line).hosts.len(), 1);
    }

    #[test]
    fn a_line_that_lacks_what_every_record_of_its_schema_has_is_none() {
        for field in ["environment", "generator", "devices"] {
            let mut line = line();
            line.as_object_mut().unwrap().remove(field);
            let read = parse_records(line.to_string().as_bytes());
            assert!(read.damaged[0].reason.contains(field), "{:?}", read.damaged);
        }
    }
}
