#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `export` writes for other tools, by their own readers where these are installed (hatchet of llnl-hatchet,
prometheus_client), and by what their formats say where not. All formats of one recording hold the same device time.

readers_test.py --command RANGEFINDER --inputs CLI_TEST_INPUTS
"""
import argparse
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

COMMAND = INPUTS = ""


def available(name):
    try:
        return __import__(name, fromlist=["x"])
    except ImportError:
        return None


class Readers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rangefinder-readers-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.run_command(INPUTS, self.folder)

    def run_command(self, *words):
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), (words, done.stdout))
        return done.stdout

    def export(self, name, *words, of="whole.rfcap"):
        self.run_command(COMMAND, "export", of, "-o", name, *words)
        return self.folder / name

    def device_ns(self):
        """By the Chrome export, which its own readers check."""
        events = json.loads(self.export("x.json", "--force").read_text())["traceEvents"]
        work = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
        self.assertGreater(len(work), 0)
        return sum(round(event["dur"] * 1000) for event in work)

    def folded(self, *words):
        stacks = {}
        for line in self.export("x.folded", "--format", "folded", "--force", *words).read_text().splitlines():
            # As flamegraph.pl takes a line apart.
            match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
            self.assertIsNotNone(match, line)
            stacks[tuple(match[1].split(";"))] = int(match[2])
        return stacks

    def test_folded_stacks(self):
        self.assertEqual(sum(self.folded().values()), self.device_ns())
        host = self.folded("--by", "host")
        self.assertTrue(any("step" in stack for stack in host), host)
        self.assertNotEqual(self.folded(), host)

    def test_speedscope(self):
        document = json.loads(self.export("x.speedscope.json", "--format", "speedscope").read_text())
        frames = document["shared"]["frames"]
        self.assertEqual(document["$schema"], "https://www.speedscope.app/file-format-schema.json")
        total = 0
        for profile in document["profiles"]:
            self.assertEqual((profile["type"], profile["unit"]), ("sampled", "nanoseconds"))
            self.assertEqual(len(profile["samples"]), len(profile["weights"]))
            self.assertEqual(profile["endValue"] - profile["startValue"], sum(profile["weights"]))
            self.assertTrue(all(0 <= frame < len(frames) for sample in profile["samples"] for frame in sample))
            total += sum(profile["weights"])
        self.assertEqual(total, self.device_ns())

    def test_hatchet(self):
        literal = json.loads(self.export("x.hatchet.json", "--format", "hatchet").read_text())
        self.assertEqual(sum(root["metrics"]["time (inc)"] for root in literal), self.device_ns())

        def check(node):
            inside = sum(check(child) for child in node["children"])
            self.assertEqual(node["metrics"]["time (inc)"], node["metrics"]["time"] + inside, node["frame"])
            return node["metrics"]["time (inc)"]

        for root in literal:
            check(root)
        hatchet = available("hatchet")
        if hatchet is None:
            print("hatchet is not installed: its reader was not asked")
            return
        frame = hatchet.GraphFrame.from_literal(literal)
        self.assertEqual(frame.dataframe["time"].sum(), self.device_ns())
        self.assertIn("time (inc)", frame.inc_metrics)
        self.assertIn("step", set(frame.dataframe["name"]))

    def test_open_metrics(self):
        text = self.export("x.prom", "--format", "openmetrics", of="whole.rfcap").read_text()
        self.assertTrue(text.endswith("# EOF\n"))
        steps = json.loads(self.run_command(COMMAND, "report", "whole.rfcap", "--view", "steps", "--json"))["rows"]
        counts = [int(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                  if line.startswith("rangefinder_step_seconds_count")]
        self.assertEqual(sum(counts), len(steps))
        parser = available("prometheus_client.openmetrics.parser")
        older = available("prometheus_client.parser")
        if parser is None or older is None:
            print("prometheus_client is not installed: its reader was not asked")
            return
        families = {family.name: family for family in parser.text_string_to_metric_families(text)}
        self.assertEqual(families["rangefinder_step_seconds"].type, "summary")
        self.assertEqual(families["rangefinder_step_seconds"].unit, "seconds")
        # What node_exporter's textfile collector reads.
        names = {family.name for family in older.text_string_to_metric_families(text)}
        self.assertIn("rangefinder_last_step", names)

    def test_nsight(self):
        database = sqlite3.connect(self.export("x.sqlite", "--format", "nsight"))
        self.addCleanup(database.close)
        total = sum(database.execute(f"SELECT coalesce(sum(end - start), 0) FROM CUPTI_ACTIVITY_KIND_{table}").fetchone()[0]
                    for table in ("KERNEL", "MEMCPY", "MEMSET"))
        self.assertEqual(total, self.device_ns())
        # It is read back as what it was.
        figures = []
        for name in ("whole.rfcap", "x.sqlite"):
            rows = json.loads(self.run_command(COMMAND, "report", name, "--view", "tree", "--attribute", "launch", "--json"))["rows"]
            figures.append({(row["path"], row["count"], row["gpu_busy_ns"]) for row in rows})
        self.assertEqual(figures[0], figures[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--inputs", required=True)
    arguments, rest = parser.parse_known_args()
    COMMAND, INPUTS = (pathlib.Path(path).resolve() for path in (arguments.command, arguments.inputs))
    unittest.main(argv=[sys.argv[0], *rest])
