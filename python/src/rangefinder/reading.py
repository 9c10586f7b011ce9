# SPDX-License-Identifier: MIT
"""Reports and exports of files: a capture, a folder of captures, a trace of torch.profiler, or an SQLite export of
Nsight Systems."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Any, Callable, Optional, Union

from . import _abi

Path = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True)
class ChromeReport:
    """What an export did."""

    events: int
    json_bytes: int  #: before compression
    output_bytes: int
    overlapping: int  #: slices that would have cut another one and stand on a row beside it
    left_out: int  #: of the input; the trace says why


def report(
    input: Path,
    view: Optional[str] = None,
    *,
    format: Optional[str] = None,
    attribution: Optional[str] = None,
    filter: Optional[str] = None,
    filter_is_regex: Optional[bool] = None,
    sort: Optional[str] = None,
    depth: Optional[int] = None,
    top: Optional[int] = None,
    width: Optional[int] = None,
    step_names: Optional[str] = None,
    instances: Optional[bool] = None,
    by_shape: Optional[bool] = None,
    fold: Optional[bool] = None,
    annotations: Optional[bool] = None,
    operators: Optional[bool] = None,
    utf8: Optional[bool] = None,
    colour: Optional[bool] = None,
) -> str:
    """A view of the command as a text.

        print(rangefinder.report("train.rfcap", "tree"))
        rows = json.loads(rangefinder.report("train.rfcap", "kernels", format="json"))

    `view`: as of `rangefinder report --view`; None: "ranges". `format`: "text", "csv" or "json". `attribution`: "auto",
    "launch", "forward" or "capture". The others are the command's options and ReportOptions of rangefinder/report.hpp.

    Errors: Error with NOT_FOUND for a file or view that is not there, with the nearest name; INVALID_ARGUMENT for a
            broken expression or column; UNREADABLE, UNSUPPORTED for the input. ValueError for an unknown word.
    Cost:   memory about 100 bytes an event. Other threads of Python run meanwhile.
    """
    given = {name: value for name, value in locals().items() if name != "input"}
    options = _abi.options("rf_report_options", given)
    text = ctypes.c_void_p()
    _abi.check(_abi.library.rf_report(_abi.path(input), ctypes.byref(options), ctypes.byref(text)))
    return _abi.take_text(text)


def export_chrome_trace(
    input: Path,
    output: Path,
    *,
    begin_ns: Optional[int] = None,
    end_ns: Optional[int] = None,
    compression: Optional[str] = None,
    attribution: Optional[str] = None,
    replace: Optional[bool] = None,
    pretty: Optional[bool] = None,
    api_calls: Optional[bool] = None,
    syncs: Optional[bool] = None,
    overheads: Optional[bool] = None,
    counters: Optional[bool] = None,
    flows: Optional[bool] = None,
    exclusive_ranges: Optional[bool] = None,
    inclusive_ranges: Optional[bool] = None,
    progress: Optional[Callable[[int, int], None]] = None,
) -> ChromeReport:
    """Writes the Chrome JSON of torch.profiler, for chrome://tracing, Perfetto and TensorBoard.

    `output`: gzipped when its name ends in .gz; "-" is standard output. `begin_ns`, `end_ns`: only what lies in between
    or reaches into it. `compression`: "by_suffix", "plain" or "gzip". `attribution`: "auto", "launch" (the default),
    "forward" or "capture". `replace`: an output file that exists; False. `progress`: called with the work done and in all.

    Errors: Error with NOT_FOUND, UNREADABLE, UNSUPPORTED, EXISTS, IO. An output file appears only when it is whole.
    Cost:   docs/reference/chrome-export.md. Other threads of Python run meanwhile.
    """
    given = {name: value for name, value in locals().items() if name not in ("input", "output")}
    if progress is not None:
        wanted = progress

        def tell(_: Any, done: int, total: int) -> None:
            wanted(done, total)

        given["progress"] = _abi.ProgressCallback(tell)
    options = _abi.options("rf_chrome_options", given)
    done = _abi.sized(_abi.ChromeReport)
    _abi.check(_abi.library.rf_export_chrome_trace(_abi.path(input), _abi.path(output), ctypes.byref(options),
                                                   ctypes.byref(done)))
    return ChromeReport(**_abi.members(done))


def export_memory_snapshot(input: Path, output: Path, *, moment: str = "end", replace: bool = False) -> None:
    """Writes allocations as the pickle that PyTorch's memory viewer opens. `moment`: "end", or "peak", when the most was
    allocated.

    Errors: as export_chrome_trace; NOT_FOUND also where the input holds no allocations.
    """
    _abi.check(_abi.library.rf_export_memory_snapshot(_abi.path(input), _abi.path(output),
                                                      _abi.choice("moment", moment), replace))
