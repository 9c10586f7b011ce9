# SPDX-License-Identifier: MIT
"""Where the parts of this installation are, and the component for the torch that is here.

    cmake -B build -D CMAKE_PREFIX_PATH=$(python -m rangefinder --cmake-dir)
    python -m rangefinder build-torch
"""
from __future__ import annotations

import argparse
import pathlib
import sys
from typing import Callable, Dict, Optional, Sequence, Tuple

from . import _abi, _torch_build
from ._version import __version__


def _library_folder() -> pathlib.Path:
    return pathlib.Path(_abi.library_path()).parent


def _prefix() -> pathlib.Path:
    """The folder that was installed into: lib, or lib/x86_64-linux-gnu, is in it."""
    for folder in _library_folder().parents:
        if (folder / "include/rangefinder/range.hpp").exists():
            return folder
    return _library_folder().parent


_PLACES: Dict[str, Tuple[str, Callable[[], pathlib.Path]]] = {
    "cmake-dir": ("the CMake package, for CMAKE_PREFIX_PATH", lambda: _library_folder() / "cmake/rangefinder"),
    "include-dir": ("the headers", lambda: _prefix() / "include"),
    "library": ("librangefinder, which this package has loaded", lambda: pathlib.Path(_abi.library_path())),
    "command": ("the command rangefinder", lambda: _prefix() / "bin/rangefinder"),
}


def _print_place(name: str) -> int:
    path = _PLACES[name][1]()
    if not path.exists():
        print(f"rangefinder: {path} is not there: librangefinder.so was installed alone, or is that of a build folder",
              file=sys.stderr)
        return 1
    print(path)
    return 0


def _build_torch(force: bool) -> int:
    try:
        import torch
    except ImportError as error:
        print(f"rangefinder: torch cannot be imported: {error}", file=sys.stderr)
        return 1
    try:
        path = _torch_build.build(torch, force=force, say=lambda line: print(line, file=sys.stderr, flush=True))
    except _torch_build.CannotBuild as error:
        print(f"rangefinder: {error}", file=sys.stderr)
        return 1
    print(path)
    return 0


def main(words: Optional[Sequence[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m rangefinder", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", action="version", version=f"rangefinder {__version__}")
    one = parser.add_mutually_exclusive_group(required=True)
    for name, (text, _) in _PLACES.items():
        one.add_argument("--" + name, dest="place", action="store_const", const=name, help="print the path of " + text)
    one.add_argument("action", nargs="?", choices=["build-torch"],
                     help="compile the component for the torch that is installed here")
    parser.add_argument("--force", action="store_true", help="build-torch: again, though it is there")
    arguments = parser.parse_args(words)
    if arguments.place is not None:
        return _print_place(arguments.place)
    return _build_torch(arguments.force)


if __name__ == "__main__":
    sys.exit(main())
