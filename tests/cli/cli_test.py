#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the command as people do. cli_test.py --command PATH --inputs PATH [TOPIC ...]; see CMakeLists.txt beside this."""
import argparse
import csv
import gzip
import io
import json
import os
import pathlib
import pickle
import pty
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

COMMAND = ""
INPUTS = ""
BYTES_APART = 0
VERBS = ["record", "report", "advise", "export", "view", "info", "query", "mcp", "fleet", "diff", "gate", "check",
         "doctor", "bench", "measure-peaks", "completion"]

# A trace with one step of 100 us and a range in it that takes %d us.
STEPS_OF = """{"traceEvents": [
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
{"ph": "X", "cat": "user_annotation", "name": "forward", "pid": 1, "tid": 1, "ts": 10, "dur": %d}]}"""


def environment(**more):
    """Nothing of the machine the test runs on."""
    keep = {key: value for key, value in os.environ.items()
            if key in ("PATH", "TMPDIR", "HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")}
    return {**keep, "LC_ALL": "C.UTF-8", **more}


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.bytes = process.stdout
        self.out = process.stdout.decode("utf-8", "replace")
        self.err = process.stderr.decode("utf-8", "replace")

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.out[:2000]!r}\nstderr: {self.err[:2000]!r}"


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rangefinder-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        subprocess.run([INPUTS, self.folder], check=True)

    def run_command(self, *words, env=None, **options):
        process = subprocess.run([COMMAND, *map(str, words)], cwd=self.folder, env=env or environment(),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, **options)
        return Result(process)

    def succeeds(self, *words, **options):
        result = self.run_command(*words, **options)
        self.assertEqual((result.code, result.err), (0, ""), (words, result))
        return result

    def fails(self, code, *words, **options):
        """One line on stderr that begins with the command's name, and nothing on stdout."""
        result = self.run_command(*words, **options)
        self.assertEqual(result.code, code, (words, result))
        self.assertRegex(result.err, r"\Arangefinder: [^\n]+\n\Z", (words, result))
        self.assertEqual(result.out, "", (words, result))
        return result.err

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def files(self):
        return sorted(entry.name for entry in self.folder.iterdir())

    def trace(self, name):
        raw = (self.folder / name).read_bytes()
        return json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)


class Verbs(CommandTest):
    """Each verb does what it is for."""

    def test_report_shows_ranges_with_their_device_time(self):
        text = self.succeeds("report", "whole.rfcap").out
        self.assertIn("forward", text)
        self.assertIn("2.500 us", text)
        self.assertIn("owned by ranges", text)

    def test_report_prints_exact_numbers_as_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.succeeds("report", "whole.rfcap", "--csv").out)))
        forward = next(row for row in rows if row["Range"] == "forward")
        self.assertEqual((forward["Host (ns)"], forward["GPU busy (ns)"], forward["GPU ops"]), ("3500", "2500", "1"))

    def test_memory_has_a_bound_that_is_kept(self):
        events = ",".join('{"ph":"X","cat":"user_annotation","name":"r%d","pid":1,"tid":1,"ts":%d,"dur":3}' % (i % 9, 10 * i)
                          for i in range(300_000))
        self.write("large.json", '{"traceEvents":[%s]}' % events)
        for verb in (["report"], ["info"], ["check"], ["export", "-o", "out.json"]):
            refused = self.fails(2, *verb, "large.json", "--max-memory", "16MiB")
            self.assertRegex(refused, "needs more memory than the (bound|limit) of 16 MiB")  # by count, or by the system
            self.assertIn("--max-memory", refused)
        for verb in (["report", "job"], ["export", "job", "-o", "out.json"]):
            refused = self.run_command(*verb, "--max-memory", "1").err  # less than a list of the files takes
            self.assertNotIn("Cannot allocate memory", refused)
        self.succeeds("report", "large.json", "--max-memory", "2G")
        self.assertFalse((self.folder / "out.json").exists())
        self.assertIn("--max-memory", self.fails(2, "report", "large.json", "--max-memory", "much"))

    def test_report_prints_json_with_a_schema_version(self):
        report = json.loads(self.succeeds("report", "whole.rfcap", "--json").out)
        self.assertEqual(report["schema_version"], 2)
        self.assertTrue(report["rows"])

    def test_every_view_that_is_listed_can_be_shown(self):
        views = [line.split()[0] for line in self.succeeds("report", "--view", "help").out.splitlines()]
        self.assertGreaterEqual(len(views), 16)
        for view in views:
            for form in ([], ["--csv"], ["--json"]):
                self.assertTrue(self.succeeds("report", "whole.rfcap", "--view", view, *form).out, view)

    def test_report_takes_a_folder_of_captures(self):
        rows = list(csv.DictReader(io.StringIO(self.succeeds("report", "job", "--csv").out)))
        self.assertEqual(next(row["Count"] for row in rows if row["Range"] == "step"), "2")

    def test_report_takes_several_captures_as_one_job(self):
        captures = sorted((self.folder / "job").glob("*.rfcap"))
        self.assertEqual(len(captures), 2)
        whole = self.succeeds("report", "job", "--csv").out
        self.assertEqual(self.succeeds("report", *captures, "--csv").out, whole)
        self.assertEqual(self.succeeds("report", "--csv", "--view", "ranges", *captures).out, whole)
        (self.folder / "other").mkdir()
        moved = shutil.move(captures[1], self.folder / "other")
        self.assertEqual(self.succeeds("report", "job", "other", "--csv").out, whole)
        self.assertIn("given twice", self.fails(2, "report", "job", captures[0]))
        trace = self.write("trace.json", '{"traceEvents": []}')
        self.assertIn(f"{trace}: captures (.rfcap) and torch.profiler traces are not read together", self.fails(2, "report", moved, trace))
        self.assertIn("nowhere", self.fails(2, "report", moved, "nowhere"))

    def test_traces_of_ranks_are_one_job_too(self):
        trace = '{"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": "alone", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]}'
        (self.folder / "log").mkdir()
        self.assertIn("without captures (*.rfcap) or traces", self.fails(2, "report", "log"))
        first = self.write("log/rank0.json", trace)
        self.assertIn("alone", self.succeeds("report", "log").out)
        second = self.write("log/rank1.json.gz", gzip.compress(trace.encode()))
        for inputs in (["log"], [first, second]):
            rows = list(csv.DictReader(io.StringIO(self.succeeds("report", *inputs, "--csv").out)))
            self.assertEqual([(row["Range"], row["Count"]) for row in rows], [("alone", "2")])
        self.assertEqual(self.fails(2, "export", "log", "-o", "both.json"),
                         "rangefinder: export: log/rank0.json ...: 2 traces; traces are exported one at a time, and read together by reports "
                         "alone\n")

    def test_filter_sort_and_top_choose_rows(self):
        def names(*options):
            text = self.succeeds("report", "whole.rfcap", "--csv", *options).out
            return [row["Range"] for row in csv.DictReader(io.StringIO(text))]
        self.assertEqual(names("--filter", "ward", "--sort", "+range"), ["backward", "forward"])
        self.assertEqual(names("--filter", "^f", "--regex"), ["forward"])
        self.assertEqual(names("--sort=-host_ns", "--top", "1"), ["step"])
        for column in ("host", "Host", "Host (ns)", "HOST_NS"):
            self.assertEqual(names("--sort", column), names("--sort", "host_ns"), column)
        self.assertIn('"gpu" is ambiguous: gpu_busy_ns,', self.fails(2, "report", "whole.rfcap", "--sort", "gpu"))
        self.assertIn("the columns are range, count, host_ns,", self.fails(2, "report", "whole.rfcap", "--sort", "zzzzzzzz"))

    def test_payloads_choose_and_divide_instances(self):
        def rows(*options):
            text = self.succeeds("report", "payloads.rfcap", "--csv", *options).out
            return [tuple(row.values()) for row in csv.DictReader(io.StringIO(text))]
        columns = ("--columns", "range,payload,host")
        self.assertEqual(rows("--group-by", "payload", "--sort", "+payload", *columns),
                         [("loss", "0.5", "100"), ("batch", "16", "600"), ("batch", "64", "700"), ("batch", "128", "500")])
        self.assertEqual(rows("--instances", "--payload", "batch>=64", "--sort", "host", *columns),
                         [("batch", "64", "700"), ("batch", "128", "500")])
        self.assertEqual(rows("--payload", "batch>=64", "--columns", "count,host,payload_mean"), [("2", "1200", "96")])
        self.assertIn("write '>=64'", self.fails(2, "report", "payloads.rfcap", "--payload", "batch"))
        self.assertIn("use --view ranges", self.fails(2, "report", "payloads.rfcap", "--payload", ">1", "--view", "tree"))
        self.assertIn("--view ops", self.fails(2, "report", "payloads.rfcap", "--group-by", "shape"))
        self.assertIn("--view breakdown", self.fails(2, "report", "payloads.rfcap", "--by", "step"))

    def test_columns_are_chosen_and_listed(self):
        text = self.succeeds("report", "whole.rfcap", "-q", "--columns", "Host p95,range").out
        self.assertRegex(text.splitlines()[0], r"^Host p95 +Range$")
        for words in (["report"], ["report", "whole.rfcap"]):
            listed = self.succeeds(*words, "--view", "ops", "--columns", "help").out
            self.assertIn("self_cpu_ns", listed)
            self.assertNotIn("device time", listed)
        self.assertIn("the columns are range, count,", self.fails(2, "report", "whole.rfcap", "--columns", "range,zzzzzzzz"))

    def test_report_begins_with_an_overview_unless_it_is_to_be_quiet(self):
        self.assertRegex(self.succeeds("report", "whole.rfcap").out, r"\Acapture +.*\n(.*\n)*next +rangefinder report whole.rfcap --")
        self.assertNotIn("next  ", self.succeeds("report", "whole.rfcap", "-q").out)
        self.assertIn("next", json.loads(self.succeeds("report", "whole.rfcap", "--json").out)["overview"])
        self.assertTrue(self.succeeds("report", "whole.rfcap", "--csv").out.startswith("Range,"))

    def test_simulated_recordings_say_so(self):
        self.assertIn("simulated: the device records come from", self.succeeds("report", "simulated.rfcap").out)
        self.assertIs(json.loads(self.succeeds("report", "simulated.rfcap", "--json").out)["simulated"], True)
        self.assertIn("simulated", self.succeeds("info", "simulated.rfcap").out)

    def test_export_writes_a_trace(self):
        said = self.succeeds("export", "whole.rfcap", "-o", "x.pt.trace.json").out
        self.assertIn("x.pt.trace.json", said)
        names = {event["name"] for event in self.trace("x.pt.trace.json")["traceEvents"]}
        self.assertLessEqual({"step", "forward", "gemm", "ProfilerStep#0"}, names)

    def test_export_writes_a_page(self):
        said = self.succeeds("export", "whole.rfcap", "--format", "html", "-o", "page.html").out
        self.assertRegex(said, r"\Apage\.html: [\d,]+ slices, [\d,]+ bytes\n\Z")
        page = (self.folder / "page.html").read_text()
        self.assertTrue(page.startswith("<!doctype html>"))
        index = json.loads(re.search(r'id="index">(.*?)</script>', page, re.S)[1])
        self.assertEqual((index["title"], index["lost"]["complete"]), ("whole.rfcap", True))
        self.assertIn("--force", self.fails(2, "export", "whole.rfcap", "--format", "html", "-o", "page.html"))
        done = json.loads(self.succeeds("export", "whole.rfcap", "--format", "html", "-o", "page.html", "--force", "--json").out)
        self.assertEqual((done["output"], done["output_bytes"], done["left_out"]), ("page.html", len(page.encode()), 0))
        self.assertIn("--at needs", self.fails(2, "export", "whole.rfcap", "--at", "peak", "-o", "x.html"))

    def test_the_format_of_an_export_is_told_by_its_name_unless_it_is_given(self):
        begins = {"x.pftrace": b"\x0a", "x.html": b"<!doctype html>", "x.folded": b"", "x.speedscope.json": b'{"$schema":"https://www.speedscope',
                  "x.hatchet.json": b'[{"frame":', "x.prom": b"# TYPE rangefinder_", "x.sqlite": b"SQLite format 3\0", "x.json": b'{\n"schemaVersion"',
                  "x": b'{\n"schemaVersion"', "x.folded.gz": b"\x1f\x8b"}
        for name, begin in begins.items():
            with self.subTest(name):
                self.succeeds("export", "whole.rfcap", "-o", name)
                content = (self.folder / name).read_bytes()
                self.assertTrue(content.startswith(begin), content[:80])
        self.assertRegex((self.folder / "x.folded").read_text(), r"\A(.+ \d+\n)+\Z")
        self.assertEqual(gzip.decompress((self.folder / "x.folded.gz").read_bytes()), (self.folder / "x.folded").read_bytes())
        self.succeeds("export", "whole.rfcap", "-o", "y.html", "--format", "chrome")
        self.assertTrue((self.folder / "y.html").read_bytes().startswith(b'{\n"schemaVersion"'))

    def test_an_option_of_another_format_is_refused(self):
        for words, hint in ((["--by", "host", "-o", "z.json"], "--by needs --format folded, speedscope or hatchet"),
                            (["--gpu", "slices", "-o", "z.html"], "--gpu needs --format perfetto"),
                            (["--pretty", "-o", "z.pftrace"], "--pretty needs --format chrome"),
                            (["--no-api", "-o", "z.folded"], "--no-api needs --format chrome or perfetto"),
                            (["--job", "a", "-o", "z.json"], "--job needs --format parquet"),
                            (["-o", "z.html.gz"], "z.html.gz: --format html does not compress")):
            self.assertIn(hint, self.fails(2, "export", "whole.rfcap", *words))
        self.assertFalse([name for name in self.files() if name.startswith("z")])

    def test_an_export_can_be_reported_and_exported_again(self):
        self.succeeds("export", "whole.rfcap", "-o", "1.json.gz")
        self.succeeds("export", "1.json.gz", "-o", "2.json")
        columns = ("Range", "Host (ns)", "GPU busy (ns)", "GPU self (ns)", "GPU ops")
        def figures(name):
            rows = csv.DictReader(io.StringIO(self.succeeds("report", name, "--csv").out))
            return {tuple(row[column] for column in columns) for row in rows if not row["Range"].startswith("ProfilerStep")}
        self.assertEqual(figures("1.json.gz"), figures("whole.rfcap"))
        self.assertEqual(figures("2.json"), figures("whole.rfcap"))

    def test_export_options_leave_out_what_they_name(self):
        self.succeeds("export", "whole.rfcap", "-o", "x.json", "--no-api", "--no-projected", "--pretty")
        categories = {event.get("cat") for event in self.trace("x.json")["traceEvents"]}
        self.assertFalse({"cuda_runtime", "gpu_user_annotation"} & categories)
        self.assertIn("kernel", categories)

    def test_memory_can_be_reported_and_opened_by_pytorchs_viewer(self):
        rows = list(csv.DictReader(io.StringIO(self.succeeds("report", "memory.rfcap", "--view", "memory", "--csv").out)))
        step = next(row for row in rows if (row["Range"], row["Memory"]) == ("step", "host"))
        self.assertEqual((step["Allocated (B)"], step["Freed (B)"], step["Peak (B)"]), ("612", "100", "612"))
        self.succeeds("export", "memory.rfcap", "--format", "memory_viz", "-o", "x.pickle")
        with open(self.folder / "x.pickle", "rb") as file:
            snapshot = pickle.load(file)
        host, device = snapshot["device_traces"]
        self.assertEqual([(e["action"], e["addr"], e["size"]) for e in host],
                         [("alloc", 0x1000, 512), ("alloc", 0x2000, 100), ("free_requested", 0x2000, 100),
                          ("free_completed", 0x2000, 100)])
        self.assertEqual([e["action"] for e in device], ["segment_alloc", "alloc", "oom"])
        self.assertEqual([f["name"] for f in host[0]["frames"]], ["aten::mm", "forward", "step"])
        self.assertEqual([f["name"] for f in host[1]["frames"]], ["backward", "step"])
        self.assertEqual((device[1]["stream"], device[1]["pool_id"], device[2]["device_free"]), (7, (3, 0), 0))
        self.assertEqual([(s["device"], s["address"], s["blocks"][0]["size"]) for s in snapshot["segments"]],
                         [(0, 0x1000, 512), (1, 0x8000, 64)])
        self.assertIn("holds no allocations",
                      self.run_command("export", "whole.rfcap", "--format", "memory_viz", "-o", "y.pickle").err)

    def test_the_snapshot_at_the_peak_has_the_blocks_of_the_peak(self):
        self.succeeds("export", "memory.rfcap", "--format", "memory_viz", "--at", "peak", "-o", "x.pickle")
        with open(self.folder / "x.pickle", "rb") as file:
            snapshot = pickle.load(file)
        host, device = snapshot["device_traces"]
        self.assertEqual([(e["action"], e["addr"]) for e in host], [("alloc", 0x1000), ("alloc", 0x2000)])
        self.assertEqual([e["action"] for e in device], ["segment_alloc", "alloc"])
        peaks = {row["Memory"]: int(row["Peak (B)"]) for row in csv.DictReader(io.StringIO(
            self.succeeds("report", "memory.rfcap", "--view", "memory_devices", "--csv").out)) if row["Pool"] == "all"}
        self.assertEqual(peaks, {"host": 612, "cuda:0": 64})
        for place, peak in enumerate(peaks.values()):
            self.assertEqual(sum(s["total_size"] for s in snapshot["segments"] if s["device"] == place), peak)
        wrong = self.run_command("export", "memory.rfcap", "--at", "peak", "-o", "x.json")
        self.assertNotEqual(wrong.code, 0)
        self.assertIn("--at needs --format memory_viz", wrong.err)
        self.assertFalse((self.folder / "x.json").exists())

    def test_diff_shows_what_is_different_and_exits_with_0(self):
        text = self.succeeds("diff", "whole.rfcap", "whole.rfcap").out
        self.assertIn("nothing is different", text)
        self.write("before.json", STEPS_OF % 30)
        self.write("after.json", STEPS_OF % 50)
        self.assertRegex(self.succeeds("diff", "before.json", "after.json").out, r"forward +30.00 us +50.00 us +20.00 us")
        found = json.loads(self.succeeds("diff", "before.json", "after.json", "--json").out)
        self.assertEqual(found["schema_version"], 2)
        row = next(row for row in found["rows"] if row["name"] == "forward")
        self.assertEqual((row["by"], row["change_ns"], row["host_ns"]), ("path", 20_000, 20_000))
        self.assertEqual(found["baseline"]["runs"], ["before.json"])
        self.assertEqual(self.succeeds("diff", "before.json", "after.json", "--format", "json").out,
                         self.succeeds("diff", "before.json", "after.json", "--json").out)
        rows = list(csv.DictReader(io.StringIO(self.succeeds("diff", "before.json", "after.json", "--format", "csv").out)))
        self.assertEqual([row["Name"] for row in rows if row["By"] == "path"], ["forward"])
        markdown = self.succeeds("diff", "before.json", "after.json", "--format", "markdown").out
        self.assertIn("| forward | 30.00 us | 50.00 us | 20.00 us |", markdown)

    def test_diff_takes_folders_of_runs(self):
        for name, length in (("before", 30), ("after", 50)):
            (self.folder / name).mkdir()
            for run in range(3):
                self.write(f"{name}/{run}.json", STEPS_OF % (length + run))
        found = json.loads(self.succeeds("diff", "before", "after", "--json").out)
        self.assertEqual([len(found[side]["runs"]) for side in ("baseline", "candidate")], [3, 3])
        self.assertEqual(next(row["change_ns"] for row in found["rows"] if row["name"] == "forward"), 20_000)

    def test_diff_names_what_it_cannot_compare(self):
        self.assertIn("nothing.rfcap", self.fails(2, "diff", "whole.rfcap", "nothing.rfcap"))
        self.assertIn("candidate", self.fails(2, "diff", "whole.rfcap", "nothing.rfcap"))
        self.assertIn("choose one", self.fails(2, "diff", "whole.rfcap", "whole.rfcap", "--json", "--format", "csv"))
        self.fails(2, "diff", "whole.rfcap")
        (self.folder / "empty").mkdir()
        self.assertIn("empty", self.fails(2, "diff", "empty", "whole.rfcap"))

    def runs(self, **lengths):
        """A folder of three runs each, with a range of that length."""
        for name, length in lengths.items():
            (self.folder / name).mkdir()
            for run in range(3):
                self.write(f"{name}/{run}.json", STEPS_OF % (length + run))

    def test_gate_passes_fails_or_cannot_tell_by_its_exit_code(self):
        self.runs(before=30, after=50)
        passed = self.succeeds("gate", "before", "after").out
        self.assertIn("pass: 0 of 1 metric past the limit\nbaseline: 3 runs, 3 steps\n", passed)
        self.assertIn("step > +2%", passed)
        failed = self.run_command("gate", "before", "after", "--fail-on", "path:forward > +10%", "--fail-on", "step > +2%")
        self.assertEqual((failed.code, failed.err), (1, ""))
        self.assertIn("regression: 1 of 2 metrics past the limit", failed.out)
        untold = self.run_command("gate", "before/0.json", "after/0.json", "--json")
        self.assertEqual((untold.code, untold.err), (4, ""))
        found = json.loads(untold.out)
        self.assertEqual((found["schema_version"], found["verdict"]), (1, "cannot tell"))
        self.assertIn("each side is one run", found["notes"][0])
        quiet = self.run_command("gate", "-q", "before", "after", "--fail-on", "path:* > +10%")
        self.assertEqual((quiet.code, quiet.out, quiet.err), (1, "", ""))

    def test_gate_writes_what_ci_reads(self):
        self.runs(before=30, after=50)
        rule = ["--fail-on", "path:forward > +10%"]
        told = self.run_command("gate", "before", "after", *rule, "--junit", "gate.xml", "--markdown", "gate.md")
        self.assertEqual((told.code, told.err), (1, ""))
        suite = xml.etree.ElementTree.parse(self.folder / "gate.xml").getroot()
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("1", "1"))
        self.assertEqual(suite.find("testsuite/testcase").get("classname"), "path:forward > +10%")
        markdown = (self.folder / "gate.md").read_text()
        self.assertIn("| regression | path:forward | fast | 31.00 us | 51.00 us |", markdown)
        self.assertEqual(self.run_command("gate", "before", "after", *rule, "--markdown", "-").out, markdown)

    def test_gate_compares_with_a_baseline_that_was_saved(self):
        self.runs(before=30, after=50)
        self.assertEqual(self.succeeds("gate", "--save", "main.rfbase", "before").out, "main.rfbase: written\n")
        self.assertLess((self.folder / "main.rfbase").stat().st_size, 4096)
        rule = ["--fail-on", "path:forward > +10%"]
        with_folder = self.run_command("gate", "before", "after", *rule, "--json")
        with_file = self.run_command("gate", "main.rfbase", "after", *rule, "--json")
        self.assertEqual((with_file.code, with_file.out), (1, with_folder.out))
        self.assertIn("--force", self.fails(2, "gate", "--save", "main.rfbase", "after"))
        self.succeeds("gate", "-q", "--save", "main.rfbase", "--force", "after/0.json", "after/1.json")
        self.succeeds("gate", "main.rfbase", "after")
        damaged = bytearray((self.folder / "main.rfbase").read_bytes())
        damaged[-20] ^= 1
        self.write("main.rfbase", bytes(damaged))
        self.assertIn("damaged baseline", self.fails(2, "gate", "main.rfbase", "after"))

    def test_gate_says_what_is_wrong_with_its_words(self):
        self.runs(before=30)
        self.assertIn("column 8: a limit is a change", self.fails(2, "gate", "before", "before", "--fail-on", "step > 2%"))
        self.assertIn("did you mean step?", self.fails(2, "gate", "before", "before", "--fail-on", "stp > +2%"))
        self.assertIn("a candidate is missing", self.fails(2, "gate", "before"))
        self.assertIn("choose one", self.fails(2, "gate", "--save", "x", "before", "--fail-on", "step > +2%"))
        self.assertIn("goes with --save", self.fails(2, "gate", "before", "before", "--force"))
        self.assertIn("nothing.rfcap", self.fails(2, "gate", "before", "nothing.rfcap"))
        self.fails(2, "gate", "before", "before", "--confidence", "20")

    def test_info_says_what_is_in_a_file(self):
        self.assertIn("ended by the program", " ".join(self.succeeds("info", "whole.rfcap").out.split()))
        info = json.loads(self.succeeds("info", "whole.rfcap", "--json").out)
        self.assertEqual((info["schema_version"], info["pid"], info["ended_cleanly"], info["health"]), (1, 4242, True, {}))
        self.succeeds("export", "whole.rfcap", "-o", "x.json")
        self.assertEqual(json.loads(self.succeeds("info", "x.json", "--json").out)["counts"]["device activities"], 3)

    def test_check_finds_damage_and_loss(self):
        self.assertEqual(self.succeeds("check", "whole.rfcap").out, "whole.rfcap: whole\n")
        self.succeeds("export", "whole.rfcap", "-o", "x.json")
        self.assertIn("x.json: whole\n", self.succeeds("check", "x.json").out)
        for name, words in (("cut.rfcap", "file ends in a chunk"), ("dropped.rfcap", "lost: 12 ranges dropped"),
                            ("unfinished.rfcap", "the file has no end")):
            result = self.run_command("check", name)
            self.assertEqual((result.code, result.err), (1, ""), result)
            self.assertIn(words, result.out)
            report = json.loads(self.run_command("check", name, "--json").out)
            self.assertFalse(report["whole"])
        self.assertEqual(self.run_command("check", "cut.rfcap", "-q").out, "")

    def test_check_repairs(self):
        self.assertEqual(self.run_command("check", "cut.rfcap", "--repair", "new.rfcap").code, 1)
        self.assertNotIn("no end", self.run_command("check", "new.rfcap").out)
        self.succeeds("report", "new.rfcap")
        self.assertIn("exists already; choose another name, or --force to replace it",
                      self.run_command("check", "cut.rfcap", "--repair", "new.rfcap").err)
        self.assertEqual(self.run_command("check", "cut.rfcap", "--repair", "new.rfcap", "--force").code, 1)

    def test_doctor_says_what_a_recording_can_hold(self):
        result = self.run_command("doctor")
        self.assertIn(result.code, (0, 1))
        self.assertTrue(result.out)
        findings = json.loads(self.run_command("doctor", "--json").out)["findings"]
        self.assertTrue(all(finding["state"] in ("ok", "note", "missing") for finding in findings))
        self.assertEqual(any(finding["state"] == "missing" for finding in findings), result.code == 1)

    def doctor(self, **variables):
        findings = json.loads(self.run_command("doctor", "--json", env=environment(**variables)).out)["findings"]
        return {finding["topic"]: finding for finding in findings}

    def test_doctor_advises_what_helps(self):
        found = self.doctor(RANGEFINDER_CUPTI_LIBRARY="/no/libcupti.so")["CUPTI"]
        if "this build has no CUPTI source" in found["detail"]:
            self.skipTest("built without CUPTI")
        self.assertEqual(found["state"], "missing")
        self.assertEqual(found["fix"], "set RANGEFINDER_CUPTI_LIBRARY to the path of libcupti.so, or unset it")
        found = self.doctor()
        if found["driver"]["state"] != "missing":
            self.skipTest("there is a driver")
        self.assertNotIn("CUDA toolkit", found["CUPTI"]["fix"])
        if "libcuda.so.1 was not found" in found["driver"]["detail"]:
            self.assertTrue(found["driver"]["detail"].startswith("no NVIDIA driver is loaded"), found["driver"])
            self.assertTrue(found["driver"]["fix"].startswith("on a machine with a GPU, install the NVIDIA driver"))

    def test_doctor_finds_the_plugin_of_nccl(self):
        found = self.doctor(NCCL_PROFILER_PLUGIN="")
        if "NCCL" not in found:
            self.skipTest("built without the recording half")
        self.assertEqual((found["NCCL"]["state"], found["NCCL"]["fix"]), ("ok", ""))
        said, path = found["NCCL"]["detail"].split("NCCL_PROFILER_PLUGIN=")
        self.assertEqual(said, "collectives are recorded by `rangefinder record`, or with ")
        self.assertTrue(path.endswith("/libnccl-profiler-rangefinder.so") and pathlib.Path(path).is_file(), path)
        self.assertEqual(self.doctor(NCCL_PROFILER_PLUGIN=path)["NCCL"]["state"], "ok")
        other = self.doctor(NCCL_PROFILER_PLUGIN="inspector")["NCCL"]
        self.assertEqual((other["state"], other["fix"]),
                         ("note", "unset NCCL_PROFILER_PLUGIN: `rangefinder record` sets it"))
        self.assertIn("NCCL_PROFILER_PLUGIN=inspector: NCCL tells that plugin", other["detail"])

    def test_doctor_names_tools_that_have_cupti_or_listen(self):
        def said(**variables):
            findings = json.loads(self.run_command("doctor", "--json", env=environment(**variables)).out)["findings"]
            return [(finding["state"], finding["detail"]) for finding in findings if finding["topic"] == "other tools"]
        no_tool = [("ok", "none that would take the CUPTI subscription")]
        ours = "/usr/lib/librangefinder_injection.so"
        self.assertEqual(said(), no_tool)
        self.assertEqual(said(CUDA_INJECTION64_PATH=ours, NVTX_INJECTION64_PATH=ours), no_tool)
        self.assertEqual(said(NVTX_INJECTION64_PATH="/opt/tool.so"),
                         [("note", "/opt/tool.so (NVTX_INJECTION64_PATH) listens to NVTX: ranges are sent to it, too")])
        for variable, tool in (("NSYS_PROFILING_SESSION_ID", "Nsight Systems"),
                               ("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"),
                               ("NV_SANITIZER_INJECTION_PORT_BASE", "compute-sanitizer"),
                               ("CUDA_INJECTION64_PATH", "/opt/tool.so")):
            self.assertEqual(said(**{variable: "/opt/tool.so"}),
                             [("note", f"{tool} ({variable}) has CUPTI: it hears our ranges where it listens to NVTX, "
                                       "and a recording has no device activity")])

    def test_version(self):
        self.assertRegex(self.succeeds("--version").out, r"\Arangefinder \d+\.\d+\.\d+")


class Usage(CommandTest):
    """Wrong use is exit code 2 and one line that helps."""

    def test_each_verb_has_help(self):
        self.assertIn("Exit codes", self.succeeds("--help").out)
        for verb in VERBS:
            text = self.succeeds(verb, "--help").out
            self.assertIn(f"rangefinder {verb}", text)
            self.assertIn(verb, self.succeeds("--help").out)
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f]")

    def test_the_keys_of_a_configuration_are_listed(self):
        if "record" not in VERBS:
            self.skipTest("built without the recording half")
        text = self.succeeds("record", "--config", "help").out
        page = (pathlib.Path(__file__).parents[2] / "docs/reference/configuration.md").read_text()
        keys = re.findall(r"(?m)^\| `([\w.]+)` \| `[\w.]+` \|", page)
        self.assertGreater(len(keys), 40)
        self.assertEqual(re.findall(r"(?m)^([\w.]+)=", text), keys)
        self.assertIn("memory=SIZE  (default 64MiB)\n    Memory bound for host records and CUPTI's buffers together. At least 8MiB.", text)
        self.assertIn("Record nothing until this much time has passed since the start", self.succeeds("record", "--help").out)
        self.assertIn("unknown key 'help'", self.fails(125, "record", "--config", "help", "--", "true"))

    def test_mistakes_get_the_nearest_name(self):
        for words, hint in ((["reprot", "whole.rfcap"], "did you mean report?"),
                            (["report", "whole.rfcap", "--vew", "tree"], "did you mean --view?"),
                            (["report", "whole.rfcap", "--vew=tree"], "did you mean --view?"),
                            (["report", "whole.rfcap", "--view", "kernls"], "did you mean kernels?"),
                            (["report", "whole.rfcap", "--view", "nvtx_gpu_proj_sun"], "did you mean nvtx_gpu_proj_sum?"),
                            (["report", "whole.rfcap", "--sort", "gpu_bsy_ns"], "did you mean gpu_busy_ns?"),
                            (["export", "whole.rfcap", "-o", "x.json", "--forc"], "did you mean --force?"),
                            (["--versoin"], "did you mean --version?")):
            self.assertIn(hint, self.fails(2, *words))

    def test_what_is_missing_or_wrong_is_named(self):
        for words, hint in (([], "which command?"), (["report"], "which file?"), (["export", "whole.rfcap"], "--output"),
                            (["export", "-o", "x.json"], "FILE"), (["info"], "FILE"), (["check"], "FILE"),
                            (["report", "whole.rfcap", "--top", "many"], "--top"), (["report", "whole.rfcap", "--top", "-1"], "--top"),
                            (["report", "whole.rfcap", "--color", "blue"], "--color"),
                            (["report", "whole.rfcap", "--filter", "(", "--regex"], "filter"),
                            (["info", "whole.rfcap", "dropped.rfcap"], "unexpected argument dropped.rfcap"),
                            (["export", "whole.rfcap", "-o", "x.json", "--format", "pdf"], "pdf"),
                            (["completion", "csh"], "csh")):
            self.assertIn(hint, self.fails(2, *words), words)
        self.assertNotIn("x.json", self.files())

    def test_a_wrong_value_is_answered_with_what_is_wanted(self):
        """Each option that takes words or numbers, with values that it does not take."""
        report, export, record = (["report", "whole.rfcap"], ["export", "whole.rfcap", "-o", "x.json"], ["record"])
        whole = 'is not a whole number of at least 1'
        wanted = [
            (report, "--depth", ("foo", "", "0", "-1", "1.5", "0x10"), whole), (report, "--depth", ("9" * 30,), "is too large"),
            (report, "--top", ("foo", "", "-1", "1.5"), "is not a whole number of at least 0"), (report, "--top", ("9" * 30,), "is too large"),
            (report, "--attribute", ("foo", "", "0", "Launch"), "is none of auto, launch, forward or capture"),
            (report, "--ranges", ("foo",), "is none of annotations, operators or both"),
            (report, "--by", ("foo",), "is none of step, range, reason or operator"),
            (report, "--group-by", ("foo",), "is none of name, shape or payload"), (report, "--color", ("blue", "1"), "is none of auto, always or never"),
            (report, "--peaks", ("",), "expected a file"),
            (export, "--format", ("pdf",), "is none of chrome, perfetto, html, "), (export, "--at", ("noon",), "is none of end or peak"),
            (["bench", "run"], "--iterations", ("foo", "0", "-1"), whole), (["bench", "run"], "--nproc", ("foo", "0"), whole),
            (["bench", "run"], "--iterations", ("9" * 19,), "is too large"), (["bench", "run"], "--nproc", ("4294967296",), "is too large"),
            (["bench", "run"], "--warmup", ("-1",), "is not a whole number of at least 0"),
            (["bench", "run"], "--timeout-s", ("foo", "0", "nan", "inf"), "is not a number above 0"),
            (["bench", "run"], "--seed", ("foo", "-1"), "is not a whole number of at least 0"),
            (["bench", "run"], "--profile", ("foo",), "is none of none, minimal, deep or roofline"),
            (["measure-peaks"], "--seconds", ("foo", "0", "-1", "nan", "1e400"), "is not a number above 0"),
            (["measure-peaks"], "--threads", ("foo", "0"), whole), (["measure-peaks"], "--device", ("tpu",), "is none of auto, host or cuda")]
        if "record" in VERBS:
            wanted += [(record, "--duration", ("foo", "0", "-1", "nan", "1e400", ""), "is not a number above 0"),
                       (record, "--delay", ("foo", "-1", "nan", "1e400"), "is not a number of at least 0"),
                       (record, "--until-step", ("foo", "0", "-1", "1.5"), whole), (record, "--until-step", ("4294967296",), "is too large")]
        codes = {"record": 125, "bench": 3}
        for words, option, values, hint in wanted:
            for value in values:
                rest = ["--", "true"] if words == record else []
                given = [f"{option}={value}"] if value else [option, value]
                error = self.fails(codes.get(words[0], 2), *words, *given, *rest)
                self.assertIn(hint, error)
                self.assertIn(f'{option}: "{value}" ' if hint.startswith("is") else f"{option}: ", error)
                self.assertLess(len(error), 200)

    def test_options_that_are_used_wrongly_are_named(self):
        for words, hint in ((["report", "whole.rfcap", "--view"], "--view needs a value: --view VIEW"),
                            (["report", "whole.rfcap", "--top", "1", "--top", "2"], "--top is given 2 times"),
                            (["report", "whole.rfcap", "--json=foo"], "--json takes no value"),
                            (["report", "whole.rfcap", "--json", "--csv"], "--json and --csv"),
                            (["report", "whole.rfcap", "--regex"], "--regex needs --filter"),
                            (["info", "--json", "whole.rfcap", "a", "b"], "unexpected argument a "),
                            (["report", "--version"], "--version belongs to no command: rangefinder --version"),
                            (["report", "-v"], "unknown option -v (see"), (["-x"], "unknown option -x (see")):
            self.assertIn(hint, self.fails(2, *words), words)
        self.assertNotIn("did you mean", self.fails(2, "report", "--version"))

    def test_a_filter_that_leaves_nothing_says_so(self):
        text = self.succeeds("report", "whole.rfcap", "--filter", "nosuch").out
        self.assertIn('no row has "nosuch" in Range (3 rows without the filter)', text)
        self.assertNotIn("more row", text)
        self.assertIn('no row matches "^no" in Range', self.succeeds("report", "whole.rfcap", "--filter", "^no", "--regex").out)
        some = self.succeeds("report", "whole.rfcap", "--filter", "ward", "--top", "1").out
        self.assertIn("(1 more row; the filter left out 1)", some)
        report = json.loads(self.succeeds("report", "whole.rfcap", "--filter", "nosuch", "--json").out)
        self.assertEqual(report["hidden_rows"], 3)
        self.assertTrue(any('"nosuch"' in note for note in report["notes"]))

    def test_a_name_with_control_bytes_does_not_reach_the_terminal(self):
        self.assertIn("\\x1b[31mno\\x0asuch", self.fails(2, "report", "\x1b[31mno\nsuch"))

    def test_incomplete_input_is_exit_code_3_under_strict_only(self):
        for verb in (["report"], ["info"], ["export", "--force", "-o", "x.json"]):
            for name in ("dropped.rfcap", "cut.rfcap"):
                self.succeeds(*verb, name)
                (self.folder / "x.json").unlink(missing_ok=True)
                result = self.run_command(*verb, name, "--strict")
                self.assertEqual(result.code, 3, (verb, name, result))
                self.assertNotIn("x.json", self.files())
            self.assertEqual(self.run_command(*verb, "whole.rfcap", "--strict").code, 0)


class Outputs(CommandTest):
    """Files appear whole or not at all, and replace nothing unasked."""

    def test_an_existing_file_stays(self):
        self.write("x.json", "mine")
        self.assertIn("--force", self.fails(2, "export", "whole.rfcap", "-o", "x.json"))
        self.assertEqual((self.folder / "x.json").read_text(), "mine")
        self.succeeds("export", "whole.rfcap", "-o", "x.json", "--force")
        self.trace("x.json")

    def test_an_input_may_be_its_own_output(self):
        self.succeeds("export", "whole.rfcap", "-o", "x.json")
        self.succeeds("export", "x.json", "-o", "x.json", "--force")
        self.trace("x.json")

    def test_a_folder_or_a_link_is_not_replaced(self):
        self.fails(2, "export", "whole.rfcap", "-o", "job", "--force")
        (self.folder / "link.json").symlink_to("whole.rfcap")
        before = (self.folder / "whole.rfcap").read_bytes()
        self.run_command("export", "whole.rfcap", "-o", "link.json", "--force")
        self.assertEqual((self.folder / "whole.rfcap").read_bytes(), before)

    def test_a_failed_export_leaves_nothing(self):
        before = self.files()
        self.fails(2, "export", "no_such.rfcap", "-o", "x.json")
        self.fails(2, "export", "header_only.rfcap", "-o", "x.json")
        self.fails(2, "export", "whole.rfcap", "-o", "no/such/folder/x.json")
        self.assertEqual(self.files(), before)

    def test_a_file_too_large_for_the_limit_leaves_nothing(self):
        import resource
        before = self.files()
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        self.fails(2, "export", "whole.rfcap", "-o", "x.json", preexec_fn=limit)
        self.assertEqual(self.files(), before)

    def test_a_full_device_is_an_error(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for words in (["report", "whole.rfcap"], ["report", "whole.rfcap", "--json"], ["info", "whole.rfcap"]):
            with open("/dev/full", "wb") as full:
                process = subprocess.run([COMMAND, *words], cwd=self.folder, env=environment(), stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(process.returncode, 2, words)
            self.assertRegex(process.stderr, rb"\Arangefinder: [^\n]+\n\Z")
        self.fails(2, "export", "whole.rfcap", "-o", "/dev/full")

    def test_gz_by_ending_and_the_same_bytes_each_time(self):
        self.succeeds("export", "whole.rfcap", "-o", "a.json.gz")
        self.succeeds("export", "whole.rfcap", "-o", "b.json.gz", env=environment(TZ="Asia/Tokyo", LC_NUMERIC="de_DE.UTF-8"))
        self.succeeds("export", "whole.rfcap", "-o", "c.json")
        a, b, c = ((self.folder / name).read_bytes() for name in ("a.json.gz", "b.json.gz", "c.json"))
        self.assertEqual(a, b)
        self.assertEqual(gzip.decompress(a), c)

    def test_a_dash_is_stdout(self):
        self.succeeds("export", "whole.rfcap", "-o", "x.json")
        self.assertEqual(self.succeeds("export", "whole.rfcap", "-o", "-").bytes, (self.folder / "x.json").read_bytes())

    def test_quiet_and_json_say_so_in_their_way(self):
        self.assertEqual(self.succeeds("export", "whole.rfcap", "-o", "x.json", "-q").out, "")
        said = json.loads(self.succeeds("export", "whole.rfcap", "-o", "y.json", "--json").out)
        self.assertEqual(said["schema_version"], 1)
        self.assertEqual(said["output_bytes"], (self.folder / "y.json").stat().st_size)
        self.assertEqual(said["events"], len(self.trace("y.json")["traceEvents"]))

    def test_a_reader_that_has_seen_enough_ends_it_quietly(self):
        self.write("many.json", json.dumps({"traceEvents": [{"ph": "X", "cat": "user_annotation", "name": f"range {i}", "pid": 1, "tid": 1,
                                                             "ts": 10 * i, "dur": 5} for i in range(20000)]}))
        process = subprocess.Popen([COMMAND, "report", "many.json", "--csv"], cwd=self.folder, env=environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.read(100)
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), -signal.SIGPIPE)
        self.assertEqual(errors, b"")


class Terminal(CommandTest):
    """Colour and width follow the terminal, NO_COLOR and the options."""

    def on_terminal(self, *words, **env):
        parent, child = pty.openpty()
        process = subprocess.Popen([COMMAND, *words], cwd=self.folder, env=environment(TERM="xterm", **env), stdin=subprocess.DEVNULL,
                                   stdout=child, stderr=subprocess.PIPE)
        os.close(child)
        out = b""
        while True:
            try:
                piece = os.read(parent, 65536)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(parent)
        process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(timeout=60), 0)
        return out.decode().replace("\r\n", "\n")

    def test_colour(self):
        self.assertIn("\x1b[", self.on_terminal("report", "whole.rfcap"))
        self.assertNotIn("\x1b[", self.on_terminal("report", "whole.rfcap", NO_COLOR="1"))
        self.assertIn("\x1b[", self.on_terminal("report", "whole.rfcap", NO_COLOR=""))
        self.assertIn("\x1b[", self.on_terminal("report", "whole.rfcap", "--color", "always", NO_COLOR="1"))
        self.assertNotIn("\x1b[", self.on_terminal("report", "whole.rfcap", "--color", "never"))
        self.assertNotIn("\x1b[", self.succeeds("report", "whole.rfcap").out)
        self.assertIn("\x1b[", self.succeeds("report", "whole.rfcap", "--color=always").out)

    def test_tables_fit_the_width(self):
        for width in (80, 120, 200):
            for view in ("ranges", "tree", "kernels", "memcpy", "api"):
                for instances in ([], ["--instances"]):
                    text = self.on_terminal("report", "whole.rfcap", "--view", view, *instances, COLUMNS=str(width), NO_COLOR="1")
                    longest = max(text.splitlines(), key=len)
                    self.assertLessEqual(len(longest), width, (view, instances, longest))

    def test_no_name_steers_the_terminal(self):
        self.succeeds("export", "hostile.rfcap", "-o", "hostile.json")
        for name in ("hostile.rfcap", "hostile.json"):
            for words in (*(["report", *form, "--view", view] for form in ([], ["--csv"], ["--json"])
                            for view in ("ranges", "tree", "kernels", "api", "cuda_gpu_kern_sum")),
                          ["info"], ["info", "--json"], ["check"], ["check", "--json"], ["export", "-o", "-"]):
                out = self.on_terminal(*words, name, NO_COLOR="1")
                self.assertTrue(out)
                self.assertNotRegex(out, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]", (words, name))

    def test_pipes_and_files_get_names_as_they_are_in_valid_utf8(self):
        for form in ("--csv", "--json"):
            text = self.succeeds("report", "hostile.rfcap", form).bytes.decode("utf-8")
            names = ([row["range"] for row in json.loads(text)["rows"]] if form == "--json" else
                     [row["Range"] for row in csv.DictReader(io.StringIO(text, newline=""))])
            self.assertEqual(names, ["a\0b\x1b[31m\n\r\x7f</script>\x1b]52;c;aGk=\x07\x9b2J\u202e\ufffd"])

    def test_ascii_where_the_locale_or_the_option_says_so(self):
        self.assertFalse(self.succeeds("report", "whole.rfcap").out.isascii())
        self.assertTrue(self.succeeds("report", "whole.rfcap", "--ascii").out.isascii())
        self.assertTrue(self.succeeds("report", "whole.rfcap", env=environment(LC_ALL="C")).out.isascii())


class MeasurePeaks(CommandTest):
    def test_a_recording_is_compared_with_peaks_of_the_host(self):
        shown = self.succeeds("measure-peaks", "--device", "host", "--seconds", "0.01", "--threads", "1", "-o", "c.json").out
        self.assertIn("GFLOP/s", shown)
        document = json.loads((self.folder / "c.json").read_text())
        self.assertEqual({(row["what"], row["type"]) for row in document["peaks"]},
                         {("flops", "fp32"), ("flops", "fp64"), ("bandwidth", "copy"), ("bandwidth", "triad")})
        rows = json.loads(self.succeeds("report", "operators.rfcap", "--view", "roofline", "--peaks", "c.json",
                                        "--json").out)["rows"]
        self.assertEqual([row["source"] for row in rows], ["shapes"])
        self.assertGreater(rows[0]["of_peak_percent"], 0)
        self.assertIn(rows[0]["bound_by"], ("compute", "memory"))
        operators = json.loads(self.succeeds("report", "operators.rfcap", "--view", "roofline_operators", "--peaks", "c.json",
                                             "--json").out)["rows"]
        self.assertEqual([row["flops"] for row in operators], [rows[0]["flops"]])
        self.assertGreater(operators[0]["of_peak_percent"], 0)
        without = json.loads(self.succeeds("report", "operators.rfcap", "--view", "roofline", "--json").out)
        self.assertIsNone(without["rows"][0]["of_peak_percent"])
        self.assertTrue(any("rangefinder measure-peaks -o" in note for note in without["notes"]))

    def test_json_is_what_the_file_holds(self):
        out = self.succeeds("measure-peaks", "--device", "host", "--seconds", "0.01", "--threads", "1", "-o", "c.json",
                            "--json").out
        self.assertEqual(out, (self.folder / "c.json").read_text())

    def test_a_worker_that_is_not_there(self):
        if not (pathlib.Path(COMMAND).resolve().parent / "rangefinder-workloads").exists():
            self.assertIn("no worker at", self.fails(2, "measure-peaks", "--device", "cuda", "--seconds", "0.01"))
        self.fails(2, "measure-peaks", "--worker", "/nowhere", "--seconds", "0.01")

    def test_files_without_peaks(self):
        self.write("c.json", "{}")
        self.assertIn("not a file that `rangefinder measure-peaks -o` wrote",
                      self.fails(2, "report", "operators.rfcap", "--view", "roofline", "--peaks", "c.json"))
        self.fails(2, "report", "operators.rfcap", "--view", "roofline", "--peaks", "nowhere.json")


class Completion(CommandTest):
    """What the command prints for shells and man is taken by them."""

    def shell_takes(self, shell, *check):
        script = self.write("script", self.succeeds("completion", shell).out)
        if shutil.which(check[0]) is None:
            self.skipTest(f"no {check[0]} here")
        process = subprocess.run([*check, script], capture_output=True, text=True)
        self.assertEqual((process.returncode, process.stderr), (0, ""))

    def test_bash_parses_it(self):
        self.shell_takes("bash", "bash", "-n")

    def test_zsh_parses_it(self):
        self.shell_takes("zsh", "zsh", "-n")

    def test_fish_parses_it(self):
        self.shell_takes("fish", "fish", "-n")

    def test_bash_completes_verbs_options_and_views(self):
        if shutil.which("bash") is None:
            self.skipTest("no bash here")
        script = self.write("script", self.succeeds("completion", "bash").out)
        def completions(*words):
            line = " ".join(f"'{word}'" for word in ("rangefinder", *words))
            code = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _rangefinder; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            return subprocess.run(["bash", "-c", code], cwd=self.folder, capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(completions("rep"), ["report"])
        self.assertEqual(completions("report", "--vi"), ["--view"])
        self.assertIn("nvtx_gpu_proj_trace", completions("report", "--view", "nvtx_gpu"))
        self.assertEqual(completions("report", "whole"), ["whole.rfcap"])
        self.assertEqual(completions("export", "--format", ""),
                         ["chrome", "perfetto", "html", "folded", "speedscope", "hatchet", "openmetrics", "nsight", "memory_viz", "parquet"])
        self.assertEqual(completions("report", "--attribute", ""), ["auto", "launch", "forward", "capture"])
        self.assertEqual(completions("measure-peaks", "--device", ""), ["auto", "host", "cuda"])
        self.assertEqual(completions("completion", "f"), ["fish"])
        self.assertEqual(completions("bench", "li"), ["list-targets"])
        self.assertEqual(completions("bench", "run", "--acc"), ["--accept-regressions", "--accept-provenance"])
        self.assertEqual(completions("bench", "run", "--profile", "d"), ["deep"])

    def test_the_manual_page_renders(self):
        page = self.write("rangefinder.1", self.succeeds("man").out)
        for verb in VERBS:
            self.assertIn(f".B rangefinder {verb}", page.read_text())
        if shutil.which("groff") is None:
            self.skipTest("no groff here")
        process = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-z", page], capture_output=True, text=True)
        self.assertEqual((process.returncode, process.stderr), (0, ""))


EVENT = b'{"ph":"X","cat":"user_annotation","name":"%s","pid":1,"tid":1,"ts":1.0,"dur":5%s}'


def event_file(name=b"step", more=b""):
    return b'{"traceEvents":[' + EVENT % (name, more) + b"]}"


def database(path, *statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return pathlib.Path(path).read_bytes()


class Hostile(CommandTest):
    """Any input gets a right and escaped result, or one line with place and reason and exit code 2; never a crash."""

    REFUSED = {
        "empty.json": (b"", "empty"),
        "empty.rfcap": (b"", "empty"),
        "text.txt": (b"hello, world\n" * 100, "neither a capture"),
        "binary": (bytes(range(256)) * 64, "neither a capture"),
        "zeros": (bytes(10000), "neither a capture"),
        "no_trace.json": (b'{"hello":[1,2,3]}', "no traceEvents"),
        "array.json": (b"[1,2,3]", "not a trace"),
        "null_events.json": (b'{"traceEvents":null}', "expected"),
        "cut.json": (event_file()[:-30], "cut off"),
        "open.json": (b'{"traceEvents":[', "cut off"),
        "deep_events.json": (b'{"traceEvents":[' + b"[" * 100000 + b"]" * 100000 + b"]}", "nested"),
        "deep_arguments.json": (event_file(more=b',"args":{"a":' + b"[" * 100000 + b"]" * 100000 + b"}"), "nested"),
        "deep_objects.json": (b'{"a":' * 100000 + b"1" + b"}" * 100000, ""),
        "garbage.json.gz": (gzip.compress(bytes(range(256)) * 20), "neither a capture"),
        "cut.json.gz": (gzip.compress(event_file())[:-12], "end early"),
        "bomb.json.gz": (gzip.compress(b'{"traceEvents":[' + b" " * (200 << 20) + b"]}"), "unpacks to"),
        "sqlite_head.sqlite": (b"SQLite format 3\0" + bytes(300), "database"),
        "magic.rfcap": (None, "capture"),
        "short.rfcap": (None, "capture"),
    }
    ACCEPTED = {
        "control.json": event_file(b"a\x01\x1b[31mred\x07\x08\x7f"),
        "escaped_control.json": event_file(b"a\\u0000\\u001b[31m\\n"),
        "script.json": event_file(b"</script><script>alert(1)</script>"),
        "nul.json": event_file(b"a\0b"),
        "not_utf8.json": event_file(b"\xff\xfe\xc3("),
        "megabyte.json": event_file(b"m" * (1 << 20)),
        "negative.json": event_file().replace(b'"dur":5', b'"dur":-5'),
        "huge.json": event_file().replace(b"1.0", b"1e400").replace(b'"dur":5', b'"dur":99999999999999999999999'),
        "tiny.json": event_file().replace(b"1.0", b"-9e999"),
        "words.json": event_file().replace(b"1.0", b"NaN"),
        "twice.json": event_file(more=b',"name":"second","pid":7,"ts":3'),
        "no_events.json": b'{"traceEvents":[]}',
        "cut_behind_an_event.json": b'{"traceEvents":[' + EVENT % (b"step", b"") + b"," + EVENT[:20],
        "comma.json": b'{"traceEvents":[' + EVENT % (b"step", b"") + b",]}",
        "formula.json": event_file(b"=cmd|' /C calc'!A0"),
        "hostile_members.json": event_file().replace(b'{"traceEvents"', b'{"</script>":"\x01","x":Infinity,"traceEvents"'),
    }
    COMMANDS = (["report"], ["report", "--csv"], ["report", "--json"], ["report", "--instances"], ["report", "--view", "tree"],
                ["info"], ["info", "--json"], ["check"], ["check", "--json"])

    def expect_refusal(self, name, hint):
        (self.folder / "out.json").unlink(missing_ok=True)
        for words in (*self.COMMANDS, ["export", "-o", "out.json", "--force"]):
            error = self.fails(2, *words, name)
            self.assertIn(hint, error, words)
            self.assertIn(name, error, words)
            self.assertNotIn("out.json", self.files())

    def expect_result(self, name):
        for words in self.COMMANDS:
            result = self.run_command(*words, name)
            self.assertIn(result.code, (0, 1) if words[0] == "check" else (0,), (words, name, result))
            self.assertEqual(result.err, "", (words, name))
            if "--json" in words:
                json.loads(result.bytes)
            if "--csv" not in words:
                self.assertNotRegex(result.out, "[\x00-\x09\x0b-\x1f\x7f]", (words, name))
        self.succeeds("export", name, "-o", "out.json", "--force")
        raw = (self.folder / "out.json").read_bytes()
        raw.decode("utf-8")
        self.assertNotRegex(raw, rb"[\x00-\x09\x0b-\x1f]")
        self.assertNotIn(b"</", raw)
        def refuse(word):
            raise ValueError(word)
        return json.loads(raw, parse_constant=refuse)

    def test_inputs_that_are_no_trace(self):
        whole = (self.folder / "whole.rfcap").read_bytes()
        contents = {"magic.rfcap": whole[:8] + bytes(200), "short.rfcap": whole[:60]}
        for name, (content, hint) in self.REFUSED.items():
            with self.subTest(name):
                self.write(name, contents.get(name, content))
                self.expect_refusal(name, hint)

    def test_inputs_that_are_not_there_or_may_not_be_read(self):
        self.expect_refusal("missing.json", "No such file")
        self.expect_refusal("no/such/folder.rfcap", "No such file")
        (self.folder / "empty_folder").mkdir()
        self.expect_refusal("empty_folder", "a folder without captures")
        os.mkfifo(self.folder / "pipe")
        self.expect_refusal("pipe", "no plain file")

    def test_a_file_that_may_not_be_read(self):
        if os.geteuid() == 0:
            self.skipTest("root may read everything")
        self.write("secret.json", event_file()).chmod(0)
        self.expect_refusal("secret.json", "Permission denied")

    def test_databases_that_are_no_export_of_nsight(self):
        for name, statements in (("other.sqlite", ["CREATE TABLE t(a)"]), ("nothing.sqlite", ["CREATE TABLE t(a)", "DROP TABLE t"])):
            database(self.folder / name, *statements)
            self.expect_refusal(name, "no export of Nsight")

    def test_a_database_with_the_names_and_not_the_columns(self):
        database(self.folder / "odd.sqlite", "CREATE TABLE StringIds(id TEXT)", "CREATE TABLE NVTX_EVENTS(a BLOB)",
                 "INSERT INTO NVTX_EVENTS VALUES (x'00ff')", "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start TEXT, end TEXT)",
                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('x', '</script>')")
        for words in (*self.COMMANDS, ["export", "-o", "out.json", "--force"]):
            result = self.run_command(*words, "odd.sqlite")
            self.assertIn(result.code, (0, 1, 2), (words, result))
            self.assertLessEqual(result.err.count("\n"), 1)

    def test_hostile_traces_give_right_and_escaped_results(self):
        for name, content in self.ACCEPTED.items():
            with self.subTest(name):
                self.write(name, content)
                trace = self.expect_result(name)
                for event in trace["traceEvents"]:
                    self.assertGreaterEqual(event.get("dur", 0), 0)

    def test_names_come_back_as_they_were(self):
        for name, expected in (("script.json", "</script><script>alert(1)</script>"), ("control.json", "a\x01\x1b[31mred\x07\x08\x7f"),
                               ("megabyte.json", "m" * (1 << 20)), ("nul.json", "a\0b")):
            self.write(name, self.ACCEPTED[name])
            trace = self.expect_result(name)
            self.assertIn(expected, [event["name"] for event in trace["traceEvents"]])
            report = json.loads(self.succeeds("report", name, "--json").out)
            self.assertIn(expected, [cell for row in report["rows"] for cell in (row.values() if isinstance(row, dict) else row)])

    def test_hostile_captures(self):
        for name in ("hostile.rfcap", "long_name.rfcap", "cut.rfcap", "unfinished.rfcap"):
            with self.subTest(name):
                self.expect_result(name)
        self.expect_refusal("header_only.rfcap", "not a capture")

    def test_a_capture_with_any_byte_changed(self):
        whole = (self.folder / "whole.rfcap").read_bytes()
        for at in range(0, len(whole), BYTES_APART):
            self.write("changed.rfcap", whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1:])
            for words in (["report"], ["export", "-o", "out.json", "--force"], ["check"]):
                result = self.run_command(*words, "changed.rfcap")
                self.assertIn(result.code, (0, 1, 2), (at, words, result))
                self.assertLessEqual(result.err.count("\n"), 1, (at, words, result))


def main():
    global COMMAND, INPUTS, BYTES_APART
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", required=True)
    parser.add_argument("--inputs", required=True)
    parser.add_argument("--reader-only", action="store_true", help="built without the recording half")
    parser.add_argument("--bytes-apart", type=int, default=41, help="of which one at a time is changed in a capture")
    parser.add_argument("topics", nargs="*")
    options = parser.parse_args()
    if options.reader_only:
        VERBS.remove("record")
    COMMAND, INPUTS, BYTES_APART = options.command, options.inputs, options.bytes_apart
    for path in (COMMAND, INPUTS):
        if not os.stat(path).st_mode & stat.S_IXUSR:
            sys.exit(f"{path}: cannot be run")
    unittest.main(argv=[sys.argv[0], "-v", *options.topics])


if __name__ == "__main__":
    main()
