# SPDX-License-Identifier: MIT
import contextlib
import io
import os
import pathlib
import shutil
import tempfile
import unittest

import session_options
from option_declaration import DECLARATION, Declaration, Mistake
from session_options import REGIONS

SOURCE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"])
TEXT = (SOURCE / DECLARATION).read_text()


class Current(unittest.TestCase):
    """In a copy of the files with generated regions."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="rangefinder-options-"))
        self.addCleanup(shutil.rmtree, self.root)
        for path in [DECLARATION, *REGIONS]:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / path, self.root / path)

    def run_script(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = session_options.main([*arguments, str(self.root)])
        return code, out.getvalue()

    def edit(self, path, old, new):
        text = (self.root / path).read_text()
        self.assertIn(old, text)
        (self.root / path).write_text(text.replace(old, new))

    def test_the_files_of_the_tree_are_current(self):
        code, out = self.run_script("--check")
        self.assertEqual((code, out), (0, ""))

    def test_a_changed_region_is_found_and_repaired(self):
        for path in REGIONS:
            with self.subTest(path):
                before = (self.root / path).read_text()
                lines = before.splitlines(True)
                at = next(place for place, line in enumerate(lines) if "[generated: " in line) + 1
                (self.root / path).write_text("".join(lines[:at] + lines[at + 1:]))
                code, out = self.run_script("--check")
                self.assertEqual(code, 1)
                self.assertIn(f"+++ {path}", out)
                self.assertIn("not current", out)
                self.assertEqual(self.run_script(), (0, ""))
                self.assertEqual((self.root / path).read_text(), before)

    def test_a_change_of_the_declaration_reaches_every_file(self):
        self.edit(DECLARATION, "Memory bound for host records", "Bound for host records")
        self.edit(DECLARATION, 'least = "8MiB"', 'least = "16MiB"')
        code, out = self.run_script("--check")
        self.assertEqual(code, 1)
        changed = {path for path in REGIONS if f"+++ {path}" in out}
        self.assertEqual(set(REGIONS) - changed, {"python/src/rangefinder/_abi.py"})  # has neither texts nor limits
        self.assertEqual(self.run_script(), (0, ""))
        self.assertEqual(self.run_script("--check"), (0, ""))

    def test_a_new_option_reaches_every_file(self):
        self.edit(DECLARATION, "# ---- the C struct", '[[option]]\nkey = "sparkle_limit"\ntype = "size"\ndefault = "1MiB"\n'
                                                      'text = "Sparkles"\n\n# ---- the C struct')
        code, out = self.run_script("--check")
        self.assertEqual((code, "sparkle_limit: in the options or in [c] members" in out), (1, True))
        self.edit(DECLARATION, '"counter_depth", "until_step",', '"counter_depth", "until_step", "sparkle_limit",')
        self.assertEqual(self.run_script(), (0, ""))
        for path in REGIONS:
            self.assertIn("sparkle_limit", (self.root / path).read_text(), path)

    def test_missing_and_unknown_regions_are_named(self):
        self.edit("include/rangefinder/session_options.hpp", "[generated: schedule]", "[generated: shedule]")
        code, out = self.run_script()
        self.assertEqual((code, "no region is called shedule" in out), (1, True))


class Declared(unittest.TestCase):
    def refused(self, old, new, message):
        self.assertIn(old, TEXT)
        with self.assertRaisesRegex(Mistake, message):
            Declaration(TEXT.replace(old, new, 1))

    def test_mistakes_are_named(self):
        self.refused('key = "replace"', 'kee = "x"\nkey = "replace"', "replace: kee is not known")
        self.refused('type = "size"', 'type = "sizes"', "memory: type sizes; one of")
        self.refused('default = "64MiB"', 'default = "64MB"', "memory: '64MB' is not a size")
        self.refused('default = "64MiB"', 'default = "7MiB"', "memory: the default 7MiB is outside of its limits")
        self.refused('key = "replace"', 'key = "output"', "declared twice|output")
        self.refused('separator = "+"\n', "", "counters: a list, and nothing else, has a separator")
        self.refused('unit = "ms"\n', "", "delay: a time, and nothing else, has the unit")
        self.refused('"reserved[6]", ', '"reserved[6]", "sparkles", ', "sparkles: in the options or in")
        self.refused('"reserved[6]", ', '"reserved[6]", "replace", ', "stands there twice")

    def test_numbers_are_in_the_unit_of_the_member(self):
        declaration = Declaration(TEXT)
        self.assertEqual(declaration.by_key["memory"].least, 8 << 20)
        self.assertEqual(declaration.by_key["stop_timeout"].default, 5000)
        self.assertEqual(declaration.by_key["pm_sampling_interval"].default, 1_000_000)
        self.assertEqual(declaration.by_key["overflow"].number("grow"), 2)
        self.assertEqual(declaration.by_key["nvml"].on, 20)


if __name__ == "__main__":
    unittest.main()
