# SPDX-License-Identifier: MIT
"""Reports and exports of files: a capture, a folder of captures or of traces of torch.profiler, such a trace, or an SQLite
export of Nsight Systems."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from . import _abi
from .session import Health, take_health

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
    input: Union[Path, Sequence[Path]],
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
    columns: Optional[str] = None,
    payload: Optional[str] = None,
    by: Optional[str] = None,
    of: Optional[str] = None,
    instances: Optional[bool] = None,
    by_shape: Optional[bool] = None,
    by_payload: Optional[bool] = None,
    overview: Optional[bool] = None,
    fold: Optional[bool] = None,
    annotations: Optional[bool] = None,
    operators: Optional[bool] = None,
    utf8: Optional[bool] = None,
    colour: Optional[bool] = None,
    absolute_times: Optional[bool] = None,
    terminal: Optional[bool] = None,
    strict: Optional[bool] = None,
    max_memory_bytes: Optional[int] = None,
) -> str:
    """A view of the command as a text.

        print(rangefinder.report("train.rfcap", "tree"))
        rows = json.loads(rangefinder.report("train.rfcap", "kernels", format="json"))
        print(rangefinder.report(["rank0.rfcap", "rank1.rfcap"], "tree"))
        print(rangefinder.report("train.rfcap", columns="range,count,host_p95_ns", payload="batch>=64"))
        print(rangefinder.report("train.rfcap", "critical_path", of="step:12", by="operator"))

    `input`: a file, a folder of captures or of traces, a list of captures and folders of them, or a list of traces, which
    are read as one job.
    `view`: one of report_views(); None: "ranges". `format`: "text", "csv" or "json". `attribution`: "auto",
    "launch", "forward" or "capture". `columns`: instead of the view's own, titles or keys with commas between; "help":
    the report lists them. `payload`: of the view ranges, only instances whose payload fulfils it, ">=64" or "batch>=64";
    `by_payload`: a row for each name and payload. `by`: of the view breakdown, "step" or "range"; of families and
    launch_queue, "range"; of critical_path, "reason", "range", "operator" or "step". `of`: of the view critical_path,
    "steps", "all", "step:12", "range:forward" or "time:1000..5000" (nanoseconds since the begin of the recording).
    `overview`: the view ranges begins, in text and JSON, with a summary of the capture; True. `absolute_times`: text has
    points in time on the capture's clock instead of since its begin. `terminal`: CSV shows control characters of names as
    text does. `strict`: a recording that is damaged or incomplete is an error; False. The others are the command's options and ReportOptions of rangefinder/report.hpp.

    Errors: Error with NOT_FOUND for a file or view that is not there, with the nearest name; INVALID_ARGUMENT for a
            broken expression or column, and for a file that is given twice; UNREADABLE, UNSUPPORTED for the input, and
            for captures and traces together; TOO_LARGE where it needs more than `max_memory_bytes` (by default half of
            the memory there is); INCOMPLETE with `strict`. ValueError for an unknown word.
    Cost:   memory about 100 bytes an event. Other threads of Python run meanwhile.
    """
    given = {name: value for name, value in locals().items() if name != "input"}
    options = _abi.options("rf_report_options", given)
    text = ctypes.c_void_p()
    inputs = [input] if isinstance(input, (str, bytes, os.PathLike)) else input
    paths = [_abi.path(each) for each in inputs]
    _abi.check(_abi.library.rf_report_job((ctypes.c_char_p * len(paths))(*paths), len(paths), ctypes.byref(options),
                                          ctypes.byref(text)))
    return _abi.take_text(text)


@dataclasses.dataclass(frozen=True)
class ReportView:
    """What report() can show."""

    name: str
    description: str
    nsight_compatible: bool  #: equals Nsight Systems' report of that name


def report_views() -> List[ReportView]:
    """Every view, in the order in which `rangefinder report --view help` lists them."""
    views = []
    for index in range(_abi.library.rf_report_view_count()):
        view = _abi.sized(_abi.ReportView)
        _abi.check(_abi.library.rf_report_view_at(index, ctypes.byref(view)))
        views.append(ReportView(**_abi.members(view)))
    return views


def _teller(progress: Callable[[int, int], Any], raised: List[BaseException]) -> Any:
    """What the library calls: False, or something raised, ends the work. Keep it until then."""

    def tell(_: Any, done: int, total: int) -> bool:
        try:
            return progress(done, total) is not False
        except BaseException as error:
            raised.append(error)
            return False

    return _abi.ProgressCallback(tell)


def _export(function: str, structs: str, input: Path, output: Path, given: Dict[str, Any]) -> Dict[str, Any]:
    """Calls a function of C that exports; what its report says. `structs`: how the names of its structs begin."""
    raised: List[BaseException] = []
    if given["progress"] is not None:
        given["progress"] = _teller(given["progress"], raised)
    options = _abi.options(structs + "_options", given)
    done = _abi.sized(_abi.STRUCTS[structs + "_report"])
    status = getattr(_abi.library, function)(_abi.path(input), _abi.path(output), ctypes.byref(options), ctypes.byref(done))
    if raised:
        raise raised[0]
    _abi.check(status)
    return _abi.members(done)


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
    progress: Optional[Callable[[int, int], Any]] = None,
    max_memory_bytes: Optional[int] = None,
) -> ChromeReport:
    """Writes the Chrome JSON of torch.profiler, for chrome://tracing, Perfetto and TensorBoard.

    `output`: gzipped when its name ends in .gz; "-" is standard output. `begin_ns`, `end_ns`: only what lies in between
    or reaches into it. `compression`: "by_suffix", "plain" or "gzip". `attribution`: "auto" (the default), "launch",
    "forward" or "capture". `replace`: an output file that exists; False. `progress`: called with the work done and in all;
    what it raises, an interrupt from the keyboard too, ends the export and is raised here; so does False, as Error with
    INCOMPLETE.

    Errors: Error with NOT_FOUND, UNREADABLE, UNSUPPORTED, EXISTS, IO; TOO_LARGE where the input needs more than
            `max_memory_bytes`, as in report(). An output file appears only when it is whole.
    Cost:   docs/reference/chrome-export.md. Other threads of Python run meanwhile.
    """
    given = {name: value for name, value in locals().items() if name not in ("input", "output")}
    return ChromeReport(**_export("rf_export_chrome_trace", "rf_chrome", input, output, given))


@dataclasses.dataclass(frozen=True)
class PerfettoReport:
    """What an export did."""

    events: int  #: slices, marks, samples, ends of arrows
    slices: int
    trace_bytes: int  #: before compression
    output_bytes: int
    overlapping: int  #: slices that would have cut another one and stand on a row beside it
    left_out: int  #: of the input; the trace says why


def export_perfetto_trace(
    input: Path,
    output: Path,
    *,
    begin_ns: Optional[int] = None,
    end_ns: Optional[int] = None,
    compression: Optional[str] = None,
    attribution: Optional[str] = None,
    gpu: Optional[str] = None,
    replace: Optional[bool] = None,
    api_calls: Optional[bool] = None,
    syncs: Optional[bool] = None,
    overheads: Optional[bool] = None,
    counters: Optional[bool] = None,
    flows: Optional[bool] = None,
    exclusive_ranges: Optional[bool] = None,
    inclusive_ranges: Optional[bool] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
    max_memory_bytes: Optional[int] = None,
) -> PerfettoReport:
    """Writes Perfetto's own format, for ui.perfetto.dev and trace_processor.

        rangefinder.export_perfetto_trace("train.rfcap", "train.pftrace")

    `gpu`: kernels and copies are "stages" with their launches (the default), "linked" to their launches by Perfetto's
    extension for GPUs, or "slices" below the ranges. The others as of export_chrome_trace.

    Errors: as export_chrome_trace.
    """
    given = {name: value for name, value in locals().items() if name not in ("input", "output")}
    return PerfettoReport(**_export("rf_export_perfetto_trace", "rf_perfetto", input, output, given))


@dataclasses.dataclass(frozen=True)
class HtmlReport:
    """What an export as a page did."""

    slices: int  #: on the page's timeline
    left_out: int  #: slices, samples and rows that are not in it, or only as a part of another; the page says why
    output_bytes: int


def export_html(
    input: Path,
    output: Path,
    *,
    title: Optional[str] = None,
    attribution: Optional[str] = None,
    replace: Optional[bool] = None,
    most_slices: Optional[int] = None,
    progress: Optional[Callable[[int, int], Any]] = None,
    max_memory_bytes: Optional[int] = None,
) -> HtmlReport:
    """Writes one HTML file with everything to look at: verdict, steps, ranges, timeline, roofline, memory, ranks, advice.

    It works from disk and loads nothing from a network. `title`: what the recording is called on it; the name of the input
    file. `most_slices`: of more, short ones that are neighbours become one; 1,000,000. `attribution`, `replace`, `progress`
    and `max_memory_bytes` as of export_chrome_trace.

    Errors: as export_chrome_trace; INVALID_ARGUMENT for `most_slices` below 1,000.
    """
    given = {name: value for name, value in locals().items() if name not in ("input", "output")}
    return HtmlReport(**_export("rf_export_html", "rf_html", input, output, given))


def export_memory_snapshot(
    input: Path,
    output: Path,
    *,
    moment: str = "end",
    replace: bool = False,
    max_memory_bytes: Optional[int] = None,
) -> None:
    """Writes allocations as the pickle that PyTorch's memory viewer opens. `moment`: "end", or "peak", when the most was
    allocated.

    Errors: as export_chrome_trace; NOT_FOUND also where the input holds no allocations.
    """
    given = {"moment": moment, "replace": replace, "max_memory_bytes": max_memory_bytes}
    options = _abi.options("rf_snapshot_options", given)
    _abi.check(_abi.library.rf_export_memory_snapshot_with(_abi.path(input), _abi.path(output), ctypes.byref(options)))


@dataclasses.dataclass(frozen=True)
class OperatorGroup:
    """The operators of one name, added up. Total: with all inside; self: without. Bytes: allocated less given back."""

    name: str
    shapes: str  #: of the inputs; "" unless grouped by them
    calls: int
    flops: int  #: of the calls whose FLOPs are known
    cpu_total_ns: int
    cpu_self_ns: int
    device_total_ns: int
    device_self_ns: int
    host_total_bytes: int
    host_self_bytes: int
    device_total_bytes: int
    device_self_bytes: int
    calls_without_flops: int  #: that `flops` leaves out: no formula for the operator, or no shapes of its inputs


@dataclasses.dataclass(frozen=True)
class KeyAverages:
    groups: List[OperatorGroup]  #: in order of the first of each
    cpu_ns: int  #: that shares are of: self time of all operators, ranges and CUDA calls
    device_ns: int  #: all device time
    table: str  #: as torch.profiler's key_averages().table()

    def __getitem__(self, name: str) -> OperatorGroup:
        """The first group of a name. Errors: KeyError for a name that is none."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(name)


def key_averages(input: Path, *, by_shape: bool = False, order: str = "first", row_limit: int = 0) -> KeyAverages:
    """Operators by name, with the rules of torch.profiler's key_averages().

        print(rangefinder.key_averages("train.rfcap", order="cpu_self").table)

    `by_shape`: operators of one name and different shapes are groups of their own. `order`, `row_limit` (0: all): of the
    table; "first", "cpu_total", "cpu_self", "device_total", "device_self", "calls" or "flops", the greatest first.

    Errors, cost: as report().
    """
    library = _abi.library
    number = _abi.choice("order", order)
    if row_limit < 0:
        raise OverflowError(f"row_limit={row_limit} does not fit")
    handle = _abi.made_by(library.rf_key_averages_load, _abi.path(input), by_shape)
    try:
        cpu, device = ctypes.c_int64(), ctypes.c_int64()
        _abi.check(library.rf_key_averages_totals(handle, ctypes.byref(cpu), ctypes.byref(device)))
        table = _abi.take_text(_abi.made_by(library.rf_key_averages_table, handle, number, row_limit))
        groups = [OperatorGroup(**_abi.members(group))
                  for group in _abi.listed(handle, "rf_key_averages", _abi.OperatorGroup)]
        return KeyAverages(groups, cpu.value, device.value, table)
    finally:
        library.rf_key_averages_free(handle)


@dataclasses.dataclass(frozen=True)
class CaptureContent:
    """How much of a kind of record a capture holds."""

    kind: str  #: "host events", "kernels", ...
    chunks: int
    rows: int
    bytes: int  #: in the file, headers included


@dataclasses.dataclass(frozen=True)
class CaptureFinding:
    """Something wrong with a capture file."""

    text: str
    offset: int  #: byte of the file
    bytes: int


@dataclasses.dataclass(frozen=True)
class CaptureInfo:
    """What can be said of a capture without reading its events."""

    path: str
    clock: str  #: "TSC at 2.60 GHz"
    device_state: str  #: "full", or why device activity was not recorded
    file_bytes: int
    start_realtime_ns: int  #: since 1970
    duration_ns: int  #: from the start to the last record
    clock_error_ns: int  #: most that a device time can be off against a host time
    format_major: int
    format_minor: int
    pid: int
    threads: int
    devices: int
    names: int
    ended_cleanly: bool
    flight_recorder: bool
    simulated: bool
    content: List[CaptureContent]
    metadata: Dict[str, str]
    findings: List[CaptureFinding]
    health: Health  #: with what this look at the file found


def inspect(path: Path, *, deep: bool = False) -> CaptureInfo:
    """What `rangefinder info` shows of a capture, or of a live file that a dead program left. `deep`: every piece is
    unpacked, so that all damage shows.

    Errors: Error with NOT_FOUND; UNREADABLE when it is no capture; UNSUPPORTED for a newer format.
    Cost:   milliseconds a gigabyte; deep: about a second a gigabyte.
    """
    library = _abi.library
    handle = _abi.made_by(library.rf_capture_inspect, _abi.path(path), deep)
    try:
        facts = _abi.sized(_abi.CaptureFacts)
        _abi.check(library.rf_capture_get_facts(handle, ctypes.byref(facts)))
        content = [CaptureContent(**_abi.members(row))
                   for row in _abi.listed(handle, "rf_capture_content", _abi.CaptureContent)]
        metadata = [_abi.members(row) for row in _abi.listed(handle, "rf_capture_metadata", _abi.Metadata)]
        findings = [CaptureFinding(**_abi.members(row))
                    for row in _abi.listed(handle, "rf_capture_finding", _abi.CaptureFinding)]
        return CaptureInfo(**_abi.members(facts), content=content, findings=findings,
                           metadata={fact["key"]: fact["value"] for fact in metadata},
                           health=take_health(_abi.made_by(library.rf_capture_health, handle)))
    finally:
        library.rf_capture_free(handle)


def repair(damaged: Path, repaired: Path, *, replace: bool = False) -> int:
    """Writes what can be read of a capture, and of the live file beside it, as a new whole one. Returns the number of
    records in it.

    Errors: as inspect(); Error with EXISTS, IO.
    """
    records = ctypes.c_uint64()
    _abi.check(_abi.library.rf_capture_repair(_abi.path(damaged), _abi.path(repaired), replace, ctypes.byref(records)))
    return records.value


@dataclasses.dataclass(frozen=True)
class DoctorFinding:
    """One thing that a recording depends on."""

    topic: str  #: "driver", "CUPTI", "clock", ...
    detail: str  #: what was found
    fix: str  #: what to do; "" when good
    state: str  #: "good", "note" (works, but worth knowing) or "missing" (part of a recording is not possible)


def doctor(folder: Path = ".") -> List[DoctorFinding]:
    """What `rangefinder doctor` shows: how all that a recording depends on stands on this machine, in this environment,
    with captures in `folder`. Loads libraries into the process; starts nothing."""
    handle = _abi.made_by(_abi.library.rf_doctor_run, _abi.path(folder))
    try:
        rows = [_abi.members(row) for row in _abi.listed(handle, "rf_doctor", _abi.DoctorFinding)]
        return [DoctorFinding(**{**row, "state": _abi.DoctorState(row["state"]).name.lower()}) for row in rows]
    finally:
        _abi.library.rf_doctor_free(handle)
