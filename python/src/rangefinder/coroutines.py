# SPDX-License-Identifier: MIT
"""Ranges of coroutines: they are suspended while their task waits, and resumed when it goes on.

A *step* is a stretch in which one task runs: from a resumption to the next await that suspends. Whoever begins a step
resumes what the task has open, and whoever ends it suspends all that has been opened since. Steps are seen by the loop's
own `call_soon`, which is replaced on a loop that uses `async with` in a recording, and by the driver of decorated
coroutines, on any loop or none. docs/explanation/decisions/0004-ranges-of-coroutines.md says why.
"""
from __future__ import annotations

import contextvars
import ctypes
import sys
import threading
import types
import warnings
from typing import TYPE_CHECKING, Any, Dict, Generator, Optional, Set, Tuple
from weakref import WeakSet

from . import _abi

if TYPE_CHECKING:
    from .ranges import Range

_suspend: Any
_resume: Any
_depth: Any
_pop_to: Any
_listening: Any = _abi.bind("rf_listening", ctypes.PyDLL(_abi.library._name, handle=_abi.library._handle))


def bind(of: ctypes.CDLL) -> None:
    """Takes the functions from there; ranges._bind says why they change."""
    global _suspend, _resume, _depth, _pop_to
    _suspend = _abi.bind("rf_range_suspend", of)
    _resume = _abi.bind("rf_range_resume", of)
    _depth = _abi.bind("rf_range_depth", of)
    _pop_to = _abi.bind("rf_range_pop_to", of)


_NOBODY: Any = object()


class _Here(threading.local):
    task: Any = _NOBODY  # whose step is under way on this thread; None: a step of no asyncio task


_here = _Here()


class Open:
    """A range that a task has open: on its thread, or suspended."""

    __slots__ = ("marked", "task", "thread", "depth", "away")

    def __init__(self, marked: Optional[Range], task: Any = None):
        self.marked = marked  # None: of a plain `with`, which only `task` resumes
        self.task = task
        self.thread = threading.get_ident()
        self.depth = 0  # of the thread's ranges, this one included; 0: it is not among them
        self.away: Any = None

    def come(self) -> None:
        away, self.away = self.away, None
        _resume(away)
        self.depth = int(_depth())

    def go(self) -> None:
        """It is the innermost range of the thread."""
        self.away, self.depth = _suspend(), 0

    def end(self) -> None:
        if self.away is not None:
            self.thread = threading.get_ident()
            self.come()
        if self.depth != 0 and self.thread == threading.get_ident():
            _pop_to(self.depth - 1)
            self.depth = 0


# What the task has open, outermost first, and the tasks that it was started by.
_open: "contextvars.ContextVar[Tuple[Open, ...]]" = contextvars.ContextVar("rangefinder", default=())


def _current_task() -> Any:
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None


def _begin_step(task: Any) -> Tuple[Any, int]:
    before, base = _here.task, int(_depth())
    _here.task = task
    opened = _open.get()
    if opened:
        thread = threading.get_ident()
        for each in opened:
            if each.away is not None and each.thread == thread and (each.marked is not None or each.task is task):
                each.come()
    return before, base


def _end_step(before: Any, base: int) -> None:
    depth = int(_depth())
    if depth > base:
        _take_off(base, depth)
    _here.task = before


def _take_off(base: int, depth: int) -> None:
    """Suspends all ranges of the thread past the first `base`, innermost first."""
    opened = _open.get()
    at_depth = {each.depth: each for each in opened}
    taken = []
    for place in range(depth, base, -1):
        each = at_depth.get(place) or Open(None, _here.task)  # of a plain `with`, or push_range
        each.go()
        taken.append(each)
    left = [each for each in opened if each not in taken and (each.away is not None or 0 < each.depth <= base)]
    now = (*left, *reversed(taken))
    if now != opened:
        _open.set(now)


# ---- async with ------------------------------------------------------------------------------------------------------
_entered: Dict[Open, None] = {}  # and not left, by any task


async def enter(marked: Range) -> None:
    opened = Open(marked)
    if _listening():
        told = _here.task is _current_task() or await _ask_to_be_told()
        marked.__enter__()
        opened.depth = int(_depth())
        if not told:
            opened.go()
    _open.set((*_open.get(), opened))
    _entered[opened] = None


def leave(marked: Range) -> None:
    # A fixture or an asynchronous generator may be left in another context than it was entered in.
    for opened in (*reversed(_open.get()), *reversed(_entered)):
        if opened.marked is marked and opened in _entered:
            del _entered[opened]
            opened.end()
            return _forget(opened)


def _forget(opened: Open) -> None:
    _open.set(tuple(each for each in _open.get() if each is not opened))


# ---- loops -----------------------------------------------------------------------------------------------------------
_silent: "WeakSet[Any]" = WeakSet()  # loops that do not tell when tasks switch


async def _ask_to_be_told() -> bool:
    """Whether the loop tells from now on when this task waits and goes on."""
    task = _current_task()
    if task is None:
        return _warn_of(None)
    import asyncio

    loop = asyncio.get_running_loop()
    if loop in _silent:
        return False
    try:
        _watch(loop)
    except AttributeError:
        _silent.add(loop)
        return _warn_of(loop)
    await asyncio.sleep(0)  # what runs now was begun before, or inside of another task's step
    if _here.task is task:
        return True
    _silent.add(loop)
    del loop.call_soon
    return _warn_of(loop)


def _watch(loop: Any) -> None:
    if "call_soon" in vars(loop):
        return
    original = loop.call_soon

    def call_soon(callback: Any, *arguments: Any, context: Optional[contextvars.Context] = None) -> Any:
        if not _listening() and vars(loop).get("call_soon") is call_soon:
            del loop.call_soon
        task = getattr(callback, "__self__", None)
        if task is None or not hasattr(task, "get_coro"):
            return original(callback, *arguments, context=context)
        # A method of the task, by which debugging tells whose step takes long.
        return original(types.MethodType(_step, task), callback, *arguments, context=context)

    loop.call_soon = call_soon


def _step(task: Any, callback: Any, *arguments: Any) -> None:
    """In the task's own context."""
    state = _begin_step(task)
    try:
        callback(*arguments)
    finally:
        _end_step(*state)


def _warn_of(loop: Any) -> bool:
    what = "code that no event loop of asyncio runs" if loop is None else f"the event loop {type(loop).__qualname__}"
    warn_once("silent loop", f"{what} does not tell when tasks switch: what is launched in `async with rangefinder.range(...)` counts for "
              "it only inside of coroutines that rangefinder.range decorates")
    return False


_warned: Set[str] = set()


def warn_once(of: str, text: str) -> None:
    if of not in _warned:
        _warned.add(of)
        warnings.warn(f"rangefinder: {text}", RuntimeWarning, stacklevel=3)


# ---- decorated coroutines --------------------------------------------------------------------------------------------
@types.coroutine
def drive(marked: Range, running: Any) -> Generator[Any, Any, Any]:
    """Runs a coroutine in a range."""
    opened = Open(marked)
    resume, argument = running.send, None
    first = True
    while True:
        task = _current_task()
        state = None if _here.task is task else _begin_step(task)
        try:
            if first and _listening():
                marked.__enter__()
                opened.depth = int(_depth())
                _open.set((*_open.get(), opened))
            first = False
            item = resume(argument)
        except BaseException as error:
            opened.end()
            _forget(opened)
            if isinstance(error, StopIteration):
                return error.value
            raise
        finally:
            if state is not None:
                _end_step(*state)
        try:
            argument = yield item
            resume = running.send
        except GeneratorExit:
            resume, argument = _close, running
        except BaseException as error:
            resume, argument = running.throw, error


def _close(running: Any) -> None:
    running.close()
    raise GeneratorExit
