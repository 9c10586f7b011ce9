#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What figures are worth nothing without: processor, load, sources and GPUs of this machine."""

import os
import pathlib
import platform
import subprocess


def output_of(*command):
    """What a command prints, or nothing where it fails or is not there."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def sources():
    return output_of("git", "describe", "--always", "--dirty") or "no git"


def facts():
    """Lines for people."""
    processor = next((line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), platform.machine())
    lines = [f"machine:  {processor}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
             f"load:     {' '.join(str(round(load, 2)) for load in os.getloadavg())}   (figures of a busy machine are worth little)",
             f"sources:  {sources()}"]
    gpus = output_of("nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.mem", "--format=csv,noheader")
    return lines + [f"gpu:      {gpu}" for gpu in gpus.splitlines()]


if __name__ == "__main__":
    print(*facts(), sep="\n")
