# SPDX-License-Identifier: MIT
import contextlib
import hashlib
import io
import os
import pathlib
import stat
import tarfile
import tempfile
import unittest
import unittest.mock

import gpu_lab


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


class Lab(unittest.TestCase):
    """The laboratory with programs that print what they were given, and a cmake that builds nothing."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.build, self.results, self.packed = self.root / "build", self.root / "results", self.root / "packed"
        self.packed.mkdir()
        program(self.root / "bin/cmake", f'echo "$@" >> {self.root}/built\n')
        program(self.root / "bin/ctest", "echo ctest ran\n")
        for name in ("benchmarks/launch_cost/bench_launch_cost", "benchmarks/torch_cost/bench_torch_cost", "lib/cli/rangefinder",
                     "examples/inference/cuda_graph_decode/cuda_graph_decode"):
            program(self.build / name, 'echo "$(basename "$0") $*"\n')
        program(self.build / "examples/training/train/train",
                'for last; do :; done; mkdir -p "$last"; echo "$RANGEFINDER_CONFIG" > "$last/train.rfcap"; echo big > "$last/t.json.gz"\n')
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{self.root}/bin:{before}"
        self.addCleanup(os.environ.__setitem__, "PATH", before)

    def lab(self, *parts):
        with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(io.StringIO()):
            return gpu_lab.main(["--build", str(self.build), "--results", str(self.results), "--pack-into", str(self.packed), *parts])

    def names(self, archive):
        with tarfile.open(self.packed / archive) as opened:
            return opened.getnames()

    def test_all_parts_in_order_and_what_they_leave(self):
        self.assertEqual(self.lab(), 0)
        built = [line.split("--target ")[1] for line in (self.root / "built").read_text().splitlines()]
        self.assertEqual([line.split()[0] for line in built],
                         ["all", "gpu_test", "bench_launch_cost", "rangefinder_cli", "rangefinder_cli"])
        self.assertIn("bench run --device cuda --size gpu", (self.results / "workloads.txt").read_text())
        for name in ("machine.txt", "commands.txt", "tests.txt", "launch_cost.txt", "doctor.txt", "energy.txt"):
            self.assertIn(name, self.names("gpu.tar.gz"))
        captures = self.names("gpu-captures.tar.gz")
        self.assertIn("captures/counters/train.rfcap", captures)
        self.assertNotIn("captures/t.json.gz", captures)
        # Each setting of the environment reached its program.
        self.assertIn("counters=roofline", (self.results / "captures/counters/train.rfcap").read_text())
        self.assertIn("nvml=on", (self.results / "captures/samples/train.rfcap").read_text())

    def test_captures_say_where_they_come_from(self):
        self.lab("examples")
        text = (self.results / "captures/PROVENANCE.txt").read_text()
        for path in (self.results / "captures").rglob("*.rfcap"):
            line = f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(self.results / 'captures')}"
            self.assertIn(line, text)
        self.assertIn("machine:  ", text)
        self.assertIn("train_counters: RANGEFINDER_CONFIG=counters=roofline", text)

    def test_a_step_that_fails_stops_no_other_and_is_told(self):
        program(self.build / "benchmarks/launch_cost/bench_launch_cost", "exit 3\n")
        self.assertEqual(self.lab("cost", "tests"), 1)
        self.assertTrue((self.results / "step_cost.txt").read_text())
        self.assertIn("step_cost.txt", self.names("gpu.tar.gz"))

    def test_a_doctor_that_misses_something_is_no_failure(self):
        program(self.build / "lib/cli/rangefinder", '[ "$1" != doctor ]\n')
        self.assertEqual(self.lab("examples"), 0)

    def test_workloads_run_in_slices_that_go_on(self):
        program(self.build / "lib/cli/rangefinder", f'echo "$*" >> {self.root}/slices; [ "$(wc -l < {self.root}/slices)" -gt 2 ] || exit 5\n')
        for _ in range(3):
            self.assertEqual(self.lab("workloads"), 0)
        slices = (self.root / "slices").read_text().splitlines()
        self.assertEqual(len(slices), 3)
        for words in slices:
            self.assertIn("--resume --time-limit 420", words)
        program(self.build / "lib/cli/rangefinder", "exit 1\n")
        self.assertEqual(self.lab("workloads"), 1)

    def test_a_part_that_does_not_build_is_not_run_and_the_next_is(self):
        program(self.root / "bin/cmake", 'case "$*" in *bench_launch_cost*) exit 1 ;; esac\n')
        self.assertEqual(self.lab("cost", "workloads"), 1)
        self.assertFalse((self.results / "launch_cost.txt").exists())
        self.assertTrue((self.results / "workloads.txt").exists())

    def test_a_program_that_is_missing_is_told(self):
        (self.build / "benchmarks/torch_cost/bench_torch_cost").unlink()
        self.assertEqual(self.lab("cost"), 1)

    def test_a_part_that_failed_is_run_again_with_what_is_left(self):
        program(self.build / "benchmarks/launch_cost/bench_launch_cost", "exit 3\n")
        self.assertEqual(self.lab(), 1)
        program(self.build / "benchmarks/launch_cost/bench_launch_cost", "exit 0\n")
        self.assertEqual(self.lab(), 0)
        built = [line.split("--target ")[1].split()[0] for line in (self.root / "built").read_text().splitlines()]
        self.assertEqual(built[5:], ["bench_launch_cost"])
        self.assertEqual((self.results / "commands.txt").read_text().count("launch_cost: "), 1)

    def test_an_archive_that_is_cut_off_leaves_the_last_one(self):
        self.lab("tests")
        with unittest.mock.patch.object(tarfile.TarFile, "add", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.lab("cost")
        self.assertIn("tests.txt", self.names("gpu.tar.gz"))

    def test_an_unknown_part_is_refused(self):
        with self.assertRaises(SystemExit) as ended:
            self.lab("nothing")
        self.assertEqual(ended.exception.code, 2)


if __name__ == "__main__":
    unittest.main()
