# SPDX-License-Identifier: MIT
"""PyTorch: modules as ranges, backward work on the ranges of its forward pass, operators, collectives and
memory. Importing this imports no torch."""
from __future__ import annotations

import ctypes
import dataclasses
import mmap
import os
import pathlib
import sys
import weakref
from typing import Any, Dict, List, Optional, Tuple, TypeVar, Union

from . import _abi
from . import _torch_build as torch_build
from . import ranges
from .ranges import Range, _close_interrupted, _depth, _module_calls

__all__ = [
    "CollectiveRecording", "HostMemory", "MarkedModules", "MemoryRecording", "OperatorRecording", "count_device_memory",
    "enable", "host_memory", "mark_modules", "memory_snapshot", "reset_host_memory_peak", "unmark_modules",
]

_Path = Union[str, "os.PathLike[str]"]
Self = TypeVar("Self", bound="_Recording")

NAME = "librangefinder_torch.so.0"
_BUILT_FOR = b"rangefinder component for LibTorch "  # lib/source/torch/built_for.cpp

_component: Optional[ctypes.CDLL] = None


def enable() -> None:
    """Loads the component for LibTorch into the process, so that sessions note in which range each node of autograd was
    made: device work of a backward pass is then given to the modules and ranges of its forward pass (attribution
    "forward", the gpu_backward_ns of a summary). Stays for the life of the process; further calls do nothing.

        import torch, rangefinder
        rangefinder.torch.enable()

    The component is looked for beside librangefinder.so; RANGEFINDER_TORCH_LIBRARY in the environment names another. A
    wheel of rangefinder holds its sources: they are compiled once for each version of torch and kept in ~/.cache.
    `python -m rangefinder build-torch` does that beforehand, RANGEFINDER_BUILD_TORCH=off forbids it here.

    Errors:  ImportError where torch is not installed, where the component is absent and cannot be built (no compiler),
             where it was built for another version of torch, and where it cannot be loaded. The program may go on
             without it.
    Threads: call it while no operator runs. Processes that build at the same time wait for the first of them.
    Cost:    once, some milliseconds, or a minute or two for building; then what a range takes for asking LibTorch for a number, while a session records.
    """
    global _component
    if _component is not None:
        return
    try:
        import torch
    except ImportError as error:
        raise ImportError("rangefinder.torch.enable: torch cannot be imported: " + str(error)) from error
    path = _place(torch)
    built_for, used = _version_built_for(path), torch.__version__.split("+")[0]
    if built_for != used:  # it would be loaded, and misread what this torch passes to it
        raise ImportError(f"rangefinder.torch.enable: {path} was built for torch {built_for}, and this is torch {used}. "
                          "Build rangefinder with this torch: -D RANGEFINDER_TORCH_DIR=" +
                          os.path.dirname(torch.__file__))
    try:
        component = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"rangefinder.torch.enable: {error}. It was built for torch {built_for} of another kind (CUDA "
                          "or CPU, ABI of the C++ library)?") from error
    for name in _abi.TORCH_FUNCTIONS:
        _abi.bind(name, component, _abi.TORCH_FUNCTIONS)
    _component = component


def _enabled() -> ctypes.CDLL:
    enable()
    assert _component is not None
    return _component


def _place(torch: Any) -> str:
    given = os.environ.get("RANGEFINDER_TORCH_LIBRARY")
    if given:
        return given
    core = _abi.library_path()
    path = pathlib.Path(core).parent / NAME
    if path.exists():
        return str(path)
    if torch_build.sources() is None:
        raise ImportError(f"rangefinder.torch.enable: {path} is not there, beside {core}: rangefinder was built without "
                          "LibTorch. Build it with -D RANGEFINDER_TORCH=ON -D RANGEFINDER_TORCH_DIR=<folder torch>, or "
                          "set RANGEFINDER_TORCH_LIBRARY to the path of " + NAME)
    try:
        if os.environ.get("RANGEFINDER_BUILD_TORCH", "on") != "off":
            return str(torch_build.build(torch))
        built = torch_build.place(torch)
    except torch_build.CannotBuild as error:
        raise ImportError(f"rangefinder.torch.enable: {error}") from error
    if not built.exists():
        raise ImportError(f"rangefinder.torch.enable: {built} is not there and RANGEFINDER_BUILD_TORCH=off forbids to "
                          "build it here. Run `python -m rangefinder build-torch` beforehand")
    return str(built)


def _version_built_for(path: str) -> str:
    """What the file says of itself; loading it runs its code."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = content.find(_BUILT_FOR)
            text = content[found + len(_BUILT_FOR):found + len(_BUILT_FOR) + 64] if found >= 0 else b""
    except (OSError, ValueError) as error:
        raise ImportError(f"rangefinder.torch.enable: {path} cannot be read: {error}") from error
    version = text.split(b"\0")[0].decode(errors="replace")
    if not version:
        raise ImportError(f"rangefinder.torch.enable: {path} is not the component for LibTorch")
    return version


class _Hook:
    """One end of a module's range. A class, so that a model that is copied or pickled keeps its ranges."""

    __slots__ = ("marked", "enter", "compiling")

    def __init__(self, name: str):
        self.marked = Range(name)
        self.enter = self.marked.__enter__
        self.compiling = sys.modules["torch"].compiler.is_dynamo_compiling

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.marked.name,)


class _Begin(_Hook):
    __slots__ = ()

    def __call__(self, module: Any, arguments: Any) -> None:
        if self.compiling():
            return
        calls, depth, call = _module_calls.open, _depth(), (id(module), self.marked.name)
        while calls and calls[-1][0] >= depth:  # closed with what was around them, or begun while nothing listened
            calls.pop()
        if calls and calls[0][1] == call:
            depth = _close_stale(module, call)
        calls.append((depth, call))
        self.enter()


class _End(_Hook):
    __slots__ = ()

    def __call__(self, module: Any, arguments: Any, result: Any) -> None:
        if self.compiling():
            return
        calls, call = _module_calls.open, (id(module), self.marked.name)
        if not calls or calls[-1][1] != call:
            if not any(open_call == call for _, open_call in calls):
                return  # it did not begin: an earlier hook of the program raised
            while calls[-1][1] != call:
                calls.pop()  # was interrupted, and the interrupt was caught in this forward
        ranges._pop_to(calls.pop()[0])


def _close_stale(module: Any, call: Tuple[int, str]) -> int:
    """A module begins that is the thread's outermost open one already: it calls itself, or was left by an interrupt that
    no range was around. Gives how many ranges are open then."""
    frame: Any = sys._getframe(2)
    running = -1  # this call's own
    while frame is not None:
        running += frame.f_code.co_name == "_call_impl" and frame.f_locals.get("self") is module
        frame = frame.f_back
    calls = _module_calls.open
    if running < sum(open_call == call for _, open_call in calls):
        _close_interrupted()
        calls.clear()
    return int(_depth())


class MarkedModules:
    """What mark_modules did. As a `with`, it ends with that."""

    def __init__(self, hooks: List[Any], names: Dict[str, Any]):
        self._hooks = hooks
        self.names = list(names)  #: of the ranges

    def remove(self) -> None:
        """Modules are marked no more. Call it while none of them runs; further calls do nothing."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def __enter__(self) -> MarkedModules:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.remove()


def mark_modules(model: Any, *, prefix: str = "", depth: Optional[int] = None) -> MarkedModules:
    """Makes each call of a module's forward a range, named as in model.named_modules(): "layers.0.attention". The model
    itself is named by its class.

        marked = rangefinder.torch.mark_modules(model)
        ...
        marked.remove()

    `prefix`: in front of all names. `depth`: at most so many levels below the model, 0: the model alone; None: all.
    A module that the model holds twice has the first of its names. What torch.compile has compiled has no ranges of
    modules inside; a module of the model that module.compile() has compiled has none itself, so put a range around its
    call. A model that is copied or pickled keeps its marks: loading it imports this package. torch.jit.script takes no
    hooks of Python: unmark_modules() first. Work of a backward pass is given to modules where enable() was called.

    Errors:  ValueError where a module is marked by that name already. An exception in forward closes its range. After an
             interrupt from the keyboard LibTorch calls no hook: the range around the outermost module closes those of the
             modules, and where there is none, the module's next call. Where neither comes first, because another range was
             opened meanwhile, they stay open until pop_ranges_to() closes them.
    Threads: any number may run the model; mark and remove while none does.
    Cost:    two hooks a module: measured in docs/reference/measured.md.
    """
    named: Dict[str, Any] = {}
    for name, module in model.named_modules():
        levels = name.count(".") + 1 if name else 0
        if depth is None or levels <= depth:
            named[prefix + (name or type(module).__name__)] = module
    for name, module in named.items():
        if any(isinstance(hook, _Begin) and hook.marked.name == name for hook in module._forward_pre_hooks.values()):
            raise ValueError(f"mark_modules: the module {name!r} is marked already; remove() those marks, or give a prefix")
    hooks = []
    for name, module in named.items():
        hooks.append(module.register_forward_pre_hook(_Begin(name), prepend=True))
        hooks.append(module.register_forward_hook(_End(name), always_call=True))
    return MarkedModules(hooks, named)


def unmark_modules(model: Any) -> None:
    """Takes all marks from a model, of whatever mark_modules(), copy or pickle they come. Call it while none of its
    modules runs."""
    for module in model.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for number in [number for number, hook in hooks.items() if isinstance(hook, _Hook)]:
                del hooks[number]
                module._forward_hooks_always_called.pop(number, None)


class _Recording:
    """Lives until stop(), the end of its `with`, or until it is garbage-collected."""

    def __init__(self, kind: str, given: Dict[str, Any]):
        component = _enabled()
        options = _abi.options(f"rf_{kind}_options", given, component)
        self._handle = ctypes.c_void_p()
        start = getattr(component, f"rf_{kind}_recording_start")
        _abi.check(start(ctypes.byref(options), ctypes.byref(self._handle)))
        self._free = weakref.finalize(self, getattr(component, f"rf_{kind}_recording_free"), self._handle)
        self._free.atexit = False  # operators may run on other threads until the very end

    def stop(self) -> None:
        """Further calls do nothing. Call it while no operator runs."""
        self._free()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.stop()


class OperatorRecording(_Recording):
    """Records PyTorch's operators as ranges while it lives and a session records: those that torch.profiler records, in
    the same nesting. Reports leave them out unless asked; `report(capture, "ops")` has their key averages.

        with rangefinder.Session("train.rfcap"), rangefinder.torch.OperatorRecording(shapes=True):
            train()

    `shapes`: shapes and types of inputs and values of numbers too; False. `sampling`: share of the outermost operators
    of each thread that are recorded, each with all inside; 1. `user_scopes`: torch.profiler.record_function as ranges
    like range(); True.

    Errors:  as enable(). Error with INVALID_ARGUMENT for a share that is none.
    Threads: make and stop it while no operator runs; several may live at once, they record once.
    Cost:    as OperatorRecording of rangefinder/torch/operators.hpp.
    """

    def __init__(self, *, shapes: Optional[bool] = None, sampling: Optional[float] = None,
                 user_scopes: Optional[bool] = None):
        super().__init__("operator", {"shapes": shapes, "sampling": sampling, "user_scopes": user_scopes})


class CollectiveRecording(_Recording):
    """Records what torch.distributed communicates while it lives and a session records: collectives, sends and receives,
    with group, elements and peer, on the range that called them. `report(folder, "collectives")` matches those of all
    ranks, `report(folder, "hang")` names the rank that did not come.

        with rangefinder.Session("run/%r.rfcap"), rangefinder.torch.CollectiveRecording():
            torch.distributed.init_process_group("gloo")
            train()

    `inputs`: of all backends, Gloo's among them, from the inputs of operators; True. False: those of backends that tell
    by themselves (NCCL, UCC, XCCL), without their numbers.

    Errors:  as enable(). What cannot be recorded is no error: state says it.
    Threads: make and stop it while no operator runs; several may live at once, they record once. Make it before the
             first send or receive of a group.
    Cost:    as CollectiveRecording of rangefinder/torch/collectives.hpp.
    """

    state: str  #: "recorded", or the reason why nothing is

    def __init__(self, *, inputs: Optional[bool] = None):
        super().__init__("collective", {"inputs": inputs})
        self.state = _enabled().rf_collective_recording_state(self._handle).decode(errors="replace")


class MemoryRecording(_Recording):
    """Records what PyTorch's allocators give and take back while it lives and a session records, on all threads:
    `report(capture, "memory")`.

        with rangefinder.Session("train.rfcap"), rangefinder.torch.MemoryRecording():
            train()

    `host`: tensors in the memory of the host; True. `cuda`: tensors on devices; True, initialises CUDA where there is a
    device. `history_events`: events that PyTorch keeps with their stacks, for snapshots; 0. `snapshot_when_out_of_memory`:
    where to write one when a device runs out. `statistics_at_steps`: the allocators' statistics as counters; True.

    Errors:  as enable(). What cannot be recorded is no error: host_state and cuda_state say it.
    Threads: make and stop it while no operator runs; several may live at once, they record once.
    Cost:    as MemoryRecording of rangefinder/torch/memory.hpp.
    """

    host_state: str  #: "recorded", "off" or the reason why nothing is
    cuda_state: str  #: the same of the devices

    def __init__(self, *, host: Optional[bool] = None, cuda: Optional[bool] = None,
                 history_events: Optional[int] = None, snapshot_when_out_of_memory: Optional[_Path] = None,
                 statistics_at_steps: Optional[bool] = None):
        where = None if snapshot_when_out_of_memory is None else _abi.path(snapshot_when_out_of_memory)
        super().__init__("memory", {
            "host": host, "cuda": cuda, "history_events": history_events, "snapshot_when_out_of_memory": where,
            "statistics_at_steps": statistics_at_steps})
        component = _enabled()
        self.host_state = component.rf_memory_recording_host_state(self._handle).decode(errors="replace")
        self.cuda_state = component.rf_memory_recording_cuda_state(self._handle).decode(errors="replace")


@dataclasses.dataclass(frozen=True)
class HostMemory:
    """Blocks of the host that were allocated while a MemoryRecording with `host` lived."""

    allocated_bytes: int  #: that are still there
    peak_bytes: int  #: the most since recording began, or since reset_host_memory_peak()
    allocations: int  #: ever
    untracked: int  #: allocations that these figures lost again: no memory to remember them


def host_memory() -> HostMemory:
    """Exact at any time, with or without a session. Errors: as enable()."""
    memory = _abi.sized(_abi.HostMemory)
    _abi.check(_enabled().rf_host_memory_get(ctypes.byref(memory)))
    return HostMemory(**_abi.members(memory))


def reset_host_memory_peak() -> None:
    """The peak counts from what is allocated now."""
    _enabled().rf_host_memory_reset_peak()


def count_device_memory() -> None:
    """Writes the caching allocator's statistics of each device as counters. A MemoryRecording does so at each step.

    Errors: Error with UNSUPPORTED without a CUDA device.
    """
    _abi.check(_enabled().rf_device_memory_count())


def memory_snapshot(path: _Path) -> None:
    """Writes what the caching allocator holds as the pickle that PyTorch's memory viewer opens.

    Errors: Error with UNSUPPORTED without a CUDA device, IO with path and reason.
    """
    _abi.check(_enabled().rf_device_memory_snapshot(_abi.path(path)))
