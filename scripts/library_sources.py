#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The translation units of lib/ in a compile_commands.json, each with a zero byte behind it: for xargs -0."""

import json
import pathlib
import sys


def library_sources(commands, root):
    """In the order of the file, without those of tests and examples; a joined one lies in the build folder."""
    for command in commands:
        file = pathlib.Path(command["file"])
        folder = pathlib.Path(command["directory"])
        for base in (folder / "lib", root / "lib"):
            if file.is_relative_to(base):
                yield str(file)
                break


if __name__ == "__main__":
    path = pathlib.Path(sys.argv[1])
    for source in library_sources(json.loads(path.read_text()), pathlib.Path.cwd()):
        sys.stdout.write(source + "\0")
