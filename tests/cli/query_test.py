#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rangefinder query` as people run it. query_test.py --command PATH --inputs PATH [TOPIC ...]."""
import json
import os
import pty
import select
import subprocess
import time

from verb_case import VerbCase, run_tests

# At the begin of a line; while a line is edited it is shown anew without a new one.
PROMPT = "\n\r\x1b[Krangefinder> "
GOES_ON = "\n\r\x1b[K        ...> "


class QueryTest(VerbCase):
    def setUp(self):
        super().setUp()
        self.make_inputs(self.folder)

    def run_query(self, *words, stdin=""):
        return subprocess.run([self.command, "query", *map(str, words)], cwd=self.folder, input=stdin, capture_output=True, text=True,
                              timeout=120, env={**os.environ, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"})

    def answer(self, *words, stdin=""):
        process = self.run_query(*words, stdin=stdin)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process)
        return process.stdout

    def refusal(self, *words, stdin=""):
        process = self.run_query(*words, stdin=stdin)
        self.assertEqual((process.returncode, process.stdout), (2, ""), process)
        self.assertRegex(process.stderr, r"\Arangefinder: [^\n]+\n\Z")
        return process.stderr


class Questions(QueryTest):
    def test_formats(self):
        sql = "SELECT name, gpu_sum_ns FROM ranges ORDER BY id"
        self.assertEqual(self.answer("whole.rfcap", sql, "--csv"), "name,gpu_sum_ns\nstep,4500\nforward,2500\nbackward,2000\n")
        result = json.loads(self.answer("whole.rfcap", sql, "--json"))
        self.assertEqual((result["schema_version"], result["truncated"], result["columns"]), (1, False, ["name", "gpu_sum_ns"]))
        self.assertEqual(result["rows"][0], {"name": "step", "gpu_sum_ns": 4500})
        self.assertIn("forward", self.answer("whole.rfcap", sql))

    def test_views_are_tables(self):
        report = subprocess.run([self.command, "report", "whole.rfcap", "--view", "kernels", "--json"], cwd=self.folder,
                                capture_output=True, check=True)
        rows = json.loads(self.answer("whole.rfcap", "SELECT * FROM view_kernels", "--json"))["rows"]
        self.assertEqual(rows, json.loads(report.stdout)["rows"])

    def test_a_job_is_one_input(self):
        self.assertEqual(self.answer("job", "SELECT rank FROM processes ORDER BY rank", "--csv"), "rank\n0\n1\n")

    def test_attribution(self):
        for how in ("launch", "auto"):
            self.assertIn("launch", self.answer("whole.rfcap", "SELECT attribution FROM recording", "--attribute", how, "--csv"))

    def test_the_schema_needs_no_file(self):
        schema = self.answer("--schema")
        for word in ("activities: ", "gpu_busy_ns", "view_kernels_instances"):
            self.assertIn(word, schema)

    def test_questions_from_standard_input(self):
        text = self.answer("whole.rfcap", "--csv", stdin="SELECT count(*) AS n\nFROM ranges;\n.tables\nSELECT 1 AS one\n")
        self.assertTrue(text.startswith("n\n3\nranges\n"), text)
        self.assertTrue(text.endswith("one\n1\n"), text)
        process = self.run_query("whole.rfcap", "--csv", stdin="SELECT 1 AS a;\nSELECT nothing;\nSELECT 2 AS b;\n")
        self.assertEqual((process.returncode, process.stdout), (2, "a\n1\n"))

    def test_hostile_names_do_not_steer_a_terminal(self):
        self.assertNotIn("\x1b", self.answer("hostile.rfcap", "SELECT name FROM ranges"))
        self.assertTrue(json.loads(self.answer("hostile.rfcap", "SELECT name FROM ranges", "--json"))["rows"])


class Limits(QueryTest):
    ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

    def test_a_question_that_never_ends_is_ended(self):
        begin = time.monotonic()
        self.assertIn("200 ms", self.refusal("whole.rfcap", self.ENDLESS, "--timeout", "0.2"))
        self.assertLess(time.monotonic() - begin, 60)

    def test_memory_has_a_bound(self):
        sql = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000000) "
               "SELECT i FROM n ORDER BY hex(i)")
        self.assertIn("memory", self.refusal("whole.rfcap", sql, "--timeout", "0", "--max-memory", "128MiB"))

    def test_rows_have_a_bound(self):
        process = self.run_query("whole.rfcap", "SELECT id FROM ranges", "--max-rows", "2", "--csv")
        self.assertEqual((process.returncode, process.stdout), (0, "id\n1\n2\n"))
        self.assertIn("only the first 2 rows", process.stderr)

    def test_writing_attaching_and_loading_are_refused(self):
        before = sorted(self.folder.iterdir())
        for sql in ("INSERT INTO ranges(name) VALUES('x')", "CREATE TABLE t(a)", "ATTACH 'x.db' AS x", "VACUUM INTO 'x.db'",
                    "SELECT load_extension('x')", "SELECT writefile('x', 'y')", "PRAGMA temp_store_directory='/tmp'"):
            self.assertRegex(self.refusal("whole.rfcap", sql), "refused|no such function|not authorized")
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_mistakes(self):
        self.assertIn("did you mean activities?", self.refusal("whole.rfcap", "SELECT * FROM activites"))
        self.assertIn("which file?", self.refusal())
        self.assertIn("nothing.rfcap", self.refusal("nothing.rfcap", "SELECT 1"))
        self.assertIn("choose one", self.refusal("whole.rfcap", "SELECT 1", "--csv", "--json"))


class Interactive(QueryTest):
    """On a terminal: editing, completion, earlier lines."""

    def setUp(self):
        super().setUp()
        self.terminal, inner = pty.openpty()
        self.process = subprocess.Popen([self.command, "query", "whole.rfcap", "--csv"], cwd=self.folder, stdin=inner,
                                        stdout=subprocess.PIPE, stderr=inner, env={**os.environ, "LC_ALL": "C.UTF-8"})
        os.close(inner)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(os.close, self.terminal)
        self.addCleanup(self.process.kill)
        self.shown = ""
        self.wait_for(PROMPT)

    def wait_for(self, text):
        end = time.monotonic() + 60
        while text not in self.shown:
            self.assertLess(time.monotonic(), end, f"{text!r} is not in {self.shown!r}")
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.shown += os.read(self.terminal, 4096).decode(errors="replace")

    def type(self, text):
        self.shown = ""
        os.write(self.terminal, text.encode())

    def finish(self):
        """What was printed once the command has ended."""
        self.type("\x04")
        out = self.process.stdout.read().decode()
        self.assertEqual(self.process.wait(60), 0)
        return out

    def test_a_question_over_two_lines(self):
        self.type("SELECT count(*) AS n\r")
        self.wait_for(GOES_ON)
        self.type("FROM ranges;\r")
        self.wait_for(PROMPT)
        self.assertEqual(self.finish(), "n\n3\n")

    def test_completion_and_earlier_lines(self):
        self.type("SELECT count(*) AS n FROM activit\t;\r")
        self.wait_for(PROMPT)
        self.type("\x1b[A")
        self.wait_for("FROM activities ;")
        self.type("\r")
        self.wait_for(PROMPT)
        self.assertEqual(self.finish(), "n\n3\nn\n3\n")

    def test_editing(self):
        self.type("SELEXCT 7 AS a;" + "\x1b[D" * 10 + "\x7f" + "\r")
        self.wait_for(PROMPT)
        self.assertEqual(self.finish(), "a\n7\n")

    def test_a_mistake_and_a_cancelled_line_are_not_the_end(self):
        self.type("SELECT nowhere;\r")
        self.wait_for("no such column: nowhere")
        self.wait_for(PROMPT)
        self.type("SELECT 1,\r")
        self.wait_for(GOES_ON)
        self.type("\x03")
        self.wait_for(PROMPT)
        self.type("SELECT 2 AS b;\r")
        self.wait_for(PROMPT)
        self.assertEqual(self.finish(), "b\n2\n")


if __name__ == "__main__":
    run_tests()
