# SPDX-License-Identifier: MIT
"""How the component for LibTorch is built from the sources in a wheel: what the compiler is asked, and what is said where
that fails. The compiler and LibTorch are stand-ins; tests/install/wheel_test.py --torch builds with the real ones."""
import os
import pathlib
import stat
import threading
import types
import unittest
from unittest import mock

import support

from rangefinder import _library, _torch_build

# Notes each call, and makes what was asked for with -o.
COMPILER = """#!/bin/sh
printf '%s\\n' "$*" >>"$COMPILER_LOG"
case "$*" in *"-fsyntax-only -") cat >/dev/null; exit "${COMPILER_TOO_OLD:-0}" ;; esac
case "$*" in *"${COMPILER_REFUSES:-nothing at all}"*) echo "error: no such thing in this LibTorch"; exit 1 ;; esac
while [ $# -gt 0 ]; do case $1 in -o) shift; echo made >"$1" ;; esac; shift; done
"""


class TorchBuild(support.TestCase):
    def setUp(self):
        super().setUp()
        self.make_prefix()
        self.make_torch(c10d=True, cuda=False)
        self.log = self.folder / "log"
        self.log.touch()
        compiler = self.folder / "a compiler"
        compiler.write_text(COMPILER)
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        self.set(CXX=f"'{compiler}'", COMPILER_LOG=str(self.log), XDG_CACHE_HOME=str(self.folder / "cache"), CUDA_HOME="")

    def set(self, **variables):
        patch = mock.patch.dict(os.environ, variables)
        patch.start()
        self.addCleanup(patch.stop)

    def make_prefix(self):
        prefix = self.folder / "prefix"
        for name in ("torch/autograd.cpp", "torch/c10d_calls.cpp", "torch/collectives.cpp", "torch/no_collectives.cpp"):
            self.write(prefix / "share/rangefinder/torch/lib/source" / name, name)
        self.write(prefix / "share/rangefinder/torch/lib/capi/torch.cpp", "capi")
        self.write(prefix / "include/rangefinder/range.hpp", "range")
        patch = mock.patch.object(_library, "PREFIX", prefix)
        patch.start()
        self.addCleanup(patch.stop)

    def make_torch(self, c10d, cuda, version="2.11.0+cu130"):
        root = self.folder / "site" / "torch"
        self.write(root / "__init__.py", "")
        self.write(root / "include/torch/csrc/api/include/torch/version.h", "")
        self.write(root / "lib/libtorch_cpu.so", "and _ZN4c10d12ProcessGroupC1E in it" if c10d else "nothing")
        if c10d:
            self.write(root / "include/torch/csrc/distributed/c10d/ProcessGroup.hpp", "")
        if cuda:
            self.write(root / "lib/libtorch_cuda.so", "")
            self.write(root / "lib/libc10_cuda.so", "")
        self.torch = types.SimpleNamespace(__file__=str(root / "__init__.py"), __version__=version,
                                           compiled_with_cxx11_abi=lambda: True)

    @staticmethod
    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def calls(self):
        """Of the compiler, but for the one that asks whether it knows C++20."""
        return [line for line in self.log.read_text().splitlines() if "-fsyntax-only" not in line]

    def compiled(self):
        return sorted(pathlib.Path(line.split(" -c ")[1].split(" -o ")[0]).name for line in self.calls() if " -c " in line)

    def refused(self):
        with self.assertRaises(_torch_build.CannotBuild) as raised:
            _torch_build.build(self.torch)
        return str(raised.exception)

    def test_it_is_built_once_for_each_version(self):
        first = _torch_build.build(self.torch)
        self.assertEqual(first.read_text(), "made\n")
        self.assertEqual(first, _torch_build.place(self.torch))
        self.assertTrue(str(first).startswith(str(self.folder / "cache/rangefinder/torch-2.11.0+cu130-")))
        calls = len(self.calls())
        self.assertEqual(_torch_build.build(self.torch), first)
        self.assertEqual(len(self.calls()), calls)
        _torch_build.build(self.torch, force=True)
        self.assertEqual(len(self.calls()), 2 * calls)
        self.make_torch(c10d=True, cuda=False, version="2.12.0")
        self.assertNotEqual(_torch_build.build(self.torch), first)
        self.assertEqual(sorted(file.name for file in first.parent.iterdir()), [first.name, "lock"])

    def test_other_sources_are_another_component(self):
        first = _torch_build.place(self.torch)
        self.write(_library.PREFIX / "include/rangefinder/range.hpp", "another range")
        self.assertNotEqual(_torch_build.place(self.torch), first)

    def test_what_is_compiled_depends_on_torch(self):
        _torch_build.build(self.torch)
        self.assertEqual(self.compiled(), ["autograd.cpp", "c10d_calls.cpp", "collectives.cpp", "torch.cpp"])
        self.assertIn("-DRANGEFINDER_TORCH_CUDA=0", self.calls()[0])
        self.assertIn("-D_GLIBCXX_USE_CXX11_ABI=1", self.calls()[0])
        self.log.write_text("")
        (self.folder / "site/torch/include/torch/csrc/distributed/c10d/ProcessGroup.hpp").unlink()
        self.make_torch(c10d=False, cuda=False)
        _torch_build.build(self.torch, force=True)
        self.assertEqual(self.compiled(), ["autograd.cpp", "no_collectives.cpp", "torch.cpp"])

    def test_with_cuda(self):
        self.make_torch(c10d=True, cuda=True)
        with mock.patch.object(_torch_build, "_cuda_headers", return_value=None):
            said = []
            _torch_build.build(self.torch, say=said.append)
        self.assertIn("memory of devices will not be recorded", said[0])
        self.assertIn("-l:libtorch_cuda.so", self.calls()[-1])
        headers = self.folder / "site/nvidia/cu13/include"
        self.write(headers / "cuda_runtime_api.h", "")
        self.assertNotEqual(_torch_build._cuda_headers(self.folder / "site/torch"), headers)  # half of them
        self.write(headers / "crt/host_defines.h", "")
        self.log.write_text("")
        _torch_build.build(self.torch, force=True)
        self.assertIn("-DRANGEFINDER_TORCH_CUDA=1", self.calls()[0])
        self.assertIn(f"-isystem {headers}", self.calls()[0])

    def test_several_processes_build_it_once(self):
        # Of a lock on files each opening counts, so that threads are as good as processes.
        results = []
        threads = [threading.Thread(target=lambda: results.append(_torch_build.build(self.torch))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(results)), 1)
        self.assertEqual(len([line for line in self.calls() if "-shared" in line]), 1)

    def test_what_does_not_compile(self):
        self.set(COMPILER_REFUSES="collectives.cpp")
        message = self.refused()
        self.assertIn("ends with status 1", message)
        self.assertIn("no such thing in this LibTorch", message)
        place = _torch_build.place(self.torch)
        self.assertEqual([file.name for file in place.parent.iterdir()], ["lock"])

    def test_without_a_compiler(self):
        self.set(CXX="no-such-compiler")
        self.assertRegex(self.refused(), "no C.. compiler .no-such-compiler.*apt-get install")
        self.set(CXX=f"'{self.folder / 'a compiler'}'", COMPILER_TOO_OLD="1")
        self.assertIn("needs a compiler for C++20", self.refused())

    def test_without_headers_or_sources(self):
        (self.folder / "site/torch/include/torch/csrc/api/include/torch/version.h").unlink()
        self.assertIn("needs the headers of torch", self.refused())
        support.shutil.rmtree(_library.PREFIX / "share")
        self.assertIn("has no sources of the component", self.refused())
        self.assertIsNone(_torch_build.sources())

    def test_a_folder_that_takes_nothing(self):
        self.write(self.folder / "cache/rangefinder", "a file in the place of the folder")
        self.assertIn("XDG_CACHE_HOME names another folder", self.refused())


if __name__ == "__main__":
    unittest.main()
