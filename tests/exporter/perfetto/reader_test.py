#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Perfetto's own reader takes what `export --format perfetto` writes, and counts the same slices.

reader_test.py --readers FOLDER --command RANGEFINDER --inputs CLI_TEST_INPUTS

FOLDER/perfetto_parses.py FILE ends with 0 for a good trace, with 1 for a bad one and with 2 where it cannot check. The
interpreter that runs it is RANGEFINDER_READERS_PYTHON, or this one.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CANNOT_CHECK = 2
# Fields of Perfetto's extension for GPUs are not in the schema that the checker has.
WAYS = {"stages": [], "linked": ["--allow-unknown"], "slices": []}


def run(*words):
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600)


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(0)


def main():
    parser = argparse.ArgumentParser()
    for name in ["readers", "command", "inputs"]:
        parser.add_argument("--" + name, default="")
    arguments = parser.parse_args()
    checker = pathlib.Path(arguments.readers) / "perfetto_parses.py"
    if not arguments.readers or not checker.is_file():
        skip("no folder with perfetto_parses.py: set RANGEFINDER_FOREIGN_READERS")
    python = os.environ.get("RANGEFINDER_READERS_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        made = run(arguments.inputs, folder)
        if made.returncode != 0:
            sys.exit(f"{arguments.inputs}: {made.stderr}")
        captures = sorted(folder.glob("*.rfcap"))
        wrong = []
        for capture in captures:
            for way, options in WAYS.items():
                trace = folder / f"{capture.stem}.{way}.pftrace"
                done = run(arguments.command, "export", capture, "--format", "perfetto", "--gpu", way, "-o", trace, "--json")
                if done.returncode != 0:
                    continue  # inputs that cannot be opened are those of other tests
                slices = json.loads(done.stdout)["slices"]
                if slices == 0:
                    continue
                # The schema for all; the reader in a browser, which takes seconds, for one way of each capture.
                checked = run(python, checker, trace, *options, *([] if way == "stages" else ["--protos-only"]))
                if checked.returncode == CANNOT_CHECK:
                    skip(checked.stderr.strip().splitlines()[-1])
                if checked.returncode != 0:
                    wrong.append(f"{trace.name}: {checked.stdout[-2000:]}{checked.stderr[-2000:]}")
        if not captures:
            wrong.append("no captures")
        if wrong:
            sys.exit("\n".join(wrong))
    print("ok")


if __name__ == "__main__":
    main()
