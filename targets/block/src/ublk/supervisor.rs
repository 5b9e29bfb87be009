//! The process that makes a device, starts the server as a child, and outlives it.
//!
//! It never opens the device itself, so that nothing of it hangs when the server does: it gives
//! commands, each with a limit, and waits for signals and for the end of the server. A server that
//! is killed is started again and finds the memory as it was; the kernel keeps what was asked
//! meanwhile and asks it again.

use super::control::{Awaited, Commander, LIMIT_S, block_path};
use super::error::UblkError;
use super::halt::{Halt, has_come, moment};
use super::node;
use super::server::wait_readable;
use super::serving::{UblkData, UblkServing, UblkStarted, parameters, wanted};
use super::wire::{DeviceFacts, UblkCommand, feature, state};
use crate::device::Geometry;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::time::Duration;

/// So many servers may end one after the other, each sooner than [`SOON_NS`], before it is given up.
const MOST_DEATHS: u32 = 5;
const SOON_NS: u64 = 5_000_000_000;
/// How long a server that is asked to stop may need for what is under way.
const PATIENCE_NS: u64 = 10_000_000_000;
/// How long a device that is being made, or goes on, may still need when a signal comes: a server
/// that ends while the kernel looks for partitions would leave the kernel waiting.
const LAST_NS: u64 = 2_000_000_000;

/// Makes a device of `size` bytes, has `start_server` serve it, tells `ready`, and removes it when a
/// signal comes or somebody else stops it.
///
/// # Errors
/// No driver, no permission, a number that is taken, a kernel that does not answer, or a server that
/// ends again and again. Nothing of the device is left then.
pub fn supervise(
    serving: &UblkServing,
    size: u64,
    geometry: Geometry,
    end: &OwnedFd,
    start_server: &mut dyn FnMut(u32) -> io::Result<Child>,
    ready: &mut dyn FnMut(&UblkStarted) -> io::Result<()>,
) -> Result<(), UblkError> {
    let mut commander = Commander::open(serving.unprivileged)?;
    let wanted = wanted(serving, commander.features()?)?;
    let facts = commander.add(wanted)?;
    let mut supervisor = Supervisor {
        commander,
        facts,
        unprivileged: serving.unprivileged,
        server: None,
    };
    let ended = match supervisor.serve(size, geometry, end, start_server, ready) {
        Ok(()) | Err(Halt::Asked) => Ok(()),
        Err(Halt::Failed(error)) => Err(error),
    };
    let removed = supervisor.remove();
    ended.and(removed)
}

struct Supervisor {
    commander: Commander,
    facts: DeviceFacts,
    unprivileged: bool,
    server: Option<Server>,
}

/// A server that runs, or ran.
struct Server {
    child: Child,
    end: sys::ProcessEnd,
    began: u64,
}

impl Server {
    fn id(&self) -> u64 {
        u64::from(self.child.id())
    }

    fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    fn kill(&mut self) {
        let _it_may_be_gone_already = self.child.kill();
        let _as_above = self.child.wait();
    }
}

/// Why waiting for a server is over.
enum Event {
    Signal,
    /// Somebody stopped the device, and the server has ended as it should.
    Stopped,
    Died,
}

impl Supervisor {
    fn serve(
        &mut self,
        size: u64,
        geometry: Geometry,
        end: &OwnedFd,
        start_server: &mut dyn FnMut(u32) -> io::Result<Child>,
        ready: &mut dyn FnMut(&UblkStarted) -> io::Result<()>,
    ) -> Result<(), Halt> {
        let number = self.facts.device;
        if self.unprivileged {
            node::wait_for_permission(number, end)?;
        }
        let parameters = parameters(size, geometry, self.facts.most_io_bytes);
        self.commander.set_parameters(number, &parameters)?;
        self.start(UblkCommand::Start, end, start_server)?;
        node::find(&mut self.commander, number, end)?;
        let mut deaths = 0;
        loop {
            ready(&self.started())
                .map_err(UblkError::system("have the server do what it was told"))?;
            match self.wait(end)? {
                Event::Signal | Event::Stopped => return Ok(()),
                Event::Died => self.recover(&mut deaths, end, start_server)?,
            }
        }
    }

    /// Has another server go on where one has died.
    ///
    /// A server that dies before it has fetched anything has a successor as well: the kernel waits
    /// for the first who does, and is not told once more that one comes: where a part of the queues
    /// was fetched, older kernels would follow a pointer to nobody.
    fn recover(
        &mut self,
        deaths: &mut u32,
        end: &OwnedFd,
        start_server: &mut dyn FnMut(u32) -> io::Result<Child>,
    ) -> Result<(), Halt> {
        self.count_death(deaths)?;
        self.expect_another(end)?;
        loop {
            match self.start(UblkCommand::EndRecovery, end, start_server) {
                Err(Halt::Failed(UblkError::ServerEnded(_))) if self.is_stopped()? => {
                    return Err(Halt::Asked);
                }
                Err(Halt::Failed(UblkError::ServerEnded(_))) => self.count_death(deaths)?,
                other => return other,
            }
        }
    }

    /// A server has died: too many do so, or the device cannot go on without it.
    fn count_death(&mut self, deaths: &mut u32) -> Result<(), UblkError> {
        let lived = self
            .server
            .as_ref()
            .map_or(0, |server| sys::monotonic_ns().saturating_sub(server.began));
        *deaths = if lived < SOON_NS { *deaths + 1 } else { 1 };
        let recovers = self.facts.flags & feature::USER_RECOVERY != 0;
        if !recovers || *deaths > MOST_DEATHS {
            return Err(UblkError::ServerEnded(self.how_it_ended()));
        }
        Ok(())
    }

    fn started(&self) -> UblkStarted {
        UblkStarted {
            node: block_path(self.facts.device),
            number: self.facts.device,
            queues: self.facts.queues,
            depth: self.facts.depth,
            recovery: self.facts.flags & feature::USER_RECOVERY != 0,
            data: UblkData::of(self.facts.flags),
            server: self.server.as_ref().map_or(0, |server| server.child.id()),
        }
    }

    /// Starts a server and waits until every tag of every queue has been fetched.
    fn start(
        &mut self,
        control: UblkCommand,
        end: &OwnedFd,
        start_server: &mut dyn FnMut(u32) -> io::Result<Child>,
    ) -> Result<(), Halt> {
        let child = start_server(self.facts.device).map_err(UblkError::system("start a server"))?;
        let process =
            sys::ProcessEnd::of(child.id()).map_err(UblkError::system("watch a server"))?;
        let server = Server {
            child,
            end: process,
            began: sys::monotonic_ns(),
        };
        let (device, id) = (self.facts.device, server.id());
        self.server = Some(server);
        let begun = self.commander.begin(control, device, id)?;
        let outcome = self.goes_on(begun, control, end);
        if let (Err(_), Some(server)) = (&outcome, &mut self.server) {
            server.kill();
        }
        outcome?;
        // A server that serves ends as it should.
        if has_come(end, Duration::ZERO)? {
            return Err(Halt::Asked);
        }
        Ok(())
    }

    /// Waits until the kernel has answered that a server goes on; it takes the command back where
    /// the server ends first, or too much time goes by.
    fn goes_on(
        &mut self,
        mut begun: Awaited,
        control: UblkCommand,
        end: &OwnedFd,
    ) -> Result<(), Halt> {
        let mut deadline = sys::monotonic_ns() + LIMIT_S * 1_000_000_000;
        let mut is_asked = false;
        while self.commander.within(&mut begun, 50_000_000)?.is_none() {
            let now = sys::monotonic_ns();
            if !is_asked && has_come(end, Duration::ZERO)? {
                is_asked = true;
                deadline = deadline.min(now + LAST_NS);
            }
            let has_ended = self.server.as_mut().is_none_or(Server::has_ended);
            if !has_ended && now <= deadline {
                continue;
            }
            self.take_back(begun)?;
            return Err(if is_asked {
                Halt::Asked
            } else if has_ended {
                Halt::Failed(UblkError::ServerEnded(self.how_it_ended()))
            } else {
                Halt::Failed(UblkError::NoAnswer {
                    command: control.name(),
                    seconds: LIMIT_S,
                })
            });
        }
        Ok(())
    }

    /// Gives a command up, and waits until the kernel has: what comes next must not meet it. One that
    /// cannot be taken back goes with its ring.
    fn take_back(&mut self, mut command: Awaited) -> Result<(), UblkError> {
        if !self.commander.take_back(&mut command)? {
            self.commander = Commander::open(self.unprivileged)?;
        }
        Ok(())
    }

    fn wait(&mut self, end: &OwnedFd) -> Result<Event, UblkError> {
        let Some(server) = &mut self.server else {
            return Ok(Event::Died);
        };
        loop {
            let waited = wait_readable([end, &server.end], None);
            let [signal, gone] = waited.map_err(UblkError::system("wait for the server"))?;
            if signal {
                return Ok(Event::Signal);
            }
            if gone {
                let status = server.child.wait();
                let status = status.map_err(UblkError::system("ask how the server ended"))?;
                return Ok(if status.success() {
                    Event::Stopped
                } else {
                    Event::Died
                });
            }
        }
    }

    /// Waits until the kernel has noticed that the server is gone, and tells it that another one
    /// comes.
    fn expect_another(&mut self, end: &OwnedFd) -> Result<(), Halt> {
        let number = self.facts.device;
        for _ in 0..LIMIT_S * 100 {
            if self.is_stopped()? {
                return Err(Halt::Asked);
            }
            match self.commander.command(UblkCommand::StartRecovery, number) {
                Ok(()) => return Ok(()),
                // Its char device is not closed, or requests are still being taken back.
                Err(UblkError::Refused { source, .. })
                    if source.raw_os_error() == Some(libc::EBUSY) =>
                {
                    moment(end)?;
                }
                Err(UblkError::NoDevice(_)) => return Err(Halt::Asked),
                Err(other) => return Err(other.into()),
            }
        }
        Err(Halt::Failed(UblkError::NoAnswer {
            command: UblkCommand::StartRecovery.name(),
            seconds: LIMIT_S,
        }))
    }

    fn is_stopped(&mut self) -> Result<bool, UblkError> {
        match self.commander.facts(self.facts.device) {
            Ok(facts) => Ok(facts.state == state::DEAD),
            Err(UblkError::NoDevice(_)) => Ok(true),
            Err(other) => Err(other),
        }
    }

    fn how_it_ended(&mut self) -> String {
        let status = self.server.as_mut().map(|server| server.child.wait());
        match status {
            Some(Ok(status)) => status.to_string(),
            Some(Err(error)) => error.to_string(),
            None => "it was never started".to_owned(),
        }
    }

    /// Stops the device, lets the server end, and removes the device: in this order, because the
    /// kernel removes it only when nobody has it open.
    fn remove(&mut self) -> Result<(), UblkError> {
        if let Some(server) = &mut self.server
            && !server.has_ended()
        {
            // So that it ends what it holds, which the kernel waits for.
            let _it_may_be_gone_already = sys::signal_process(server.child.id(), libc::SIGTERM);
        }
        let stopped = stop(&mut self.commander, self.facts.device, &mut || {
            if let Some(server) = &mut self.server {
                server.kill();
            }
        });
        if let Some(server) = &mut self.server {
            // It ends by itself when its queues are taken back.
            let limit = Some(Duration::from_nanos(PATIENCE_NS));
            let nobody_signals: [&dyn AsFd; 2] = [&server.end, &server.end];
            let _whatever_came_of_it = wait_readable(nobody_signals, limit);
            server.kill();
        }
        match stopped {
            Ok(()) => delete(&mut self.commander, self.facts.device).map(drop),
            Err(UblkError::NoDevice(_)) => Ok(()),
            Err(other) => Err(other),
        }
    }
}

/// Stops a device. Where requests are under way that do not end, `kill_server` ends them.
pub(super) fn stop(
    commander: &mut Commander,
    device: u32,
    kill_server: &mut dyn FnMut(),
) -> Result<(), UblkError> {
    let mut stopping = commander.begin(UblkCommand::Stop, device, 0)?;
    if commander.within(&mut stopping, PATIENCE_NS)?.is_some() {
        return Ok(());
    }
    kill_server();
    commander
        .within(&mut stopping, LIMIT_S * 1_000_000_000)?
        .ok_or(UblkError::NoAnswer {
            command: UblkCommand::Stop.name(),
            seconds: LIMIT_S,
        })
}

/// Removes a device that was stopped; `false` when somebody has it open still, and it goes with the
/// last one.
pub(super) fn delete(commander: &mut Commander, device: u32) -> Result<bool, UblkError> {
    let mut deleting = commander.begin(UblkCommand::Delete, device, 0)?;
    match commander.within(&mut deleting, PATIENCE_NS) {
        Ok(answer) => Ok(answer.is_some()),
        Err(UblkError::NoDevice(_)) => Ok(true),
        Err(other) => Err(other),
    }
}
