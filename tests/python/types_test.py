# SPDX-License-Identifier: MIT
"""The hints hold, for mypy at its strictest."""
import os
import pathlib
import subprocess
import sys
import unittest

import support

try:
    import mypy  # noqa: F401
except ImportError:
    support.skip("no mypy for this Python")

PACKAGE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"], "python/src")


class Types(support.TestCase):
    def test_strict(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", f"--cache-dir={self.folder}", "-p", "rangefinder",
                               "--ignore-missing-imports"],
                              cwd=PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
