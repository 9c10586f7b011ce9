#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records programs that mark themselves with NVTX, as people do. record_test.py --command PATH --program PATH ... [TOPIC]"""
import argparse
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

OPTIONS = None


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rangefinder-record-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def environment(self, **more):
        ours = ("NVTX_", "CUDA_INJ", "RANGEFINDER_", "NSYS_", "NV_")
        return {**{key: value for key, value in os.environ.items() if not key.startswith(ours)}, **more}

    def run_command(self, *words, **more):
        return subprocess.run([OPTIONS.command, *map(str, words)], cwd=self.folder, env=self.environment(**more),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120)

    def record(self, *program, code=0, options=("-o", "a.rfcap"), **more):
        result = self.run_command("record", *options, "--", *program, **more)
        self.assertEqual(result.returncode, code, result)
        return result

    def start(self, *words, **more):
        """A command whose program says `ready`."""
        process = subprocess.Popen([OPTIONS.command, "record", *map(str, words)], cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def wait_until(self, process, is_so):
        while not is_so():
            self.assertIsNone(process.poll())
            time.sleep(0.01)

    def script(self, text):
        path = self.folder / "program.py"
        path.write_text(text)
        return [sys.executable, path]

    def captures(self):
        self.assertEqual(list(self.folder.glob("*.live")), [])
        return sorted(path.name for path in self.folder.glob("*.rfcap"))

    def events(self, capture="a.rfcap"):
        """Ranges and marks: (name, domain, category, value, thread), in order of begin."""
        check = self.run_command("check", capture)
        self.assertEqual((check.returncode, check.stdout), (0, f"{capture}: whole\n"))
        trace = self.run_command("export", capture, "-o", "-", "--no-projected")
        self.assertEqual(trace.returncode, 0, trace)
        self.trace = json.loads(trace.stdout)["traceEvents"]
        found = [event for event in self.trace if event["ph"] in "Xi" and event.get("cat") != "Trace"]
        found = [event for event in found if not event["name"].startswith(("rangefinder: ", "ProfilerStep#"))]
        out = []
        for event in sorted(found, key=lambda event: event["ts"]):
            arguments = event.get("args", {})
            out.append((event["name"], arguments.get("domain", ""), arguments.get("category", ""),
                        arguments.get("value", arguments.get("payload")), event["tid"]))
        return out

    def names(self, capture="a.rfcap"):
        return [event[0] for event in self.events(capture)]


class Ranges(RecordTest):
    def test_everything_that_nvtx_says(self):
        result = self.record(OPTIONS.program, "everything", OPTIONS.module)
        self.assertRegex(result.stderr, r"\Arangefinder: recorded 17 ranges(; no device activity: .*|, \d+ launches.*); "
                                        r"nothing lost; see: rangefinder report \S+/a.rfcap\n\Z")
        events = self.events()
        self.assertEqual([event[:4] for event in events], [
            ("step", "", "", None), ("forward", "", "", None), ("tick", "", "", None), ("upload", "", "", None),
            ("on the second thread", "", "", None), ("wide \u00e9 \u20ac", "", "", None), ("\u20ac" * 1500, "", "", None),
            ("registered", "library", "io", 2.5), ("registered", "library", "8", None), ("counted", "", "", -3),
            ("", "", "", None), ("same", "library", "", None), ("same", "other", "", None), ("same", "", "", None),
            ("", "", "", None), ("", "", "", None), ("around the module", "", "", None), ("in the module", "", "", None)])
        threads = {event[0]: event[4] for event in events}
        self.assertNotEqual(threads["on the second thread"], threads["step"])
        second = next(event for event in self.trace if event["name"] == "on the second thread")
        self.assertLessEqual(self.ends_of("upload")[""], second["ts"])  # where another thread ends it
        same = self.ends_of("same")
        self.assertLess(same["library"], same[""])
        self.assertLess(same[""], same["other"])

    def ends_of(self, name):
        return {event.get("args", {}).get("domain", ""): event["ts"] + event["dur"] for event in self.trace
                if event["name"] == name}

    def test_ranges_that_are_too_deep_are_counted(self):
        result = self.record(OPTIONS.program, "deep")
        self.assertRegex(result.stderr, r"recorded 65,535 ranges[;,].*; lost: 10 ranges dropped")

    def test_without_a_tool_nothing_happens(self):
        for variables in ({}, {"NVTX_INJECTION64_PATH": "/nowhere/librangefinder_injection.so"}):
            process = subprocess.run([OPTIONS.program, "unrecorded"], cwd=self.folder, env=self.environment(**variables),
                                     capture_output=True, text=True, timeout=60)
            self.assertEqual((process.returncode, process.stdout + process.stderr), (0, ""))
        self.assertEqual(self.captures(), [])

    def test_a_program_that_says_nothing(self):
        result = self.record(OPTIONS.program, "nothing", code=7)
        self.assertRegex(result.stderr, r"\Arangefinder: nothing recorded: no process of the program called NVTX")
        self.assertRegex(result.stderr, r"\nrangefinder: to get ranges: .*torch\.cuda\.nvtx.*emit_nvtx.*nvtx3.*ProfileRange\n\Z")
        self.assertEqual(self.captures(), [])

    def test_options(self):
        self.record("sh", "-c", f'test "$COLOUR" = blue && exec {OPTIONS.program} seven', code=7,
                    options=["-q", "-o", "a.rfcap", "--config", "meta.model=resnet50", "--env", "COLOUR=blue"])
        self.assertIn("resnet50", self.run_command("info", "a.rfcap").stdout)
        self.record(OPTIONS.program, "seven", code=7, options=["--output", "b-%p.rfcap"])
        self.record(OPTIONS.program, "seven", code=7, options=[])
        self.assertRegex(" ".join(self.captures()), r"\Aa.rfcap b-\d+.rfcap injection_nvtx_program-\d+.rfcap\Z")

    def test_a_percent_sign_in_a_folder_stands_for_itself(self):
        folder = self.folder / "50%p"
        folder.mkdir()
        result = self.record(OPTIONS.program, "seven", code=7, options=["-o", folder / "a.rfcap"])
        self.assertIn("recorded 1 range", result.stderr)
        self.assertEqual([path.name for path in folder.iterdir()], ["a.rfcap"])

    def test_an_earlier_capture_is_replaced(self):
        self.record(OPTIONS.program, "everything", OPTIONS.module)
        earlier = (self.folder / "a.rfcap").read_bytes()
        self.record("/nowhere/program", code=127)
        self.record(OPTIONS.program, "nothing", code=7)
        self.assertEqual((self.folder / "a.rfcap").read_bytes(), earlier)
        self.record(OPTIONS.program, "seven", code=7)
        self.assertEqual(self.captures(), ["a.rfcap"])
        self.assertEqual(self.names(), ["before"])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["a.rfcap"])

    def test_a_file_that_is_no_capture_is_left_alone_and_the_program_not_begun(self):
        host = os.uname().nodename
        for output, victim, says in (("victim.py", "victim.py", "is not a capture"), ("a.rfcap", "a.rfcap.live", "is not a live file"),
                                     ("%h%%.py", f"{host}%.py", "is not a capture")):
            path = self.folder / victim
            path.write_text("print()\n")
            result = self.record("sh", "-c", f"touch begun; {OPTIONS.program} seven", code=125, options=["-o", output])
            self.assertRegex(result.stderr, rf"\Arangefinder: record: {re.escape(str(path))}: {says}[^\n]*\n\Z")
            self.assertEqual(path.read_text(), "print()\n")
            self.assertEqual([path.name for path in self.folder.iterdir()], [victim])
            path.unlink()
        (self.folder / "link.rfcap").symlink_to("nowhere")
        result = self.record("true", code=125, options=["-o", "link.rfcap"])
        self.assertIn("link.rfcap: exists and is not a regular file", result.stderr)

    def test_nor_is_one_whose_name_is_known_only_in_the_program(self):
        (self.folder / "job-3.py").write_text("print()\n")
        result = self.record(OPTIONS.program, "seven", code=7, options=["-o", "job-%r.py"], RANK="3", RANGEFINDER_LOG="error")
        self.assertIn("job-3.py: is not a capture and is not replaced; choose another output, or remove it", result.stderr)
        self.assertIn("nothing recorded", result.stderr)
        self.assertEqual((self.folder / "job-3.py").read_text(), "print()\n")

    def test_an_empty_file_is_replaced(self):
        (self.folder / "a.rfcap").write_text("")
        os.utime(self.folder / "a.rfcap", (0, 0))
        self.record(OPTIONS.program, "seven", code=7)
        self.assertEqual(self.names(), ["before"])

    def test_also_where_its_name_has_placeholders(self):
        host = os.uname().nodename
        for output, name in (("job-%r.rfcap", "job-3.rfcap"), (f"%h{host[0]}.rfcap", f"{host}{host[0]}.rfcap")):
            for _ in range(2):
                result = self.record(OPTIONS.program, "seven", code=7, options=["-o", output], RANK="3")
                self.assertRegex(result.stderr, rf"recorded 1 range[;,].* see: rangefinder report \S+/{re.escape(name)}\n\Z")
        self.assertEqual(len(self.captures()), 2)

    def test_what_cannot_be_written_is_written_nowhere_else(self):
        result = self.run_command("record", "-o", "/proc/a.rfcap", "--", OPTIONS.program, "seven")
        self.assertIn(result.returncode, (7, 125))  # whoever may do everything is not refused before
        self.assertNotIn("recorded 1 range", result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])


class Payloads(RecordTest):
    def setUp(self):
        super().setUp()
        self.record(OPTIONS.payloads)
        self.found = self.events()

    def test_schemas(self):
        point = "{x=1 y=1}, {x=2 y=2}"
        sample = ('rank=3 loss=0.5 bytes=1099511627776 host="node-7" at={x=-1 y=2.25} dims=[4, -5, 6] mode=FAST '
                  'flags=READ|WRITE|0x10 buffer=0xabcd0 half=1.5 bfloat=3.140625 copied="text" corners=[' + point + '] '
                  'string="registered"')
        texts = [(event[0], event[3]) for event in self.found]
        self.assertEqual(texts[:2], [("sample", sample), ("size unknown", sample)])
        cut = dict(texts)
        self.assertTrue(cut["cut in loss"].startswith("rank=3 loss=(missing) bytes=(missing) host=(missing) at=(missing) "))
        self.assertEqual(texts[3:], [
            ("no bytes", None), ("nowhere", None), ("unknown schema", "0x0000000000010000 (8 bytes)"),
            ("raw", "0x010203 (3 bytes)"), ("not copied", "not_copied=0x10"),
            ("many ones", "ones=[" + "1, " * 64 + "...]"), ("few ones", "ones=[1, 1, ...]"),
            ("dynamic", "0x" + "01000000" * 8 + "... (40 bytes)"),
            ("two points", "[{x=1 y=1}, {x=2 y=2}]"), ("three numbers", "[4, -5, 6]"),
            ("two of them", "-5 x=-1 y=2.25"), ("start/end", "-5 x=-1 y=2.25"), ("start/end, a number", -7),
            ("told by payload", "count=42"), ("told by payload", "count=42"), ("told by payload", "count=42"),
            ("green", None), ("green", None), ("green", None), ("black", None),
            ("before it has a name", None), ("on the loader", None)])

    def test_colours_with_categories_and_domains(self):
        def colours(name):
            return [(event["args"]["color"], event["args"].get("domain", ""), event["args"].get("category", ""))
                    for event in self.trace if event["name"] == name and event["ph"] == "X"]
        self.assertEqual(colours("green"), [("#76b900", "", ""), ("#76b900", "library", "io")])
        self.assertEqual(colours("black"), [("#000000", "library", "io")])
        mark, = (event for event in self.trace if event["name"] == "green" and event["ph"] == "i")
        self.assertEqual((mark["cat"], mark["args"]), ("io", {"domain": "library", "color": "#76b900"}))
        self.assertEqual([event["args"].get("color") for event in self.trace if event["name"] == "raw"], [None])

    def test_names_of_threads(self):
        names = {event["tid"]: event["args"]["name"] for event in self.trace if event["name"] == "thread_name"}
        threads = {event[0]: event[4] for event in self.found}
        self.assertEqual(names[threads["on the loader"]], "loader with a long name")
        self.assertEqual(threads["before it has a name"], threads["on the loader"])
        self.assertNotEqual(names[threads["sample"]], "loader with a long name")
        report = self.run_command("report", "a.rfcap", "--view", "nvtx_pushpop_trace", "--csv")
        self.assertEqual(report.returncode, 0, report)


class Limits(RecordTest):
    """When recording begins and ends, and what is left out."""

    def test_nothing_before_the_delay(self):
        self.record(OPTIONS.program, "everything", OPTIONS.module, options=["-o", "a.rfcap", "--delay", "86400"])
        self.assertEqual(self.events(), [])
        self.assertEqual(self.captures(), ["a.rfcap"])

    def test_the_program_runs_on_after_the_duration(self):
        # It waits for the capture to be closed, and marks itself again.
        program = [OPTIONS.program, "until_closed", self.folder / "a.rfcap.live"]
        self.record(*program, options=["-o", "a.rfcap", "--duration", "0.001"])
        self.assertNotIn("after", self.names())
        self.assertEqual(self.captures(), ["a.rfcap"])

    def test_up_to_a_step(self):
        options = ["-o", "a.rfcap", "--until-step", "3", "--step-range", "train step"]
        result = self.record(OPTIONS.program, "steps", options=options)
        self.assertNotIn("no steps", result.stderr)
        self.assertEqual(self.names(), ["warm up", "train step", "forward", "train step", "forward", "train step", "forward"])
        steps = json.loads(self.run_command("report", "a.rfcap", "--view", "steps", "--json").stdout)
        self.assertEqual(len(steps["rows"]), 3)

    def test_steps_that_do_not_come_are_missed(self):
        result = self.record(OPTIONS.program, "steps", options=["-o", "a.rfcap", "--until-step", "3"])
        self.assertIn("; no steps; see: rangefinder report", result.stderr)
        self.assertEqual(len(self.names()), 11)

    def test_steps_of_a_schedule(self):
        options = ["-o", "a.rfcap", "--step-range", "train step", "--config", "skip_first=1,wait=1,active=1,repeat=1"]
        self.record(OPTIONS.program, "steps", options=options)
        self.assertEqual(self.names(), ["train step", "forward"])

    def test_steps_of_a_program_that_links_the_library(self):
        self.record(OPTIONS.linking, "steps", options=["-o", "a.rfcap", "--until-step", "2"])
        self.assertEqual(self.names(), ["ours 0", "ours 1"])

    def test_domains(self):
        everything = ["step", "forward", "tick", "upload", "on the second thread", "wide \u00e9 \u20ac", "\u20ac" * 1500,
                      "registered", "registered", "counted", "", "same", "same", "same", "", ""]
        of_library = ["registered", "registered", "same"]
        without = [name for name in everything if name != "registered"]
        without.remove("same")
        for options, names in ((["--domain", "library"], of_library),
                               (["--domain", "library,other"], [*of_library, "same"]),
                               (["--domain=library", "--domain=other,-other"], of_library),
                               (["--domain=-library"], without),
                               (["--domain=default,-other"], without[:-3] + without[-2:]),
                               (["--domain", "none of it"], [])):
            self.record(OPTIONS.program, "everything", options=["-o", "a.rfcap", *options])
            self.assertEqual(self.names(), names, options)

    def test_a_domain_that_no_range_is_in(self):
        result = self.record(OPTIONS.program, "everything", options=["-o", "a.rfcap", "--domain", "none of it"])
        self.assertIn("\nrangefinder: no range is in the domains given by --domain; the program used these domains: "
                      "default, library, other\n", result.stderr)
        self.assertIn("NVTX domains left out on request: default, library, other", self.run_command("report", "a.rfcap").stdout)
        self.record(OPTIONS.program, "everything", options=["-o", "a.rfcap", "--domain=-library"])
        self.assertIn("NVTX domains left out on request: library\n", self.run_command("report", "a.rfcap").stdout)
        self.record(OPTIONS.program, "everything", options=["-o", "a.rfcap"])
        self.assertNotIn("left out on request", self.run_command("report", "a.rfcap").stdout)

    def test_a_flight_recorder_is_written_at_the_end(self):
        for bound in ("64K", "1MiB", "30", "2.5", "5min"):
            self.record(OPTIONS.program, "seven", code=7, options=["-o", "a.rfcap", "--ring", bound])
            self.assertEqual(self.names(), ["before"])
            self.assertTrue(json.loads(self.run_command("info", "a.rfcap", "--json").stdout)["flight_recorder"])

    def test_and_by_a_signal(self):
        process = self.start("-o", "a.rfcap", "--ring", "60", "--", OPTIONS.program, "waits")
        process.send_signal(signal.SIGUSR2)
        self.wait_until(process, (self.folder / "a.1.rfcap").exists)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertIn(b"rangefinder report " + bytes(self.folder / "a.1.rfcap"), errors)
        self.assertEqual(self.names("a.1.rfcap"), ["before"])

    def test_a_flight_recorder_that_is_killed_leaves_its_live_file(self):
        result = self.record(OPTIONS.program, "terminated", code=-signal.SIGTERM, options=["-o", "a.rfcap", "--ring", "60"])
        self.assertRegex(result.stderr, r"recorded 1 range; no device activity; nothing lost; the program did not end it, "
                                        r"keep \S+/a.rfcap.live with it, or [^;]* --repair NEW.rfcap; see: rangefinder report \S+/a.rfcap\n")
        for capture in ("a.rfcap", "a.rfcap.live", "."):
            self.assertIn("before", self.run_command("report", capture).stdout)

    def test_in_a_folder_a_flight_recorder_counts_once(self):
        self.test_and_by_a_signal()
        (self.folder / "b.rfcap").write_bytes(b"")
        report = self.run_command("report", ".", "--json")
        self.assertEqual([(row["range"], row["count"]) for row in json.loads(report.stdout)["rows"]], [("before", 1)])
        report = self.run_command("report", ".")
        self.assertIn("a.1.rfcap", report.stdout + report.stderr)
        self.assertIn("b.rfcap: empty; left out", report.stdout + report.stderr)

    def test_a_dump_is_asked_of_who_records(self):
        # The shell would end by the signal.
        script = f"{OPTIONS.program} waits; exit 7"
        process = self.start("-o", "a.rfcap", "--ring", "60", "--", "sh", "-c", script)
        process.send_signal(signal.SIGUSR2)
        self.wait_until(process, lambda: any(self.folder.glob("a.*.1.rfcap")))
        pid, = re.findall(rb"^Pid:\t(\d+)$", b"\n".join(status for status in self.statuses() if b"injection_nvtx_" in status), re.M)
        os.kill(int(pid), signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 7, errors)
        self.assertEqual(self.names(f"a.{int(pid)}.1.rfcap"), ["before"])

    def statuses(self):
        """Of processes whose working folder is the test's."""
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (process / "cwd").readlink() == self.folder:
                    yield (process / "status").read_bytes()
            except OSError:
                pass

    def test_children_inherit(self):
        options = ["-o", "a.rfcap", "--step-range", "train step", "--until-step", "1", "--domain", "default"]
        self.record("sh", "-c", f"{OPTIONS.program} steps; {OPTIONS.program} steps", options=options)
        for capture in self.captures():
            self.assertEqual(self.names(capture), ["warm up", "train step", "forward"])
        self.assertEqual(len(self.captures()), 2)


class Processes(RecordTest):
    def test_it_ends_as_the_program_does(self):
        self.assertEqual(self.record("sh", "-c", "cat; echo out; echo err >&2; exit 0").stdout, "out\n")
        self.record(OPTIONS.program, "seven", code=7)
        self.record(OPTIONS.program, "terminated", code=-signal.SIGTERM)
        self.record("/nowhere/program", code=127)
        self.record(self.folder, code=126)

    def test_what_cannot_be_run_is_said(self):
        program = [OPTIONS.program, "seven"]
        for words, variables, text in (
                ([], {}, "record: PROGRAM is required"),
                (["--sparkles", "--", *program], {}, "unknown option --sparkles"),
                (["--config", "cuda=perhaps", "--", *program], {}, "cuda: 'perhaps' is not on or off"),
                (["--config", "output=b.rfcap", "--", *program], {}, "use -o for the output"),
                (["--config", "memory=1MiB", "--", *program], {}, "memory: '1MiB' is not a size of at least 8MiB"),
                (program, {"RANGEFINDER_DISABLE": "1"}, "RANGEFINDER_DISABLE=1 switches recording off"),
                (["--env", "RANGEFINDER_DISABLE=yes", "--", *program], {}, "RANGEFINDER_DISABLE=yes switches recording off"),
                (["--delay", "-1", "--", *program], {}, "--delay"),
                (["--delay", "soon", "--", *program], {}, "--delay"),
                (["--duration", "0", "--", *program], {}, "--duration"),
                (["--until-step", "0", "--", *program], {}, "--until-step"),
                (["--until-step", "1.5", "--", *program], {}, "--until-step"),
                (["--until-step", "1", "--config", "record_signal=USR1", "--", *program], {}, "cannot be combined with record_signal"),
                (["--delay", "1", "--", *program], {"RANGEFINDER_CONFIG": "record_signal=USR1"}, "cannot be combined with record_signal"),
                (["--ring", "0", "--", *program], {}, "--ring 0: expected a size (64MiB) or seconds"),
                (["--ring", "64Mi", "--", *program], {}, "--ring 64Mi: expected a size"),
                (["--ring", "1.2.3", "--", *program], {}, "--ring 1.2.3: expected a size"),
                (["--domain=-", "--", *program], {}, "--domain: a name is missing"),
                (["--env", "COLOUR", "--", *program], {}, "expected NAME=VALUE"),
                (["-o", "a-%c.rfcap", "--", *program], {}, "a-%c.rfcap: no file name, or one with %c"),
                (["-o", "nowhere/a.rfcap", "--", *program], {}, "nowhere: no such folder"),
                (program, {"NVTX_INJECTION64_PATH": "/opt/tool.so"}, "only one can: /opt/tool.so (NVTX_INJECTION64_PATH)"),
                (program, {"CUDA_INJECTION64_PATH": "/opt/tool.so"}, "only one can: /opt/tool.so (CUDA_INJECTION64_PATH)"),
                (program, {"NSYS_PROFILING_SESSION_ID": "7"}, "only one can: Nsight Systems (NSYS_PROFILING_SESSION_ID)"),
                (program, {"NV_COMPUTE_PROFILER_PERFWORKS_DIR": "/opt"}, "only one can: Nsight Compute ("),
                (program, {"NV_SANITIZER_INJECTION_PORT_BASE": "49152"}, "only one can: compute-sanitizer (")):
            result = self.run_command("record", *words, **variables)
            self.assertEqual((result.returncode, result.stdout), (125, ""), (words, result))
            self.assertRegex(result.stderr, r"\Arangefinder: record: [^\n]+\n\Z")
            self.assertIn(text, result.stderr)
        self.assertEqual(self.captures(), [])

    def test_the_words_are_the_programs(self):
        program = self.script("import json, sys; print(json.dumps(sys.argv[1:]))")
        words = ["[1,2,3]", "[]", "[a]", "x=[1,2]", "", "{}", "--", "-o", "b.rfcap", "--help", "--ring", "%p", "a,b", "'"]
        for dashes in (["--"], []):
            result = self.run_command("record", "-oa.rfcap", "--ring", "60", "--env=A=B", "-q", *dashes, *program, *words)
            self.assertEqual((result.returncode, json.loads(result.stdout)), (0, words))
        named = self.folder / "[a]"
        named.write_text("exit 7")
        named.chmod(0o755)
        for dashes in (["--"], []):  # it does not say by what it is run
            self.assertEqual(self.run_command("record", *dashes, named).returncode, 7)

    def test_a_signal_ends_the_program_and_then_the_command(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGRTMAX):
            process = self.start("-q", "--", *self.script(self.telling))
            pid = int(process.stdout.readline())
            self.assertEqual(process.stdout.readline(), b"ready\n")
            process.send_signal(number)
            self.assertEqual(process.wait(60), -number)
            self.assert_ended(process, pid)

    telling = "import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nprint('ready', os.getpid(), 'ready', sep='\\n', flush=True)\nsignal.pause()"

    listening = """
import signal
signals = {signal.SIGTERM, signal.SIGCONT, signal.SIGRTMIN}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
number = 0
while number != signal.SIGRTMIN:
    number = signal.sigwait(signals)
    print(number, flush=True)
"""

    def test_a_signal_to_the_group_reaches_the_program_once(self):
        process = self.start("--", *self.script(self.listening), start_new_session=True)
        for number, send in ((signal.SIGTERM, os.killpg), (signal.SIGTERM, os.kill), (signal.SIGTERM, os.killpg),
                             (signal.SIGRTMIN, os.kill)):
            send(process.pid, number)
            self.assertEqual(int(process.stdout.readline()), number)
            # Two of one number that wait at the same time are one signal.
            self.wait_until(process, lambda: number == signal.SIGRTMIN or not self.pending(process.pid) >> number - 1 & 1)
        self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.wait(60), 0)

    def pending(self, pid):
        """The signals that wait for a process, as a mask."""
        status = pathlib.Path("/proc", str(pid), "status").read_text()
        return int(re.search(r"^ShdPnd:\s*(\w+)", status, re.MULTILINE).group(1), 16)

    def test_a_stop_is_handed_on_too(self):
        # In its own process group: the kernel does not stop an orphaned group, which a CI may use.
        process = self.start("--", *self.script("import os\nprint('ready', os.getpid(), sep='\\n', flush=True)" + self.listening),
                             preexec_fn=os.setpgrp)
        stat = pathlib.Path("/proc", process.stdout.readline().decode().strip(), "stat")
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGTSTP)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        self.wait_until(process, lambda: stat.read_text().rsplit(")")[1].split()[0] == "T")
        process.send_signal(signal.SIGCONT)
        self.assertEqual(int(process.stdout.readline()), signal.SIGCONT)
        process.send_signal(signal.SIGRTMIN)
        self.assertEqual(int(process.stdout.readline()), signal.SIGRTMIN)
        self.assertEqual(process.wait(60), 0)

    def test_a_command_that_is_killed_takes_the_program_with_it(self):
        process = self.start("--", *self.script("import os\nprint('ready', os.getpid(), sep='\\n', flush=True)" + self.listening))
        pid = int(process.stdout.readline())
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.kill()
        self.assert_ended(process, pid)

    def assert_ended(self, process, pid):
        """The program of a command: its stdout is open in no process any more."""
        ended, _, _ = select.select([process.stdout], [], [], 60)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(ended)

    def test_what_the_caller_ignores_the_program_ignores(self):
        def ignore():
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
        def run(*program):
            return subprocess.run([OPTIONS.command, "record", "-q", "--", *program], cwd=self.folder, env=self.environment(),
                                  stdout=subprocess.PIPE, preexec_fn=ignore, restore_signals=False, timeout=60)
        self.assertEqual(run("sh", "-c", "exit 7").returncode, 7)
        ignored = int(run("grep", "SigIgn", "/proc/self/status").stdout.split()[1], 16)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP):
            self.assertTrue(ignored >> number - 1 & 1, number)

    def test_a_last_line_that_nobody_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run([OPTIONS.command, "record", "--", OPTIONS.program, "seven"], cwd=self.folder,
                                 env=self.environment(), stderr=writer, timeout=60)
        os.close(writer)
        self.assertEqual(process.returncode, 7)

    def test_a_signal_that_the_caller_blocks_ends_the_command_as_the_program(self):
        program = self.script("import os, signal\n"
                              "assert signal.SIGTERM in signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})\n"
                              "os.kill(os.getpid(), signal.SIGTERM)")
        process = subprocess.run([OPTIONS.command, "record", "--", *program], cwd=self.folder, env=self.environment(),
                                 stderr=subprocess.PIPE, timeout=60,
                                 preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}))
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_commands_beside_each_other_each_have_their_own(self):
        first = self.start("-o", "a.rfcap", "--", OPTIONS.program, "waits")
        second = self.record(OPTIONS.program, "seven", code=7).stderr
        self.assertRegex(second, r"\A[^\n]*recorded 1 range[;,].* see: rangefinder report \S+/a\.\d+\.rfcap\n\Z")
        first.terminate()
        _, errors = first.communicate(timeout=60)
        self.assertRegex(errors.decode(), r"\A[^\n]*recorded 1 range[;,].* see: rangefinder report \S+/a\.rfcap\n\Z")
        for capture in self.folder.glob("*.rfcap"):
            self.assertIn("before", self.run_command("report", capture).stdout)

    def test_the_only_capture_does_not_take_the_name_of_another_command_s(self):
        os.mkfifo(self.folder / "go")
        second = self.start("-o", "a.rfcap", "--", "sh", "-c", f"{OPTIONS.program} seven; echo ready; read go < go")
        self.record(OPTIONS.program, "everything", OPTIONS.module)
        first = (self.folder / "a.rfcap").read_bytes()
        (self.folder / "go").write_text("go\n")
        second.communicate(timeout=60)
        self.assertEqual((self.folder / "a.rfcap").read_bytes(), first)
        self.assertEqual(len(self.captures()), 2)

    def test_a_killed_program_leaves_what_it_recorded(self):
        result = self.record(OPTIONS.program, "terminated", code=-signal.SIGTERM)
        self.assertRegex(result.stderr, "recorded 1 range[;,]")

    def test_a_child_that_executes_has_a_capture_of_its_own(self):
        self.record(OPTIONS.program, "fork_and_exec")
        first, child = sorted(self.captures(), key=len)
        self.assertEqual(self.names(first), ["before", "after the child"])
        self.assertRegex(child, r"\Aa\.\d+\.rfcap\Z")
        self.assertEqual(self.names(child), ["before"])

    def by_names(self, result):
        """What each capture of a record holds, in order of that; its last lines say as much."""
        lines = result.stderr.splitlines()
        found = []
        for capture in self.folder.glob("*.rfcap"):
            rows = json.loads(self.run_command("report", capture.name, "--json").stdout)["rows"]
            found.append({row["range"]: row["count"] for row in rows})
            told = [line for line in lines if line.endswith("/" + capture.name)]
            self.assertEqual(len(told), 1, (capture, lines))
            if "forks" not in found[-1]:
                self.assertIn("nothing lost", told[0])
        self.assertEqual(len(lines), len(found), lines)
        return sorted(found, key=str)

    def test_a_child_of_fork_has_a_capture_of_its_own(self):
        self.record(OPTIONS.program, "fork")
        first, child = sorted(self.captures(), key=len)
        self.assertEqual(self.names(first), ["before", "after the child"])
        self.assertRegex(child, r"\Aa\.\d+\.rfcap\Z")
        self.assertEqual(self.names(child), ["in the child"])

    def test_a_child_of_fork_goes_on_with_what_the_parent_made(self):
        result = self.record(OPTIONS.program, "inherit")
        self.assertEqual(self.by_names(result), [
            {"first": 1, "registered": 1}, {"registered": 1, "of the parent": 1, "started": 1}, {}])

    def test_forks_of_many_threads_beside_others_that_record(self):
        result = self.record(OPTIONS.program, "storm")
        children = [names for names in self.by_names(result) if "forks" not in names]
        self.assertEqual(children, [{"forked": 1}] * 40)

    def test_forks_while_a_thread_reads_the_list_of_libraries(self):
        lines = self.record(OPTIONS.program, "storm_in_the_loader").stderr.splitlines()
        told = {re.search(r"/(a[.0-9]*\.rfcap)$", line)[1]: line for line in lines}
        self.assertEqual(sorted(told), sorted(path.name for path in self.folder.glob("*.rfcap")))
        self.assertEqual(len(told), 41)
        for name, line in told.items():
            refused = re.search(r": process (\d+) was not recorded: a thread of its parent was reading the list of loaded", line)
            if refused:
                self.assertEqual(name, f"a.{refused[1]}.rfcap")
                self.assertIn("not_recorded", self.run_command("info", name).stdout)

    def test_children_of_fork_in_python(self):
        result = self.record(*self.script("""
import ctypes, multiprocessing, os, sys
marks = ctypes.CDLL(sys.argv[1]).mark_from_module

def work(number): marks()

marks()
for end in (os._exit, exit):
    child = os.fork()
    if child == 0:
        marks()
        end(0)
    assert os.waitpid(child, 0)[1] == 0
with multiprocessing.get_context("fork").Pool(2) as pool:
    pool.map(work, range(2), chunksize=1)
worker = multiprocessing.get_context("fork").Process(target=work, args=(0,))
worker.start()
worker.join()
marks()
"""), OPTIONS.module)
        found = [names["in the module"] for names in self.by_names(result)]
        # Either worker of the pool may have done both.
        self.assertIn(sorted(found), ([1, 1, 1, 1, 1, 2], [1, 1, 1, 2, 2]))

    def test_programs_of_a_script_have_a_capture_each(self):
        # The shell itself records nothing, so that the requested name is unused.
        result = self.record("sh", "-c", f"{OPTIONS.program} seven; cd /; {OPTIONS.program} everything")
        captures = self.captures()
        self.assertRegex(" ".join(captures), r"\Aa\.\d+\.rfcap a\.\d+\.rfcap\Z")
        self.assertEqual(sorted(len(self.names(capture)) for capture in captures), [1, 16])
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 3)
        files = ", ".join(str(self.folder / capture) for capture in captures)
        self.assertEqual(lines[2], f"rangefinder: sh itself recorded nothing, so {self.folder}/a.rfcap was not written; its child processes wrote {files}")

    def test_an_earlier_capture_that_stays_is_said(self):
        self.record(OPTIONS.program, "everything", OPTIONS.module)
        result = self.record("sh", "-c", f"{OPTIONS.program} seven; {OPTIONS.program} seven; exit 0")
        self.assertEqual(len(self.captures()), 3)
        self.assertIn("/a.rfcap is still an earlier recording; its child processes wrote ", result.stderr)

    def test_the_only_capture_has_the_name_whoever_recorded_it(self):
        self.record(OPTIONS.program, "everything", OPTIONS.module)
        result = self.record("sh", "-c", f"{OPTIONS.program} seven; exit 0")
        self.assertRegex(result.stderr, r"\A[^\n]*recorded 1 range[;,].* see: rangefinder report \S+/a\.rfcap\n\Z")
        self.assertEqual(self.captures(), ["a.rfcap"])
        self.assertEqual(self.names(), ["before"])

    def test_a_capture_that_its_process_did_not_end_keeps_its_name(self):
        # The live file belongs with it.
        result = self.record("sh", "-c", f"{OPTIONS.program} terminated; exit 0")
        capture, = self.folder.glob("*.rfcap")
        self.assertRegex(capture.name, r"\Aa\.\d+\.rfcap\Z")
        self.assertIn(f"/a.rfcap was not written; its child processes wrote {capture}\n", result.stderr)

    def test_what_a_killed_process_leaves_takes_little_of_the_disk(self):
        result = self.record(OPTIONS.program, "terminated", code=-signal.SIGTERM)
        live = self.folder / "a.rfcap.live"
        self.assertGreater(live.stat().st_size, 16 << 20)
        self.assertLess(live.stat().st_blocks * 512, 1 << 20)
        self.assertIn("--repair", result.stderr)
        self.assertIn("before", self.run_command("report", "a.rfcap").stdout)
        self.assertIn("check --repair", self.run_command("report", "a.rfcap").stdout)
        self.run_command("check", "a.rfcap", "--repair", "whole.rfcap")
        self.assertIn("before", self.run_command("report", "whole.rfcap").stdout)
        self.assertEqual(self.run_command("check", "whole.rfcap").returncode, 0)

    early = """
import ctypes, os, sys
marks = ctypes.CDLL(sys.argv[1]).mark_from_module
for _ in range(3):
    child = os.fork()
    if child == 0:
        marks()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
marks()
marks()
"""

    def test_the_program_has_the_file_whichever_process_comes_first(self):
        program = [*self.script(self.early), OPTIONS.module]
        by_shell = ["sh", "-c", "true; exec " + " ".join(map(str, program))]
        for words in (program, by_shell):
            self.record(*words)
            self.assertEqual(self.names("a.rfcap"), ["in the module"] * 2)
            children = [capture for capture in self.captures() if capture != "a.rfcap"]
            self.assertEqual(len(children), 3)
            for child in children:
                self.assertRegex(child, r"\Aa\.\d+\.rfcap\Z")
                self.assertEqual(self.names(child), ["in the module"])
                (self.folder / child).unlink()

    def test_a_name_with_the_process_or_rank_is_each_process_s_own(self):
        self.record("sh", "-c", f"{OPTIONS.program} seven; {OPTIONS.program} seven; exit 0", options=["-o", "b-%p.rfcap"])
        self.assertRegex(" ".join(self.captures()), r"\Ab-\d+.rfcap b-\d+.rfcap\Z")
        self.record("sh", "-c", f"RANK=0 {OPTIONS.program} seven; RANK=1 {OPTIONS.program} seven; exit 0", options=["-o", "c-%r.rfcap"])
        self.assertIn("c-0.rfcap", self.captures())
        self.assertIn("c-1.rfcap", self.captures())


class Linked(RecordTest):
    """Programs that link the library are recorded once, into the file that was asked for."""

    def test_one_without_a_session(self):
        self.record(OPTIONS.linking, "never")
        self.assertEqual(self.names(), ["late", "ours late"])
        self.assertEqual(self.captures(), ["a.rfcap"])

    def test_one_that_is_recorded_when_its_session_would_start(self):
        # It joins the recording, which goes on when it stops.
        self.assertEqual(self.record(OPTIONS.linking, "after").stdout, "own session\n")
        self.assertEqual(self.names(), ["early", "ours early", "inside", "ours inside", "late", "ours late"])
        self.assertEqual(self.captures(), ["a.rfcap"])

    def test_whose_steps_then_are_the_recordings(self):
        self.record(OPTIONS.linking, "steps_after", options=["-o", "a.rfcap", "--until-step", "2"])
        self.assertEqual(self.names(), ["early", "ours early", "ours 0", "ours 1"])
        steps = json.loads(self.run_command("report", "a.rfcap", "--view", "steps", "--json").stdout)
        self.assertEqual(len(steps["rows"]), 2)
        self.assertIn("resnet50", self.run_command("info", "a.rfcap").stdout)  # what it says of itself is kept

    def test_unless_a_step_is_a_range_of_nvtx(self):
        self.record(OPTIONS.linking, "steps_after", options=["-o", "a.rfcap", "--step-range", "none of it"])
        steps = json.loads(self.run_command("report", "a.rfcap", "--view", "steps", "--json").stdout)
        self.assertEqual(steps["rows"], [])

    def test_captures_that_follow_each_other_in_processes_that_do(self):
        self.record("sh", "-c", f"{OPTIONS.linking} callback; {OPTIONS.linking} callback; {OPTIONS.linking} callback")
        self.assertEqual(len(self.captures()), 3)
        for capture in self.captures():
            self.assertEqual(self.names(capture), ["ours"])

    def test_one_whose_session_starts_first(self):
        # It stops in the program, and what is marked from then on is in no capture.
        self.assertEqual(self.record(OPTIONS.linking, "before").stdout, "own session\n")
        self.assertEqual(self.names(), ["inside", "ours inside"])
        self.assertEqual(self.captures(), ["a.rfcap"])


class Company(RecordTest):
    """Under another tool ranges are sent to it as NVTX, and CUPTI is left to it."""

    def under(self, **variables):
        process = subprocess.run([OPTIONS.linking, "before"], cwd=self.folder, capture_output=True, text=True, timeout=60,
                                 env=self.environment(NVTX_INJECTION64_PATH=OPTIONS.tool, **variables))
        self.assertEqual((process.returncode, process.stdout), (0, "own session\n"), process)
        return process.stderr.splitlines()

    def test_a_program_that_links_the_library(self):
        for variable, tool in (("NSYS_PROFILING_SESSION_ID", "Nsight Systems"),
                               ("NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"),
                               ("NV_SANITIZER_INJECTION_PORT_BASE", "compute-sanitizer"),
                               ("CUDA_INJECTION64_PATH", OPTIONS.tool)):
            heard = self.under(**{variable: OPTIONS.tool})
            self.assertEqual(heard, ["push rangefinder:ours inside", "pop", "push rangefinder:ours late", "pop"])
            self.assertEqual(self.names("own.rfcap"), ["ours inside"])
            state = json.loads(self.run_command("info", "own.rfcap", "--json").stdout)["device_state"]
            self.assertRegex(state, rf"\Ahost_only: (CUPTI is left to {tool} \({variable}\)|built without CUPTI)")

    def test_a_tool_that_only_listens_leaves_cupti_to_us(self):
        self.under()
        state = json.loads(self.run_command("info", "own.rfcap", "--json").stdout)["device_state"]
        self.assertNotIn("left to", state)

    def test_the_debugger_of_cuda(self):
        # It is known by its name, which a process gives itself.
        script = self.folder / "debug.py"
        script.write_text("""
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
libc.prctl(15, b"cuda-gdb")
program = os.fork()
if program == 0:
    if libc.ptrace(0, 0, 0, 0) != 0: os._exit(99)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(program, 0)
    if not os.WIFSTOPPED(status): sys.exit(os.waitstatus_to_exitcode(status))
    libc.ptrace(7, program, 0, 0)
""")
        process = subprocess.run([sys.executable, script, OPTIONS.command, "record", "--", OPTIONS.program, "seven"],
                                 cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=60)
        if process.returncode == 99:
            self.skipTest("processes may not be traced here")
        self.assertEqual(process.returncode, 125, process)
        self.assertIn("only one can: cuda-gdb (debugger)", process.stderr)


class Nccl(RecordTest):
    """NCCL tells one plugin of its collectives; what it then records is tested by tests/source/nccl."""

    def chosen(self, options=(), **variables):
        """What the program sees, and what the command says of it."""
        variables = {"NCCL_PROFILER_PLUGIN": "", **variables}
        result = self.record("sh", "-c", f'printf %s "$NCCL_PROFILER_PLUGIN"; exec {OPTIONS.program} seven', code=7,
                             options=["-o", "a.rfcap", *options], **variables)
        return result.stdout, [line for line in result.stderr.splitlines() if "NCCL" in line]

    def test_the_plugin_is_chosen(self):
        path, said = self.chosen()
        self.assertEqual((pathlib.Path(path).name, said), ("libnccl-profiler-rangefinder.so", []))
        self.assertTrue(pathlib.Path(path).is_file())

    def test_another_one_is_left_as_it_is(self):
        note = ("rangefinder: NCCL_PROFILER_PLUGIN={} was left as it is: NCCL tells that plugin of its collectives, and not "
                "rangefinder's")
        self.assertEqual(self.chosen(NCCL_PROFILER_PLUGIN="inspector"), ("inspector", [note.format("inspector")]))
        self.assertEqual(self.chosen(["--env", "NCCL_PROFILER_PLUGIN=none"]), ("none", [note.format("none")]))
        self.assertEqual(self.chosen(["-q"], NCCL_PROFILER_PLUGIN="/a/b.so"), ("/a/b.so", []))

    def test_it_may_be_named_by_the_user(self):
        for name in ("rangefinder", "/elsewhere/libnccl-profiler-rangefinder.so"):
            self.assertEqual(self.chosen(NCCL_PROFILER_PLUGIN=name), (name, []))


class Python(RecordTest):
    def record_python(self, python, module, text):
        found = subprocess.run([python, "-c", f"import {module}"], capture_output=True, env=self.environment(), timeout=120)
        if found.returncode != 0:
            self.skipTest(f"no module {module} in {python}")
        program = self.folder / "program.py"
        program.write_text(text)
        self.record(python, program)

    def test_nvtx(self):
        self.record_python(sys.executable, "nvtx", """
import nvtx, threading
@nvtx.annotate("decorated")
def f(): pass
with nvtx.annotate("train step", domain="trainer", category="iter", payload=3): f()
nvtx.end_range(nvtx.start_range("async", domain="trainer", payload=7, color="red"))
nvtx.mark("hello")
domain = nvtx.get_domain("fast")
domain.push_range(domain.get_event_attributes("registered", payload=1.5))
domain.pop_range()
thread = threading.Thread(target=f)
thread.start()
thread.join()
""")
        events = self.events()
        self.assertEqual([event[:4] for event in events], [
            ("train step", "trainer", "iter", 3), ("decorated", "", "", None), ("async", "trainer", "", 7),
            ("hello", "", "", None), ("registered", "fast", "", 1.5), ("decorated", "", "", None)])
        self.assertNotEqual(events[-1][4], events[1][4])
        colours = {event["name"]: event["args"].get("color") for event in self.trace if event.get("cat") == "user_annotation"}
        self.assertEqual(colours["async"], "#ff0000")

    def test_of_many_domains_that_are_left_out_sixteen_are_named(self):
        program = self.script("""
import importlib.util, sys
if importlib.util.find_spec("nvtx") is None: sys.exit(77)
import nvtx
for i in range(20):
    for _ in range(2):
        with nvtx.annotate("range", domain=f"domain {i:02}"): pass
""")
        named = ", ".join(f"domain {i:02}" for i in range(16)) + " and 4 more\n"
        result = self.run_command("record", "-o", "a.rfcap", "--domain", "none", "--", *program)
        if result.returncode == 77:
            self.skipTest("no module nvtx")
        self.assertEqual(result.returncode, 0, result)
        self.assertIn("the program used these domains: " + named, result.stderr)

    def test_nvtx_with_arrays(self):
        self.record_python(sys.executable, "nvtx, numpy", """
import nvtx
with nvtx.annotate("list", payload=[1, 2, 3]): pass
with nvtx.annotate("bytes", payload=b"abc"): pass
""")
        texts = {event[0]: event[3] for event in self.events()}
        self.assertEqual(list(texts), ["list", "bytes"])
        self.assertRegex(texts["list"], r"\A0x0300.* \(32 bytes\)\Z")  # of a length that is known at run time
        self.assertRegex(texts["bytes"], r"=\[97, 98, 99\]\Z")

    def test_cuda_may_come_after_nvtx(self):
        # As `import nvtx` before torch, which brings CUPTI with it.
        if OPTIONS.cupti is None:
            self.skipTest("built without CUPTI")
        self.record_python(sys.executable, "ctypes", f"""
import ctypes, os
os.environ["RANGEFINDER_CUPTI_LIBRARY"] = "/nowhere/libcupti.so"
program = ctypes.CDLL({OPTIONS.module!r})
program.mark_from_module()
os.environ["RANGEFINDER_CUPTI_LIBRARY"] = {OPTIONS.cupti!r}
library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
assert library.InitializeInjection() == 1
""")
        self.assertEqual(self.names(), ["in the module"])
        self.assertEqual(json.loads(self.run_command("info", "a.rfcap", "--json").stdout)["device_state"], "full")

    def test_a_child_of_fork_has_no_device(self):
        if OPTIONS.cupti is None:
            self.skipTest("built without CUPTI")
        self.record(*self.script("""
import ctypes, os, sys
os.environ["RANGEFINDER_CUPTI_LIBRARY"] = sys.argv[2]
library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
assert library.InitializeInjection() == 1
if (child := os.fork()) == 0:
    ctypes.CDLL(sys.argv[1]).mark_from_module()
    assert library.InitializeInjection() == 1
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
"""), OPTIONS.module, OPTIONS.cupti)
        states = [json.loads(self.run_command("info", name, "--json").stdout)["device_state"]
                  for name in sorted(self.captures(), key=len)]
        self.assertEqual(states[0], "full")
        self.assertRegex(states[1], r"\Ahost_only: CUPTI cannot be used in a child of fork")

    def test_a_session_that_joins(self):
        package = pathlib.Path(__file__).resolve().parents[2] / "python" / "src"
        self.record_python(sys.executable, "ctypes", f"""
import ctypes, os, shutil, sys
injection = os.environ["CUDA_INJECTION64_PATH"]
assert ctypes.CDLL(injection).InitializeInjection() == 1
sys.path.insert(0, {str(package)!r})
copy = shutil.copy(os.path.join(os.path.dirname(injection), "librangefinder.so"), "another.so")
os.environ["RANGEFINDER_LIBRARY"] = os.path.abspath(copy)  # not what the process has
import rangefinder as rf
with rf.Session("own.rfcap") as session:
    for step in range(2):
        with rf.range("train"): pass
        session.step()
    rows = session.summary().rows
with rf.range("late"): pass
assert [(row.name, row.count) for row in rows] == [("train", 2)], rows
""")
        self.assertEqual(self.captures(), ["a.rfcap"])
        self.assertEqual(self.names(), ["train", "train", "late"])

    def test_the_door_of_cuda(self):
        # As the driver does in cuInit; it may come again.
        self.record_python(sys.executable, "ctypes", """
import ctypes, os
library = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
assert (library.InitializeInjection(), library.InitializeInjection()) == (1, 1)
""")
        self.assertEqual(self.captures(), ["a.rfcap"])
        self.assertEqual(self.names(), [])

    def test_torch(self):
        if OPTIONS.torch_python is None:
            self.skipTest("no Python with torch")
        self.record_python(OPTIONS.torch_python, "torch", """
from torch.cuda import nvtx
nvtx.range_push("outer")
nvtx.range_push("inner")
nvtx.mark("mark")
nvtx.range_pop()
nvtx.range_pop()
nvtx.range_end(nvtx.range_start("start"))
""")
        self.assertEqual(self.names(), ["outer", "inner", "mark", "start"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("command", "program", "payloads", "module", "linking", "tool"):
        parser.add_argument("--" + option, required=True)
    parser.add_argument("--torch-python")
    parser.add_argument("--cupti")
    parser.add_argument("topics", nargs="*")
    OPTIONS = parser.parse_args()
    unittest.main(argv=[sys.argv[0], *OPTIONS.topics], verbosity=2)
