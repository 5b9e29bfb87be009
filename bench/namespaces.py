"""Hosts with a network between them on one machine: network namespaces on a bridge, and MPI's launcher that starts ranks there."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

NETWORK = "10.98.77"


@dataclass
class Place:
    """Where a process runs: the words before its own, and its address."""

    address: str
    inside: list = field(default_factory=list)

    def free_port(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return free.getsockname()[1]


def here(ranks):
    """All on loopback."""
    return [Place("127.0.0.1") for _ in range(ranks)]


def of_name(name, count):
    return [Place(f"{NETWORK}.{host}", ["ip", "netns", "exec", f"{name}-{host}"]) for host in range(1, count + 1)]


def went(line):
    return subprocess.run(line.split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def connect(name, count):
    """The first namespace has the bridge, and the others are its hosts."""
    lines = [
        f"ip netns add {name}-0",
        f"ip -n {name}-0 link add bridge type bridge",
        f"ip -n {name}-0 link set bridge up",
    ]
    for host in range(1, count + 1):
        lines += [
            f"ip netns add {name}-{host}",
            f"ip -n {name}-0 link add port{host} type veth peer name eth0 netns {name}-{host}",
            f"ip -n {name}-0 link set port{host} master bridge up",
            f"ip -n {name}-{host} addr add {NETWORK}.{host}/24 dev eth0",
            f"ip -n {name}-{host} link set eth0 up",
            f"ip -n {name}-{host} link set lo up",
        ]
    return all(went(line) for line in lines)


# Open MPI gives a host and the words of a shell. A name of its own tells hosts apart, and a view of processes of its own keeps
# ranks from reading each other's clock as processes of one machine may.
AGENT = """#!/bin/sh
host=${1##*.}
shift
exec ip netns exec NAME-$host unshare --uts --pid --fork --mount-proc --kill-child sh -c "hostname node$host; $*"
"""


def launcher_over(launcher, agent, count):
    """The launcher's words by which ranks go round all hosts, and what they say goes over the network."""
    hosts = ",".join(f"{NETWORK}.{host}:1024" for host in range(1, count + 1))
    network = "--mca btl self,tcp --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --map-by node".split()
    return [*launcher, "--host", hosts, "--mca", "plm_rsh_agent", str(agent), *network]


def remove(name, count):
    for host in range(count + 1):
        left = subprocess.run(["ip", "netns", "pids", f"{name}-{host}"], capture_output=True, text=True)
        for process in left.stdout.split():
            went(f"kill -9 {process}")
        went(f"ip netns del {name}-{host}")


def go_on_inside(count, scratch):
    """Makes the namespaces, goes on in the first, removes them with all that runs there, and gives the exit code of what went on."""
    name = f"fathombench{os.getpid()}"
    agent = Path(scratch, "agent")
    agent.write_text(AGENT.replace("NAME", name))
    agent.chmod(0o755)
    inner = None
    try:
        if not connect(name, count):
            sys.exit("network namespaces on a bridge need root and ip (iproute2)")
        inside = ["ip", "netns", "exec", f"{name}-1", "unshare", "--uts", "sh", "-c", 'hostname node1 && exec "$@"', "sh"]
        given = {**os.environ, "HOSTS_IN": name, "HOSTS_AGENT": str(agent)}
        inner = subprocess.Popen([*inside, sys.executable, *sys.argv], env=given)
        return inner.wait()
    finally:
        if inner:
            # It removes what it made.
            inner.terminate()
            inner.wait()
        remove(name, count)
