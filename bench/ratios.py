"""What the comparisons of this directory share: exact intervals of ratios, and the facts of a machine."""

import math
import os
import platform
import re
import statistics
import subprocess
from pathlib import Path


def signed_rank_counts(n):
    """Number of sign patterns of ranks 1..n whose positive ranks sum to t, for every t."""
    counts = [1]
    for rank in range(1, n + 1):
        grown = counts + [0] * rank
        for total, ways in enumerate(counts):
            grown[total + rank] += ways
        counts = grown
    return counts


def signed_rank_interval(values, level=0.95):
    """(Hodges-Lehmann estimate, low, high, attained level).

    The shortest exact interval of at least `level`, or, where n is too small for one (n < 6 at 95 %), the longest that
    n allows, with the level that it attains.
    """
    n = len(values)
    walsh = sorted((values[i] + values[j]) / 2 for i in range(n) for j in range(i, n))
    counts = signed_rank_counts(n)
    tail, cut = counts[0], 0
    while 2 * (tail + counts[cut + 1]) <= (1 - level) * 2**n:
        cut += 1
        tail += counts[cut]
    attained = max(0.0, 1 - 2 * tail / 2**n)
    return statistics.median(walsh), walsh[cut], walsh[-1 - cut], attained


def ratio_of(pairs, level=0.95):
    """Ratio of the first to the second over pairs of the same round: estimate, interval and its level, as a dictionary."""
    estimate, low, high, attained = signed_rank_interval([math.log(ours / theirs) for ours, theirs in pairs], level)
    return {"n": len(pairs), "ratio": math.exp(estimate), "low": math.exp(low), "high": math.exp(high), "level": attained}


def file_system_of(path):
    rows = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    holders = [row for row in rows if os.path.realpath(path).startswith(row[1].rstrip("/") + "/")]
    return max(holders, key=lambda row: len(row[1]))[2] if holders else "unknown"


def version_of(program, flag):
    said = subprocess.run([program, flag], capture_output=True, text=True, check=False)
    lines = [line.strip(" *") for line in said.stdout.splitlines() if line.strip()]
    return next((line for line in lines if re.search(r"\d+\.\d+", line)), "unknown")


def machine():
    """Kernel, processor and load."""
    models = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "kernel": platform.release(),
        "cpu": models[0] if models else platform.machine(),
        "cpus": os.cpu_count(),
        "load_at_start": os.getloadavg()[0],
    }
