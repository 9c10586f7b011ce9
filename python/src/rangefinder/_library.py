# SPDX-License-Identifier: MIT
"""Finds librangefinder.so."""
from __future__ import annotations

import ctypes
import os
import pathlib
import sys
import sysconfig
from typing import Iterator

NAME = "librangefinder.so.0"


def places() -> Iterator[str]:
    """What to open, in this order."""
    given = os.environ.get("RANGEFINDER_LIBRARY")
    if given:
        yield given  # nothing else: a mistake in it must show
        return
    yield str(pathlib.Path(__file__).resolve().parent / NAME)
    for folder in ("lib", "lib64", f"lib/{sysconfig.get_config_var('MULTIARCH')}"):
        yield str(pathlib.Path(sys.prefix) / folder / NAME)
    yield NAME  # where the system's loader looks: LD_LIBRARY_PATH, ldconfig


def load() -> ctypes.CDLL:
    """The library, whose calls let other threads of Python run.

    Errors: ImportError that says what was tried.
    """
    try:
        return ctypes.CDLL(NAME, mode=os.RTLD_NOLOAD)  # the program's, or the injection's: two would record it twice
    except OSError:
        pass
    tried = []
    for place in places():
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            tried.append(f"{place}: {str(error).replace(place + ': ', '')}")
    raise ImportError(
        "rangefinder: no library to load. Tried\n  " + "\n  ".join(tried) + "\nBuild it and install it into this "
        f"environment (cmake --install build/release --prefix {sys.prefix}), or set RANGEFINDER_LIBRARY to the path "
        f"of {NAME}")
