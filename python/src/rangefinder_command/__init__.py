# SPDX-License-Identifier: MIT
"""The script `rangefinder` of a wheel becomes the command that the wheel holds. A package of its own, so that this loads
neither the library nor ctypes: it takes as long as starting Python."""
import os
import sys

_COMMAND = os.path.join("rangefinder", "_prefix", "bin", "rangefinder")


def main() -> None:
    """Never returns: the command takes the place of this process, with its arguments and environment."""
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), _COMMAND)
    if sys.argv[1:2] == ["fleet"]:  # runs Python, which has to be of this environment
        os.environ.setdefault("RANGEFINDER_PYTHON", sys.executable)
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"rangefinder: {path}: {error.strerror}")
