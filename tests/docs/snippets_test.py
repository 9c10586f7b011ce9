#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""C++ and C of the pages is cut from sources that are built; Python is compiled, and run where that can be."""
import ast
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import pages

ROOT = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"]).resolve()
BUILT = ["tests/docs/snippets/*.cpp", "tests/capi/example.c", "examples/**/*.cpp"]
# A page whose program another test builds and runs.
BUILT_ELSEWHERE = {"docs/tutorials/first-capture.md": "install.readme, and docs.commands with the page's own CMakeLists.txt"}

TORCH = "PyTorch and the component for it"
TRAINING = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = [(torch.ones(2, 4), torch.ones(2, 1))] * 3
loss_of = torch.nn.functional.mse_loss
def train(steps=1): loss_of(model(loader[0][0]), loader[0][1]).backward()
"""
SESSION = """
session = rangefinder.Session("train.rfcap")
logged = []
def log(*values): logged.append(values)
with rangefinder.range("step"): pass
session.step()
"""
REPORTED = """
import json
with rangefinder.Session("train.rfcap"), rangefinder.range("batch", value=64): pass
"""
# Page and first line of a block: what it needs ("" nothing), and what the page leaves to its readers.
PYTHON = {
    ("docs/how-to/use-from-python.md", "import rangefinder"): (TORCH, TRAINING),
    ("docs/how-to/use-from-python.md", "print(rangefinder.report"): ("", REPORTED),
    ("docs/how-to/use-from-python.md", "@rangefinder.range"): ("", "frames = [1, 2]"),
    ("docs/how-to/use-from-python.md", "async def handle"): ("", ""),
    ("docs/how-to/use-from-python.md", "with rangefinder.torch.OperatorRecording"): (TORCH, TRAINING),
    ("docs/how-to/use-from-python.md", "if session.step_number"): ("", SESSION),
    ("docs/how-to/ask-a-capture.md", "import rangefinder"): ("", 'with rangefinder.Session("train.rfcap"), rangefinder.range("step"): pass'),
    ("docs/how-to/look-at-a-fleet.md", "from rangefinder import fleet"): ("DuckDB, and an export", None),
    ("docs/reference/arrow.md", "capture = rangefinder.open"): ("pyarrow, Polars and DuckDB", None),
    ("docs/how-to/look-at-a-job.md", "import json"): ("", 'with rangefinder.Session("run"): pass'),
    ("docs/how-to/look-at-a-page.md", "import rangefinder"): ("", 'import rangefinder\nwith rangefinder.Session("train.rfcap"): pass'),
    ("docs/how-to/export-perfetto-trace.md", "rangefinder.export_perfetto_trace"): (
        "", 'with rangefinder.Session("train.rfcap"), rangefinder.range("step"): pass'),
    ("docs/how-to/find-the-critical-path.md", "print(rangefinder.report"): (
        "", 'with rangefinder.Session("train.rfcap"), rangefinder.range("forward"): pass'),
    ("docs/how-to/read-a-breakdown.md", "import json"): ("", 'with rangefinder.Session("train.rfcap"): pass'),
    ("docs/how-to/share-with-torch-profiler.md", "with rangefinder.Session"): (TORCH, TRAINING),
    ("docs/how-to/export-chrome-trace.md", "from hta.trace_analysis"): ("HolisticTraceAnalysis", None),
}


def squeezed(text):
    """Without comments and white space."""
    return re.sub(r"\s+", "", re.sub(r"(^|\s)//.*", "", text))


def pieces(block):
    """What stands between lines of `...`; each `#include` by itself, because sources sort them."""
    text = re.sub(r"(?m)^#include.*$", r"\g<0>\n...", block.text)
    return [piece for piece in map(squeezed, re.split(r"(?m)^\s*\.\.\.$", text)) if piece]


class SnippetsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.blocks = [block for page in pages.pages(ROOT) for block in pages.blocks_of(ROOT, page)]

    def of_language(self, *languages):
        found = [block for block in self.blocks if block.language in languages]
        self.assertGreater(len(found), 0, f"no block of {languages}; has the search gone wrong?")
        return found

    def test_cpp_and_c_are_pieces_of_what_is_built(self):
        sources = {file: squeezed(file.read_text()) for pattern in BUILT for file in ROOT.glob(pattern)}
        elsewhere = set()
        for block in self.of_language("cpp", "c"):
            if block.page in BUILT_ELSEWHERE:
                elsewhere.add(block.page)
                continue
            with self.subTest(block.where):
                shown = re.compile(".*".join(map(re.escape, pieces(block))))
                self.assertTrue(any(shown.search(text) for text in sources.values()),
                                f"\nchange {block.where}, or the source that it is cut from: no file of {BUILT} has\n{block.text}")
        self.assertEqual(elsewhere, set(BUILT_ELSEWHERE))

    def test_python_compiles_and_runs(self):
        seen = set()
        for block in self.of_language("python"):
            with self.subTest(block.where):
                ast.parse(block.text, block.where)
                keys = [key for key in PYTHON if key[0] == block.page and block.text.startswith(key[1])]
                self.assertEqual(len(keys), 1, f"\n{block.where}: add it to PYTHON in {pathlib.Path(__file__).name}")
                seen.add(keys[0])
                self.run_python(block, *PYTHON[keys[0]])
        self.assertEqual(sorted(set(PYTHON) - seen), [], "PYTHON has blocks that no page has any more: delete them there")

    def run_python(self, block, needs, before):
        if before is None or (needs == TORCH and "RANGEFINDER_TORCH_LIBRARY" not in os.environ):
            print(f"{block.where}: compiled, not run: it needs {needs}")
            return
        with tempfile.TemporaryDirectory(prefix="rangefinder-docs-") as folder:
            done = subprocess.run([sys.executable, "-c", f"import rangefinder\n{before}\n{block.text}\n"], cwd=folder,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, f"\nchange {block.where}, or what PYTHON puts before it:\n{done.stdout}")


if __name__ == "__main__":
    unittest.main()
