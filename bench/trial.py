"""A command and the record that Fathom makes of it, as the benchmarks of many hosts run them."""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path


def run(words, directory, ends=(0,)):
    began = time.monotonic()
    done = subprocess.run(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in ends:
        sys.exit(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr[-2000:]}")
    return time.monotonic() - began


def measured(words, directory, ends=(0, 4)):
    """The record of a run."""
    path = Path(directory, "record.jsonl")
    path.unlink(missing_ok=True)
    # A skew beyond the limit is an answer here.
    run([*words, "--records", path.name], directory, ends)
    return json.loads(path.read_text().splitlines()[-1])


def rate(record):
    return sum(kind["count"] for kind in record["operations"].values()) / record["elapsed_ns"] * 1e9


def at(values, share):
    """The value that this share of all do not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def built(source, directory, *flags):
    """What CC makes of a source beside this file; `None` where it cannot."""
    compiler = (os.environ.get("CC") or "cc").split()
    out = Path(directory, Path(source).stem)
    words = [*compiler, "-O2", "-std=gnu11", "-o", out, Path(__file__).with_name(source), *flags]
    return out if shutil.which(compiler[0]) and subprocess.run(words).returncode == 0 else None
