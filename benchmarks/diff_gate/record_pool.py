#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a pool of runs for bench_diff_gate, while other processes come and go on the same processors.

    record_pool.py PROGRAM FOLDER [--runs 240] [--steps 600] [--seed 1] [--nice 0] [--slow-percent 5]

Each run has a load of its own: none, or one or two processes that compute for some milliseconds and then rest. How long,
and how many, is drawn anew for each run and changes while it lasts. FOLDER gets run_000.rfcap and so on, and `load.csv`,
which says what each run had beside it, how long it took, and the load of the machine.

--slow-percent: every fourth run more is one of a program that does so much more work, into FOLDER_slow.
--nice: the priority of the program, below 0 (as root) where others work on the machine too. The load keeps its own.
"""
import argparse
import csv
import multiprocessing
import os
import random
import subprocess
import sys
import time


def load(seed, most_busy_ms, most_rest_ms):
    """Computes and rests in turns, each time for as long as is drawn, until it is ended."""
    draw = random.Random(seed)
    while True:
        end = time.monotonic() + draw.uniform(0, most_busy_ms) / 1000
        while time.monotonic() < end:
            sum(range(200))
        time.sleep(draw.uniform(0, most_rest_ms) / 1000)


def draw_load(draw):
    """How many processes, and how long each computes and rests at most, in milliseconds."""
    processes = draw.choice([0, 0, 1, 1, 2])
    return processes, draw.choice([20, 100, 400]), draw.choice([50, 200, 800])


def record(program, path, steps, nice, slow_percent, processes, busy_ms, rest_ms, seed):
    beside = [multiprocessing.Process(target=load, args=(seed * 10 + i, busy_ms, rest_ms), daemon=True)
              for i in range(processes)]
    for process in beside:
        process.start()
    begin = time.monotonic()
    try:
        command = [program, "--output", path, "--steps", str(steps)]
        if slow_percent:
            command += ["--slow-percent", str(slow_percent)]
        subprocess.run(command, check=True, preexec_fn=lambda: os.nice(nice))
        return time.monotonic() - begin
    finally:
        for process in beside:
            process.terminate()
            process.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=240)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--slow-percent", type=int, default=0)
    options = parser.parse_args()
    slow_folder = options.folder.rstrip("/") + "_slow"
    os.makedirs(options.folder, exist_ok=True)
    if options.slow_percent:
        os.makedirs(slow_folder, exist_ok=True)
    draw = random.Random(options.seed)
    with open(os.path.join(options.folder, "load.csv"), "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["run", "slow_percent", "processes", "busy_ms", "rest_ms", "seconds", "load_average"])

        def add(folder, run, slow_percent):
            drawn = draw_load(draw)
            path = os.path.join(folder, f"run_{run:03}.rfcap")
            seconds = record(options.program, path, options.steps, options.nice, slow_percent, *drawn,
                             seed=draw.randrange(1 << 30))
            rows.writerow([run, slow_percent, *drawn, f"{seconds:.3f}", f"{os.getloadavg()[0]:.2f}"])

        for run in range(options.runs):
            add(options.folder, run, 0)
            if options.slow_percent and run % 4 == 3:
                add(slow_folder, run // 4, options.slow_percent)
            if run % 20 == 19:
                print(f"{run + 1} of {options.runs} runs", file=sys.stderr)


if __name__ == "__main__":
    main()
