# SPDX-License-Identifier: MIT
"""`./dev gpu` on a machine that is made up: programs stand in for the GPU, the compilers and the benchmarks, none for ./dev and
its scripts. What is carried there, the order of the parts, what comes back, and what a run that is killed costs."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"])
PARTS = ["build", "tests", "cost", "examples", "workloads"]
# Where a program stops until it is killed: while $MACHINE/stop names it.
STOPS = 'stop() { if [ "$(cat "$MACHINE/stop" 2>/dev/null)" = "$1" ]; then touch "$MACHINE/stopped"; exec sleep 600; fi; }\n'
# By name, what stands in for the programs of a build.
PROGRAMS = {
    "lib/cli/rangefinder": """
case "$1" in
  measure-peaks) echo '{}' > "$3" ;;
  bench)
    out=$(echo "$*" | sed 's/.*--out \\([^ ]*\\).*/\\1/'); mkdir -p "$out"; stop workloads
    echo slice >> "$out/results.json"; [ "$(wc -l < "$out/results.json")" -ge 3 ] || exit 5 ;;
esac""",
    "benchmarks/launch_cost/bench_launch_cost": "",
    "benchmarks/torch_cost/bench_torch_cost": "stop step_cost",
    "examples/training/train/train": 'for last; do :; done; mkdir -p "$last"; echo "$RANGEFINDER_CONFIG" > "$last/train.rfcap"',
    "examples/inference/cuda_graph_decode/cuda_graph_decode": 'for last; do :; done; echo graph > "$last/decode.rfcap"',
}
TOOLS = {
    "nvidia-smi": 'case "$1" in -L) echo "GPU 0: NVIDIA H100 (UUID: none)" ;; *) echo "NVIDIA H100, 570.0, 1980, 2619" ;; esac',
    "ctest": 'echo captured > "$RANGEFINDER_KEEP_CAPTURES/tests.rfcap"',
    "cmake": """
case "$1" in
  --preset) env > "$MACHINE/environment"; mkdir -p "$4"; cp -r "$MACHINE/programs/." "$4" ;;
  --build) stop "build of $6" ;;
esac""",
}
REGISTRIES = ("apt-get", "apt-cache", "dpkg-deb", "dpkg-query", "curl", "wget", "pip", "pip3", "sudo")


class Rehearsal(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.machine = pathlib.Path(scratch.name)
        self.root, self.calls = self.machine / "rangefinder", self.machine / "calls"
        for name in ("dev", "scripts/gpu_lab.py", "scripts/machine.py"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, self.root / name)
        for name, text in PROGRAMS.items():
            self.program(self.machine / "programs" / name, text)
        for name, text in TOOLS.items():
            self.program(self.machine / "bin" / name, text)
        self.torch("2.11.0+cu130")
        self.no_registries()

    def program(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{path.name} $*" >> "$MACHINE/calls"\n{STOPS}{text}\n')
        path.chmod(0o755)

    def torch(self, version):
        """The LibTorch that a machine made for training has in its Python."""
        torch = self.machine / "modules/torch"
        (torch / "include/torch/csrc/api/include/torch").mkdir(parents=True, exist_ok=True)
        (torch / "include/torch/csrc/api/include/torch/torch.h").touch()
        (torch / "__init__.py").write_text(f'__version__ = "{version}"\n')

    def no_registries(self):
        for name in REGISTRIES:
            self.program(self.machine / "bin" / name, f'echo "{name} $*" >> "$MACHINE/asked"; exit 9')
        self.program(self.machine / "bin/python3",
                     f'case "$*" in *"-m pip"* | *"-m venv"*) echo "python3 $*" >> "$MACHINE/asked"; exit 9 ;; esac\nexec {sys.executable} "$@"')

    def registries(self):
        """Of Debian, with packages of a file each, and of Python, with the headers of CUTLASS."""
        self.program(self.machine / "bin/apt-cache", 'echo "  Depends: libdeep1"; echo "  Depends: libc6"')
        self.program(self.machine / "bin/apt-get", 'shift; for name; do touch "$name.deb"; done')
        self.program(self.machine / "bin/dpkg-deb", 'mkdir -p "$3/usr/bin" "$3/usr/share/doc" && touch "$3/usr/bin/$(basename "$2" .deb)"')
        wheel = "cutlass_library/source/include/cutlass/cutlass.h"
        self.program(self.machine / "bin/python3", f"""case "$*" in *"-m pip download"*)
  cd "$MACHINE" && mkdir -p "$(dirname {wheel})" && touch {wheel} && exec {sys.executable} -m zipfile -c "$6/nvidia_cutlass-4.whl" cutlass_library ;;
esac
exec {sys.executable} "$@\"""")

    def start(self, *words):
        environment = {"PATH": f"{self.machine}/bin:/usr/bin:/bin", "HOME": str(self.machine), "MACHINE": str(self.machine),
                       "OUT": str(self.machine / "OUT"), "PYTHONPATH": str(self.machine / "modules"), "PYTHONDONTWRITEBYTECODE": "1"}
        (self.machine / "OUT").mkdir(exist_ok=True)
        return subprocess.Popen([self.root / "dev", *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, start_new_session=True)

    def dev(self, *words, status=0):
        process = self.start(*words)
        text = process.communicate()[0]
        self.assertEqual(process.returncode, status, text)
        return text

    def killed(self, where, *words):
        """Runs it until `where`, where all of its processes end at once."""
        (self.machine / "stop").write_text(where)
        process = self.start(*words)
        while not (self.machine / "stopped").exists():
            self.assertIsNone(process.poll(), f"it ended before {where}")
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        for name in ("stop", "stopped"):
            (self.machine / name).unlink()

    def count(self, call):
        return sum(line.startswith(call) for line in self.calls.read_text().splitlines())

    def built(self):
        return [line.split("--target ")[1].split()[0] for line in self.calls.read_text().splitlines() if "--target" in line]

    def finished(self):
        return [line.split()[0] for line in (self.root / "out/gpu/finished.txt").read_text().splitlines()]

    def came_back(self, archive="gpu.tar.gz"):
        with tarfile.open(self.machine / "OUT" / archive) as opened:
            return opened.getnames()

    def test_what_is_carried_serves_where_there_is_no_registry(self):
        self.registries()
        self.dev("gpu", "--carry")
        carried = self.root / ".carry/usr"
        self.assertTrue((carried / "include/cutlass/cutlass.h").exists())
        self.assertEqual({path.name for path in (carried / "bin").iterdir()} & {"libfmt-dev", "libdeep1", "libc6", "g++"}, {"libfmt-dev", "libdeep1"})
        self.no_registries()
        self.dev("--no-apt", "gpu", "build")
        self.assertFalse((self.machine / "asked").exists())
        environment = (self.machine / "environment").read_text()
        self.assertIn(f"\nPATH={carried}/bin:", "\n" + environment)
        self.assertIn(f"CMAKE_PREFIX_PATH={carried}\n", environment)
        self.assertIn(f"PKG_CONFIG_SYSROOT_DIR={self.root}/.carry\n", environment)
        self.assertIn(f"TORCH_DIR={self.machine}/modules/torch\n", environment)
        self.assertFalse((self.root / ".venv").exists())

    def test_parts_in_order_and_what_comes_back(self):
        (self.root / ".carry").mkdir()
        text = self.dev("gpu")
        self.assertEqual([line.split(": ")[1] for line in text.splitlines() if line.startswith("==> build for the GPU")], PARTS)
        self.assertEqual(self.built(), ["all", "gpu_test", "bench_launch_cost", "rangefinder_cli", "rangefinder_cli"])
        self.assertIn("workloads: not finished, run it again to go on", text)
        self.assertEqual(self.finished(), PARTS[:-1])
        self.assertLessEqual({"machine.txt", "commands.txt", "finished.txt", "build-build.log", "tests.txt", "launch_cost.txt", "step_cost.txt",
                              "doctor.txt", "peaks.json", "roofline.txt", "energy.txt", "workloads.txt", "workloads/results.json"},
                             set(self.came_back()))
        self.assertLessEqual({f"captures/{name}" for name in ("tests.rfcap", "train.rfcap", "decode.rfcap", "counters/train.rfcap",
                                                              "samples/train.rfcap", "PROVENANCE.txt")},
                             set(self.came_back("gpu-captures.tar.gz")))
        self.assertIn("gpu:      NVIDIA H100", (self.root / "out/gpu/machine.txt").read_text())
        self.assertEqual(sorted(path.name for path in (self.root / "out").iterdir()), ["gpu", "log"])
        self.assertFalse((self.machine / "asked").exists())

    def test_workloads_go_on_slice_by_slice_and_then_all_begins_anew(self):
        (self.root / ".carry").mkdir()
        for _ in range(3):
            self.dev("gpu")
        self.assertEqual((self.count("rangefinder bench"), self.count("ctest")), (3, 1))
        self.assertEqual(self.finished(), PARTS)
        self.dev("gpu")
        self.assertEqual(self.finished(), PARTS[:-1])
        self.assertEqual(self.count("ctest"), 2)
        self.assertEqual((self.root / "out/gpu-before/workloads/results.json").read_text(), "slice\n" * 3)

    def test_a_kill_between_two_parts_costs_none(self):
        (self.root / ".carry").mkdir()
        self.killed("build of bench_launch_cost", "gpu")
        self.assertEqual(self.finished(), PARTS[:2])
        self.assertIn("tests.txt", self.came_back())
        self.assertIn("going on", self.dev("gpu"))
        self.assertEqual((self.count("ctest"), self.built().count("all")), (1, 1))
        self.assertLessEqual({"tests.txt", "launch_cost.txt"}, set(self.came_back()))
        self.assertEqual((self.root / "out/gpu/commands.txt").read_text().count("tests: "), 1)

    def test_a_kill_within_a_part_costs_that_part(self):
        (self.root / ".carry").mkdir()
        self.killed("step_cost", "gpu")
        self.assertEqual(self.finished(), PARTS[:2])
        self.dev("gpu")
        self.assertEqual((self.count("ctest"), self.count("bench_launch_cost"), self.count("bench_torch_cost")), (1, 2, 2))

    def test_another_machine_goes_on_with_what_came_back(self):
        (self.root / ".carry").mkdir()
        self.dev("gpu")
        self.killed("workloads", "gpu")
        for name in ("out", "build"):
            shutil.rmtree(self.root / name)
        for archive in ("gpu.tar.gz", "gpu-captures.tar.gz"):
            with tarfile.open(self.machine / "OUT" / archive) as opened:
                opened.extractall(self.root / "out/gpu")
        self.dev("gpu")
        self.assertEqual((self.count("ctest"), self.count("rangefinder bench")), (1, 3))
        self.assertEqual((self.root / "out/gpu/workloads/results.json").read_text(), "slice\n" * 2)
        self.assertIn("captures/tests.rfcap", self.came_back("gpu-captures.tar.gz"))

    def test_a_machine_without_a_gpu_or_its_libtorch_says_so_and_loses_nothing(self):
        (self.root / ".carry").mkdir()
        self.dev("gpu", "cost")
        self.torch("2.10.0")
        self.assertIn("failed with status 9", self.dev("gpu", status=9))
        self.program(self.machine / "bin/nvidia-smi", "exit 9")
        self.assertIn("no NVIDIA GPU here", self.dev("gpu", status=1))
        self.assertEqual(self.finished(), ["cost"])


if __name__ == "__main__":
    unittest.main()
