#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `./dev gpu` measures on a machine with a GPU: gpu_lab.py --build FOLDER --results FOLDER [PART...]

Each part builds what it needs, runs its steps with their output in the open and in RESULTS/STEP.txt, and packs what there
is: a machine that goes away in the middle costs one part. Captures are kept in RESULTS/captures with what tests/data asks
of them: machine, driver, commands, and a checksum each. Without PART it goes on where the last run was cut off, with the
parts that are not in RESULTS/finished.txt; when all are, the next run begins anew, and these results are RESULTS-before. The
benchmarks of workloads run in slices of a few minutes: each run of the part `workloads` goes on where the last one ended.

The archives unpack into RESULTS: on another machine a run goes on there.
"""

import argparse
import contextlib
import dataclasses
import datetime
import hashlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tarfile

import machine


@dataclasses.dataclass
class Step:
    title: str
    name: str  # of the file with its output
    command: list
    environment: dict = dataclasses.field(default_factory=dict)
    may_fail: bool = False  # that something is missing is an answer
    unfinished: int = 0  # exit status that asks for another run; 0: none


@dataclasses.dataclass
class Part:
    name: str
    targets: list
    steps: list


def parts_of(build, results):
    """All parts, in the order of running."""
    captures = results / "captures"
    cli = build / "lib/cli/rangefinder"
    train = [build / "examples/training/train/train", "--device", "cuda", "--size", "gpu"]
    with_counters, with_samples = captures / "counters", captures / "samples"
    return [
        Part("build", ["all"], []),
        Part("tests", ["gpu_test", "examples_torch_test", "rangefinder_cli", "rangefinder_injection"], [
            # Verbose: tests that pass print what CUPTI does where its headers leave it open.
            Step("test with the GPU", "tests", ["ctest", "--test-dir", build, "-L", "gpu", "--no-tests=error", "--verbose",
                                                "--output-junit", results / "tests.xml"],
                 {"RANGEFINDER_KEEP_CAPTURES": captures}),
        ]),
        Part("cost", ["bench_launch_cost", "bench_torch_cost"], [
            Step("cost of a launch", "launch_cost", [build / "benchmarks/launch_cost/bench_launch_cost"]),
            Step("cost of a training step", "step_cost",
                 [build / "benchmarks/torch_cost/bench_torch_cost", "--only", "gpu-step", "--rounds", "5"]),
        ]),
        Part("examples", ["rangefinder_cli", "rangefinder-workloads", "train", "cuda_graph_decode"], [
            Step("what can be recorded here", "doctor", [cli, "doctor"], may_fail=True),
            Step("peak throughput and bandwidth", "peaks", [cli, "measure-peaks", "-o", results / "peaks.json"]),
            Step("train at the size of a GPU", "train", [*train, "--out", captures]),
            Step("layers inside of replayed graphs", "cuda_graph_decode",
                 [build / "examples/inference/cuda_graph_decode/cuda_graph_decode", "--out", captures]),
            Step("train with hardware counters of ranges", "train_counters", [*train, "--steps", "20", "--out", with_counters],
                 {"RANGEFINDER_CONFIG": "counters=roofline,counter_depth=1"}),
            Step("compare them with the peaks", "roofline",
                 [cli, "report", with_counters / "train.rfcap", "--view", "roofline", "--peaks", results / "peaks.json"]),
            Step("train with samples of counters and sensors", "train_samples",
                 [*train, "--steps", "40", "--out", with_samples], {"RANGEFINDER_CONFIG": "pm_sampling=device,nvml=on"}),
            Step("counters over time, by range", "samples", [cli, "report", with_samples / "train.rfcap", "--view", "counters"]),
            Step("energy by range", "energy", [cli, "report", with_samples / "train.rfcap", "--view", "energy"]),
        ]),
        Part("workloads", ["rangefinder_cli", "rangefinder-workloads"], [
            Step("benchmarks of workloads at the size of a GPU", "workloads",
                 [cli, "bench", "run", "--device", "cuda", "--size", "gpu", "--profile", "minimal", "--update-expectations",
                  "--expectations", results / "expectations.json", "--out", results / "workloads", "--resume",
                  "--time-limit", "420"], unfinished=5),
        ]),
    ]


def utc_now():
    return datetime.datetime.now(datetime.timezone.utc)


def lines_of(path):
    return path.read_text().splitlines() if path.exists() else []


def add_line(path, line):
    """Unless it is there: of a run that goes on."""
    if line not in lines_of(path):
        with open(path, "a") as file:
            file.write(line + "\n")


class Lab:
    def __init__(self, root, build, results, jobs, pack_into):
        self.root, self.build, self.results = root, build, results
        self.jobs, self.pack_into = jobs, pack_into
        self.captures = results / "captures"
        self.finished = results / "finished.txt"
        self.failed = []
        self.unfinished = []

    def left(self, parts):
        """Those that no earlier run finished."""
        finished = {line.split()[0] for line in lines_of(self.finished)}
        return [part for part in parts if part.name not in finished]

    def run_part(self, part):
        bad = len(self.failed) + len(self.unfinished)
        if self.compile(part):
            for step in part.steps:
                self.run(step)
        if len(self.failed) + len(self.unfinished) == bad:
            # Parts may be of different days: which sources each had is told here.
            add_line(self.finished, f"{part.name}  {utc_now():%Y-%m-%d %H:%M}  {machine.sources()}")
        self.pack()

    def begin(self):
        self.captures.mkdir(parents=True, exist_ok=True)
        lines = machine.facts()
        (self.results / "machine.txt").write_text("".join(line + "\n" for line in lines))
        print(*lines, sep="\n", flush=True)

    def compile(self, part):
        print(f"==> build for the GPU: {part.name}", flush=True)
        log = self.results / f"build-{part.name}.log"
        with open(log, "w") as file:
            status = subprocess.run(["cmake", "--build", self.build, "-j", str(self.jobs), "--target", *part.targets],
                                    stdout=file, stderr=subprocess.STDOUT, check=False).returncode
        if status != 0:
            print(*log.read_text(errors="replace").splitlines()[-60:], sep="\n    ", file=sys.stderr)
            self.failed.append(f"build of {part.name}: status {status}; {log}")
        return status == 0

    def run(self, step):
        print(f"==> {step.title}", flush=True)
        environment = {name: str(value) for name, value in step.environment.items()}
        words = [str(word) for word in step.command]
        shown = [f"{name}={value}" for name, value in environment.items()] + words
        add_line(self.results / "commands.txt", f"{step.name}: {shlex.join(shown)}".replace(f"{self.root}/", ""))
        with open(self.results / f"{step.name}.txt", "wb") as file:
            try:
                process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                           env={**os.environ, **environment})
            except OSError as error:
                file.write(f"{error}\n".encode())
                self.failed.append(f"{step.name}: {error}")
                return
            with process:
                for line in process.stdout:
                    sys.stdout.buffer.write(line)
                    sys.stdout.flush()
                    file.write(line)
        if step.unfinished and process.returncode == step.unfinished:
            self.unfinished.append(step.name)
        elif process.returncode != 0 and not step.may_fail:
            self.failed.append(f"{step.name}: status {process.returncode}")

    def pack(self):
        """Notes where the captures come from; makes archives of what is small and of the captures."""
        captures = sorted(path for path in self.captures.rglob("*.rfcap") if path.is_file())
        lines = lines_of(self.results / "machine.txt")
        lines.append(f"date:     {utc_now():%Y-%m-%d}")
        lines += lines_of(self.results / "commands.txt")
        for path in captures:
            lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(self.captures)}")
        (self.captures / "PROVENANCE.txt").write_text("".join(line + "\n" for line in lines))
        if self.pack_into is None:
            return
        with self.archive("gpu.tar.gz") as archive:
            for path in sorted(self.results.iterdir()):
                if path != self.captures:
                    archive.add(path, path.name)
        with self.archive("gpu-captures.tar.gz") as archive:
            archive.add(self.captures, "captures", filter=lambda entry: None if entry.name.endswith(".json.gz") else entry)

    @contextlib.contextmanager
    def archive(self, name):
        """One that takes the place of the last part's when it is whole: a machine that goes away meanwhile costs nothing."""
        new = self.pack_into / f"{name}.new"
        with tarfile.open(new, "w:gz") as archive:
            yield archive
        os.replace(new, self.pack_into / name)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="build, tests, cost, examples, workloads (default: all)")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the configured build folder")
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--pack-into", type=pathlib.Path, help="where the archives go, after each part")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--dry-run", action="store_true", help="print the commands and run none")
    options = parser.parse_args(arguments)
    root = pathlib.Path.cwd()
    parts = parts_of(options.build, options.results)
    names = [part.name for part in parts]
    for name in options.parts:
        if name not in names:
            parser.error(f"no part '{name}'; there are {', '.join(names)}")
    lab = Lab(root, options.build, options.results, options.jobs, options.pack_into)
    chosen = [part for part in parts if part.name in options.parts] if options.parts else lab.left(parts)
    anew = not chosen
    if anew:
        chosen = parts
    if options.dry_run:
        for part in chosen:
            print(f"{part.name}: build {' '.join(part.targets)}")
            for step in part.steps:
                print(f"    {shlex.join(str(word) for word in step.command)}")
        return 0
    if anew:
        before = options.results.with_name(options.results.name + "-before")
        shutil.rmtree(before, ignore_errors=True)
        options.results.rename(before)
    elif not options.parts and len(chosen) < len(parts):
        print(f"==> going on; finished before: {options.results}/{lab.finished.name}")
    lab.begin()
    for part in chosen:
        lab.run_part(part)
    for failure in lab.failed:
        print(f"gpu_lab: failed: {failure}", file=sys.stderr)
    for name in lab.unfinished:
        print(f"==> {name}: not finished, run it again to go on")
    print(f"==> results are in {options.pack_into or options.results}")
    return 1 if lab.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
