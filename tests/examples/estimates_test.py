#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Estimates of benchmarks against what their variants were given, came to and worked on, and the FLOPs that they tell of a training step
against those of its operators, in the results of a run at size smoke on a CPU; and the limits of a dry run at size gpu."""
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


# Which variant of a training benchmark computes what the model needs, and nothing twice.
TRAINING = {"autograd_standard": "baseline", "autograd_standard_wide": "baseline", "batch_size": "baseline", "batch_until_full": "baseline",
            "dataloader_default": "baseline", "gradient_accumulation": "optimized", "llama_memory_release": "baseline",
            "memory_profiling": "baseline", "optimization_summary_channels_last": "baseline",
            "precisionfp8": "baseline", "precisionfp8_pad_inner": "baseline", "precisionmixed": "optimized", "sync_antipattern": "baseline", "train": "optimized",
            "train_deepseek_coder": "optimized", "train_deepseek_v3": "optimized", "training_speed": "baseline", "training_standard": "baseline"}
# Its values are not as long as its queries: on a CPU its backward pass multiplies whole matrices, whose masked part no result needs. Of
# sequences of 16 tokens 17 of 32 pairs are left.
LEFT_OF_BMM = {"train_deepseek_v3": 17 / 32}


def flops_of_step(name, profile):
    """Of products, convolutions and attention; additions and multiplications by element are not declared."""
    flops = 0
    for row in profile["roofline"]["operators"]:
        operator = row["operator"]
        if operator in ("aten::add", "aten::mul"):
            continue
        # A fused backward pass of attention computes the weights again, the fifth part.
        again = "attention" in operator and operator.endswith("_backward")
        needed = 4 / 5 if again else LEFT_OF_BMM.get(name, 1) if operator == "aten::bmm" else 1
        flops += row["flops"] * needed
    return flops / profile["steps"]


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
                        declared, worked = estimate["step"][what], row[variant]["work"][what]
                        if declared and worked:
                            self.assertEqual(declared, worked, what)

    def test_flops_of_training_steps_are_those_of_their_operators(self):
        rows = {row["name"]: row for row in RESULTS["rows"] if row["correctness"]["passed"]}
        for name, variant in TRAINING.items():
            with self.subTest(name):
                measured = rows[name][variant]
                self.assertAlmostEqual(measured["work"]["flops"] / flops_of_step(name, measured["profile"]), 1, places=9)
                self.assertNotEqual(measured["work"]["flops_type"], "")
        # Those whose variants both do something twice, or run as compiled code, declare the same as others of their nets.
        declared = [name for name, row in rows.items() if row["baseline"]["work"]["flops_type"]]
        self.assertGreaterEqual(len(declared), 25)

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
