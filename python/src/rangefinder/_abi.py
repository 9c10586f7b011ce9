# SPDX-License-Identifier: MIT
"""The headers of rangefinder/c for ctypes: the same names, order and types. tests/python compares the two."""
from __future__ import annotations

import ctypes
import enum
import os
import re
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from . import _library

ABI_VERSION = 1


# ---- enumerations ----------------------------------------------------------------------------------------------------
class Status(enum.IntEnum):
    """What kind of thing went wrong; 0 is success."""

    OK = 0
    INVALID_ARGUMENT = 1  #: wrong use: an option, a value, a combination
    NOT_FOUND = 2  #: no such file, view, range
    UNREADABLE = 3  #: input that is not what it claims to be, or is damaged beyond use
    UNSUPPORTED = 4  #: a version, option or platform that this library does not handle
    EXISTS = 5  #: the output is there already and may not be replaced
    IO = 6  #: the operating system refused: disk full, permission
    BUSY = 7  #: in use by another session or another profiler
    TIMEOUT = 8  #: a bounded wait ran out
    INCOMPLETE = 9  #: data are missing
    INTERNAL = 10  #: our mistake, or no memory
    TOO_LARGE = 11  #: needs more memory than it may use


class ValueKind(enum.IntEnum):
    NONE = 0
    UNSIGNED = 1
    SIGNED = 2
    DOUBLE = 3
    TEXT = 4


# [generated: enumerations] from lib/session/options.toml by scripts/session_options.py
class CaptureMode(enum.IntEnum):
    MAPPED = 0
    RING = 1
    BUFFERED = 2


class Overflow(enum.IntEnum):
    DROP = 0
    WAIT = 1
    GROW = 2


class GraphTracing(enum.IntEnum):
    NODES = 0
    WHOLE = 1
    AUTOMATIC = 2


class CudaIdle(enum.IntEnum):
    AUTOMATIC = 0
    GATE = 1
    DISABLE = 2
# [/generated]


class Attribution(enum.IntEnum):
    AUTO = 0
    LAUNCH = 1
    FORWARD = 2
    CAPTURE = 3


class Compression(enum.IntEnum):
    BY_SUFFIX = 0
    PLAIN = 1
    GZIP = 2


class PerfettoGpu(enum.IntEnum):
    STAGES = 0
    LINKED = 1
    SLICES = 2


class SnapshotMoment(enum.IntEnum):
    END = 0
    PEAK = 1


class ReportFormat(enum.IntEnum):
    TEXT = 0
    CSV = 1
    JSON = 2
    MARKDOWN = 3
    JUNIT = 4


class GateVerdict(enum.IntEnum):
    """What a gate, or one of its checks, says."""

    PASS = 0  #: within the limit, and not by chance
    REGRESSION = 1  #: past the limit, and not by chance
    CANNOT_TELL = 2  #: the data do not decide; more runs would


class KeyAveragesOrder(enum.IntEnum):
    FIRST = 0
    CPU_TOTAL = 1
    CPU_SELF = 2
    DEVICE_TOTAL = 3
    DEVICE_SELF = 4
    CALLS = 5
    FLOPS = 6


class DoctorState(enum.IntEnum):
    GOOD = 0
    NOTE = 1
    MISSING = 2


ENUMERATIONS: Dict[str, Type[enum.IntEnum]] = {
    "rf_status": Status,
    "rf_value_kind": ValueKind,
    # [generated: names of enumerations] from lib/session/options.toml by scripts/session_options.py
    "rf_capture_mode": CaptureMode,
    "rf_overflow": Overflow,
    "rf_graph_tracing": GraphTracing,
    "rf_cuda_idle": CudaIdle,
    # [/generated]
    "rf_attribution": Attribution,
    "rf_compression": Compression,
    "rf_perfetto_gpu": PerfettoGpu,
    "rf_snapshot_moment": SnapshotMoment,
    "rf_report_format": ReportFormat,
    "rf_gate_verdict": GateVerdict,
    "rf_key_averages_order": KeyAveragesOrder,
    "rf_doctor_state": DoctorState,
}


# Options that are set by the name of one of these, in small letters.
CHOICES: Dict[str, Type[enum.IntEnum]] = {
    # [generated: choices] from lib/session/options.toml by scripts/session_options.py
    "mode": CaptureMode,
    "overflow": Overflow,
    "graph_tracing": GraphTracing,
    "cuda_idle": CudaIdle,
    # [/generated]
    "attribution": Attribution,
    "compression": Compression,
    "gpu": PerfettoGpu,
    "format": ReportFormat,
    "moment": SnapshotMoment,
    "order": KeyAveragesOrder,
}


# Options of a session that are lists: what stands between the names in C.
# [generated: lists] from lib/session/options.toml by scripts/session_options.py
SESSION_LISTS = {
    "counters": "+",
    "counter_ranges": "|",
    "pm_sampling": "+",
}
# [/generated]


def choice(option: str, value: str) -> int:
    """The number of what an option is set to. Errors: ValueError for a word that is none."""
    kind = CHOICES[option]
    names = [member.name.lower() for member in kind]
    if value not in names:
        raise ValueError(f"{option}={value!r}: one of {', '.join(names)}")
    return int(kind[value.upper()])


def joined(option: str, names: Union[str, Sequence[str]]) -> str:
    """The names of a list as C takes them. Errors: ValueError for a name that is empty or holds the separator."""
    if isinstance(names, str):
        return names
    separator = SESSION_LISTS[option]
    for name in names:
        if not name or separator in name:
            raise ValueError(f"{option}: {name!r} is not a name without {separator!r}")
    return separator.join(names)


# ---- structs ---------------------------------------------------------------------------------------------------------
class ValueOf(ctypes.Union):
    _fields_ = [("as_unsigned", c_uint64), ("as_signed", c_int64), ("as_double", c_double), ("as_text", c_char_p)]


class Value(ctypes.Structure):
    _fields_ = [("kind", c_uint64), ("of", ValueOf)]


class SuspendedRange(ctypes.Structure):
    _fields_ = [("token", c_uint64), ("word", c_uint64), ("since", c_uint64)]


class Metadata(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class CaptureReady(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("number", c_uint64),
        ("first_step", c_uint64),
        ("last_step", c_uint64),
        ("status", c_int),
        ("message", c_char_p),
    ]


CaptureReadyCallback = ctypes.CFUNCTYPE(None, c_void_p, POINTER(CaptureReady))
ProgressCallback = ctypes.CFUNCTYPE(c_bool, c_void_p, c_uint64, c_uint64)


class SessionOptions(ctypes.Structure):
    _fields_ = [
        # [generated: members] from lib/session/options.toml by scripts/session_options.py
        ("struct_size", c_size_t),
        ("output", c_char_p),
        ("config", c_char_p),
        ("metadata", POINTER(Metadata)),
        ("metadata_count", c_size_t),
        ("memory_bytes", c_uint64),
        ("grow_limit_bytes", c_uint64),
        ("ring_bytes", c_uint64),
        ("ring_time_ms", c_int64),
        ("dump_step_over_ns", c_int64),
        ("flush_period_ms", c_int64),
        ("stop_timeout_ms", c_int64),
        ("mode", c_uint32),
        ("overflow", c_uint32),
        ("skip_first", c_uint32),
        ("wait", c_uint32),
        ("warmup", c_uint32),
        ("active", c_uint32),
        ("repeat", c_uint32),
        ("record_signal", c_int32),
        ("record_steps", c_uint32),
        ("dump_signal", c_int32),
        ("max_dumps", c_uint32),
        ("cuda_idle", c_uint32),
        ("replace", c_bool),
        ("cuda", c_bool),
        ("cuda_api", c_bool),
        ("cuda_sync", c_bool),
        ("cuda_overhead", c_bool),
        ("autograd", c_bool),
        ("nvtx", c_bool),
        ("cuda_memory", c_bool),
        ("cuda_latency", c_bool),
        ("cpu_counters", c_bool),
        ("reserved", c_bool * 6),
        ("on_capture_ready", CaptureReadyCallback),
        ("on_capture_ready_user", c_void_p),
        ("graph_tracing", c_uint32),
        ("graph_node_replays", c_uint32),
        ("delay_ms", c_int64),
        ("duration_ms", c_int64),
        ("nvml_period_ms", c_int64),
        ("pm_sampling_interval_ns", c_int64),
        ("pm_sampling", c_char_p),
        ("counters", c_char_p),
        ("counter_ranges", c_char_p),
        ("counter_category", c_char_p),
        ("counter_depth", c_int32),
        ("until_step", c_uint32),
        # [/generated]
    ]


class HealthEntry(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("text", c_char_p),
        ("count", c_uint64),
        ("number", c_uint32),
        ("loss", c_bool),
    ]


class SummaryTotals(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("steps", c_uint64),
        ("step_ns", c_int64),
        ("step_p50_ns", c_int64),
        ("step_p95_ns", c_int64),
        ("step_p99_ns", c_int64),
        ("items", c_uint64),
        ("items_ns", c_int64),
        ("gpu_total_ns", c_int64),
        ("gpu_owned_ns", c_int64),
        ("pending_launches", c_uint64),
    ]


class SummaryRow(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("name", c_char_p),
        ("count", c_uint64),
        ("host_ns", c_int64),
        ("gpu_ops", c_uint64),
        ("gpu_sum_ns", c_int64),
        ("gpu_busy_ns", c_int64),
        ("gpu_span_ns", c_int64),
        ("gpu_forward_ns", c_int64),
        ("gpu_backward_ns", c_int64),
        ("gpu_recompute_ns", c_int64),
        ("gpu_accumulation_ns", c_int64),
        ("depth", c_uint32),
    ]


class ChromeOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("begin_ns", c_int64),
        ("end_ns", c_int64),
        ("compression", c_uint32),
        ("attribution", c_uint32),
        ("replace", c_bool),
        ("pretty", c_bool),
        ("api_calls", c_bool),
        ("syncs", c_bool),
        ("overheads", c_bool),
        ("counters", c_bool),
        ("flows", c_bool),
        ("exclusive_ranges", c_bool),
        ("inclusive_ranges", c_bool),
        ("reserved", c_bool * 7),
        ("progress", ProgressCallback),
        ("progress_user", c_void_p),
        ("max_memory_bytes", c_uint64),
    ]


class PerfettoOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("begin_ns", c_int64),
        ("end_ns", c_int64),
        ("compression", c_uint32),
        ("attribution", c_uint32),
        ("gpu", c_uint32),
        ("replace", c_bool),
        ("api_calls", c_bool),
        ("syncs", c_bool),
        ("overheads", c_bool),
        ("counters", c_bool),
        ("flows", c_bool),
        ("exclusive_ranges", c_bool),
        ("inclusive_ranges", c_bool),
        ("reserved", c_bool * 4),
        ("progress", ProgressCallback),
        ("progress_user", c_void_p),
        ("max_memory_bytes", c_uint64),
    ]


class PerfettoReport(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("events", c_uint64),
        ("slices", c_uint64),
        ("trace_bytes", c_uint64),
        ("output_bytes", c_uint64),
        ("overlapping", c_uint64),
        ("left_out", c_uint64),
    ]


class SnapshotOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("max_memory_bytes", c_uint64),
        ("moment", c_uint32),
        ("replace", c_bool),
        ("reserved", c_bool * 3),
    ]


class HtmlOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("title", c_char_p),
        ("most_slices", c_uint64),
        ("max_memory_bytes", c_uint64),
        ("attribution", c_uint32),
        ("replace", c_bool),
        ("reserved", c_bool * 3),
        ("progress", ProgressCallback),
        ("progress_user", c_void_p),
    ]


class HtmlReport(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("slices", c_uint64),
        ("left_out", c_uint64),
        ("output_bytes", c_uint64),
    ]


class ChromeReport(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("events", c_uint64),
        ("json_bytes", c_uint64),
        ("output_bytes", c_uint64),
        ("overlapping", c_uint64),
        ("left_out", c_uint64),
    ]


class ReportOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("view", c_char_p),
        ("step_names", c_char_p),
        ("filter", c_char_p),
        ("sort", c_char_p),
        ("depth", c_uint64),
        ("top", c_uint64),
        ("width", c_uint64),
        ("format", c_uint32),
        ("attribution", c_uint32),
        ("instances", c_bool),
        ("by_shape", c_bool),
        ("fold", c_bool),
        ("filter_is_regex", c_bool),
        ("annotations", c_bool),
        ("operators", c_bool),
        ("utf8", c_bool),
        ("colour", c_bool),
        ("max_memory_bytes", c_uint64),
        ("columns", c_char_p),
        ("payload", c_char_p),
        ("by_payload", c_bool),
        ("overview", c_bool),
        ("absolute_times", c_bool),
        ("terminal", c_bool),
        ("strict", c_bool),
        ("reserved", c_bool * 3),
        ("by", c_char_p),
        ("of", c_char_p),
    ]


class ReportView(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("description", c_char_p),
        ("nsight_compatible", c_bool),
    ]


class DiffOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("top", c_uint64),
        ("width", c_uint64),
        ("max_memory_bytes", c_uint64),
        ("format", c_uint32),
        ("attribution", c_uint32),
        ("annotations", c_bool),
        ("operators", c_bool),
        ("strict", c_bool),
        ("utf8", c_bool),
        ("colour", c_bool),
        ("terminal", c_bool),
        ("reserved", c_bool * 2),
    ]


class GateOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rules", POINTER(c_char_p)),
        ("rule_count", c_size_t),
        ("confidence", c_double),
        ("assumed_run_spread", c_double),
        ("max_memory_bytes", c_uint64),
        ("attribution", c_uint32),
        ("other_hardware", c_bool),
        ("annotations", c_bool),
        ("operators", c_bool),
        ("strict", c_bool),
    ]


class GateCheck(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rule", c_char_p),
        ("metric", c_char_p),
        ("statistic", c_char_p),
        ("unit", c_char_p),
        ("reason", c_char_p),
        ("baseline", c_double),
        ("candidate", c_double),
        ("limit", c_double),
        ("change", c_double),
        ("change_low", c_double),
        ("change_high", c_double),
        ("verdict", c_uint32),
        ("is_share", c_bool),
    ]


class QueryOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("timeout_ms", c_uint64),
        ("max_rows", c_uint64),
        ("max_query_bytes", c_uint64),
        ("max_memory_bytes", c_uint64),
        ("attribution", c_uint32),
        ("annotations", c_bool),
        ("operators", c_bool),
        ("reserved", c_bool * 2),
    ]


class OperatorGroup(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("shapes", c_char_p),
        ("calls", c_uint64),
        ("flops", c_uint64),
        ("cpu_total_ns", c_int64),
        ("cpu_self_ns", c_int64),
        ("device_total_ns", c_int64),
        ("device_self_ns", c_int64),
        ("host_total_bytes", c_int64),
        ("host_self_bytes", c_int64),
        ("device_total_bytes", c_int64),
        ("device_self_bytes", c_int64),
        ("calls_without_flops", c_uint64),
    ]


class CaptureFacts(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("path", c_char_p),
        ("clock", c_char_p),
        ("device_state", c_char_p),
        ("file_bytes", c_uint64),
        ("start_realtime_ns", c_int64),
        ("duration_ns", c_int64),
        ("clock_error_ns", c_int64),
        ("format_major", c_uint32),
        ("format_minor", c_uint32),
        ("pid", c_uint32),
        ("threads", c_uint32),
        ("devices", c_uint32),
        ("names", c_uint32),
        ("ended_cleanly", c_bool),
        ("flight_recorder", c_bool),
        ("simulated", c_bool),
    ]


class CaptureContent(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kind", c_char_p),
        ("chunks", c_uint64),
        ("rows", c_uint64),
        ("bytes", c_uint64),
    ]


class CaptureFinding(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("text", c_char_p), ("offset", c_uint64), ("bytes", c_uint64)]


class DoctorFinding(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("topic", c_char_p),
        ("detail", c_char_p),
        ("fix", c_char_p),
        ("state", c_uint32),
    ]


class OperatorOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("sampling", c_double),
        ("shapes", c_bool),
        ("user_scopes", c_bool),
        ("reserved", c_bool * 6),
    ]


class CollectiveOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("inputs", c_bool),
        ("reserved", c_bool * 7),
    ]


class MemoryOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("snapshot_when_out_of_memory", c_char_p),
        ("history_events", c_uint64),
        ("host", c_bool),
        ("cuda", c_bool),
        ("statistics_at_steps", c_bool),
        ("reserved", c_bool * 5),
    ]


class HostMemory(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("allocated_bytes", c_uint64),
        ("peak_bytes", c_uint64),
        ("allocations", c_uint64),
        ("untracked", c_uint64),
    ]


STRUCTS: Dict[str, Type[ctypes.Structure]] = {
    "rf_value": Value,
    "rf_suspended_range": SuspendedRange,
    "rf_metadata": Metadata,
    "rf_capture_ready": CaptureReady,
    "rf_session_options": SessionOptions,
    "rf_health_entry": HealthEntry,
    "rf_summary_totals": SummaryTotals,
    "rf_summary_row": SummaryRow,
    "rf_chrome_options": ChromeOptions,
    "rf_snapshot_options": SnapshotOptions,
    "rf_chrome_report": ChromeReport,
    "rf_perfetto_options": PerfettoOptions,
    "rf_perfetto_report": PerfettoReport,
    "rf_html_options": HtmlOptions,
    "rf_html_report": HtmlReport,
    "rf_report_options": ReportOptions,
    "rf_report_view": ReportView,
    "rf_diff_options": DiffOptions,
    "rf_gate_options": GateOptions,
    "rf_gate_check": GateCheck,
    "rf_query_options": QueryOptions,
    "rf_operator_group": OperatorGroup,
    "rf_capture_facts": CaptureFacts,
    "rf_capture_content": CaptureContent,
    "rf_capture_finding": CaptureFinding,
    "rf_doctor_finding": DoctorFinding,
    "rf_operator_options": OperatorOptions,
    "rf_collective_options": CollectiveOptions,
    "rf_memory_options": MemoryOptions,
    "rf_host_memory": HostMemory,
}

Struct = TypeVar("Struct", bound=ctypes.Structure)


def sized(kind: Type[Struct]) -> Struct:
    """A struct for the library to fill."""
    return kind(struct_size=ctypes.sizeof(kind))


def fill(struct: ctypes.Structure, given: Mapping[str, Any]) -> None:
    """Sets members by their names, but those that are None. ctypes would cut a number that does not fit."""
    for name, value in given.items():
        if value is None:
            continue
        if name in CHOICES:
            value = choice(name, value)
        elif isinstance(value, str):
            value = encode(value)
        setattr(struct, name, value)
        if isinstance(value, int) and getattr(struct, name) != value:
            raise OverflowError(f"{name}={value} does not fit")


def members(struct: ctypes.Structure) -> Dict[str, Any]:
    """What the library filled in, texts as str."""
    values = {field[0]: getattr(struct, field[0]) for field in struct._fields_ if field[0] != "struct_size"}
    return {name: value.decode(errors="replace") if isinstance(value, bytes) else value
            for name, value in values.items()}


# ---- functions: result, arguments ------------------------------------------------------------------------------------
HANDLE = c_void_p  # rf_text, rf_session, rf_health, rf_summary, ...
NEW_HANDLE = POINTER(c_void_p)

FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "rf_status_name": (c_char_p, [c_int]),
    "rf_last_error": (c_char_p, []),
    "rf_version": (c_char_p, []),
    "rf_abi_version": (c_uint32, []),
    "rf_text_data": (c_char_p, [HANDLE]),
    "rf_text_size": (c_size_t, [HANDLE]),
    "rf_text_free": (None, [HANDLE]),
    "rf_name_intern": (c_uint32, [c_char_p]),
    "rf_category_intern": (c_uint32, [c_char_p]),
    "rf_range_push": (c_int, [c_uint32]),
    "rf_range_push_text": (c_int, [c_char_p]),
    "rf_range_push_with": (c_int, [c_char_p, c_uint32, Value]),
    "rf_range_pop": (None, []),
    "rf_range_depth": (c_uint32, []),
    "rf_range_pop_to": (None, [c_uint32]),
    "rf_range_pop_named": (c_bool, [c_uint32]),
    "rf_range_suspend": (SuspendedRange, []),
    "rf_range_resume": (None, [SuspendedRange]),
    "rf_listening": (c_bool, []),
    "rf_range_start": (c_uint64, [c_char_p, c_uint32]),
    "rf_range_end": (None, [c_uint64]),
    "rf_mark": (c_int, [c_char_p, Value]),
    "rf_counter": (c_int, [c_char_p, Value]),
    "rf_mark_named": (c_int, [c_uint32, Value]),
    "rf_counter_named": (c_int, [c_uint32, Value]),
    "rf_session_options_init": (c_int, [POINTER(SessionOptions), c_size_t]),
    "rf_session_options_text": (c_int, [POINTER(SessionOptions), NEW_HANDLE]),
    "rf_session_start": (c_int, [POINTER(SessionOptions), NEW_HANDLE]),
    "rf_session_step": (c_int, [HANDLE, c_uint64]),
    "rf_session_step_number": (c_uint64, [HANDLE]),
    "rf_session_running": (c_bool, [HANDLE]),
    "rf_session_output": (c_char_p, [HANDLE]),
    "rf_session_flush": (c_int, [HANDLE]),
    "rf_session_dump": (c_int, [HANDLE, c_char_p, NEW_HANDLE]),
    "rf_session_stop": (c_int, [HANDLE]),
    "rf_session_release_cupti": (c_int, [HANDLE]),
    "rf_session_free": (None, [HANDLE]),
    "rf_session_device": (c_int, [HANDLE, POINTER(c_bool), NEW_HANDLE]),
    "rf_prepare": (c_int, [POINTER(c_bool), NEW_HANDLE]),
    "rf_session_health": (c_int, [HANDLE, NEW_HANDLE]),
    "rf_health_complete": (c_bool, [HANDLE]),
    "rf_health_count": (c_size_t, [HANDLE]),
    "rf_health_at": (c_int, [HANDLE, c_size_t, POINTER(HealthEntry)]),
    "rf_health_get": (c_int, [HANDLE, c_char_p, POINTER(c_uint64)]),
    "rf_health_free": (None, [HANDLE]),
    "rf_session_summary": (c_int, [HANDLE, NEW_HANDLE]),
    "rf_summary_get_totals": (c_int, [HANDLE, POINTER(SummaryTotals)]),
    "rf_summary_row_at": (c_int, [HANDLE, c_size_t, POINTER(SummaryRow)]),
    "rf_summary_find": (c_int, [HANDLE, c_char_p, POINTER(SummaryRow)]),
    "rf_summary_row_count": (c_size_t, [HANDLE]),
    "rf_summary_free": (None, [HANDLE]),
    "rf_chrome_options_init": (c_int, [POINTER(ChromeOptions), c_size_t]),
    "rf_export_chrome_trace": (c_int, [c_char_p, c_char_p, POINTER(ChromeOptions), POINTER(ChromeReport)]),
    "rf_perfetto_options_init": (c_int, [POINTER(PerfettoOptions), c_size_t]),
    "rf_export_perfetto_trace": (c_int, [c_char_p, c_char_p, POINTER(PerfettoOptions), POINTER(PerfettoReport)]),
    "rf_html_options_init": (c_int, [POINTER(HtmlOptions), c_size_t]),
    "rf_export_html": (c_int, [c_char_p, c_char_p, POINTER(HtmlOptions), POINTER(HtmlReport)]),
    "rf_export_memory_snapshot": (c_int, [c_char_p, c_char_p, c_uint32, c_bool]),
    "rf_snapshot_options_init": (c_int, [POINTER(SnapshotOptions), c_size_t]),
    "rf_export_memory_snapshot_with": (c_int, [c_char_p, c_char_p, POINTER(SnapshotOptions)]),
    "rf_report_options_init": (c_int, [POINTER(ReportOptions), c_size_t]),
    "rf_report": (c_int, [c_char_p, POINTER(ReportOptions), NEW_HANDLE]),
    "rf_report_job": (c_int, [POINTER(c_char_p), c_size_t, POINTER(ReportOptions), NEW_HANDLE]),
    "rf_report_view_count": (c_size_t, []),
    "rf_report_view_at": (c_int, [c_size_t, POINTER(ReportView)]),
    "rf_diff_options_init": (c_int, [POINTER(DiffOptions), c_size_t]),
    "rf_diff": (c_int, [c_char_p, c_char_p, POINTER(DiffOptions), NEW_HANDLE]),
    "rf_gate_options_init": (c_int, [POINTER(GateOptions), c_size_t]),
    "rf_gate_run": (c_int, [POINTER(c_char_p), c_size_t, POINTER(c_char_p), c_size_t, POINTER(GateOptions), NEW_HANDLE]),
    "rf_gate_get_verdict": (c_uint32, [HANDLE]),
    "rf_gate_check_count": (c_size_t, [HANDLE]),
    "rf_gate_check_at": (c_int, [HANDLE, c_size_t, POINTER(GateCheck)]),
    "rf_gate_text": (c_int, [HANDLE, c_uint32, NEW_HANDLE]),
    "rf_gate_free": (None, [HANDLE]),
    "rf_baseline_save": (c_int, [POINTER(c_char_p), c_size_t, c_char_p, c_bool, POINTER(GateOptions)]),
    "rf_query_options_init": (c_int, [POINTER(QueryOptions), c_size_t]),
    "rf_query_open": (c_int, [POINTER(c_char_p), c_size_t, POINTER(QueryOptions), NEW_HANDLE]),
    "rf_query_run": (c_int, [HANDLE, c_char_p, POINTER(QueryOptions), NEW_HANDLE]),
    "rf_query_text": (c_int, [HANDLE, c_char_p, POINTER(QueryOptions), c_uint32, NEW_HANDLE]),
    "rf_query_free": (None, [HANDLE]),
    "rf_query_schema": (c_int, [NEW_HANDLE]),
    "rf_rows_count": (c_size_t, [HANDLE]),
    "rf_rows_column_count": (c_size_t, [HANDLE]),
    "rf_rows_column_name": (c_char_p, [HANDLE, c_size_t]),
    "rf_rows_truncated": (c_bool, [HANDLE]),
    "rf_rows_value": (c_int, [HANDLE, c_size_t, c_size_t, POINTER(Value)]),
    "rf_rows_free": (None, [HANDLE]),
    "rf_key_averages_load": (c_int, [c_char_p, c_bool, NEW_HANDLE]),
    "rf_key_averages_count": (c_size_t, [HANDLE]),
    "rf_key_averages_at": (c_int, [HANDLE, c_size_t, POINTER(OperatorGroup)]),
    "rf_key_averages_totals": (c_int, [HANDLE, POINTER(c_int64), POINTER(c_int64)]),
    "rf_key_averages_table": (c_int, [HANDLE, c_uint32, c_size_t, NEW_HANDLE]),
    "rf_key_averages_free": (None, [HANDLE]),
    "rf_capture_inspect": (c_int, [c_char_p, c_bool, NEW_HANDLE]),
    "rf_capture_get_facts": (c_int, [HANDLE, POINTER(CaptureFacts)]),
    "rf_capture_content_count": (c_size_t, [HANDLE]),
    "rf_capture_content_at": (c_int, [HANDLE, c_size_t, POINTER(CaptureContent)]),
    "rf_capture_metadata_count": (c_size_t, [HANDLE]),
    "rf_capture_metadata_at": (c_int, [HANDLE, c_size_t, POINTER(Metadata)]),
    "rf_capture_finding_count": (c_size_t, [HANDLE]),
    "rf_capture_finding_at": (c_int, [HANDLE, c_size_t, POINTER(CaptureFinding)]),
    "rf_capture_health": (c_int, [HANDLE, NEW_HANDLE]),
    "rf_capture_free": (None, [HANDLE]),
    "rf_capture_repair": (c_int, [c_char_p, c_char_p, c_bool, POINTER(c_uint64)]),
    "rf_doctor_run": (c_int, [c_char_p, NEW_HANDLE]),
    "rf_doctor_count": (c_size_t, [HANDLE]),
    "rf_doctor_at": (c_int, [HANDLE, c_size_t, POINTER(DoctorFinding)]),
    "rf_doctor_free": (None, [HANDLE]),
}

# Of the component for LibTorch, which rangefinder.torch loads.
TORCH_FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "rf_operator_options_init": (c_int, [POINTER(OperatorOptions), c_size_t]),
    "rf_operator_recording_start": (c_int, [POINTER(OperatorOptions), NEW_HANDLE]),
    "rf_operator_recording_free": (None, [HANDLE]),
    "rf_collective_options_init": (c_int, [POINTER(CollectiveOptions), c_size_t]),
    "rf_collective_recording_start": (c_int, [POINTER(CollectiveOptions), NEW_HANDLE]),
    "rf_collective_recording_state": (c_char_p, [HANDLE]),
    "rf_collective_recording_free": (None, [HANDLE]),
    "rf_memory_options_init": (c_int, [POINTER(MemoryOptions), c_size_t]),
    "rf_memory_recording_start": (c_int, [POINTER(MemoryOptions), NEW_HANDLE]),
    "rf_memory_recording_host_state": (c_char_p, [HANDLE]),
    "rf_memory_recording_cuda_state": (c_char_p, [HANDLE]),
    "rf_memory_recording_free": (None, [HANDLE]),
    "rf_host_memory_get": (c_int, [POINTER(HostMemory)]),
    "rf_host_memory_reset_peak": (None, []),
    "rf_device_memory_count": (c_int, []),
    "rf_device_memory_snapshot": (c_int, [c_char_p]),
}

library = _library.load()
_library.start_recording()

# Not there in libraries that were built without the recording half: these read files all the same.
_RECORDING = ("rf_name_", "rf_category_", "rf_range_", "rf_listening", "rf_mark", "rf_counter", "rf_session_", "rf_prepare",
              "rf_summary_")
_records = hasattr(library, "rf_session_start")


def _absent(name: str, of: ctypes.CDLL) -> Any:
    def refuse(*_: Any) -> Any:
        raise ImportError(f"rangefinder: {of._name} has no function {name}: it was built without the recording half "
                          "(RANGEFINDER_RECORDING=OFF), and reads files only")

    return refuse


def bind(name: str, to: ctypes.CDLL, functions: Mapping[str, Tuple[Any, List[Any]]] = FUNCTIONS) -> Any:
    """The function, which ctypes keeps as an attribute of the library."""
    try:
        function = getattr(to, name)
    except AttributeError:
        if not name.startswith(_RECORDING) or _records:
            raise ImportError(f"rangefinder: {to._name} has no function {name}: it is another library, or older than "
                              "this package. Install the two from the same sources") from None
        function = _absent(name, to)
        setattr(to, name, function)
    function.restype, function.argtypes = functions[name]
    return function


for _name in FUNCTIONS:
    bind(_name, library)
if library.rf_abi_version() < ABI_VERSION:
    raise ImportError(f"rangefinder: {library._name} has version {library.rf_abi_version()} of the C interface; "
                      f"this package needs {ABI_VERSION}. Install the two from the same sources")


# ---- errors and texts ------------------------------------------------------------------------------------------------
class Error(RuntimeError):
    """What the library refused or could not do. `code`: a Status; `message`: what, where, and what to do next."""

    def __init__(self, code: Status, message: str):
        super().__init__(message)
        self.code = code
        self.message = message

    def __reduce__(self) -> Tuple[Any, ...]:  # exceptions travel between processes
        return Error, (self.code, self.message)


# What functions of C are called here, where it is not the same name; "session_" is Session, its "start" the class itself.
_NAMES = {
    "capture_inspect": "inspect", "capture_repair": "repair", "chrome_options_init": "export_chrome_trace",
    "collective_options_init": "torch.CollectiveRecording", "collective_recording_start": "torch.CollectiveRecording",
    "counter_named": "counter", "device_memory_count": "torch.count_device_memory",
    "device_memory_snapshot": "torch.memory_snapshot", "baseline_save": "save_baseline", "diff_options_init": "diff", "doctor_run": "doctor",
    "export_memory_snapshot_with": "export_memory_snapshot", "html_options_init": "export_html",
    "host_memory_get": "torch.host_memory",
    "mark_named": "mark", "memory_options_init": "torch.MemoryRecording",
    "memory_recording_start": "torch.MemoryRecording", "operator_options_init": "torch.OperatorRecording",
    "operator_recording_start": "torch.OperatorRecording", "range_push": "range", "range_push_text": "range",
    "range_push_with": "range", "report_job": "report", "report_options_init": "report", "report_view_at": "report_views",
    "query_schema": "query_schema",
    "session_options_init": "Session", "session_options_text": "Session", "session_start": "Session", "session_free": "Session.stop",
    "snapshot_options_init": "export_memory_snapshot", "table_at": "Capture.tables", "timeline_load": "open",
    "timeline_table": "Capture.arrow", "timeline_view": "Capture.arrow_view", "parquet_options_init": "export_parquet",
    "perfetto_options_init": "export_perfetto_trace",
}
_PREFIXES = {"session_": "Session.", "health_": "Session.health", "summary_": "Session.summary",
             "gate_": "gate", "key_averages_": "key_averages", "capture_": "inspect", "doctor_": "doctor", "query_": "query", "rows_": "query"}


def _name_in_python(function: str) -> str:
    if function in _NAMES:
        return _NAMES[function]
    for prefix, name in _PREFIXES.items():
        if function.startswith(prefix):
            return name + function[len(prefix):] if name.endswith(".") else name
    return function


def in_python(message: str) -> str:
    """What the library says to a caller of C, as said to one of Python."""
    found = re.match(r"rf_(\w+): (?:(\w+): )?", message)
    if found is None:
        return message
    name, frame = _name_in_python(found[1]), found[2] or ""
    said = frame.lower() in name.lower().replace(".", "_").split("_")  # "export: " of export_chrome_trace
    rest = message[found.end():] if said or not frame else f"{frame}: {message[found.end():]}"
    rest = rest.replace(", or set `replace`", ", or pass replace=True")
    rest = re.sub(r"\brangefinder::[\w:]+", lambda named: named[0].replace("::", "."), rest)
    return f"rangefinder.{name}: {rest}"


def check(status: int) -> None:
    """Raises what the calling thread's last call failed with."""
    if status != Status.OK:
        code = Status(status) if status in Status._value2member_map_ else Status.INTERNAL
        raise Error(code, in_python(library.rf_last_error().decode(errors="replace")))


def made_by(make: Any, *arguments: Any) -> c_void_p:
    """The handle that a function of the library makes, which is its last argument."""
    handle = c_void_p()
    check(make(*arguments, ctypes.byref(handle)))
    return handle


def listed(handle: c_void_p, of: str, kind: Type[Struct]) -> List[Struct]:
    """What the functions `of`_count and `of`_at give."""
    rows = []
    for index in range(getattr(library, of + "_count")(handle)):
        row = sized(kind) if kind._fields_[0][0] == "struct_size" else kind()
        check(getattr(library, of + "_at")(handle, index, ctypes.byref(row)))
        rows.append(row)
    return rows


def options(name: str, given: Mapping[str, Any], of: Optional[ctypes.CDLL] = None) -> Any:
    """A struct of options with its defaults and what is given. `of`: the library whose struct it is."""
    struct = STRUCTS[name]()
    check(getattr(of or library, name + "_init")(ctypes.byref(struct), ctypes.sizeof(struct)))
    fill(struct, given)
    return struct


def encode(text: Optional[str]) -> Optional[bytes]:
    """UTF-8 whatever is in the text; C would end it at a zero byte."""
    return None if text is None else text.encode(errors="backslashreplace").replace(b"\0", b"\\x00")


def path(value: "Union[str, os.PathLike[str]]") -> bytes:
    """As the system wants it. Errors: ValueError for a zero byte, where C would end it."""
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise ValueError(f"a path with a zero byte: {value!r}")
    return encoded


def library_path() -> str:
    """The file that was loaded, which the system's loader may have found."""

    class Info(ctypes.Structure):
        _fields_ = [("file", c_char_p), ("base", c_void_p), ("symbol", c_char_p), ("address", c_void_p)]

    info = Info()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [c_void_p, POINTER(Info)]
    if not dladdr(ctypes.cast(library.rf_version, c_void_p), ctypes.byref(info)):
        return str(library._name)
    return os.path.realpath(os.fsdecode(info.file))


def take_text(text: c_void_p) -> str:
    """A text that the library made, which is freed."""
    try:
        return (library.rf_text_data(text) or b"").decode(errors="replace")
    finally:
        library.rf_text_free(text)
