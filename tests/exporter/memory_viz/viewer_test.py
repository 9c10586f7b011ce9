#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PyTorch's own memory viewer, of the wheel that LibTorch is of, reads what `export --format memory_viz` writes, and finds
the bytes that our report finds.

viewer_test.py --torch-python PYTHON --command RANGEFINDER --inputs CLI_TEST_INPUTS [--recorder MEMORY_SNAPSHOT]
"""
import argparse
import base64
import csv
import io
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

MOMENTS = {"end": "At the end (B)", "peak": "Peak (B)"}


class Wrong(Exception):
    pass


def check(true, what):
    if not true:
        raise Wrong(what)


def run(*words):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300)
    check(done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def viewer(python, *words):
    return run(python, "-m", "torch.cuda._memory_viz", *words)


def in_words(size):
    """A number of bytes as the viewer writes it."""
    for unit in ["", "Ki", "Mi", "Gi"]:
        if size < 1024:
            return f"{size:3.1f}{unit}B"
        size /= 1024
    return f"{size:3.1f}TiB"


def held(snapshot):
    return sum(block["size"] for segment in snapshot["segments"] for block in segment["blocks"]
               if block["state"] == "active_allocated")


def check_stats(python, file, size):
    text = viewer(python, "stats", file)
    found = re.search(r"^total_allocated: (\S+)$", text, re.MULTILINE)
    check(found, f"no total in {text[-500:]!r}")
    check(found[1] == in_words(size), f"{file}: the viewer finds {found[1]}, the report {in_words(size)} ({size})")


def check_trace(python, file):
    text = viewer(python, "trace", file)
    with open(file, "rb") as opened:
        traces = pickle.load(opened)["device_traces"]
    entries = [int(number) for number in re.findall(r"^(\d+) entries$", text, re.MULTILINE)]
    check(entries == [len(trace) for trace in traces if trace], f"{file}: {entries} entries")
    check(sum(entries) > 0, f"{file}: no entries")
    allocations = sum(event["action"] == "alloc" for trace in traces for event in trace)
    check(len(re.findall(r"^\S+ = \S+\[\d+:\S+\]$", text, re.MULTILINE)) == allocations, f"{file}: allocations")


def check_plot(python, plot, file, size):
    page = file.with_suffix(f".{plot}.html")
    viewer(python, plot, file, "-o", page)
    text = page.read_text()
    check({"trace_plot": "Active Memory Timeline", "segment_plot": "Allocator State History"}[plot] in text,
          f"{page}: not the page for {plot}")
    embedded = json.loads(re.search(r"^const local_files = (.*)$", text, re.MULTILINE)[1])
    check(held(pickle.loads(base64.b64decode(embedded[0]["base64"]))) == size, f"{page}: holds other blocks")


def exported(command, capture, moment):
    file = capture.with_suffix(f".{moment}.pickle")
    run(command, "export", capture, "--format", "memory_viz", "--at", moment, "-o", file)
    rows = csv.DictReader(io.StringIO(run(command, "report", capture, "--view", "memory_devices", "--csv")))
    return file, sum(int(row[MOMENTS[moment]]) for row in rows if row["Pool"] == "all")


def fails(function, *arguments):
    try:
        function(*arguments)
    except Wrong:
        return True
    return False


def check_ourselves(python, file, size):
    """What is wrong with a snapshot is found."""
    good = file.read_bytes()
    cut = file.with_suffix(".cut.pickle")
    cut.write_bytes(good[: len(good) // 2])
    check(fails(check_stats, python, cut, size), "half a pickle passes")
    check(fails(check_stats, python, file, size + 64), "other figures pass")
    snapshot = pickle.loads(good)
    snapshot["segments"][0]["blocks"][0]["size"] += 64
    gap = file.with_suffix(".gap.pickle")
    gap.write_bytes(pickle.dumps(snapshot))
    check(fails(check_stats, python, gap, size), "a block that is larger than its segment passes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch-python", default="")
    parser.add_argument("--command", required=True)
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--recorder", default="")
    arguments = parser.parse_args()
    python = arguments.torch_python
    if not os.access(python, os.X_OK):
        print("SKIPPED: LibTorch is not of a Python environment with an interpreter")
        return
    with tempfile.TemporaryDirectory(prefix="rangefinder-viewer-") as name:
        folder = pathlib.Path(name)
        run(arguments.inputs, folder)
        for moment in MOMENTS:
            file, size = exported(arguments.command, folder / "memory.rfcap", moment)
            check(size > 0, f"nothing is held at the {moment}")
            check_stats(python, file, size)
        check_trace(python, file)
        check_plot(python, "trace_plot", file, size)
        check_plot(python, "segment_plot", file, size)
        check_ourselves(python, file, size)
        if arguments.recorder:
            recorded = folder / "recorded"
            recorded.mkdir()
            run(arguments.recorder, recorded)
            file, size = exported(arguments.command, recorded / "memory.rfcap", "peak")
            check(size > 1 << 20, f"the example's peak is {size}")
            with open(file, "rb") as opened:
                check(held(pickle.load(opened)) == size, "blocks of the recording are not those of its peak")
            check_stats(python, file, size)
            check_trace(python, file)


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        sys.exit(f"viewer_test: {wrong}")
