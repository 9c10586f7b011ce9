# SPDX-License-Identifier: MIT
import pathlib
import tempfile
import unittest

import test_summary

PASSED = '<testcase name="base.unit" status="run"><system-out>All tests passed (3 assertions in 1 test case)</system-out></testcase>'


class Summary(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)

    def preset(self, name, *cases, seconds=90):
        (self.folder / f"{name}.xml").write_text(f"<testsuite>{''.join(cases)}</testsuite>")
        (self.folder / f"{name}.seconds").write_text(f"{seconds}\n")

    def summary(self, *presets):
        return test_summary.summarise(self.folder, presets)

    def test_counts_and_minutes(self):
        self.preset("dev", PASSED, PASSED)
        text, good = self.summary("dev")
        self.assertTrue(good)
        self.assertRegex(text, r"dev +2 +0 +0 +1\.5\n")
        self.assertTrue(text.endswith("all good"))

    def test_a_failure_shows_the_end_of_its_output(self):
        output = "\n".join(f"line {i}" for i in range(100))
        self.preset("dev", PASSED, f'<testcase name="a.unit" status="fail"><failure/><system-out>{output}</system-out></testcase>')
        text, good = self.summary("dev")
        self.assertFalse(good)
        self.assertIn("FAILED   dev: a.unit", text)
        self.assertIn("| line 99", text)
        self.assertNotIn("| line 59\n", text)

    def test_a_preset_that_was_not_built_is_not_good(self):
        self.preset("dev", PASSED)
        text, good = self.summary("dev", "asan")
        self.assertFalse(good)
        self.assertIn("not built, or no test was run", text)

    def test_a_preset_whose_tests_were_all_skipped_is_not_good(self):
        self.preset("dev", '<testcase name="gpu" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
                           "<system-out>SKIPPED: no GPU</system-out></testcase>")
        text, good = self.summary("dev")
        self.assertFalse(good)
        self.assertIn("skipped  dev: gpu: no GPU", text)

    def test_what_skips_in_words_of_its_own(self):
        self.preset("dev", PASSED, '<testcase name="e" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>'
                                   "<system-out>begin\nnothing to do: no device</system-out></testcase>")
        text, good = self.summary("dev")
        self.assertTrue(good)
        self.assertIn("skipped  dev: e: nothing to do: no device", text)

    def test_what_did_not_run_without_a_reason_failed(self):
        self.preset("dev", PASSED, '<testcase name="e" status="notrun"><skipped message="Unable to find executable"/></testcase>')
        text, good = self.summary("dev")
        self.assertFalse(good)
        self.assertIn("FAILED   dev: e", text)

    def test_some_test_cases_that_were_skipped_leave_the_test_passed(self):
        self.preset("dev", '<testcase name="e" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>'
                           "SKIPPED: no file\nAll tests passed (9 assertions in 3 test cases)</system-out></testcase>")
        text, good = self.summary("dev")
        self.assertTrue(good)
        self.assertRegex(text, r"dev +1 +0 +0 ")
        self.assertIn("1 of 3 test cases: no file", text)

    def test_a_check_that_is_not_ok_is_not_good(self):
        self.preset("dev", PASSED)
        (self.folder / "tidy.status").write_text("ok\n")
        self.assertTrue(self.summary("dev")[1])
        (self.folder / "format.status").write_text("not ok: see above\n")
        text, good = self.summary("dev")
        self.assertFalse(good)
        self.assertRegex(text, r"format +not ok")


if __name__ == "__main__":
    unittest.main()
