//! What is done to one request on command.

use crate::device::ServedDevice;
use crate::log::{LogEntry, Treated};
use crate::request::{BlockOperation, BlockRequest, Buffer, DeviceResult, Errno, copy_of, zeros};
use crate::setting::{SECTOR, StandingOrders, held};
use misbehave::{Ask, BytePlace, Fate, Misbehaviour, Treatment};
use std::ops::Range;
use units::Nanos;

/// A request to which nothing is done.
#[inline]
pub(crate) fn plain(number: u64, arrived: u64, request: &BlockRequest) -> LogEntry {
    LogEntry {
        number,
        request: *request,
        arrived,
        dispatched: arrived,
        committed: arrived,
        delay: 0,
        generation: 0,
        done: Treated::Plain,
        error: 0,
        detail: 0,
    }
}

/// What is done to it, and how long it is held.
pub(crate) struct Decided {
    treatment: Treatment,
    pub(crate) wait: u64,
}

/// Draws what is done to a request, and takes its turns.
pub(crate) fn decide(
    setting: &StandingOrders,
    models: &Misbehaviour,
    entry: &mut LogEntry,
) -> Decided {
    let request = &entry.request;
    let operation = request.operation.name();
    let mut treatment = models.decide(&Ask {
        operation,
        number: entry.number,
        extent: Some(request.extent()),
    });
    if let Some(place) = &treatment.curable
        && (request.operation.changes() || setting.is_cured(place, &request.extent()))
    {
        treatment.error = None;
    }
    let since = entry.arrived.saturating_sub(setting.since);
    let after = |waits: u64| Nanos(since.saturating_add(waits));
    let written = match request.operation {
        BlockOperation::Write => request.length,
        BlockOperation::Read
        | BlockOperation::Flush
        | BlockOperation::Trim
        | BlockOperation::Zero => 0,
    };
    let moved = written.max(match request.operation {
        BlockOperation::Read => request.length,
        BlockOperation::Write
        | BlockOperation::Flush
        | BlockOperation::Trim
        | BlockOperation::Zero => 0,
    });
    let delay = treatment.delay;
    let mut shaper = held(&setting.shaper);
    let mut waits = shaper.admit(models, operation, after(0)).0;
    if moved > 0 {
        waits += shaper.pass(models, operation, moved, after(waits)).0;
    }
    waits += models.stalled(operation, after(waits)).0;
    waits += shaper.stalled(models, operation, written, after(waits)).0;
    waits += shaper.occupy(models, operation, delay, after(waits)).0;
    drop(shaper);
    entry.delay = delay.0;
    entry.dispatched = entry.arrived.saturating_add(waits);
    Decided {
        treatment,
        wait: waits.saturating_add(delay.0),
    }
}

/// Does what was decided.
pub(crate) fn perform(
    device: &ServedDevice,
    setting: &StandingOrders,
    decided: &Decided,
    entry: &mut LogEntry,
    buffer: Buffer<'_>,
) -> DeviceResult {
    let treatment = &decided.treatment;
    if let Some(error) = treatment.error {
        entry.done = Treated::Failed;
        return Err(Errno(error));
    }
    let outcome = match buffer {
        Buffer::Brings(from) => write(device, setting, treatment, entry, from),
        Buffer::Takes(into) => read(device, setting, treatment, entry, into),
        Buffer::Nothing => device.perform(&entry.request, &mut Buffer::Nothing),
    };
    if outcome.is_ok() && entry.request.operation.changes() {
        let models = setting.models.as_ref();
        if let Some(place) = models.and_then(|models| models.curable("read")) {
            held(&setting.cured).wrote(&place, &reached(entry));
        }
    }
    if treatment.hangs {
        entry.done = Treated::Hung;
    }
    outcome
}

/// The bytes that a change has reached, which are cured: not those that it was acknowledged for.
fn reached(entry: &LogEntry) -> Range<u64> {
    let asked = entry.request.extent();
    match entry.done {
        Treated::Lost => asked.start..asked.start,
        Treated::Torn => asked.start..asked.start + entry.detail,
        Treated::Misdirected => entry.detail..entry.detail + entry.request.length,
        Treated::Plain
        | Treated::Failed
        | Treated::Stale
        | Treated::Corrupted
        | Treated::Hung
        | Treated::Refused
        | Treated::Crashed => asked,
    }
}

fn read(
    device: &ServedDevice,
    setting: &StandingOrders,
    treatment: &Treatment,
    entry: &mut LogEntry,
    into: &mut [u8],
) -> DeviceResult {
    device.perform(&entry.request, &mut Buffer::Takes(into))?;
    if treatment.fate == Some(Fate::Stale) && setting.recall(entry.request.offset, into) {
        entry.done = Treated::Stale;
    } else if let Some(at) = treatment.corrupt {
        flip(into, at, entry);
    }
    Ok(())
}

/// Flips a bit of the byte there.
fn flip(bytes: &mut [u8], at: BytePlace, entry: &mut LogEntry) {
    let Some(at) = at.byte(bytes.len() as u64) else {
        return;
    };
    if let Some(byte) = usize::try_from(at).ok().and_then(|at| bytes.get_mut(at)) {
        *byte ^= 1 << (entry.number % 8);
        entry.done = Treated::Corrupted;
        entry.detail = entry.request.offset + at;
    }
}

fn write(
    device: &ServedDevice,
    setting: &StandingOrders,
    treatment: &Treatment,
    entry: &mut LogEntry,
    from: &[u8],
) -> DeviceResult {
    let mut request = entry.request;
    let mut kept = from;
    let mut changed;
    match treatment.fate {
        Some(Fate::Lost) => {
            entry.done = Treated::Lost;
            return Ok(());
        }
        Some(Fate::Torn(at)) => {
            // At least the first sector is new, and at least the last is not.
            let sectors = from.len() / SECTOR;
            if let Some(more) = at.byte((sectors as u64).saturating_sub(1)) {
                let bytes = (more + 1) * SECTOR as u64;
                kept = &from[..usize::try_from(bytes).unwrap_or(from.len())];
                (entry.done, entry.detail) = (Treated::Torn, bytes);
                request.length = bytes;
            }
        }
        Some(Fate::Misdirected(at)) => {
            if let Some(offset) = elsewhere(&request, device.size(), at) {
                (entry.done, entry.detail) = (Treated::Misdirected, offset);
                request.offset = offset;
            }
        }
        Some(Fate::Stale) | None => {
            if let Some(at) = treatment.corrupt {
                changed = copy_of(from)?;
                flip(&mut changed, at, entry);
                kept = &changed;
            }
        }
    }
    let models = setting.models.as_ref();
    if models.is_some_and(Misbehaviour::reads_stale) {
        let mut old = zeros(kept.len())?;
        let asked = BlockRequest {
            operation: BlockOperation::Read,
            ..request
        };
        device.perform(&asked, &mut Buffer::Takes(&mut old))?;
        setting.remember(request.offset, old);
    }
    device.perform(&request, &mut Buffer::Brings(kept))
}

/// Another place of the device for a write, at a multiple of its length.
fn elsewhere(request: &BlockRequest, size: u64, at: BytePlace) -> Option<u64> {
    let places = size.checked_div(request.length)?;
    let own = request.offset.is_multiple_of(request.length);
    let own = own.then(|| request.offset / request.length);
    // The own place is not among those that are drawn from.
    let others = places.checked_sub(u64::from(own.is_some()))?;
    let drawn = at.byte(others)?;
    let place = drawn + u64::from(own.is_some_and(|own| drawn >= own));
    Some(place * request.length)
}
