# SPDX-License-Identifier: MIT
"""The package built and installed with pip, without a network, into an environment of its own."""
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

import support

try:
    import setuptools
except ImportError:
    support.skip("no setuptools for this Python")
if int(setuptools.__version__.split(".")[0]) < 77:
    support.skip(f"setuptools {setuptools.__version__} is older than 77")

SOURCE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"])
PROGRAM = """
import sys, rangefinder
assert rangefinder.__file__.startswith(sys.prefix), rangefinder.__file__
with rangefinder.Session(sys.argv[1]) as session:
    with rangefinder.range("seen"):
        pass
print(rangefinder.__version__, rangefinder._abi.library._name)
"""


class Package(support.TestCase):
    def run_command(self, *words, **options):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("PYTHONPATH", "RANGEFINDER_LIBRARY")}
        environment["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment, cwd=self.folder, **options)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_it_is_installed_and_runs(self):
        package = self.folder / "python"  # building leaves files beside the sources
        support.shutil.copytree(SOURCE / "python", package,
                                ignore=support.shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        self.run_command(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index",
                         "--wheel-dir", self.folder, package)
        wheel, = self.folder.glob("rangefinder-*-py3-none-any.whl")
        with zipfile.ZipFile(wheel) as files:
            self.assertTrue([name for name in files.namelist() if name.endswith("/LICENSE")])
        prefix = self.folder / "environment"
        self.run_command(sys.executable, "-m", "venv", prefix)
        python = prefix / "bin/python"
        self.run_command(python, "-m", "pip", "install", "--no-index", wheel)
        installed = self.run_command(python, "-c", "import importlib.metadata as m; print(m.version('rangefinder'), *"
                                     "sorted(f.name for f in m.files('rangefinder') if f.parent.name == 'rangefinder'))")
        sources = sorted(file.name for file in (SOURCE / "python/src/rangefinder").iterdir() if file.is_file())
        self.assertEqual(installed.split(), [os.environ["RANGEFINDER_TEST_VERSION"], *sources])
        # As `cmake --install --prefix` leaves it.
        os.symlink(os.environ["RANGEFINDER_LIBRARY"], prefix / "lib/librangefinder.so.0")
        printed = self.run_command(python, "-c", PROGRAM, self.capture)
        self.assertEqual(printed.split(), [os.environ["RANGEFINDER_TEST_VERSION"], f"{prefix}/lib/librangefinder.so.0"])
        self.assertEqual(self.counts(), {"seen": 1})


if __name__ == "__main__":
    unittest.main()
