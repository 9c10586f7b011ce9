#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Estimates of benchmarks against what their variants were given, came to and worked on, in the results of a run at size smoke on a CPU;
and the limits of a dry run at size gpu."""
import argparse
import json
import pathlib
import subprocess
import sys
import unittest


MOST_S = 8


def plan(*arguments):
    """Rows of a dry run by name, and its exit code."""
    process = subprocess.run([COMMAND, "bench", "run", "--dry-run", "--json", *arguments], capture_output=True, text=True)
    return {row["name"]: row for row in json.loads(process.stdout)["rows"]}, process.returncode


class Estimates(unittest.TestCase):
    def test_estimates_are_what_was_measured(self):
        planned, _ = plan("--device", "cpu", "--size", "smoke")
        measured = [row for row in RESULTS["rows"] if row["correctness"]["passed"]]
        self.assertGreater(len(measured), 30)
        for row in measured:
            estimate, was = planned[row["name"]], row["correctness"]
            with self.subTest(row["name"]):
                self.assertEqual((estimate["check"]["input_bytes"], estimate["check"]["output_bytes"]),
                                 (was["input_bytes"], was["output_bytes"]))
                self.assertIsNotNone(estimate["check"]["random_numbers"])
                for variant in ("baseline", "optimized"):
                    for what in ("flops", "bytes"):
                        if estimate["step"][what] and row[variant]["work"][what]:
                            self.assertEqual(estimate["step"][what], row[variant]["work"][what], what)

    def test_every_benchmark_is_within_the_limits_at_size_gpu(self):
        planned, code = plan("--device", "cuda", "--size", "gpu")
        self.assertEqual([row["over"] for row in planned.values() if row["over"]], [])
        self.assertEqual([name for name, row in planned.items() if not row["skipped"] and not row["check"]["output_bytes"]], [])
        self.assertEqual(code, 0)

    def test_every_benchmark_fits_a_short_run_at_size_gpu(self):
        """A pair must not take the time of all others. Compilers are what regional_compile times."""
        planned, _ = plan("--device", "cuda", "--size", "gpu")
        rows = [row for name, row in planned.items() if not row["skipped"] and name != "regional_compile"]
        self.assertEqual([row["name"] for row in rows if row["check"]["seconds"] > MOST_S], [])
        self.assertEqual([row["name"] for row in rows if not row["timing"]["seconds"]], [])
        self.assertEqual([row["name"] for row in rows if row["timing"]["seconds"] > MOST_S], [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("command", "results"):
        parser.add_argument("--" + option, required=True)
    options, rest = parser.parse_known_args()
    COMMAND = options.command
    RESULTS = json.loads(pathlib.Path(options.results).read_text())
    unittest.main(argv=[sys.argv[0], *rest])
