#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Load a torch.profiler trace with our command and with HolisticTraceAnalysis, in turns, and print the ratios.

usage: compare_hta.py TRACE [--rounds N] [--hta-python PYTHON] -- COMMAND [ARGUMENT ...]

COMMAND is what we run; {} in it stands for the trace, which is appended when no {} is there:

    compare_hta.py trace.json.gz --hta-python hta-venv/bin/python -- build/rangefinder report {}

Ours counts as a whole process, from start to exit. HTA's wall and CPU time are those of loading the trace alone, without
the import of its packages; its memory is the peak of its process, as ours is. Each round runs both, the order alternating,
so that whatever else the machine does meets both alike. Printed are medians with the lowest and highest, and the ratio of
each round, HTA to ours. Without HTA (pip install HolisticTraceAnalysis==0.5.0 "pandas<3" in a virtual environment) only
ours is measured, and it says so.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HTA_LOAD = r"""
import json, logging, resource, sys, time, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
from hta.trace_analysis import TraceAnalysis

def cpu():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))

wall, begin = time.perf_counter(), cpu()
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, include_last_profiler_step=True)
rows = len(analysis.t.get_trace(0))
print(json.dumps({"wall_s": time.perf_counter() - wall, "cpu_s": cpu() - begin, "rows": rows}))
"""


def run(command):
    """One child from start to exit: wall and CPU seconds, peak MiB, what it printed. Ends the program when it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            sys.exit(f"{command[0]} ended with {child.returncode}: {err.read().decode(errors='replace').strip()[-500:]}")
        return {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024,
                "stdout": out.read().decode(errors="replace")}


def run_hta(python, trace):
    whole = run([python, "-c", HTA_LOAD, trace])
    load = json.loads(whole["stdout"].strip().splitlines()[-1])
    return {"wall_s": load["wall_s"], "cpu_s": load["cpu_s"], "peak_mib": whole["peak_mib"], "rows": load["rows"]}


def hta_works(python):
    if python is None:
        return False, "no --hta-python given"
    try:
        probe = subprocess.run([python, "-c", "import hta.trace_analysis"], capture_output=True, text=True)
    except OSError as error:
        return False, str(error)
    return probe.returncode == 0, probe.stderr.strip().splitlines()[-1] if probe.returncode else ""


def spread(values, form):
    return f"{form.format(statistics.median(values))}  ({form.format(min(values))} .. {form.format(max(values))})"


MEASURES = [("wall", "wall_s", "{:.3f} s"), ("cpu", "cpu_s", "{:.3f} s"), ("peak memory", "peak_mib", "{:.1f} MiB")]


def report(ours, theirs):
    for label, key, form in MEASURES:
        print(f"{label:12} ours  {spread([x[key] for x in ours], form)}")
        if theirs:
            print(f"{'':12} HTA   {spread([x[key] for x in theirs], form)}")
            ratios = [b[key] / a[key] for a, b in zip(ours, theirs)]
            print(f"{'':12} ratio {spread(ratios, '{:.1f}')}  HTA / ours, round by round")


def parse_arguments():
    words = sys.argv[1:]
    command = []
    if "--" in words:
        command = words[words.index("--") + 1:]
        words = words[:words.index("--")]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hta-python", help="Python of a virtual environment that has HolisticTraceAnalysis")
    arguments = parser.parse_args(words)
    if not command:
        parser.error("what shall we run? put it behind --, for example: -- rangefinder report {}")
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if "{}" not in command:
        command.append("{}")
    arguments.command = [arguments.trace if word == "{}" else word for word in command]
    return arguments


def main():
    arguments = parse_arguments()
    present, reason = hta_works(arguments.hta_python)
    if not present:
        print(f"HolisticTraceAnalysis: not here ({reason}); ours alone")
    ours, theirs = [], []
    run(arguments.command)  # once unmeasured, so that the file is in memory for both
    for i in range(arguments.rounds):
        for who in ("ours", "hta") if i % 2 == 0 else ("hta", "ours"):
            if who == "ours":
                ours.append(run(arguments.command))
            elif present:
                theirs.append(run_hta(arguments.hta_python, os.path.abspath(arguments.trace)))  # HTA wants it so
    print(f"{arguments.trace}: {os.path.getsize(arguments.trace) / 1e6:.1f} MB, {arguments.rounds} rounds")
    report(ours, theirs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
