#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seconds of processor time, MiB of memory and MiB of output of every view, of export, info and check, on captures whose ranges nest very deep.

    deep_nesting.py --command build/dev/lib/cli/rangefinder --maker build/dev/tests/report/make_deep_capture
    deep_nesting.py ... --depth 8000 --shape same --formats json --views tree

Prints a table and exits with 1 when a run fails or passes a bound. No test: times depend on the machine.
"""
import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading

SHAPES = {"same": [], "own": ["own-names"], "operators": ["own-names", "operators"]}
FORMATS = {"text": [], "csv": ["--csv"], "json": ["--json"]}


class Run:
    """A command that was run to its end, or until it took longer than `limit` seconds."""

    def __init__(self, command, limit, memory):
        def bounded():
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=bounded)
        timer = threading.Timer(limit, lambda: os.kill(process.pid, signal.SIGKILL))
        timer.start()
        self.output = 0
        while piece := process.stdout.read1(1 << 20):
            self.output += len(piece)
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = usage.ru_utime + usage.ru_stime
        self.mib = usage.ru_maxrss / 1024
        self.code = process.returncode

    def text(self):
        if self.code != 0:
            return f"exit {self.code} after {self.seconds:.1f} s, {self.mib:.0f} MiB"
        return f"{self.seconds:.2f} s {self.mib:.0f} MiB {self.output / (1 << 20):.1f}"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--depth", type=int, default=1_000_000)
    parser.add_argument("--shape", choices=SHAPES, nargs="*", default=["same", "own"])
    parser.add_argument("--formats", choices=FORMATS, nargs="*", default=list(FORMATS))
    parser.add_argument("--views", nargs="*", default=[], help="also export, info, check; default all")
    parser.add_argument("--seconds", type=float, default=3, help="bound on each run")
    parser.add_argument("--mib", type=float, default=1024, help="bound on each run")
    parser.add_argument("--give-up", type=float, default=20, help="seconds after which a run is ended")
    parser.add_argument("--most-mib", type=float, default=4096, help="address space that a run gets")
    return parser.parse_args()


def main():
    given = arguments()
    listed = subprocess.run([given.command, "report", "--view", "help"], capture_output=True, text=True, check=True)
    views = [line.split()[0] for line in listed.stdout.splitlines()]
    wanted = given.views or views + ["export", "info", "check"]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="rangefinder-") as folder:
        for shape in given.shape:
            capture = os.path.join(folder, shape + ".rfcap")
            subprocess.run([given.maker, capture, str(given.depth), *SHAPES[shape]], check=True)
            print(f"\n{given.depth} deep, {shape}: {os.path.getsize(capture) / (1 << 20):.1f} MiB\n"
                  f"\n| | {' | '.join(given.formats)} |\n|---{'|---' * len(given.formats)}|", flush=True)
            ranges = ["--ranges", "both"] if shape == "operators" else []
            for view in wanted:
                runs = []
                for form in given.formats:
                    if view == "export":
                        command = [given.command, "export", capture, "-o", "-"]
                    elif view in ("info", "check"):
                        command = [given.command, view, capture] + (["--json"] if form == "json" else [])
                    else:
                        command = [given.command, "report", capture, "--view", view, *FORMATS[form], *ranges]
                    run = Run(command, given.give_up, int(given.most_mib) << 20)
                    if run.code != 0 or run.seconds > given.seconds or run.mib > given.mib:
                        missed += 1
                    runs.append(run.text())
                    if view == "export":
                        break
                print(f"| {view} | {' | '.join(runs)} |", flush=True)
    print(f"\n{missed} runs failed or passed a bound of {given.seconds} s and {given.mib:.0f} MiB")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
