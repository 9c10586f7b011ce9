#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a range costs in Python: python_cost.py [--rounds N] [--only TEXT].

Each case has a process of its own; they take turns, and each round gives a ratio to the floor of its table in that
round: a context manager that does nothing, or an unmarked module. Printed: the least time, the median of the
ratios, their 10th and 90th percentile. Peers that are not installed are left out and named.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

LOOP = """
def run(n):
    for _ in range(n):
        {statement}
"""
NOTHING = """
class Nothing:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace): pass
nothing = Nothing()
"""
RECORD = "session = rangefinder.Session(folder + '/x.rfcap')\n"
PROFILE = "profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]); profiler.__enter__()\n"
DECORATED = "@rangefinder.range('x')\ndef marked(): pass\n"
MODULE = "model = torch.nn.Identity()\n"
MARK = MODULE + "rangefinder.torch.mark_modules(model)\n"
# table, name, modules, set-up, statement
CASES = [
    ("with", "floor: a context manager that does nothing", "", NOTHING, "with nothing: pass"),
    ("with", "range kept, off", "rangefinder", "kept = rangefinder.range('x')", "with kept: pass"),
    ("with", "range kept, recording", "rangefinder", RECORD + "kept = rangefinder.range('x')", "with kept: pass"),
    ("with", "range by name, off", "rangefinder", "", "with rangefinder.range('x'): pass"),
    ("with", "range by name, recording", "rangefinder", RECORD, "with rangefinder.range('x'): pass"),
    ("with", "range with a value, recording", "rangefinder", RECORD, "with rangefinder.range('x', value=7): pass"),
    ("with", "record_function, no profiler", "torch", "", "with torch.profiler.record_function('x'): pass"),
    ("with", "record_function, torch.profiler", "torch", PROFILE, "with torch.profiler.record_function('x'): pass"),
    ("with", "nvtx.annotate, no tool", "nvtx", "", "with nvtx.annotate('x'): pass"),
    ("with", "torch.cuda.nvtx.range, no tool", "torch", "torch.cuda.nvtx.range_push('x'); torch.cuda.nvtx.range_pop()",
     "with torch.cuda.nvtx.range('x'): pass"),
    ("call", "floor: a function that does nothing", "", "def plain(): pass", "plain()"),
    ("call", "decorated, off", "rangefinder", DECORATED, "marked()"),
    ("call", "decorated, recording", "rangefinder", RECORD + DECORATED, "marked()"),
    ("module", "floor: torch.nn.Identity", "torch", MODULE, "model(1)"),
    ("module", "hooks of torch that do nothing", "torch", MODULE + "model.register_forward_pre_hook(lambda m, a: None)\n"
     "model.register_forward_hook(lambda m, a, r: None, always_call=True)", "model(1)"),
    ("module", "marked, off", "torch rangefinder", MARK, "model(1)"),
    ("module", "marked, recording", "torch rangefinder", RECORD + MARK, "model(1)"),
    ("module", "marked, recording, with autograd's numbers", "torch rangefinder",
     "rangefinder.torch.enable()\n" + RECORD + MARK, "model(1)"),
]
TURN_NS = 4_000_000


def child(index):
    """Answers each line with the nanoseconds of one iteration."""
    warnings.filterwarnings("ignore")
    _, _, modules, set_up, statement = CASES[index]
    names = {}
    with tempfile.TemporaryDirectory() as folder:
        names["folder"] = folder
        for module in modules.split():
            exec(f"import {module}", names)
        exec(set_up + LOOP.format(statement=statement), names)
        run, n = names["run"], 1000
        run(n)
        began = time.perf_counter_ns()
        run(n)
        n = max(100, int(n * TURN_NS / (time.perf_counter_ns() - began)))
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # threads that are there already stay where they are
        print("ready", flush=True)
        for _ in sys.stdin:
            run(n // 4)
            began = time.perf_counter_ns()
            run(n)
            print((time.perf_counter_ns() - began) / n, flush=True)
        sys.stdout.close()
        os._exit(0)  # a profiler would work through its events


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    running = []
    for index, (table, name, *_) in enumerate(CASES):
        if options.only not in name and not name.startswith("floor"):
            continue
        process = subprocess.Popen([sys.executable, __file__, "--child", str(index)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if process.stdout.readline() != "ready\n":
            reason = process.stderr.read().strip()
            if "rangefinder" in CASES[index][2]:
                sys.exit(f"{name}: {reason}")
            print(f"left out: {name}: {reason.splitlines()[-1]}")
            continue
        running.append((table, name, process, []))
    for _ in range(options.rounds):
        for _, _, process, took in running:
            process.stdin.write("go\n")
            process.stdin.flush()
            took.append(float(process.stdout.readline()))
    for _, _, process, _ in running:
        process.stdin.close()
        process.wait()
    print(f"Python {sys.version.split()[0]}, {options.rounds} rounds")
    print("| case | min ns | ratio | spread |\n|---|---:|---:|---|")
    floors = {table: took for table, name, _, took in running if name.startswith("floor")}
    for table, name, _, took in running:
        ratios = sorted(mine / floor for mine, floor in zip(took, floors[table]))
        spread = f"{ratios[len(ratios) // 10]:.2f} to {ratios[len(ratios) * 9 // 10]:.2f}"
        print(f"| {name} | {min(took):.0f} | {statistics.median(ratios):.2f} | {spread} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(int(sys.argv[2]))
    else:
        main()
