# SPDX-License-Identifier: MIT
"""Perfetto's trace_processor loads a trace and sums the time of kernels by name. Run by compare_peers.py.

usage: trace_processor.py TRACE SHELL

SHELL is the program trace_processor_shell of a release of Perfetto.
"""
import csv
import subprocess
import sys
import tempfile

import answer

SUMS = "SELECT name, COUNT(*) AS count, SUM(dur) AS ns FROM slice WHERE category = 'kernel' GROUP BY name"

trace, shell = sys.argv[1:]
with tempfile.NamedTemporaryFile("w", suffix=".sql") as query:
    query.write(SUMS + ";\n")
    query.flush()
    watch = answer.Watch()
    done = subprocess.run([shell, "-q", query.name, trace], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip()[-500:])
    rows = csv.reader(done.stdout.splitlines())
    next(rows)
    watch.give((name, count, ns) for name, count, ns in rows)
