#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `rangefinder bench` as people and CI do: bench_cli_test.py --command PATH --worker PATH --schema PATH.

The worker's benchmarks have planted faults and a clock of their own, so that nothing here depends on the machine's speed."""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import jsonschema
except ImportError:  # then the part of the standard that our schema uses is checked by the code below
    jsonschema = None

COMMAND = WORKER = ""
SCHEMA = {}
HAS_LIBDW = True
TYPES = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
KNOWN = {"$ref", "$defs", "$schema", "title", "description", "type", "properties", "required", "additionalProperties", "items",
         "enum", "const", "anyOf", "minimum"}


def is_type(value, name):
    if name in ("number", "integer"):
        return not isinstance(value, bool) and isinstance(value, (int, float) if name == "number" else int)
    return isinstance(value, TYPES[name])


def breaches(value, schema, place="$"):
    """Where a value breaks a schema."""
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError(f"{place}: the check does not know {unknown}")
    if "$ref" in schema:
        yield from breaches(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")], place)
    if "anyOf" in schema and all(list(breaches(value, each, place)) for each in schema["anyOf"]):
        yield f"{place}: fits none of {len(schema['anyOf'])}: {[next(breaches(value, each, place)) for each in schema['anyOf']]}"
    if "type" in schema and not is_type(value, schema["type"]):
        yield f"{place}: {value!r} is no {schema['type']}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{place}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{place}: {value} is too small"
    if isinstance(value, dict):
        yield from (f"{place}: no {name}" for name in schema.get("required", []) if name not in value)
        for name, member in value.items():
            if name in schema.get("properties", {}):
                yield from breaches(member, schema["properties"][name], f"{place}.{name}")
            elif schema.get("additionalProperties") is False:
                yield f"{place}: {name} is not in the schema"
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from breaches(item, schema["items"], f"{place}[{index}]")


def is_running(pid):
    """Not so of one that has ended and that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Bench(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rangefinder-bench-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, **more):
        keep = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LD_LIBRARY_PATH")}
        return {**keep, "TMPDIR": str(self.folder), "LC_ALL": "C.UTF-8", "RANGEFINDER_WORKER": WORKER, **more}

    def bench(self, code, *words, command=None, **environment):
        process = subprocess.run([command or COMMAND, "bench", *map(str, words)], cwd=self.folder, env=self.environment(**environment),
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(process.returncode, code, (words, process.stdout[-2000:], process.stderr[-2000:]))
        return process

    def results(self, code, targets, *words, **environment):
        process = self.bench(code, "run", "--targets", targets, "--json", *words, **environment)
        results = json.loads(process.stdout)
        self.check_schema(results)
        self.assertEqual(results, json.loads((self.folder / "bench-out/results.json").read_text()))
        self.assertEqual(results["exit_code"], code)
        self.assertIn("Status", process.stderr)  # stdout is the reader's, the table goes there
        self.assertTrue(results["rows"])
        return results

    def check_schema(self, results):
        self.assertEqual(list(breaches(results, SCHEMA)), [])
        if jsonschema:
            jsonschema.validate(results, SCHEMA)

    def test_results_fit_their_schema(self):
        good = self.results(0, "good", "--profile", "minimal")
        self.assertEqual(good["rows"][0]["ratios"]["time"]["value"], 4)
        self.assertTrue((self.folder / good["rows"][0]["baseline"]["profile"]["trace"]).is_file())
        device = self.results(0, "good", "--profile", "roofline", "--carbon-intensity", "400", PLANTED_DEVICE="2")
        self.assertEqual(device["energy"]["co2e_g"], device["energy"]["kwh"] * 400)
        self.assertIn("roofline", device["rows"][0]["baseline"]["profile"])
        self.assertGreater(device["rows"][0]["baseline"]["goodput"]["value"], 0)
        for targets, code in (("wrong_output", 1), ("crash,good", 1), ("looser", 1), ("below_goal", 2), ("skipped*", 4), ("planted:good*", 0)):
            with self.subTest(targets):
                self.results(code, targets)

    def test_a_goal_that_is_not_checked_says_so(self):
        for words, target, state, reason in (
                (["--size", "smoke"], "below_goal", "not_checked", "at smoke"),
                (["--validate"], "below_goal", "not_checked", "with --validate"),
                ([], "informational", "not_checked", "of an informational benchmark"),
                ([], "good_throughput", "not_checked", "without a least ratio"),
                ([], "good", "met", "")):
            with self.subTest(target + reason):
                self.assertEqual(self.results(0, target, *words)["rows"][0]["goal_result"], {"state": state, "reason": reason})
        self.assertEqual(self.results(2, "below_goal")["rows"][0]["goal_result"], {"state": "missed", "reason": ""})
        for target, code in (("wrong_output", 1), ("skipped*", 4)):
            self.assertIsNone(self.results(code, target)["rows"][0]["goal_result"])
        table = self.bench(0, "run", "--targets", "below_goal", "--size", "smoke").stdout
        self.assertIn("speed: not checked at smoke", table)
        self.assertIn("Goal speed: not checked at smoke. Status: no_expectation.", self.bench(0, "report", "bench-out/results.json").stdout)

    def test_results_of_an_earlier_run_are_kept(self):
        out = self.folder / "bench-out"
        first = self.results(0, "good")
        self.assertFalse(first["notes"])
        second = self.results(0, "good_memory")
        self.assertEqual(second["notes"], ["results of an earlier run are kept as bench-out/results-1.json"])
        self.results(0, "good_throughput")
        self.assertEqual(json.loads((out / "results-1.json").read_text()), first)
        self.assertEqual(json.loads((out / "results-2.json").read_text()), second)
        self.assertEqual(len(list(out.glob("results*.md"))), 3)
        self.assertIn("good_memory", (out / "results-2.md").read_text())
        self.bench(3, "run", "--targets", "god")
        self.assertEqual(len(list(out.glob("results*.json"))), 3)

    def test_a_deep_profile_has_stacks_of_the_host(self):
        row = self.results(0, "busy", "--profile", "deep")["rows"][0]
        for variant in ("baseline", "optimized"):
            samples = row[variant]["profile"]["host_samples"]
            self.assertEqual(samples["lost"], 0)
            self.assertGreater(samples["count"], 3)
            folded = (self.folder / row[variant]["profile"]["files"][-1]).read_text().splitlines()
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded), samples["cpu_ns"])
            if not HAS_LIBDW:
                self.assertTrue(any(line.startswith("step;double;[") and "planted_worker+0x" in line for line in folded), folded)
                continue
            spent = [each for each in samples["functions"] if each["name"].endswith("Doubling::step")]
            self.assertEqual(len(spent), 1, samples)
            self.assertGreater(spent[0]["total_ns"], 3 * 10_000_000)
            self.assertTrue(any(line.startswith("step;double;") and "Doubling::step" in line for line in folded), folded)
        self.assertNotIn("host_samples", self.results(0, "busy", "--profile", "minimal")["rows"][0]["baseline"]["profile"])
        if not HAS_LIBDW:
            self.skipTest("built without libdw: functions have no names")

    def test_the_schema_is_looked_at(self):
        results = self.results(0, "good")
        for change in (lambda r: r.update(exit_code=3), lambda r: r.pop("rows"), lambda r: r["rows"][0].update(status="fine"),
                       lambda r: r["rows"][0]["baseline"].update(peak_bytes="many"), lambda r: r["rows"][0].update(more=1)):
            broken = json.loads(json.dumps(results))
            change(broken)
            self.assertEqual(len(list(breaches(broken, SCHEMA))), 1)

    def test_planted_faults_end_with_their_exit_codes(self):
        self.bench(0, "run", "--targets", "good,grow", "--update-expectations")
        stored = list(self.folder.glob("expectations_cpu_*.json"))
        self.assertEqual(len(stored), 1)
        self.assertEqual(set(json.loads(stored[0].read_text())["examples"]), {"good", "grow"})
        self.bench(0, "run", "--targets", "good,grow")
        self.assertIn("regressed", self.bench(2, "run", "--targets", "good", PLANTED_SLOWDOWN="1.3").stdout)
        self.assertIn("peak_bytes", self.bench(2, "run", "--targets", "good", PLANTED_BYTES="1.1").stdout)
        self.assertIn("growth_bytes", self.bench(2, "run", "--targets", "grow", PLANTED_GROWTH="2").stdout)
        self.bench(1, "run", "--targets", "wrong_output,good")
        self.bench(1, "run", "--targets", "cached")
        self.bench(1, "run", "--targets", "hang", "--timeout-s", "2")

    def test_ratios_are_of_a_processor_family(self):
        self.assertIn("no ratio was compared", self.bench(4, "run", "--targets", "good", "--ratios").stdout)
        self.bench(0, "run", "--targets", "good", "--ratios", "--update-expectations")
        stored = [each.name for each in self.folder.glob("expectations_*.json")]
        self.assertEqual(len(stored), 1)
        self.assertRegex(stored[0], re.compile(r"^expectations_cpu_(x86_64(_avx2|_avx512)?|[a-z0-9]+)\.json$"))
        self.results(0, "good", "--ratios", "--expectations", self.folder)
        caught = self.bench(2, "run", "--targets", "good", "--ratios", PLANTED_SLOWDOWN="1.2").stdout
        self.assertIn("ratio.time was at least 3.68 and is 3.33333", caught)
        self.assertIn("--ratios", self.bench(3, "run", "--targets", "good", "--expectations", stored[0]).stderr)

    def test_expectations_of_another_machine_are_refused(self):
        (self.folder / "e.json").write_text('{"schema_version": 1, "hardware_key": "h200", "examples": {}}')
        self.assertIn("h200", self.bench(3, "run", "--targets", "good", "--expectations", "e.json").stderr)

    def test_wrong_use(self):
        for words, hint in ((["run", "--targets", "god"], "did you mean good?"), (["run", "--profle", "deep"], "did you mean --profile?"),
                            (["run", "--device", "tpu"], "cpu or cuda"), (["run", "--nproc", "1025"], "at most 1024"), (["run", "--stall-s", "0"], "is not a number above 0"), (["run", "--assume-flops", "1e9"], "--dry-run"), ([], "which command?"),
                            (["runn"], "did you mean run?"), (["compare"], "--examples"), (["run", "--worker", "/no/worker"], "/no/worker"),
                            (["report"], "FILE"), (["report", "absent.json"], "absent.json")):
            with self.subTest(words):
                process = self.bench(3, *words)
                self.assertIn(hint, process.stderr)
                self.assertEqual(process.stdout, "")
                self.assertEqual(process.stderr.count("\n"), 1)
        self.assertEqual([each.name for each in self.folder.iterdir()], [])

    def test_no_worker_says_how_to_name_one(self):
        alone = shutil.copy(COMMAND, self.folder)  # a build may have a worker beside the command
        process = self.bench(3, "list-targets", command=alone, RANGEFINDER_WORKER="")
        self.assertEqual(process.stderr.count("\n"), 1)
        for hint in ("RANGEFINDER_WORKER", "--worker PATH", "build the examples", "docs/how-to/add-a-workload.md", str(self.folder)):
            self.assertIn(hint, process.stderr)

    def test_targets_are_listed(self):
        lines = self.bench(0, "list-targets").stdout.splitlines()
        self.assertGreater(len(lines), 15)
        self.assertEqual(lines, sorted(lines))
        listed = json.loads(self.bench(0, "list-targets", "--json", "--chapter", "planted:good*").stdout)
        self.assertEqual([target["name"] for target in listed["targets"]], ["good", "good_memory", "good_throughput"])
        self.assertEqual(listed["targets"][0]["variants"], ["baseline", "optimized"])

    def test_formats(self):
        self.assertTrue(self.bench(0, "compare", "--examples", "good", "--format", "markdown").stdout.startswith("# "))
        both = self.bench(0, "run", "--targets", "good", "--format", "both").stdout
        self.assertTrue(both.startswith("Benchmark "))
        self.assertIn("\n# Baseline and optimized\n", both)
        self.assertEqual(self.bench(0, "run", "--targets", "good", "--json", "-q").stderr, "")

    def test_a_dry_run_tells_what_would_be_taken(self):
        dry = ("run", "--targets", "good", "--iterations", "3", "--dry-run")
        self.assertIn("good: cpu cpu, 3 iterations", self.bench(0, *dry).stdout)
        over = self.bench(1, *dry, "--disk-limit", "1KiB", PLANTED_OUTPUTS="4.5").stdout
        self.assertIn("over the limit: good: its outputs take 1.152 kB of disk, and --disk-limit is 1.024 kB", over)
        plan = json.loads(self.bench(1, *dry, "--json", "--assume-flops", "12").stdout)
        self.assertEqual((plan["assumed"]["source"], plan["rows"][0]["check"]["output_bytes"]), ("--assume-flops", 256))
        self.assertEqual(len(plan["rows"][0]["over"]), 1)
        self.assertFalse((self.folder / "bench-out").exists())

    def test_recommendations_and_rates_of_results(self):
        self.bench(0, "run", "--targets", "good", "--profile", "minimal", "--out", "a")
        self.bench(0, "run", "--targets", "good", "--out", "b", PLANTED_SLOWDOWN="1.1")
        # The planted processor works half of the wall time, and no range says what it waits for.
        self.assertIn("what bounds it is undecided (host 50 % of a step, not known 50 %); missing: a range around",
                      self.bench(0, "report", "a/results.json").stdout)
        self.assertIn("missing: ranges and device activity of steps: --profile minimal", self.bench(0, "report", "b/results.json").stdout)
        self.assertIn("absent.json", self.bench(3, "run", "--targets", "good", "--peaks", "absent.json").stderr)
        self.bench(0, "report", "a/results.json", "-o", "r.md")
        self.assertIn("# Recommendations", (self.folder / "r.md").read_text())
        self.assertIn("x1 [1, 1]: kept up", self.bench(0, "compare-perf", "a/results.json", "a/results.json").stdout)
        self.assertIn("x0.909 [0.909, 0.909]: fell behind", self.bench(2, "compare-perf", "a/results.json", "b/results.json").stdout)
        told = json.loads(self.bench(2, "compare-perf", "a/results.json", "b/results.json", "--json").stdout)
        self.assertFalse(told["kept"])
        row = told["rows"][0]
        self.assertEqual((row["name"], row["unit"], row["verdict"], row["control"]), ("good", "tokens_per_s", "fell behind", 1))
        self.assertAlmostEqual(row["ratio"], 1 / 1.1, places=6)
        for words in ([], ["a/results.json"], ["a/results.json", "absent.json"], ["--no-such-option"]):
            self.bench(1, "compare-perf", *words)

    def test_a_lab_leaves_one_page(self):
        shown = self.bench(0, "lab", "--targets", "change_*", "--iterations", "5", "--seed", "7", "--out", "lab").stdout
        self.assertRegex(shown, r"(?m)^change_two +change_one +\S+ tokens/s +x2 +x4 ")
        self.assertTrue(shown.endswith("\nlab/lab.md, lab/lab.html\n"), shown)
        page = (self.folder / "lab/lab.md").read_text()
        self.assertIn(f"    rangefinder bench lab --targets 'change_*' --worker {WORKER} --iterations 5 --seed 7 --out lab\n", page)
        self.assertIn("| change_one | baseline |", page)
        self.assertIn("</html>", (self.folder / "lab/lab.html").read_text())
        self.check_schema(json.loads(self.bench(0, "lab", "--targets", "change_*", "--out", "lab", "--resume", "--json", "-q", "--seed", "7").stdout))
        self.assertIn("| wrong_output | failed |", self.lab_of(1, "wrong_output,change_one"))
        self.lab_of(4, "skipped")
        self.lab_of(5, "change_*,good", "--time-limit", "0.000001")
        # The worker has none of what a lab runs by itself.
        self.assertIn("optimization_summary*", self.bench(3, "lab").stderr)

    def lab_of(self, code, targets, *words):
        self.bench(code, "lab", "--targets", targets, "-q", *words)
        return (self.folder / "bench-out/lab.md").read_text()

    def test_an_interrupt_ends_the_workers_and_leaves_results(self):
        process = subprocess.Popen([COMMAND, "bench", "run", "--targets", "good,hang"], cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        log = self.folder / "bench-out/hang/optimized.log"
        while not log.exists() and process.poll() is None:
            os.sched_yield()
        children = self.children_of(process)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertTrue(children)
        self.assertFalse([child for child in children if pathlib.Path("/proc", child).exists()])
        results = json.loads((self.folder / "bench-out/results.json").read_text())
        self.check_schema(results)
        self.assertEqual([row["status"] for row in results["rows"]], ["passed", "failed"])
        self.assertRegex(results["rows"][1]["reason"], re.compile("interrupted"))

    def children_of(self, process):
        return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()

    def test_ranks(self):
        results = self.results(0, "ranks_good", "--nproc", "3", "--profile", "minimal")
        row = results["rows"][0]
        self.assertEqual((row["ranks"], results["provenance"]["ranks"]), (3, 3))
        self.assertEqual([each["rank"] for each in row["baseline"]["ranks"]], [0, 1, 2])
        self.assertTrue((self.folder / row["optimized"]["ranks"][2]["capture"]).is_file())
        self.assertIn(", ranks 3", self.bench(0, "run", "--targets", "ranks_good", "--nproc", "3").stdout)
        self.assertIn("ranks_good: skipped: needs_world_size_2", self.bench(4, "run", "--targets", "ranks_good").stdout)
        self.assertIn("ranks_good: cpu cpu, 4 ranks a variant", self.bench(0, "run", "--targets", "ranks_good", "--nproc", "4", "--dry-run").stdout)
        for target in ("ranks_exit", "ranks_wrong"):
            with self.subTest(target):
                self.results(1, target, "--nproc", "2")
        self.assertIn("rank 1 of 2 ended with exit code 3 in step 1 of variant optimized",
                      self.bench(1, "run", "--targets", "ranks_exit", "--nproc", "2").stdout)

    def test_no_rank_outlives_a_harness_that_is_killed(self):
        # Of the optimized variant rank 1 hangs or is stopped, the others wait for it; those of the baseline wait for the harness.
        for target in ("ranks_hang", "ranks_stopped"):
            with self.subTest(target):
                shutil.rmtree(self.folder / "bench-out", ignore_errors=True)
                process = subprocess.Popen([COMMAND, "bench", "run", "--targets", target, "--nproc", "3", "--stall-s", "1000"], cwd=self.folder,
                                           env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL, start_new_session=True)
                log = self.folder / f"bench-out/{target}/optimized.log"
                while process.poll() is None and (not log.exists() or log.read_text().count(" met the others") < 3):
                    os.sched_yield()
                children = self.children_of(process)
                process.kill()
                process.wait(timeout=60)
                self.assertEqual(len(children), 7)  # of each variant three, and the reference
                deadline = time.monotonic() + 10
                while any(is_running(child) for child in children) and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertEqual([child for child in children if is_running(child)], [])

    def test_a_run_that_is_killed_leaves_whole_results_and_goes_on(self):
        process = subprocess.Popen([COMMAND, "bench", "run", "--targets", "good,hang"], cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        log = self.folder / "bench-out/hang/optimized.log"
        while not log.exists() and process.poll() is None:
            os.sched_yield()
        process.kill()
        process.wait(timeout=60)
        left = json.loads((self.folder / "bench-out/results.json").read_text())
        self.check_schema(left)
        self.assertEqual(([row["name"] for row in left["rows"]], left["exit_code"]), (["good"], 5))
        self.assertTrue((self.folder / "bench-out/results.md").is_file())
        done = self.results(0, "good,good_memory", "--resume")
        self.assertEqual([row["name"] for row in done["rows"]], ["good", "good_memory"])
        self.assertEqual(done["rows"][0], left["rows"][0])  # not run again
        self.assertEqual(self.results(5, "good*", "--time-limit", "0.000001")["exit_code"], 5)
        self.bench(1, "run", "--targets", "good", "--disk-limit", "100")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("command", "worker", "schema", "libdw"):
        parser.add_argument("--" + option, required=True)
    options, rest = parser.parse_known_args()
    COMMAND, WORKER = options.command, options.worker
    SCHEMA = json.loads(pathlib.Path(options.schema).read_text())
    HAS_LIBDW = options.libdw == "1"
    unittest.main(argv=[sys.argv[0], *rest])
