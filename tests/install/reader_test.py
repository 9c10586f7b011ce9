#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command for readers alone is one file: alone in a folder it reads and exports. ./dev reader runs this.

    reader_test.py --command out/reader/rangefinder-reader
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MAY_NEED = re.compile(r"lib(c|m|dl|pthread)\.so\.|ld-linux")
TRACE = {"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 5,
     "args": {"correlation": 7}},
    {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 20, "dur": 50,
     "args": {"device": 0, "context": 1, "stream": 7, "correlation": 7}}]}


def fail(text):
    sys.exit(f"FAILED: {text}")


def run(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    if done.returncode != 0:
        fail(f"{' '.join(map(str, words))}\nexit status {done.returncode}\n{done.stdout}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", type=pathlib.Path, required=True)
    given = parser.parse_args().command
    with tempfile.TemporaryDirectory(prefix="rangefinder-reader-") as name:
        folder = pathlib.Path(name)
        command = folder / "reader"
        shutil.copy(given, command)
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--wide", "--dynamic", command))
        if [library for library in needed if not MAY_NEED.match(library)]:
            fail(f"it needs {needed}")
        if re.search(r"R(UN)?PATH", run("readelf", "--wide", "--dynamic", command)):
            fail("it has a search path for libraries")
        trace = folder / "trace.json"
        trace.write_text(json.dumps(TRACE))
        rows = json.loads(run(command, "report", trace, "--view", "tree", "--json"))["rows"]
        if [row["path"] for row in rows] != ["forward"]:
            fail(f"the report: {rows}")
        run(command, "export", trace, "-o", folder / "again.json.gz")
        if re.search(r"^ +record\b", run(command, "--help"), re.M):
            fail("it says that it records")
        print(f"{run(command, '--version').strip()}: {given.stat().st_size >> 10} KiB, needs {' '.join(needed)}")


if __name__ == "__main__":
    main()
