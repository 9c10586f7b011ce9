#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Work of LibTorch, cuBLASLt, Triton, NCCL and a CUDA graph in Python, under `rangefinder record`: each operation belongs
to the NVTX range that launched it, and callback and record of every launch agree.
torch_test.py --command RANGEFINDER --python PYTHON"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--command", required=True)
parser.add_argument("--python", required=True)
options = parser.parse_args()

failures = []


def check(true, text):
    print(("ok       " if true else "FAILED   ") + text)
    if not true:
        failures.append(text)


def run(*words):
    return subprocess.run(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=280)


kept = os.environ.get("RANGEFINDER_KEEP_CAPTURES")
folder = tempfile.TemporaryDirectory()
capture = pathlib.Path(kept or folder.name) / "torch.rfcap"
program = pathlib.Path(__file__).with_name("torch_program.py")
recorded = run(options.command, "record", "-o", capture, "--", options.python, program)
if recorded.returncode == 77:
    print("SKIPPED: no torch with a CUDA device in " + options.python)
    sys.exit(77)
check(recorded.returncode == 0, f"the program ended with {recorded.returncode}")
if failures:
    sys.exit(1)
told = json.loads(recorded.stdout.splitlines()[-1])
done = told["done"]
print(f"torch.profiler saw {told['device_events_of_torch_profiler']} device events meanwhile; done: {done}")


def report(attribution):
    result = run(options.command, "report", capture, "--json", "--attribute", attribution)
    check(result.returncode == 0, f"report by {attribution}")
    return json.loads(result.stdout)


by_launch, by_capture = report("launch"), report("capture")
operations = {row["range"]: row["gpu_ops"] for row in by_launch["rows"]}
for name, times in done.items():
    check(operations.get(name, 0) >= times, f"{name}: {operations.get(name, 0)} operations in {times} ranges")
if "graph" in done:
    captured = {row["range"]: row["gpu_ops"] for row in by_capture["rows"]}
    for layer in ("layer.0", "layer.1"):
        # One more: the replay before the ranges.
        check(captured.get(layer, 0) == done["graph"] + 1, f"{layer}: {captured.get(layer, 0)} operations")
    check(operations.get("layer.0", 0) == 0, "by launch a replay has no layers")
account = by_launch["account"]
check(account["unknown"]["gpu_ops"] == 0, f"launch unknown: {account['unknown']['gpu_ops']} of {account['total']['gpu_ops']}")
counted = {entry["counter"]: entry["count"] for entry in by_launch["health"]}
check(counted.get("launch_disagreements", 0) == 0, f"callback and record agree; counted: {counted}")
check(not by_launch["simulated"], "nothing was simulated")
sys.exit(1 if failures else 0)
