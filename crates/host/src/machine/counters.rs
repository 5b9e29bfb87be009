//! What a device and this process have transferred.

use super::kernel_files::Reading;
use super::tree;

/// The counters of a block device, as Documentation/block/stat.rst defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DiskCounters {
    pub reads: u64,
    pub reads_merged: u64,
    /// Sectors are 512 bytes, whatever the device's block size.
    pub sectors_read: u64,
    pub read_ms: u64,
    pub writes: u64,
    pub writes_merged: u64,
    pub sectors_written: u64,
    pub write_ms: u64,
    /// Requests at the device at the moment of reading, not a counter.
    pub in_flight: u64,
    /// Time with at least one request at the device.
    pub busy_ms: u64,
    /// Time of all requests at the device, summed.
    pub queue_ms: u64,
    /// Discards are `None` before kernel 4.18.
    pub discards: Option<u64>,
    pub discards_merged: Option<u64>,
    pub sectors_discarded: Option<u64>,
    pub discard_ms: Option<u64>,
    /// Flushes are `None` before kernel 5.5.
    pub flushes: Option<u64>,
    pub flush_ms: Option<u64>,
}

const FIELDS: usize = 17;
const MANDATORY: usize = 11;
const IN_FLIGHT: usize = 8;
/// Times are printed as 32 bits and wrap after 49.7 days of device time.
const MILLISECONDS: [usize; 6] = [3, 7, 9, 10, 14, 16];

impl DiskCounters {
    /// The growth since `earlier`, with the present `in_flight`; `None` where a counter went
    /// backwards, which is what a device that was reset or replaced does.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let (later, earlier) = (self.fields(), earlier.fields());
        let mut grown = [None; FIELDS];
        for (index, (later, earlier)) in later.into_iter().zip(earlier).enumerate() {
            let (Some(later), Some(earlier)) = (later, earlier) else {
                continue;
            };
            let wrapped = later < earlier && MILLISECONDS.contains(&index);
            let later_unwrapped = if wrapped {
                later.checked_add(1 << 32)?
            } else {
                later
            };
            let growth = if index == IN_FLIGHT {
                later
            } else {
                later_unwrapped.checked_sub(earlier)?
            };
            grown[index] = Some(growth);
        }
        Self::from_fields(&grown)
    }

    /// Bytes read from the device.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.sectors_read.saturating_mul(512)
    }

    /// Bytes written to the device.
    #[must_use]
    pub fn bytes_written(&self) -> u64 {
        self.sectors_written.saturating_mul(512)
    }

    fn from_fields(fields: &[Option<u64>; FIELDS]) -> Option<Self> {
        Some(Self {
            reads: fields[0]?,
            reads_merged: fields[1]?,
            sectors_read: fields[2]?,
            read_ms: fields[3]?,
            writes: fields[4]?,
            writes_merged: fields[5]?,
            sectors_written: fields[6]?,
            write_ms: fields[7]?,
            in_flight: fields[IN_FLIGHT]?,
            busy_ms: fields[9]?,
            queue_ms: fields[10]?,
            discards: fields[MANDATORY],
            discards_merged: fields[12],
            sectors_discarded: fields[13],
            discard_ms: fields[14],
            flushes: fields[15],
            flush_ms: fields[16],
        })
    }

    fn fields(&self) -> [Option<u64>; FIELDS] {
        [
            Some(self.reads),
            Some(self.reads_merged),
            Some(self.sectors_read),
            Some(self.read_ms),
            Some(self.writes),
            Some(self.writes_merged),
            Some(self.sectors_written),
            Some(self.write_ms),
            Some(self.in_flight),
            Some(self.busy_ms),
            Some(self.queue_ms),
            self.discards,
            self.discards_merged,
            self.sectors_discarded,
            self.discard_ms,
            self.flushes,
            self.flush_ms,
        ]
    }
}

impl Reading for DiskCounters {
    /// The first file is the device's own, the second that of the disk that it is a partition of.
    fn take(&mut self, part: usize, text: &str) -> bool {
        let mut fields = [None; FIELDS];
        for (field, word) in fields.iter_mut().zip(text.split_ascii_whitespace()) {
            *field = word.parse().ok();
        }
        let Some(read) = Self::from_fields(&fields) else {
            return false;
        };
        *self = match part {
            0 => read,
            _ => Self {
                flushes: read.flushes,
                flush_ms: read.flush_ms,
                ..*self
            },
        };
        // A disk alone says nothing of its partition.
        part == 0
    }
}

/// What this process has transferred, as proc_pid_io(5) defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ProcessIo {
    /// Bytes asked for by read calls, from wherever they came.
    pub rchar: u64,
    /// Bytes given to write calls.
    pub wchar: u64,
    pub syscr: u64,
    pub syscw: u64,
    /// Bytes that this process caused to be fetched from a device.
    pub read_bytes: u64,
    /// Bytes that this process caused to be sent to a device, or to be dirtied in the page cache.
    pub write_bytes: u64,
    /// Dirtied bytes that were never written, because the file was truncated.
    pub cancelled_write_bytes: u64,
}

impl ProcessIo {
    /// The growth since `earlier`; `None` where a counter went backwards, so that another process
    /// was read.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        Some(Self {
            rchar: self.rchar.checked_sub(earlier.rchar)?,
            wchar: self.wchar.checked_sub(earlier.wchar)?,
            syscr: self.syscr.checked_sub(earlier.syscr)?,
            syscw: self.syscw.checked_sub(earlier.syscw)?,
            read_bytes: self.read_bytes.checked_sub(earlier.read_bytes)?,
            write_bytes: self.write_bytes.checked_sub(earlier.write_bytes)?,
            cancelled_write_bytes: self
                .cancelled_write_bytes
                .checked_sub(earlier.cancelled_write_bytes)?,
        })
    }
}

impl Reading for ProcessIo {
    fn take(&mut self, _part: usize, text: &str) -> bool {
        let field = |key| tree::after(text, key, ':')?.parse().ok();
        let read = || {
            Some(Self {
                rchar: field("rchar")?,
                wchar: field("wchar")?,
                syscr: field("syscr")?,
                syscw: field("syscw")?,
                read_bytes: field("read_bytes")?,
                write_bytes: field("write_bytes")?,
                cancelled_write_bytes: field("cancelled_write_bytes")?,
            })
        };
        read().map(|io| *self = io).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(text: &str) -> Option<DiskCounters> {
        let mut counters = DiskCounters::default();
        counters.take(0, text).then_some(counters)
    }

    #[test]
    fn every_field_of_the_stat_file_has_its_name() {
        let text = "  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n";
        let counters = disk(text).unwrap();
        assert_eq!(
            counters.fields(),
            std::array::from_fn(|i| Some(u64::try_from(i).unwrap() + 1))
        );
        assert_eq!(
            (counters.reads, counters.sectors_written, counters.in_flight),
            (1, 7, 9)
        );
        assert_eq!(
            (counters.busy_ms, counters.flushes, counters.flush_ms),
            (10, Some(16), Some(17))
        );
        assert_eq!(
            (counters.bytes_read(), counters.bytes_written()),
            (3 * 512, 7 * 512)
        );
    }

    #[test]
    fn flushes_of_a_partition_are_those_of_its_disk() {
        let mut counters = disk("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 0 0").unwrap();
        assert!(!counters.take(1, "100 0 0 0 0 0 0 0 0 0 0 0 0 0 0 16 17"));
        assert_eq!(
            (counters.reads, counters.flushes, counters.flush_ms),
            (1, Some(16), Some(17))
        );
    }

    #[test]
    fn an_old_kernel_has_no_flushes_and_a_torn_line_is_refused() {
        assert_eq!(disk("1 2 3 4 5 6 7 8 9 10 11").unwrap().flushes, None);
        assert_eq!(
            disk("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15")
                .unwrap()
                .discards,
            Some(12)
        );
        assert_eq!(disk("1 2 3 4 5 6 7 8 9 10"), None);
        assert_eq!(disk("1 2 x 4 5 6 7 8 9 10 11"), None);
    }

    #[test]
    fn growth_keeps_the_gauge_and_refuses_a_reset() {
        let earlier = disk("10 0 80 5 1 0 8 1 7 6 6 0 0 0 0 2 1").unwrap();
        let later = disk("15 0 120 9 1 0 8 1 3 8 9 0 0 0 0 4 2").unwrap();
        let grown = later.since(&earlier).unwrap();
        assert_eq!(
            (
                grown.reads,
                grown.sectors_read,
                grown.in_flight,
                grown.flushes
            ),
            (5, 40, 3, Some(2))
        );
        assert_eq!(earlier.since(&later), None);
    }

    #[test]
    fn a_time_that_wraps_at_32_bits_still_grows() {
        let earlier = disk("1 0 0 4294967290 1 0 0 0 0 0 0").unwrap();
        let later = disk("2 0 0 4 1 0 0 0 0 0 0").unwrap();
        assert_eq!(later.since(&earlier).unwrap().read_ms, 10);
    }

    #[test]
    fn process_io_needs_every_line() {
        let text = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7\n";
        let mut io = ProcessIo::default();
        assert!(io.take(0, text));
        assert_eq!(
            (io.rchar, io.syscw, io.write_bytes, io.cancelled_write_bytes),
            (1, 4, 6, 7)
        );
        assert_eq!(io.since(&io), Some(ProcessIo::default()));
        assert_eq!(ProcessIo::default().since(&io), None);
        assert!(!io.take(0, &text[..40]));
    }
}
