"""Several processes of Fathom, of IOR and of elbencho: operations a second, percentiles beside the truth, and how they begin together."""

import csv
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ratios import ratio_of
from trial import at, built, measured, rate, run

RATE_SECONDS = 1
# So long that far more than ten of all reads lie above p99.9, as slow as the witness makes them.
TRUTH_SECONDS = 2
FILE_BYTES = 125 << 20
BLOCK = 4096
# A size that no program reads its libraries, tables or /proc by, so that the witness sees the reads that are measured.
TRUTH_BLOCK = 20480
QUANTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}


def fathom_of(fathom, launcher, directory, ranks, seconds=RATE_SECONDS, block=BLOCK, before=()):
    """The record of random reads by ranks of one worker each."""
    work = ["run", "data", "--random", "--block-size", str(block), "--duration", f"{seconds}s", "--no-live", "--max-skew", "10s"]
    return measured([*launcher, "-n", str(ranks), *before, fathom, *work, "--threads", "1"], directory)


def ior_of(ior, launcher, directory, ranks, seconds=RATE_SECONDS, block=BLOCK, before=(), more=("-z",)):
    """What IOR sums up of the same; -z makes it random."""
    each = FILE_BYTES // ranks // block * block
    what = ["-r", "-k", "-E", "-t", str(block), "-b", str(each), "-o", "data"]
    how = ["-O", f"minTimeDuration={seconds}", "-O", "summaryFormat=JSON", "-O", "summaryFile=ior.json", *more]
    run([*launcher, "-n", str(ranks), *before, ior, *what, *how], directory)
    return json.loads(Path(directory, "ior.json").read_text())["summary"][0]


class Elbencho:
    """Services, and what a master has them do."""

    def __init__(self, path, directory, places, before=()):
        self.path, self.directory, self.places = path, directory, places
        self.services, self.hosts = [], []
        for place in places:
            port = place.free_port()
            self.hosts.append(f"{place.address}:{port}")
            words = [*place.inside, *before, path, "--service", "--foreground", "--port", str(port)]
            self.services.append(subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            # The first to listen is the first that the witness counts.
            self.wait(place.address, port)

    def wait(self, address, port):
        until = time.monotonic() + 20
        while time.monotonic() < until:
            with socket.socket() as tried:
                if tried.connect_ex((address, port)) == 0:
                    return
            time.sleep(0.05)
        self.end()
        sys.exit(f"{self.path}: no service answers on {address}:{port}")

    def work(self, seconds, block):
        return ["-r", "-b", str(block), "--rand", "--randamount", "1t", "--timelimit", str(seconds), str(Path(self.directory, "data"))]

    def said(self, how, seconds, block):
        """What it prints, and its table."""
        table = Path(self.directory, "elbencho.csv")
        table.unlink(missing_ok=True)
        words = [self.path, *how, "--lat", "--latpercent", "--latpercent9s", "1", "--lathisto", "--csvfile", str(table), *self.work(seconds, block)]
        done = subprocess.run(words, cwd=self.directory, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr[-2000:]}")
        names, values = list(csv.reader(table.open()))[:2]
        return done.stdout, dict(zip(names, values))

    def together(self, seconds=RATE_SECONDS, block=BLOCK):
        return self.said(["--hosts", ",".join(self.hosts), "-t", "1"], seconds, block)

    def alone(self):
        return self.said(["-t", str(len(self.places))], RATE_SECONDS, BLOCK)

    def by_the_clock(self, before):
        """As many processes that know nothing of each other begin at one whole second."""
        start = int(time.time()) + 3
        words = [self.path, "-t", "1", "--start", str(start), *self.work(TRUTH_SECONDS, TRUTH_BLOCK)]
        started = [
            subprocess.Popen([*place.inside, *before, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for place in self.places
        ]
        if any([process.wait() for process in started]):
            sys.exit(f"{' '.join(words)}: failed")

    def end(self):
        for service in self.services:
            service.terminate()
            service.wait()


def in_turns(works, rounds):
    """What each gives, round by round; each in its turn goes first."""
    names = list(works)
    for number in range(rounds):
        turn = number % len(names)
        yield {name: works[name]() for name in names[turn:] + names[:turn]}


def estimate(pairs):
    if not pairs:
        return "not stated"
    ratio = ratio_of(pairs)
    return f"{ratio['ratio']:.3f} [{ratio['low']:.3f} to {ratio['high']:.3f}]"


def level(rounds):
    return f"{rounds} rounds, intervals of {ratio_of([(1, 1)] * rounds)['level']:.2f}"


def rates(works, services, rounds, ranks):
    took = list(in_turns(works, rounds))
    print(f"random reads of 4 KiB from the page cache by {ranks} ranks, operations a second, {level(rounds)}")
    for name in [name for name in ("IOR", "elbencho") if name in works]:
        print(f"  fathom to {name} {estimate([(round['fathom'], round[name]) for round in took])}")
    if services:
        print(f"  elbencho's services to its threads {estimate([(round['elbencho'], round['its threads']) for round in took])}")


class Seen:
    """What the witness saw of one trial: how many reads, when each process had its first, and quantiles of their latencies in nanoseconds."""

    def __init__(self, directory, ranks):
        every = [times for path in directory.iterdir() if (times := self.times(path))]
        if len(every) != ranks:
            sys.exit(f"{len(every)} processes read where {ranks} should")
        self.skew_us = (max(times[0] for times in every) - min(times[0] for times in every)) / 1e3
        latencies = [sorted(end - begin for begin, end in zip(times[::2], times[1::2])) for times in every]
        pooled = sorted(value for values in latencies for value in values)
        self.count = len(pooled)
        self.quantiles = {name: at(pooled, share) for name, share in QUANTILES.items()}
        # What the processes' own would make when averaged.
        self.averaged = {name: sum(at(values, share) for values in latencies) / ranks for name, share in QUANTILES.items()}

    @staticmethod
    def times(path):
        """Begin and end of each read of a process."""
        times = array("Q")
        with path.open("rb") as file:
            count = int.from_bytes(file.read(8), sys.byteorder)
            times.frombytes(file.read(16 * count))
        if len(times) != 2 * count:
            sys.exit(f"the witness kept {len(times) // 2} of {count} reads; let it keep more")
        return times


class Witness:
    """The library that sees reads, and where it notes them."""

    def __init__(self, library, directory, first):
        self.directory = Path(directory)
        self.before = [*first, "env", f"LD_PRELOAD={library}", f"WITNESS={directory}", f"WITNESS_BYTES={TRUTH_BLOCK}"]

    def forget(self):
        """All processes have ended, or begin anew."""
        shutil.rmtree(self.directory)
        self.directory.mkdir()

    def from_here(self):
        """Nothing read yet, for processes that go on."""
        for path in self.directory.iterdir():
            with path.open("r+b") as file:
                file.write(bytes(8))


def whole_is_the_sum(record):
    """Whether the whole's histogram is that of all parts, to the bit."""
    parts = Counter()
    for host in record["hosts"]:
        for bucket, count in host["part"]["operations"]["read"]["latency"]["buckets"]:
            parts[bucket] += count
    return sorted(parts.items()) == [tuple(pair) for pair in record["operations"]["read"]["latency"]["buckets"]]


@dataclass
class Trial:
    """What the witness saw, and where it was asked, what the tool states: quantiles in nanoseconds and how many operations."""

    seen: Seen
    stated: dict = None
    count: int = 0
    says_start: bool = True
    more: dict = field(default_factory=dict)


class Truth:
    """Trials under the witness, each a function that gives a Trial; `first` are words before a process's own."""

    def __init__(self, library, directory, scratch, launcher, places, first=()):
        self.library, self.directory, self.scratch, self.launcher, self.places, self.first = library, directory, scratch, launcher, places, first
        self.ranks = len(places)

    def witness(self):
        return Witness(self.library, Path(tempfile.mkdtemp(dir=self.scratch)), self.first)

    def fathom(self, path):
        witness = self.witness()

        def trial():
            witness.forget()
            record = fathom_of(path, self.launcher, self.directory, self.ranks, TRUTH_SECONDS, TRUTH_BLOCK, witness.before)
            read, group = record["summary"]["read"], record["group"]
            stated = {"p50": read["p50_ns"], "p99": read["p99_ns"], "p99.9": read["p999_ns"]}
            seen = Seen(witness.directory, self.ranks)
            more = {
                "sum": whole_is_the_sum(record),
                "error_us": abs(group["skew_ns"] / 1e3 - seen.skew_us),
                "bound_us": group["clock_bound_ns"] / 1e3,
            }
            return Trial(seen, stated, read["count"], more=more)

        return trial

    def ior(self, path):
        witness = self.witness()
        table = Path(self.scratch, "operations")

        def trial():
            witness.forget()
            for left in self.scratch.glob("operations-*"):
                left.unlink()
            ior_of(path, self.launcher, self.directory, self.ranks, TRUTH_SECONDS, TRUTH_BLOCK, witness.before, ["-z", "-O", f"savePerOpDataCSV={table}"])
            values = []
            for file in self.scratch.glob("operations-*"):
                values += [float(line.split(",")[1]) * 1e9 for line in file.read_text().splitlines()[1:]]
            stated = {name: at(values, share) for name, share in QUANTILES.items()}
            return Trial(Seen(witness.directory, self.ranks), stated, len(values), says_start=False)

        return trial

    def ior_start(self, path):
        """Without what IOR does between its barrier and its first operation for random offsets and its file of times."""
        witness = self.witness()

        def trial():
            witness.forget()
            ior_of(path, self.launcher, self.directory, self.ranks, TRUTH_SECONDS, TRUTH_BLOCK, witness.before, [])
            return Trial(Seen(witness.directory, self.ranks))

        return trial

    def services(self, path):
        witness = self.witness()
        services = Elbencho(path, self.directory, self.places, witness.before)

        def trial():
            witness.from_here()
            text, _ = services.together(TRUTH_SECONDS, TRUTH_BLOCK)
            line = re.search(r"lat % us *: *\[ *(.*?) *\]", text)[1]
            stated = {name: float(re.search(rf"\b{name[1:]}%<=([\d.]+)", line)[1]) * 1e3 for name in QUANTILES}
            histogram = re.search(r"lat hist\w* *: *\[ *(.*?) *\]", text)[1]
            count = sum(int(pair.split(":")[1]) for pair in histogram.split(","))
            return Trial(Seen(witness.directory, self.ranks), stated, count)

        return services, trial

    def by_the_clock(self, services):
        witness = self.witness()

        def trial():
            witness.forget()
            services.by_the_clock(witness.before)
            return Trial(Seen(witness.directory, self.ranks))

        return trial


def of_fewer(rounds, all_rounds):
    return f" of {rounds} rounds" if 0 < rounds < all_rounds else ""


def told_quantiles(name, trials):
    truths = [trial.seen.quantiles for trial in trials]
    # Fathom states no percentile with fewer than ten values above it.
    pairs = {
        quantile: [(trial.stated[quantile], true[quantile]) for trial, true in zip(trials, truths) if trial.stated[quantile]]
        for quantile in QUANTILES
    }
    counted = [trial.count / trial.seen.count for trial in trials]
    alike = sum(trial.count == trial.seen.count for trial in trials)
    reads = sum(trial.seen.count for trial in trials)
    print(
        f"  {name:<9}"
        + "".join(f"  {quantile} {estimate(values)}{of_fewer(len(values), len(trials))}" for quantile, values in pairs.items())
        + f"  counted as many as the witness in {alike} of {len(trials)} ({min(counted):.6f} to {max(counted):.6f} of {reads})"
    )


def by_name(rounds):
    return {name: [round[name] for round in rounds] for name in rounds[0]}


def told_percentiles(trials):
    ours = trials["fathom"]
    print(f"percentiles of all reads as stated, to those of all reads that the witness saw, {level(len(ours))}")
    for name, of_name in trials.items():
        if of_name[0].stated:
            told_quantiles(name, of_name)
    averaged = [(trial.seen.averaged, trial.seen.quantiles) for trial in ours]
    print("  averages of the processes' own would be" + "".join(f"  {name} {estimate([(a[name], b[name]) for a, b in averaged])}" for name in QUANTILES))
    print(f"  fathom's whole histogram is the sum of its parts' in {sum(trial.more['sum'] for trial in ours)} of {len(ours)}")


def told_starts(how, trials):
    ours = trials["fathom"]
    print(f"from the first read of the first process to that of the last, as the witness saw it, {how}, {len(ours)} rounds")
    for name, of_name in trials.items():
        skews = [trial.seen.skew_us for trial in of_name]
        if of_name[0].says_start:
            print(f"  {name:<19} p50 {at(skews, 0.5):.1f} µs, p90 {at(skews, 0.9):.1f} µs, most {max(skews):.1f} µs")
    errors = [trial.more["error_us"] for trial in ours]
    within = sum(trial.more["error_us"] <= trial.more["bound_us"] for trial in ours)
    print(f"  fathom states it within {max(errors):.1f} µs at most, and within the bound of its clocks in {within} of {len(ours)}")


REAL_TIME = ["chrt", "-r", "10"]


def has_real_time():
    return shutil.which(REAL_TIME[0]) and not subprocess.run([*REAL_TIME, "true"], stderr=subprocess.DEVNULL).returncode


def under_witness(trials, fathom, ior, elbencho, rounds):
    """The trials of all tools, in turns."""
    works, services = {"fathom": trials.fathom(fathom)}, None
    if ior:
        if not trials.first:
            works["IOR"] = trials.ior(ior)
        works["IOR's barrier"] = trials.ior_start(ior)
    if elbencho:
        services, works["elbencho"] = trials.services(elbencho)
        works["elbencho --start"] = trials.by_the_clock(services)
    try:
        return by_name(list(in_turns(works, rounds)))
    finally:
        if services:
            services.end()


def truth(fathom, ior, elbencho, launcher, directory, places, rounds):
    """Percentiles and starts of all of them, seen by a witness."""
    library = built("witness.c", directory, "-shared", "-fPIC", "-ldl")
    if not library:
        print("SKIPPED: percentiles beside the truth, which need a CC that builds witness.c")
        return
    # A file in memory is written without waiting for a device.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as scratch:

        def given(*first):
            return Truth(library, directory, Path(scratch), launcher, places, first)

        told_percentiles(seen := under_witness(given(), fathom, ior, elbencho, rounds))
        told_starts("in the usual class", seen)
        if has_real_time():
            told_starts("in the real-time class", under_witness(given(*REAL_TIME), fathom, ior, elbencho, rounds))
        else:
            print("SKIPPED: starts in the real-time class, which need chrt (util-linux) and root")


def peers(fathom, launcher, directory, places, rounds):
    Path(directory, "data").write_bytes(os.urandom(FILE_BYTES))
    ior, elbencho = os.environ.get("IOR"), os.environ.get("ELBENCHO")
    for name, path in (("IOR", ior), ("ELBENCHO", elbencho)):
        if not path:
            print(f"SKIPPED: beside {name.lower()}, which needs its path in {name}")
    works = {"fathom": lambda: rate(fathom_of(fathom, launcher, directory, len(places)))}
    services = Elbencho(elbencho, directory, places) if elbencho else None
    if ior:
        works["IOR"] = lambda: ior_of(ior, launcher, directory, len(places))["OPsMax"]
    if services:
        works["elbencho"] = lambda: float(services.together()[1]["IOPS [last]"])
        works["its threads"] = lambda: float(services.alone()[1]["IOPS [last]"])
    try:
        if len(works) > 1:
            rates(works, services, rounds, len(places))
    finally:
        if services:
            services.end()
    truth(fathom, ior, elbencho, launcher, directory, places, rounds)
