#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small tree that keeps the rules has no breach; each way of breaking one is found, at its line."""
import pathlib
import tempfile
import unittest

from layering import Checker

GOOD = {
    "lib/base/CMakeLists.txt": "rangefinder_room(base SOURCES a.cpp LINKS (x) )",
    "lib/base/bytes.hpp": "#include <vector>\n",
    "lib/buffer/CMakeLists.txt": "rangefinder_room(buffer SOURCES a.cpp USES base)",
    "lib/buffer/arena.cpp": '#include "buffer/arena.hpp"\n#include "base/bytes.hpp"\n#include <sys/mman.h>\n',
    "lib/buffer/arena.hpp": "#include <rangefinder/range.hpp>\n",
    "lib/source/CMakeLists.txt": "add_subdirectory(cupti)  # rangefinder_room(ghost USES nothing)\n",
    "lib/source/source.hpp": '#include "base/bytes.hpp"\n',
    "lib/source/cupti/CMakeLists.txt": "rangefinder_room(source_cupti SOURCES b.cpp USES base buffer)",
    "lib/source/cupti/b.cpp": '#include "source/source.hpp"\n#include "buffer/arena.hpp"\n',
    "lib/session/CMakeLists.txt":
        "set(sources)\nif(X)\n  list(APPEND sources source_cupti)\nendif()\n"
        "rangefinder_room(session SOURCES c.cpp USES buffer ${sources})",
    "lib/session/c.cpp": '#include "source/source.hpp"\n#include "source/cupti/b.hpp"\n',
    "lib/source/cupti/b.hpp": "",
    "lib/capture/CMakeLists.txt": "rangefinder_room(capture SOURCES d.cpp USES base)",
    "lib/capture/d.hpp": "",
    "lib/cli/CMakeLists.txt": "add_executable(x main.cpp)\ntarget_link_libraries(x PRIVATE rangefinder_capture)",
    "lib/cli/main.cpp": '#include "capture/d.hpp"\n#include <rangefinder/range.hpp>\n',
    "include/rangefinder/range.hpp": "#pragma once\n#include <rangefinder/version.hpp>\n#include <string_view>\n",
    "include/rangefinder/version.hpp.in": "",
    "include/rangefinder/torch/operators.hpp": "#include <ATen/record_function.h>\n#include <rangefinder/range.hpp>\n",
}


class Layering(unittest.TestCase):
    def breaches(self, **changed):
        """What is found in the good tree with these files replaced."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {**GOOD, **changed}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return Checker(root).check()

    def finds(self, expected, path, text):
        found = self.breaches(**{path: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])

    def test_a_tree_that_keeps_the_rules(self):
        self.assertEqual(self.breaches(), [])

    def test_an_include_of_a_room_that_is_not_used(self):
        self.finds('lib/capture/d.hpp:2: "buffer/arena.hpp" is of room buffer', "lib/capture/d.hpp",
                   '\n#include "buffer/arena.hpp"\n')

    def test_using_a_room_does_not_pass_on_what_that_room_uses(self):
        self.finds("is of room base, which session does not use", "lib/session/c.cpp", '#include "base/bytes.hpp"\n')

    def test_a_header_that_is_for_a_family_of_rooms(self):
        self.finds("is for the rooms in lib/source", "lib/capture/d.hpp", '#include "source/source.hpp"\n')

    def test_two_rooms_in_a_folder(self):
        tree = {"lib/report/CMakeLists.txt": "rangefinder_room(report_tables SOURCES t.cpp USES base)\n"
                                             "rangefinder_room(report SOURCES r.cpp USES report_tables capture)",
                "lib/report/t.hpp": '#include "base/bytes.hpp"\n', "lib/report/r.cpp": '#include "capture/d.hpp"\n',
                "lib/bench/CMakeLists.txt": "rangefinder_room(bench SEPARATE SOURCES b.cpp USES report_tables)",
                "lib/bench/b.cpp": '#include "report/t.hpp"\n'}
        self.assertEqual(self.breaches(**tree), [])
        tree["lib/bench/CMakeLists.txt"] = "rangefinder_room(bench SEPARATE SOURCES b.cpp USES base)"
        self.assertEqual(self.breaches(**tree),
                         ['lib/bench/b.cpp:1: "report/t.hpp" is of room report or report_tables, which bench does not use'])

    def test_a_file_that_is_not_there(self):
        self.finds("is not a file of lib/", "lib/capture/d.hpp", '#include "fmt/format.h"\n')

    def test_a_path_relative_to_the_folder(self):
        self.finds("write the path from lib/ on", "lib/buffer/arena.cpp", '#include "arena.hpp"\n')

    def test_the_executable_reaching_into_a_room_that_it_does_not_link(self):
        self.finds("is of room base, which cli does not use", "lib/cli/main.cpp", '#include "base/bytes.hpp"\n')

    def test_the_halves_meeting(self):
        self.finds("must not meet", "lib/capture/CMakeLists.txt",
                   "rangefinder_room(capture SOURCES d.cpp USES base buffer)")

    def test_a_circle(self):
        found = self.breaches(**{
            "lib/base/CMakeLists.txt": "rangefinder_room(base SOURCES a.cpp USES clock)",
            "lib/clock/CMakeLists.txt": "rangefinder_room(clock SOURCES a.cpp USES base)"})
        self.assertEqual(found, ["lib/base/CMakeLists.txt: uses itself: base -> clock -> base"])

    def test_an_unknown_room_in_a_list(self):
        self.finds("uses bases, which is no room", "lib/capture/CMakeLists.txt",
                   "rangefinder_room(capture SOURCES d.cpp USES bases)")

    def test_a_room_of_no_half(self):
        self.finds("which half", "lib/attic/CMakeLists.txt", "rangefinder_room(attic SOURCES e.cpp USES base)")

    def test_public_headers(self):
        for text, expected in ('#include "base/bytes.hpp"', "included with <>"), \
                ("#include <fmt/format.h>", "standard library"), ("#  include <cupti.h>", "standard library"), \
                ("#include <span>", "standard library"), ("#include <torch/torch.h>", "LibTorch only in"), \
                ("#include <rangefinder/nothing.hpp>", "no public header"), \
                ("#include <rangefinder/torch/operators.hpp>", "nothing outside of torch/"):
            with self.subTest(text):
                file = "include/rangefinder/range.hpp"
                self.finds(file + ":2: ", file, f"#pragma once\n{text}\n")
                self.finds(expected, file, f"#pragma once\n{text}\n")

    def test_an_empty_tree_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "lib").mkdir()
            (pathlib.Path(folder) / "include").mkdir()
            self.assertEqual(len(Checker(pathlib.Path(folder)).check()), 1)


if __name__ == "__main__":
    unittest.main()
