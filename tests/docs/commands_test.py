#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every command of README.md and docs/, and compares the output that a page shows.

Where captures come from: docs_test_inputs (make_inputs.cpp) writes those that the pages name: train.rfcap, server.rfcap, run/ ...
Output is compared by shape: headings, names of rows and order count, figures do not.
Commands that cannot run here are in NOT_RUN, with the reason; an entry that no page has any more is an error.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import pages

OPTIONS = None
PROGRAMS = r"rangefinder|python|pip|cmake|ctest|apt-get|torchrun|mkdir|tensorboard|c\+\+|\./\w+|RANGEFINDER_\w+=|NCCL_\w+=|nsys|dcgmi|aws|spark-submit"

BUILDS = "builds this tree: tests/install and the presets do"
DEVELOPS = "is for developers of this tree, and would run these tests"
NETWORK = "needs the network"
SERVES = "serves until it is ended: tests/cli/view_test.py does"
TORCH = "needs LibTorch from Python"
PARQUET = "needs pyarrow and DuckDB: tests/exporter/parquet/fleet_test.py does"
WHEEL = "tests/install/wheel_test.py does, which ./dev wheel runs"
NOT_RUN = {
    "./dev build dev": BUILDS,
    "ctest --preset dev -R projection": DEVELOPS,
    "./dev build asan && ctest --preset asan": BUILDS,
    "./dev build alone": BUILDS,
    "./dev build release": BUILDS,
    "ctest --preset dev -R '^docs'": DEVELOPS,
    "ctest --preset dev -V -R examples/torch.unit": DEVELOPS,
    "./dev format": DEVELOPS,
    "./dev tidy": DEVELOPS,
    "./dev demo": BUILDS,
    "./dev test": BUILDS,
    "./dev test --all": BUILDS,
    "./dev bench": DEVELOPS,
    "./dev bench hot_path": DEVELOPS,
    "./dev bench torch_cost": DEVELOPS,
    "./dev bench python_cost": DEVELOPS,
    "./dev bench compare_peers": DEVELOPS,
    "./dev gpu [PART...]": "needs a GPU",
    "./dev gpu cost": "needs a GPU",
    "./dev workloads --size cpu --device cpu --format both": "runs for hours",
    "RANGEFINDER_UPDATE_GOLDEN=1 ctest --preset dev -R 'install.(symbols|abi)'": DEVELOPS,
    "apt-get install g++ cmake ninja-build pkg-config libfmt-dev libzstd-dev zlib1g-dev libdeflate-dev libsqlite3-dev "
    "libxxhash-dev libprotozero-dev libcli11-dev nlohmann-json3-dev libdw-dev catch2": "needs root",
    "cmake --preset release && cmake --build build/release && cmake --install build/release --prefix ~/rangefinder": BUILDS,
    "cmake --preset release": BUILDS,
    "cmake --build build/release": BUILDS,
    "cmake --install build/release --prefix ~/rangefinder": BUILDS,
    "cmake --preset release -D RANGEFINDER_TORCH_DIR=$(python -c 'import os, torch; print(os.path.dirname(torch.__file__))')": BUILDS,
    'cmake --build build/release && cmake --install build/release --prefix "$VIRTUAL_ENV"': BUILDS,
    'RANGEFINDER_EXHAUSTIVE=1 critical_path_test "the graph takes*"': BUILDS,
    "pip install ./python": "tests/python/package_test.py does",
    "./dev wheel": BUILDS,
    "./dev deb": BUILDS,
    "./dev reader": BUILDS,
    "pip install rangefinder-0.1.0-py3-none-manylinux_2_35_x86_64.whl": WHEEL,
    "cmake -D CMAKE_PREFIX_PATH=$(python -m rangefinder --cmake-dir) ...": WHEEL,
    "python -m rangefinder build-torch": WHEEL,
    "python -m rangefinder --cmake-dir": WHEEL,
    "python -m rangefinder": WHEEL,
    "rangefinder record -o train.rfcap -- python train.py": TORCH,
    "rangefinder record -- python train.py": TORCH,
    "apt-get install ./librangefinder0_*.deb ./rangefinder_*.deb ./librangefinder-dev_*.deb": "needs root",
    "cmake -B build -G Ninja -D CMAKE_PREFIX_PATH=~/rangefinder -D LibTorch_ROOT="
    "$(python -c 'import os, torch; print(os.path.dirname(torch.__file__))')": "install.libtorch does",
    "cmake --build build": "follows a command that is listed, or test_cmake_of_the_pages_configures",
    "cmake -B build -G Ninja -D CMAKE_PREFIX_PATH=~/rangefinder": "test_cmake_of_the_pages_configures does",
    "pip install torch-tb-profiler tensorboard": NETWORK,
    "tensorboard --logdir runs": "is a server, and not installed here",
    "torchrun --nproc-per-node 8 ...": "needs LibTorch and eight devices",
    "torchrun --nproc-per-node 8": "needs LibTorch and eight devices",
    "rangefinder record -o run/%h-%r-%p.rfcap -- torchrun --nproc-per-node 8 train.py": "needs LibTorch and eight devices",
    "RANGEFINDER_NCCL_KERNELS=on rangefinder record -o run/%h-%r-%p.rfcap -- torchrun --nproc-per-node 8 train.py":
        "needs LibTorch and eight devices",
    "python -m torch.cuda._memory_viz trace_plot now.pickle -o now.html": TORCH,
    "nsys stats -r NAME": "another tool",
    "nsys export --type sqlite": "another tool",
    "dcgmi profile --pause": "another tool",
    "rangefinder export run/ --format parquet -o fleet/ --job bert --run 7": PARQUET,
    "rangefinder fleet fleet/ --view stragglers": PARQUET,
    "rangefinder fleet fleet/ --view kernels --top 20 --job bert": PARQUET,
    "rangefinder fleet fleet/ --view loss --csv": PARQUET,
    "pip install pyspark": NETWORK,
    "python examples/fleet/fleet_job.py --folder fleet --view stragglers --master 'local[2]'": PARQUET,
    "aws s3 sync fleet/ s3://profiles/fleet/": "needs a cluster",
    "spark-submit --master yarn --deploy-mode cluster --files stragglers.sql examples/fleet/fleet_job.py --folder "
    "s3a://profiles/fleet --view stragglers --sql-folder . --output s3a://profiles/answers/stragglers": "needs a cluster",
    "pip install duckdb": NETWORK,
    "pip install pyarrow": NETWORK,
    "python3 -m rangefinder.fleet": PARQUET,
    "rangefinder view train.rfcap": SERVES,
    "rangefinder view train.rfcap --peaks peaks.json": SERVES,
    "rangefinder view train.rfcap --no-open --port 8123": SERVES,
    "rangefinder view train.rfcap --perfetto": SERVES,
}
# Shown like a command, but not one.
NO_COMMAND = {
    "another profiler holds CUPTI in this process (...): stop it first, or look at its report",
    "rangefinder VERB [options] FILE",
    "rangefinder record [options] -- PROGRAM [ARGUMENTS]",
    "rangefinder view FILE",
    "rangefinder query FILE SQL",
    "rangefinder mcp --folder DIR",
    "rangefinder fleet DIR --view stragglers|steps|ranges|kernels|loss",
    "rangefinder diff BASELINE CANDIDATE",
    "rangefinder gate BASELINE CANDIDATE...",
    "rangefinder gate --save FILE RUN...",
    "rangefinder: FILE at PLACE: REASON",
}
EXIT_STATUS = {
    "rangefinder check job-0.rfcap --repair whole.rfcap": 1,  # it finds that the program died
    "rangefinder check train.41.rfcap --repair whole.rfcap": 1,
    "rangefinder gate main.rfbase after --fail-on 'step > +2%'": 1,  # `after` is slower
    "rangefinder gate main.rfbase after --markdown gate.md --junit gate.xml": 1,
}
# The page says that these show nothing without a GPU, where nothing hangs, or where no kernel is short. Captures without work of a device are made by the
# program that the page shows.
NO_ROWS = {
    "rangefinder report run --view hang",
    "rangefinder report first.rfcap --view kernels",
    "rangefinder report first.rfcap --view api",
    "rangefinder report train.rfcap --view streams --instances",
    "rangefinder report train.rfcap --view sequences",  # its kernels are long
    "rangefinder report train.rfcap --view sequences:summary",
}
# Pages that show options alone: the command to which they are added, and its file for views of what train.rfcap does not have.
OPTIONS_OF = {
    "docs/how-to/read-a-report.md": "rangefinder report train.rfcap",
    "docs/how-to/watch-steps.md": "rangefinder report train.rfcap",
}
INPUT_OF_VIEW = {"replays": "server.rfcap", "collectives": "run", "hang": "hung", "stragglers": "slow", "ranks": "slow",
                 "pipeline": "stages"}
# A page may use a file that another page makes.
FILES_OF_PAGE = {
    "docs/how-to/look-at-operators.md": "rangefinder export train.rfcap -o train.pt.trace.json.gz",
    "docs/how-to/read-a-report.md": "rangefinder measure-peaks --device host --seconds 0.05 -o FILE",
    "docs/how-to/watch-steps.md": "rangefinder measure-peaks --device host --seconds 0.05 -o peaks.json",
}


def is_options(page, code):
    return page in OPTIONS_OF and re.match(r"--(view|instances|attribute|group-by|fold)\b", code) and \
        not code.endswith(("--group-by", "--view", "--fold"))


def shape(text):
    """Lines without figures, units and widths of columns."""
    lines = []
    for line in text.split("\n"):
        line = re.sub(r"\b\d[\d.,]*( (ns|us|ms|s|[KMGT]?i?B|%)(?!\w))?", "N", line)
        line = re.sub(r"\(no room for .*\)|─+", "", line)  # depends on widths
        line = re.sub(r"\s+", " ", line).strip()
        if line:
            lines.append(line)
    return lines


class Page:
    """A folder in which the commands of one page run one after the other, each on fresh copies of the inputs."""

    def __init__(self, inputs, programs, folder):
        self.inputs, self.programs, self.folder = inputs, programs, folder

    def run(self, command, width=100):
        shutil.copytree(self.inputs, self.folder, dirs_exist_ok=True)
        environment = {"PATH": f"{self.programs}:{os.environ['PATH']}", "HOME": str(self.folder.parent / "home"), "LC_ALL": "C.UTF-8",
                       "TMPDIR": str(self.folder.parent), "COLUMNS": str(width), "CXX": OPTIONS.compiler}
        return subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=environment, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class CommandsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(OPTIONS.source)
        cls.work = pathlib.Path(tempfile.mkdtemp(prefix="rangefinder-docs-"))
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.inputs, cls.programs = cls.work / "inputs", cls.work / "programs"
        cls.inputs.mkdir()
        cls.programs.mkdir()
        (cls.work / "home").mkdir()
        (cls.work / "home/rangefinder").symlink_to(OPTIONS.prefix)
        subprocess.run([OPTIONS.inputs, cls.inputs], check=True)
        for script in ("train.py", "serve.py"):
            (cls.inputs / script).write_text("print('trained')\n")
        shutil.copy(cls.root / "examples/consumer/consumer.cpp", cls.inputs / "my_program.cpp")
        for name, target in (("train", OPTIONS.program), ("server", OPTIONS.program), ("my_workloads", OPTIONS.worker)):
            (cls.inputs / name).symlink_to(target)
        for name, target in (("rangefinder", OPTIONS.command), ("python", sys.executable)):
            (cls.programs / name).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
            (cls.programs / name).chmod(0o755)

    def commands(self):
        """Of blocks and of inline code, in the order of the pages."""
        for page in pages.pages(self.root):
            blocks = pages.blocks_of(self.root, page)
            found = []
            for index, block in enumerate(blocks):
                if block.language not in ("sh", "indented"):
                    continue
                lines = pages.commands_of(block)
                if index + 1 < len(blocks) and blocks[index + 1].after == index and blocks[index + 1].language == "":
                    lines[-1].shown, lines[-1].shown_line = blocks[index + 1].text, blocks[index + 1].line
                found += [line for line in lines if self.is_command(line, block.language == "sh")]
            found += [code for code in pages.inline_code(self.root, page)
                      if is_options(code.page, code.text) or
                      (" " in code.text and re.match(rf"(\$ )?({PROGRAMS})", code.text) and code.text not in NO_COMMAND)]
            yield page, sorted(found, key=lambda command: command.line)

    def is_command(self, line, certainly):
        if line.text in NO_COMMAND or line.text.startswith(("{", '"provenance"')):
            return False
        if not certainly and not re.match(PROGRAMS, line.text):
            self.fail(f"{line.where}: is this a command? It begins with none of {PROGRAMS}: {line.text}")
        return True

    def test_every_command_of_the_pages_runs(self):
        seen, ran = set(), 0
        for page, commands in self.commands():
            folder = self.work / re.sub(r"\W", "_", str(page.relative_to(self.root)))
            place = Page(self.inputs, self.programs, folder)
            for command in commands:
                seen.add(command.text)
                if command.text in NOT_RUN:
                    continue
                with self.subTest(command=command.where):
                    ran += self.check(place, command)
        self.assertGreater(ran, 60, "too few commands found; has the search gone wrong?")
        self.assertEqual(sorted(set(NOT_RUN) - seen), [], "NOT_RUN has commands that no page has any more: delete them there")
        self.assertEqual(sorted(NO_ROWS - seen), [], "NO_ROWS has commands that no page has any more: delete them there")
        self.assertEqual(sorted(set(EXIT_STATUS) - seen), [], "EXIT_STATUS has commands that no page has any more: delete them there")

    def check(self, place, command):
        """Whether it was run. One in a sentence that names no file is looked up in the command's help."""
        text = command.text
        if is_options(command.page, text):
            view = re.match(r"--view (\w+)", text)
            whole = OPTIONS_OF[command.page]
            text = f"{whole.replace('train.rfcap', INPUT_OF_VIEW.get(view and view[1], 'train.rfcap'))} {text}"
        elif command.inline and not self.has_input(text):
            return self.look_up(text, command.where)
        if command.page in FILES_OF_PAGE and not place.folder.exists():
            self.assertEqual(place.run(FILES_OF_PAGE[command.page]).returncode, 0)
        if "cmake -B build" in text:
            self.write_project(place.folder, command.page)
        width = max(map(len, command.shown.split("\n"))) if command.shown else 100
        result = place.run(text, width)
        told = (f"\nchange {command.where}, or the tables of {pathlib.Path(__file__).name}, or what make_inputs.cpp records:\n"
                f"$ {text}\nexit status {result.returncode}\n{result.stdout}{result.stderr}")
        self.assertEqual(result.returncode, EXIT_STATUS.get(command.text, 0), told)
        if re.match(r"rangefinder (report|export|info)", text):
            self.assertEqual(result.stderr, "", told)
        if text in NO_ROWS:
            self.assertIn("note  ", result.stdout, f"rows, or no word of why there are none: {told}")
        elif text.startswith("rangefinder report") and not re.search(r"--(csv|json)", text):
            self.assertRegex(result.stdout, r"(?m)^ *─+  ?[─ ]*\n(?!\(no room|\n|device time)", f"no row: {told}")
        self.compare_shown(command, result.stdout)
        for output in re.findall(r" -o (\S+)", text):
            if "%" not in output and not output.startswith("run/"):
                self.assertGreater((place.folder / output).stat().st_size, 0, told)
        return True

    def compare_shown(self, command, output):
        """The lines shown are in the output, in that order; it may have others in between and after."""
        shown, printed = shape(command.shown), shape(output)
        rest = iter(printed)
        missing = [line for line in shown if line not in rest]
        if missing:
            difference = "\n".join(difflib.unified_diff(shown, printed, "page", "output", lineterm="", n=0))
            self.fail(f"\nchange {command.page}:{command.shown_line}, which shows what `{command.text}` does not print "
                      f"(N: a figure):\n{difference}\nIt prints:\n{output}")

    @staticmethod
    def has_input(text):
        """Not so `rangefinder report` in the middle of a sentence, or `rangefinder report FILE`."""
        if re.search(r"\b(FILE|FOLDER|NAME|PROGRAM|VERB)\b", text):
            return False
        return not text.startswith("rangefinder") or re.search(r"\.(rfcap|json|gz)\b| run\b| -- ", text)

    def look_up(self, text, where):
        """That the verb exists and has these options."""
        words = [word for word in text.split()[1:] if word != "VERB"]
        verbs = [word for word in words[:2 if words[:1] == ["bench"] else 1] if not word.startswith("-")]
        help_text = subprocess.run([OPTIONS.command, *verbs, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for option in re.findall(r"--[a-z-]+", text):
            self.assertRegex(help_text, rf"{option}\b", f"{where}: {text}")
        for view in re.findall(r"--view ([a-z]\w*)", text):
            self.assertIn(view, self.views(), f"{where}: {text}")
        return False

    def views(self):
        listed = subprocess.run([OPTIONS.command, "report", "--view", "help"], stdout=subprocess.PIPE, text=True, check=True)
        return re.findall(r"(?m)^\s*(\w+)", listed.stdout)

    def test_cmake_of_the_pages_configures(self):
        blocks = [block for page in pages.pages(self.root) for block in pages.blocks_of(self.root, page) if block.language == "cmake"]
        self.assertGreater(len(blocks), 3, "too few projects found; has the search gone wrong?")
        for number, block in enumerate(blocks):
            if "LibTorch" in block.text:
                continue  # install.libtorch builds it
            folder = self.work / f"project{number}"
            folder.mkdir()
            text = block.text
            if "project(" not in text:
                text = f"cmake_minimum_required(VERSION 3.25)\nproject(of_the_page LANGUAGES CXX)\n{text}"
            if "add_executable(" not in text:
                text = text.replace("target_link_libraries(", "add_executable(my_program main.cpp)\ntarget_link_libraries(", 1)
            (folder / "CMakeLists.txt").write_text(text)
            for source in re.findall(r"\w+\.cpp", text):
                (folder / source).write_text("int main() {}\n")
            (folder / "rangefinder").symlink_to(self.root)
            done = subprocess.run(["cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={OPTIONS.compiler}",
                                   f"-DCMAKE_PREFIX_PATH={OPTIONS.prefix}", "-DRANGEFINDER_TORCH=OFF"],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            with self.subTest(block.where):
                self.assertEqual(done.returncode, 0, f"\nchange {block.where}:\n{text}\n{done.stdout}")

    def write_project(self, folder, page):
        """The program and the CMakeLists.txt that the page shows before the command."""
        folder.mkdir(exist_ok=True)
        blocks = pages.blocks_of(self.root, self.root / page)
        program = next(block for block in blocks if block.language == "cpp")
        project = next(block for block in blocks if block.language == "cmake")
        (folder / "first.cpp").write_text(program.text + "\n")
        (folder / "CMakeLists.txt").write_text(project.text + "\n")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("source", "command", "inputs", "program", "worker", "prefix", "compiler"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("tests", nargs="*")
    OPTIONS = parser.parse_args()
    unittest.main(argv=[sys.argv[0], *OPTIONS.tests])


if __name__ == "__main__":
    main()
