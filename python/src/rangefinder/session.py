# SPDX-License-Identifier: MIT
"""Recordings, and what they know of themselves."""
from __future__ import annotations

import atexit
import ctypes
import dataclasses
import operator
import os
import warnings
import weakref
from typing import Any, Callable, List, Mapping, Optional, Sequence, Union

from . import _abi, ranges

Path = Union[str, "os.PathLike[str]"]


@dataclasses.dataclass(frozen=True)
class DeviceState:
    full: bool  #: device activity is recorded
    reason: str  #: why not and what to do; "" when it is


@dataclasses.dataclass(frozen=True)
class CaptureReady:
    """A capture that is done."""

    path: str
    number: int  #: 1 for the session's first capture
    first_step: int
    last_step: int
    status: _abi.Status  #: what went wrong while it was written
    message: str  #: "" when nothing did


@dataclasses.dataclass(frozen=True)
class HealthEntry:
    name: str  #: "dropped_ranges", ...
    text: str  #: for people
    count: int
    number: int  #: in the capture file
    loss: bool  #: data are missing where count is not 0; False: a note


@dataclasses.dataclass(frozen=True)
class Health:
    """What a recording lost, by cause, at one moment."""

    complete: bool  #: nothing is missing
    entries: List[HealthEntry]  #: those with a count of 0 included

    def __getitem__(self, name: str) -> int:
        """The count of an entry. Errors: KeyError for a name that is none."""
        return {entry.name: entry.count for entry in self.entries}[name]

    def __str__(self) -> str:
        """What is not 0, for people."""
        lines = [f"{'lost' if entry.loss else 'note'}: {entry.count:,} {entry.text} ({entry.name})"
                 for entry in sorted(self.entries, key=lambda entry: not entry.loss) if entry.count]
        return "\n".join((["nothing lost"] if self.complete else []) + lines)


def take_health(handle: ctypes.c_void_p) -> Health:
    """What the library made, which is freed."""
    try:
        entries = [HealthEntry(**_abi.members(entry)) for entry in _abi.listed(handle, "rf_health", _abi.HealthEntry)]
        return Health(bool(_abi.library.rf_health_complete(handle)), entries)
    finally:
        _abi.library.rf_health_free(handle)


@dataclasses.dataclass(frozen=True)
class SummaryRow:
    """Figures of one range path, inclusive. A range counts once it is over, and device work that it owns by attribution `auto`, as in
    reports, when it arrives. The passes, from gpu_forward_ns on, are parts of gpu_sum_ns."""

    path: str  #: "step/forward/layer0"
    name: str  #: the last part
    count: int  #: instances; 0: a graph was captured in it before the recording
    host_ns: int  #: added up
    gpu_ops: int
    gpu_sum_ns: int
    gpu_busy_ns: int
    gpu_span_ns: int  #: last end - first start of each instance, added up
    gpu_forward_ns: int
    gpu_backward_ns: int
    gpu_recompute_ns: int
    gpu_accumulation_ns: int
    depth: int


@dataclasses.dataclass(frozen=True)
class Summary:
    """Figures of what has arrived so far."""

    rows: List[SummaryRow]  #: in order of first appearance, parents before children
    steps: int  #: finished and recorded
    step_ns: int  #: of those, added up
    step_p50_ns: int  #: of the newest 1000 of them
    step_p95_ns: int
    step_p99_ns: int
    items: int  #: that step() was told of
    items_ns: int  #: time of those steps
    gpu_total_ns: int  #: all device time seen, owned or not
    gpu_owned_ns: int
    pending_launches: int  #: made, but their activities have not arrived: not in the figures yet

    @property
    def items_per_second(self) -> float:
        """0 where no step told of any."""
        return self.items * 1e9 / self.items_ns if self.items_ns > 0 else 0.0

    def find(self, path: str) -> Optional[SummaryRow]:
        """The row of a path; None when there is none."""
        return next((row for row in self.rows if row.path == path), None)

    def __str__(self) -> str:
        """The rows as a table, times in milliseconds."""
        lines = [f"{'range':40} {'count':>8} {'host ms':>12} {'GPU busy ms':>12} {'GPU ops':>10}"]
        for row in self.rows:
            name = "  " * row.depth + row.name
            lines.append(f"{name:40} {row.count:>8} {row.host_ns / 1e6:>12.3f} {row.gpu_busy_ns / 1e6:>12.3f} {row.gpu_ops:>10}")
        if self.steps:
            lines.append(f"{self.steps} steps, {self.step_ns / 1e6 / self.steps:.3f} ms each; {self.items_per_second:.6g} items/s")
        return "\n".join(lines)


def _device(ask: Callable[[Any, Any], int]) -> DeviceState:
    full, reason = ctypes.c_bool(), ctypes.c_void_p()
    _abi.check(ask(ctypes.byref(full), ctypes.byref(reason)))
    return DeviceState(full.value, _abi.take_text(reason))


def prepare() -> DeviceState:
    """Opens CUPTI now and keeps it open, so that what has to be set before CUDA is used is set, and no other profiler
    can subscribe. Sessions do it themselves. CUDA graphs that are captured from then on are known to every later session."""
    return _device(_abi.library.rf_prepare)


class _Ready:
    """What a session calls when a capture is whole. The library reaches it by a weak reference, so that a callback may
    hold its session and both be collected."""

    def __init__(self, function: Callable[[CaptureReady], None]):
        self.function = function
        self.last: List[Callable[[CaptureReady], None]] = []  # that, while its session is being freed
        whose, last = weakref.ref(self), self.last

        def ready(_: Any, capture: Any) -> None:
            now = whose()
            called = last[0] if last else now.function if now is not None else None
            if called is not None:
                values = _abi.members(capture.contents)
                called(CaptureReady(**{**values, "status": _abi.Status(values["status"])}))

        self.pointer = _abi.CaptureReadyCallback(ready)


_pointers: List[Any] = []  # never freed: one call may outlast its session
_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()
_exiting = False


@atexit.register
def _stop_all() -> None:
    """While threads can still call back. Nothing is freed: other threads and exit functions may come to it yet."""
    global _exiting
    _exiting = True
    for session in list(_sessions):
        session._left = True
        _abi.library.rf_session_stop(session._handle)


class Session:
    """Records ranges and device activity from its making to stop(), the end of its `with`, or its garbage collection.
    One at a time in a process.

        with rangefinder.Session("train.rfcap") as session:
            for batch in loader:
                with rangefinder.range("step"):
                    train(batch)
                session.step(len(batch))

    help(rangefinder.Session.__init__) describes the arguments, which are the members of SessionOptions of C++.
    RANGEFINDER_CONFIG in the environment overrides them. stop() and the end of the interpreter wait for
    `on_capture_ready` within stop_timeout_ms. A call that takes longer goes on while the interpreter lives, and later
    calls are skipped.

    Errors:  Error with BUSY while another session records, INVALID_ARGUMENT, EXISTS, IO. ValueError for a word or a name
             that an argument does not take; TypeError, OverflowError for a number that is none or does not fit.
    Threads: step and stop by one thread at a time, the rest by any. Other threads of Python run meanwhile.
    Exit:    a session that is open when the interpreter ends is stopped, its file whole. After fork the child records
             nothing, and its calls do nothing.
    Cost:    two background threads and memory_bytes; start 5 to 50 ms.
    """

    _handle: Any = None
    _ready: Optional[_Ready] = None
    _left = False

    # [generated: arguments] from lib/session/options.toml by scripts/session_options.py
    def __init__(
        self,
        output: Optional[Path] = None,
        *,
        config: Optional[str] = None,
        replace: Optional[bool] = None,
        mode: Optional[str] = None,
        memory_bytes: Optional[int] = None,
        overflow: Optional[str] = None,
        grow_limit_bytes: Optional[int] = None,
        skip_first: Optional[int] = None,
        wait: Optional[int] = None,
        warmup: Optional[int] = None,
        active: Optional[int] = None,
        repeat: Optional[int] = None,
        on_capture_ready: Optional[Callable[[CaptureReady], None]] = None,
        record_signal: Optional[int] = None,
        record_steps: Optional[int] = None,
        delay_ms: Optional[int] = None,
        duration_ms: Optional[int] = None,
        until_step: Optional[int] = None,
        cuda: Optional[bool] = None,
        cuda_api: Optional[bool] = None,
        cuda_sync: Optional[bool] = None,
        cuda_overhead: Optional[bool] = None,
        graph_tracing: Optional[str] = None,
        graph_node_replays: Optional[int] = None,
        cuda_memory: Optional[bool] = None,
        cuda_latency: Optional[bool] = None,
        cuda_idle: Optional[str] = None,
        counters: Optional[Union[str, Sequence[str]]] = None,
        counter_ranges: Optional[Union[str, Sequence[str]]] = None,
        counter_category: Optional[str] = None,
        counter_depth: Optional[int] = None,
        pm_sampling: Optional[Union[str, Sequence[str]]] = None,
        pm_sampling_interval_ns: Optional[int] = None,
        autograd: Optional[bool] = None,
        nvml_period_ms: Optional[int] = None,
        cpu_counters: Optional[bool] = None,
        nvtx: Optional[bool] = None,
        flush_period_ms: Optional[int] = None,
        stop_timeout_ms: Optional[int] = None,
        ring_bytes: Optional[int] = None,
        ring_time_ms: Optional[int] = None,
        dump_signal: Optional[int] = None,
        dump_step_over_ns: Optional[int] = None,
        max_dumps: Optional[int] = None,
        metadata: Optional[Mapping[str, str]] = None,
    ):
        """Starts recording. None stands for the default.

        output: The capture file. `%p` is the process id, `%h` the host name, `%r` the rank, `%c` the number of the
            cycle, `%%` a percent sign.
        config: A configuration, as in RANGEFINDER_CONFIG, applied on top of the other arguments.
        replace: Replace an earlier capture of that name. Off: the start fails if there is one. Default True.
        mode: Where records go while the program runs. "mapped", "ring" or "buffered"; default "mapped".
        memory_bytes: Memory bound for host records and CUPTI's buffers together. Default 64 MiB, at least 8 MiB.
        overflow: What a thread does when the memory bound is reached: drop and count; wait up to one second, then drop;
            or take more memory. "drop", "wait" or "grow"; default "drop".
        grow_limit_bytes: Memory bound with `overflow="grow"`. Default 4 GiB.
        skip_first: Steps to skip before the first cycle of the schedule. Default 0.
        wait: Steps at the start of each cycle that are not recorded. Default 0.
        warmup: Steps after `wait` in which the sources run and nothing is kept. Default 0.
        active: Steps recorded in each cycle. 0: no schedule; every step is recorded, and all time outside of steps.
            Default 0.
        repeat: Number of cycles. 0: no limit. Default 0.
        on_capture_ready: Called when a capture is complete and closed, on a thread of its own, one call at a time.
        record_signal: Record nothing until the process gets this signal, then `record_steps` steps, then wait for the
            next one. Default 0: none.
        record_steps: Steps to record after `record_signal`. 0: until the next signal. Default 10.
        delay_ms: Record nothing until this much time has passed since the start. Default 0.
        duration_ms: Stop the session after this much recording; the program runs on. 0: no limit. Default 0.
        until_step: Stop the session when this step begins; the program runs on. 0: no limit. Default 0.
        cuda: Record device activity through CUPTI. Default True.
        cuda_api: Record every CUDA API call, at about 1 us a call. Default True.
        cuda_sync: Record synchronization: waits for streams, events and contexts. Default True.
        cuda_overhead: Record CUPTI's own overhead, and loading and compiling of code (lazy loading, PTX). Default True.
        graph_tracing: How CUDA graphs are recorded: each operation, each launch as a whole, or launches as a whole
            except `graph_node_replays` of each graph. "nodes", "whole" or "automatic"; default "nodes".
        graph_node_replays: Launches of each graph that `graph_tracing="automatic"` records by operation. Default 10, at
            least 1.
        cuda_memory: Record calls of CUDA's own allocation functions, with address and bytes. Default True.
        cuda_latency: Record when each kernel launch was queued and submitted to the device. Slows down launches.
            Default False.
        cuda_idle: What CUPTI does in pauses of a schedule and between sessions: off where that is safe, on at the cost
            of recording, or off. "automatic", "gate" or "disable"; default "automatic".
        counters: Hardware counters of ranges: names of metric sets or metrics, such as `memory` or `roofline`. Empty:
            none. A list of names, or a text with + between them.
        counter_ranges: Count only ranges whose name matches one of these patterns, with `*` and `?`. Empty: all ranges.
            A list of names, or a text with | between them.
        counter_category: Count only ranges of this category. Empty: any category.
        counter_depth: Count only ranges with this many ranges around them on their thread. -1: any depth. Default -1.
        pm_sampling: PM sampling: sample these hardware counters of the devices over time: names as in `counters`, such
            as `device`. Empty: none. A list of names, or a text with + between them.
        pm_sampling_interval_ns: Time between two PM samples. At most 2,016 samples fit in a `flush_period_ms`. Default
            1000000, at least 10000.
        autograd: Record in which range each autograd node was created, in programs that link `rangefinder::torch`.
            Default True.
        nvml_period_ms: How often sensors of the devices in use are read through NVML: power, clocks, utilization,
            temperature, energy. 0: never. Default 0.
        cpu_counters: Count CPU events (instructions, cycles, cache misses, ...) in each range: two or three system
            calls at both ends. Default False.
        nvtx: Send ranges as NVTX to a tool that listens, such as Nsight Systems. Default True.
        flush_period_ms: How often device records are collected and the clock is sampled. Default 200, at least 1.
        stop_timeout_ms: Longest time that stopping may take. Records not written by then are counted as lost. Default
            5000.
        ring_bytes: Packed records kept with `mode="ring"`. Default 64 MiB.
        ring_time_ms: Longest time to keep records with `mode="ring"`. 0: only `ring_bytes` counts. Default 0.
        dump_signal: Write a dump when the process gets this signal, with `mode="ring"`. Default 0: none.
        dump_step_over_ns: Write a dump when a step takes longer than this, with `mode="ring"`. 0: never. Default 0.
        max_dumps: Most dumps by signal and by slow steps. Later ones are only counted. Default 16.
        metadata: Facts to store with the capture, such as `model` = `resnet50`.
        """
    # [/generated]
        given = {name: value for name, value in locals().items() if name != "self"}
        if metadata is not None:
            facts = [_abi.Metadata(_abi.encode(key), _abi.encode(str(value))) for key, value in metadata.items()]
            given["metadata"] = (_abi.Metadata * len(facts))(*facts)
            given["metadata_count"] = len(facts)
        if on_capture_ready is not None:
            self._ready = _Ready(on_capture_ready)
            given["on_capture_ready"] = self._ready.pointer
        if output is not None:
            given["output"] = _abi.path(output)
        for name in _abi.SESSION_LISTS:
            if given[name] is not None:
                given[name] = _abi.joined(name, given[name])
        if counters or cpu_counters or "counters" in (config or "") + os.environ.get("RANGEFINDER_CONFIG", ""):
            ranges._let_others_run()
        options = _abi.options("rf_session_options", given)
        handle = ctypes.c_void_p()
        _abi.check(_abi.library.rf_session_start(ctypes.byref(options), ctypes.byref(handle)))
        self._handle, self._left = handle, _exiting
        if self._ready is not None:
            _pointers.append(self._ready.pointer)
        _sessions.add(self)

    def __del__(self) -> None:
        if self._left or self._handle is None:
            return
        handle, self._handle = self._handle, ctypes.c_void_p()  # others that are collected with this may call it
        if self._ready is not None:
            self._ready.last.append(self._ready.function)  # the collector has cleared the weak reference by now
        _abi.library.rf_session_free(handle)
        if self._ready is not None:
            self._ready.last.clear()

    def __repr__(self) -> str:
        return f"<rangefinder.Session {self.output!r}, {'running' if self.running else 'stopped'}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            self.stop()
        except _abi.Error as failure:
            if kind is None:
                raise
            warnings.warn(f"rangefinder: {failure}", RuntimeWarning, stacklevel=2)  # what broke the program matters more

    def step(self, items: int = 0) -> None:
        """Ends a step and begins the next; drives the schedule. `items`: what was done in the step that ends (tokens,
        samples), from which reports give items a second. Errors: TypeError, OverflowError for what is no such number."""
        items = operator.index(items)
        if not 0 <= items < 1 << 64:
            raise OverflowError(f"items={items} does not fit")
        _abi.check(_abi.library.rf_session_step(self._handle, items))

    @property
    def step_number(self) -> int:
        """Steps begun so far, minus one: 0 during the first."""
        return int(_abi.library.rf_session_step_number(self._handle))

    @property
    def running(self) -> bool:
        """True between start and stop, in pauses of the schedule too."""
        return bool(_abi.library.rf_session_running(self._handle))

    @property
    def output(self) -> str:
        """The capture's path, with all placeholders filled in."""
        return os.fsdecode(_abi.library.rf_session_output(self._handle))

    @property
    def device(self) -> DeviceState:
        """Whether device activity is recorded."""
        return _device(lambda full, reason: _abi.library.rf_session_device(self._handle, full, reason))

    def flush(self) -> None:
        """Writes everything recorded and complete by now to the capture.

        Errors: Error with TIMEOUT when disk or device do not answer within stop_timeout_ms.
        """
        _abi.check(_abi.library.rf_session_flush(self._handle))

    def dump(self, path: Optional[Path] = None) -> str:
        """Writes the flight recorder's content (mode "ring") as a capture of its own; None: the next of
        `<output>.1.rfcap`, `.2` ... Returns the path written."""
        written = ctypes.c_void_p()
        name = None if path is None else _abi.path(path)
        _abi.check(_abi.library.rf_session_dump(self._handle, name, ctypes.byref(written)))
        return _abi.take_text(written)

    def stop(self) -> None:
        """Ends the recording within stop_timeout_ms. Further calls do nothing.

        Errors: Error with TIMEOUT, too, where the file is whole and on_capture_ready was not called for every capture.
        """
        _abi.check(_abi.library.rf_session_stop(self._handle))

    def release_cupti(self) -> None:
        """Releases the CUPTI subscription for another profiler (torch.profiler, say), before or after stop(). Call it before
        that profiler's first use in the process: torch.profiler subscribes only once. What the device has done so far is in
        the capture, and ranges are still recorded. The next session subscribes again.

        Errors: Error with TIMEOUT when CUPTI does not answer; BUSY while another session records the device.
        """
        _abi.check(_abi.library.rf_session_release_cupti(self._handle))

    def health(self) -> Health:
        """What was lost so far, by cause."""
        return take_health(_abi.made_by(_abi.library.rf_session_health, self._handle))

    def summary(self) -> Summary:
        """The figures now. Costs a flush, and work for what came since the last call; may be called after each step."""
        summary = ctypes.c_void_p()
        _abi.check(_abi.library.rf_session_summary(self._handle, ctypes.byref(summary)))
        try:
            totals = _abi.sized(_abi.SummaryTotals)
            _abi.check(_abi.library.rf_summary_get_totals(summary, ctypes.byref(totals)))
            rows = []
            for index in range(_abi.library.rf_summary_row_count(summary)):
                row = _abi.sized(_abi.SummaryRow)
                _abi.check(_abi.library.rf_summary_row_at(summary, index, ctypes.byref(row)))
                rows.append(SummaryRow(**_abi.members(row)))
            return Summary(rows, **_abi.members(totals))
        finally:
            _abi.library.rf_summary_free(summary)
