# SPDX-License-Identifier: MIT
import pathlib
import unittest

import library_sources


class LibrarySources(unittest.TestCase):
    def test_sources_of_the_library_alone(self):
        root, build = pathlib.Path("/p"), "/p/build/asan"
        files = ["/p/lib/base/text.cpp", "/p/build/asan/lib/base/Unity/unity_0.cxx", "/p/tests/base/text_test.cpp",
                 "/p/build/asan/tests/base/Unity/unity_0.cxx"]
        commands = [{"file": file, "directory": build} for file in files]
        self.assertEqual(list(library_sources.library_sources(commands, root)), files[:2])


if __name__ == "__main__":
    unittest.main()
