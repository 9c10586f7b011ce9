#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a wheel is built from fits together; wheel_test.py looks at a wheel itself, which ./dev wheel builds.

    wheel_plan_test.py SOURCE
"""
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path()


def text_of(name):
    return (SOURCE / name).read_text()


class WheelPlan(unittest.TestCase):
    def test_one_version(self):
        pattern = re.search(r"^regex = '(.*)'$", text_of("pyproject.toml"), re.M)[1]
        version = re.search(pattern, text_of("CMakeLists.txt"))["value"]
        self.assertRegex(version, r"^\d+\.\d+\.\d+$")
        self.assertEqual(re.search(r'__version__ = "(.*)"', text_of("python/src/rangefinder/_version.py"))[1], version)

    def test_options_exist(self):
        """CMake takes an unknown option without a word."""
        wanted = re.findall(r'^(RANGEFINDER_\w+) = "', text_of("pyproject.toml"), re.M)
        self.assertGreater(len(wanted), 5)
        for preset in ("reader-file", "deb"):
            wanted += re.findall(r'"(RANGEFINDER_\w+)":', re.search(rf'"name": "{preset}".*?\}}\}}', text_of("CMakePresets.json"), re.S)[0])
        known = re.findall(r"^(?:option|set)\((RANGEFINDER_\w+)", text_of("CMakeLists.txt"), re.M)
        self.assertLessEqual(set(wanted), set(known))

    def test_the_sources_of_the_component_are_whole(self):
        """Each file that they include is installed with them, or is a public header."""
        rules = re.search(r"if\(SKBUILD AND RANGEFINDER_RECORDING\)(.*?)\nendif", text_of("cmake/RangefinderInstall.cmake"), re.S)[1]
        listed = {"lib/" + name for name in re.search(r"foreach\(file (.*?)\)", rules)[1].split()}
        folder = SOURCE / "lib/source/torch"
        installed = listed | {str(file.relative_to(SOURCE)) for file in folder.glob("*.[ch]pp")}
        missing = set()
        for name in installed:
            for included in re.findall(r'^#include ["<]([^">]+)[">]', text_of(name), re.M):
                if (SOURCE / "lib" / included).exists() and "lib/" + included not in installed:
                    missing.add(f"{name} includes lib/{included}")
        self.assertEqual(missing, set())
        used = {included for name in installed for included in re.findall(r'^#include "([^"]+)"', text_of(name), re.M)}
        self.assertLessEqual({name[len("lib/"):] for name in listed if name.endswith(".hpp")}, used)

    def test_the_script_leads_to_the_command(self):
        package, function = re.search(r'^rangefinder = "(\w+):(\w+)"', text_of("pyproject.toml"), re.M).groups()
        script = text_of(f"python/src/{package}/__init__.py")
        self.assertIn(f"def {function}(", script)
        install_folder = re.search(r'^wheel.install-dir = "(.*)"', text_of("pyproject.toml"), re.M)[1]
        self.assertIn(", ".join(f'"{part}"' for part in (*install_folder.split("/"), "bin", "rangefinder")), script)
        self.assertIn('/ "' + install_folder.split("/")[1] + '"', text_of("python/src/rangefinder/_library.py"))


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(1))
    unittest.main()
