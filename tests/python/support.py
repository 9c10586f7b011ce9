# SPDX-License-Identifier: MIT
"""What the tests of the Python package share."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(0)


if sys.version_info < (3, 9):
    skip("Python is older than 3.9")

import rangefinder  # noqa: E402


class TestCase(unittest.TestCase):
    """With a folder of its own, and figures of captures."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rangefinder-python-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.capture = self.folder / "test.rfcap"

    def counts(self, capture=None):
        """Instances of each range path in a capture."""
        text = rangefinder.report(capture or self.capture, "tree", format="json")
        return {row["path"]: row["count"] for row in rows_of(text)}

    def trace(self, capture=None):
        """Events of a capture as Chrome JSON."""
        output = self.folder / "trace.json"
        rangefinder.export_chrome_trace(capture or self.capture, output, replace=True)
        return json.loads(output.read_text())["traceEvents"]

    def run_program(self, text, status=0, **environment):
        """What a process printed; `text` is its program, sys.argv[1] the capture."""
        done = subprocess.run([sys.executable, "-c", text, str(self.capture)], env={**os.environ, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr


def rows_of(text):
    return json.loads(text)["rows"]
