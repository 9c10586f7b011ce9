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
INJECTION = "librangefinder_injection.so"
PREFIX = pathlib.Path(__file__).resolve().parent / "_prefix"  # a wheel has everything here, as `cmake --install` leaves it


def places() -> Iterator[str]:
    """What to open, in this order."""
    given = os.environ.get("RANGEFINDER_LIBRARY")
    if given:
        yield given  # nothing else: a mistake in it must show
        return
    yield str(PREFIX / "lib" / NAME)
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


def start_recording() -> None:
    """Under `rangefinder record`, where NVTX or CUDA start the recording of other programs: one whose ranges are made with
    this package may use neither. Comes after load(), so that both use one library."""
    path = os.environ.get("NVTX_INJECTION64_PATH", "")
    if "RANGEFINDER_RECORD" not in os.environ or not os.path.basename(path).startswith(INJECTION):
        return
    try:
        ctypes.CDLL(path).rf_injection_start()
    except (OSError, AttributeError):  # of another version; `record` says at its end that nothing was recorded
        pass
