# SPDX-License-Identifier: MIT
"""What tests of single verbs have in common: the command, and a folder of captures for each test."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


class VerbCase(unittest.TestCase):
    command = inputs = ""  # paths of the programs; run_tests() sets them

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rangefinder-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def make_inputs(self, folder):
        subprocess.run([self.inputs, folder], check=True)


def run_tests():
    """The tests of the file that runs: FILE --command PATH --inputs PATH [TOPIC ...]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", required=True)
    parser.add_argument("--inputs", required=True)
    parser.add_argument("topics", nargs="*")
    options = parser.parse_args()
    VerbCase.command, VerbCase.inputs = os.path.abspath(options.command), os.path.abspath(options.inputs)
    unittest.main(argv=[sys.argv[0], "-v", *options.topics])
