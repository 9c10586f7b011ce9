# SPDX-License-Identifier: MIT
"""PyTorch: modules as ranges, and backward work on the ranges of its forward pass. Importing this imports no torch."""
from __future__ import annotations

import ctypes
import mmap
import os
import pathlib
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import _abi
from .ranges import Range

__all__ = ["MarkedModules", "enable", "mark_modules"]

NAME = "librangefinder_torch.so.0"
_BUILT_FOR = b"rangefinder component for LibTorch "  # lib/source/torch/built_for.cpp

_component: Optional[ctypes.CDLL] = None


def enable() -> None:
    """Loads the component for LibTorch into the process, so that sessions note in which range each node of autograd was
    made: device work of a backward pass is then given to the modules and ranges of its forward pass (attribution
    "forward", the gpu_backward_ns of a summary). Stays for the life of the process; further calls do nothing.

        import torch, rangefinder
        rangefinder.torch.enable()

    The component is looked for beside librangefinder.so; RANGEFINDER_TORCH_LIBRARY in the environment names another.

    Errors:  ImportError where torch is not installed, where the component is absent or built for another version of
             torch, and where it cannot be loaded. The program may go on without it.
    Threads: call it while no operator runs.
    Cost:    once, some milliseconds; then what a range takes for asking LibTorch for a number, while a session records.
    """
    global _component
    if _component is not None:
        return
    try:
        import torch
    except ImportError as error:
        raise ImportError("rangefinder.torch.enable: torch cannot be imported: " + str(error)) from error
    path = _place()
    built_for, used = _version_built_for(path), torch.__version__.split("+")[0]
    if built_for != used:  # it would be loaded, and misread what this torch passes to it
        raise ImportError(f"rangefinder.torch.enable: {path} was built for torch {built_for}, and this is torch {used}. "
                          "Build rangefinder with this torch: -D RANGEFINDER_TORCH_DIR=" +
                          os.path.dirname(torch.__file__))
    try:
        _component = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"rangefinder.torch.enable: {error}. It was built for torch {built_for} of another kind (CUDA "
                          "or CPU, ABI of the C++ library)?") from error


def _place() -> str:
    given = os.environ.get("RANGEFINDER_TORCH_LIBRARY")
    if given:
        return given
    core = _abi.library_path()
    path = pathlib.Path(core).parent / NAME
    if not path.exists():
        raise ImportError(f"rangefinder.torch.enable: {path} is not there, beside {core}: rangefinder was built without "
                          "LibTorch. Build it with -D RANGEFINDER_TORCH=ON -D RANGEFINDER_TORCH_DIR=<folder torch>, or "
                          "set RANGEFINDER_TORCH_LIBRARY to the path of " + NAME)
    return str(path)


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

    __slots__ = ("marked", "enter", "leave", "compiling")

    def __init__(self, name: str):
        self.marked = Range(name)
        self.enter, self.leave = self.marked.__enter__, self.marked.__exit__
        self.compiling = sys.modules["torch"].compiler.is_dynamo_compiling

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.marked.name,)


class _Begin(_Hook):
    __slots__ = ()

    def __call__(self, module: Any, arguments: Any) -> None:
        if not self.compiling():
            self.enter()


class _End(_Hook):
    __slots__ = ()

    def __call__(self, module: Any, arguments: Any, result: Any) -> None:
        if not self.compiling():
            self.leave(None, None, None)


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
    modules inside. A model that is copied or pickled keeps its marks.

    Errors:  an exception in forward closes its range, where it is an Exception: after a KeyboardInterrupt LibTorch calls
             no hook, and the ranges of the modules that were interrupted stay open until their thread ends.
    Threads: any number may run the model; mark and remove while none does.
    Cost:    two hooks a module: measured in docs/reference/measured.md.
    """
    named: Dict[str, Any] = {}
    for name, module in model.named_modules():
        levels = name.count(".") + 1 if name else 0
        if depth is None or levels <= depth:
            named[prefix + (name or type(module).__name__)] = module
    hooks = []
    for name, module in named.items():
        hooks.append(module.register_forward_pre_hook(_Begin(name), prepend=True))
        hooks.append(module.register_forward_hook(_End(name), always_call=True))
    return MarkedModules(hooks, named)
