# SPDX-License-Identifier: MIT
"""Ranges, marks and counters."""
from __future__ import annotations

import ctypes
import functools
import inspect
import numbers
import threading
from typing import Any, Callable, Dict, Generator, List, Optional, Tuple, TypeVar, Union, cast, overload

from . import _abi, coroutines

Payload = Union[int, float, str]
Function = TypeVar("Function", bound=Callable[..., Any])


_push: Any
_push_with: Any
_pop: Any
_pop_named: Any
_pop_to: Any


def _bind(kind: Any) -> None:
    global _push, _push_with, _pop, _pop_named, _pop_to
    of = kind(_abi.library._name, handle=_abi.library._handle)
    _push = _abi.bind("rf_range_push", of)
    _push_with = _abi.bind("rf_range_push_with", of)
    _pop = _abi.bind("rf_range_pop", of)
    _pop_named = _abi.bind("rf_range_pop_named", of)
    _pop_to = _abi.bind("rf_range_pop_to", of)
    _push.restype = _push_with.restype = None  # a range that could not be opened is popped like others
    # What is passed has the right type already, and a look at that takes ctypes as long as all the rest of the call.
    _push.argtypes = _push_with.argtypes = _pop_named.argtypes = None
    coroutines.bind(of)


# These take nanoseconds: letting other threads of Python run meanwhile would cost more.
_held = ctypes.PyDLL(_abi.library._name, handle=_abi.library._handle)
_depth = _abi.bind("rf_range_depth", _held)
_listening = _abi.bind("rf_listening", _held)
_bind(ctypes.PyDLL)


def _let_others_run() -> None:
    """For sessions whose ranges wait for a device: another thread may have to launch what that device waits for."""
    _bind(ctypes.CDLL)


def _value_of(value: Optional[Payload]) -> _abi.Value:
    made = _abi.Value()
    if value is None:
        return made
    if isinstance(value, str):
        made.kind, made.of.as_text = _abi.ValueKind.TEXT, _abi.encode(value)
    elif isinstance(value, (int, numbers.Integral)):  # the first answers fast, the second for numpy
        number = int(value)
        if not -(1 << 63) <= number < 1 << 64:
            raise OverflowError(f"{number} has more than 64 bits")
        if number < 0:
            made.kind, made.of.as_signed = _abi.ValueKind.SIGNED, number
        else:
            made.kind, made.of.as_unsigned = _abi.ValueKind.UNSIGNED, number
    elif isinstance(value, (float, numbers.Real)):
        made.kind, made.of.as_double = _abi.ValueKind.DOUBLE, float(value)
    else:  # a tensor of a device too, which would be waited for
        raise TypeError(f"a value is an int, a float or a str, not {type(value).__name__}")
    return made


def _text(what: str, text: Any) -> Optional[bytes]:
    if not isinstance(text, str):
        raise TypeError(f"{what} is named by a str, not {type(text).__name__}")
    return _abi.encode(text)


_categories: Dict[str, int] = {}


def _category_of(category: Optional[str]) -> int:
    if category is None:
        return 0
    found = _categories.get(category)
    if found is None:  # there are 65,535 at most
        found = _categories[category] = _abi.library.rf_category_intern(_text("a category", category))
    return found


class _ModuleCalls(threading.local):
    """Calls of marked modules that this thread is inside of: how many ranges were open before, and which module under
    which name."""

    def __init__(self) -> None:
        self.open: List[Tuple[int, Tuple[int, str]]] = []


_module_calls = _ModuleCalls()


def _close_interrupted() -> None:
    """Closes the innermost ranges, as far as they are of marked modules: what came through them was no Exception, so that
    torch called no hook."""
    calls, depth = _module_calls.open, _depth()
    while calls and calls[-1][0] == depth - 1:
        depth = calls.pop()[0]
    _pop_to(depth)


class Range:
    """Marks what runs inside a `with`, or in the functions that it decorates; `async with` may reach over an await. Made
    by range(); may be kept, entered by several threads and tasks at once, and entered again while it is open."""

    __slots__ = ("name", "_interned", "_with", "_made_of")

    def __init__(self, name: str, category: Optional[str] = None, value: Optional[Payload] = None):
        text = _text("a range", name)
        self.name = name
        self._made_of = (name, category, value)
        if category is None and value is None:
            self._interned, self._with = _abi.library.rf_name_intern(text), None
        else:
            self._interned, self._with = 0, (text, _category_of(category), _value_of(value))

    def __enter__(self) -> Range:
        if self._with is None:
            _push(self._interned)
        else:
            _push_with(*self._with)
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None and not issubclass(kind, Exception):
            _close_interrupted()
        if self._with is not None and not self._interned and _depth():
            self._interned = _name_of(self.name)  # known by now, or it was not recorded
        if not _pop_named(self._interned):
            coroutines.warn_once("crossing", f"range {self.name!r} ends while another one that began later is open: a `with` reaches "
                                 "over an await, or a range that was pushed inside is not popped. Ranges that reach over "
                                 "an await are written `async with rangefinder.range(...)`")

    async def __aenter__(self) -> Range:
        await coroutines.enter(self)
        return self

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        coroutines.leave(self)

    def __call__(self, function: Function) -> Function:
        return cast(Function, _decorated(self, function))

    def __reduce__(self) -> Any:  # what is interned has a meaning in this process alone
        return Range, self._made_of

    def __repr__(self) -> str:
        return f"rangefinder.range({self.name!r})"


_kept: Dict[Any, Range] = {}
_MOST_KEPT = 65536  # of names that a program makes up as it runs


@overload
def range(name: str, category: Optional[str] = None, value: Optional[Payload] = None) -> Range: ...
@overload
def range(name: Function) -> Function: ...


def range(name: Any, category: Optional[str] = None, value: Optional[Payload] = None) -> Any:
    """Marks the calling thread's work. Device activity launched meanwhile is projected onto it.

        with rangefinder.range("forward"):
            loss = model(batch)

        @rangefinder.range("load")        # or @rangefinder.range: the function's name
        def load(path): ...

    `category`: by which filters and exporters group ranges. `value`: an int, float or str that travels with the range.

    A decorated coroutine and `async with` are one range from beginning to end, with the time in which they wait. What
    other tasks launch meanwhile is not theirs; what tasks do that were started inside is, while the range is open. The
    first `async with` of a task lets others run once. A plain `with` must not reach over an await: its range ends in
    another order than others began, and a RuntimeWarning says so once.

    A decorated generator has a range for each stretch in which it runs, from a resumption to the next yield: other code
    runs in between. For the same reason no `with` may reach over a yield. Asynchronous generators are refused with
    TypeError.

    Errors:  TypeError for what is no name or value. Nothing else: what gets lost is counted in the session's health.
    Threads: any; a range belongs to the thread that entered it.
    Cost:    two calls through ctypes, whether a session records or not. Measured in docs/reference/measured.md.
    """
    if category is None and value is None:
        found = _kept.get(name)
        if found is not None:
            return found
        if isinstance(name, str):
            made = Range(name)
            if len(_kept) < _MOST_KEPT:
                _kept[name] = made
            return made
        if callable(name):
            return Range(getattr(name, "__qualname__", type(name).__qualname__))(name)
    return Range(name, category, value)


def _stretches(marked: Range, running: Any) -> Generator[Any, Any, Any]:
    """Drives a generator, the range open only while it runs."""
    resume, argument = running.send, None
    while True:
        try:
            with marked:
                item = resume(argument)
        except StopIteration as stop:
            return stop.value
        try:
            argument = yield item
            resume = running.send
        except GeneratorExit:
            with marked:
                running.close()
            raise
        except BaseException as error:
            resume, argument = running.throw, error


def _decorated(marked: Range, function: Any) -> Any:
    if isinstance(function, (type, staticmethod, classmethod)) or not callable(function):
        raise TypeError(f"rangefinder.range decorates functions, not {function!r}; put it below @staticmethod and the "
                        "like, and on the methods of a class")
    if inspect.isasyncgenfunction(function):
        raise TypeError(f"rangefinder.range cannot decorate the asynchronous generator {function.__qualname__}: it "
                        "runs in stretches with others in between. Mark what is inside of it")
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def coroutine(*arguments: Any, **named: Any) -> Any:
            return await coroutines.drive(marked, function(*arguments, **named))

        return coroutine
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generator(*arguments: Any, **named: Any) -> Any:
            return (yield from _stretches(marked, function(*arguments, **named)))

        return generator

    @functools.wraps(function)
    def plain(*arguments: Any, **named: Any) -> Any:
        with marked:
            return function(*arguments, **named)

    return plain


_names: Dict[str, int] = {}


def _name_of(name: str) -> int:
    found = _names.get(name)
    if found is None:
        found = _abi.library.rf_name_intern(_text("a mark or counter", name))
        if len(_names) < _MOST_KEPT:
            _names[name] = found
    return found


def start_range(name: str, category: Optional[str] = None) -> int:
    """Opens a range that end_range closes, from any thread; such ranges overlap freely. Device activity belongs to
    ranges of `with` first, and to these only on the thread that opened them. 0 while no session records."""
    return int(_abi.library.rf_range_start(_text("a range", name), _category_of(category)))


def end_range(handle: int) -> None:
    """Closes what start_range opened; 0 does nothing. Errors: TypeError for what is no number."""
    if not isinstance(handle, int):
        raise TypeError(f"a handle of start_range is an int, not {type(handle).__name__}")
    _abi.library.rf_range_end(handle)


def push_range(name: str) -> None:
    """Opens a range that pop_range() closes, for code that is no block: as range_push of nvtx. They nest with range()."""
    range(name).__enter__()


def pop_range() -> None:
    """Closes the innermost range of the calling thread; does nothing where none is open."""
    _pop()


def range_depth() -> int:
    """How many ranges the calling thread has open: since something listened, and not closed."""
    return int(_depth())


def pop_ranges_to(depth: int) -> None:
    """Closes ranges of the calling thread until so many are open; nothing where there are not so many. For code that is
    left in ways that pass by their ends: an interrupt from the keyboard may come between the opening of a range and the
    `with`.

        depth = rangefinder.range_depth()
        try:
            cell()
        except KeyboardInterrupt:
            rangefinder.pop_ranges_to(depth)

    Errors: OverflowError for a number below 0.
    """
    if depth < 0:
        raise OverflowError(f"{depth} is no number of ranges")
    _pop_to(min(depth, 0xFFFFFFFF))


def mark(name: str, value: Optional[Payload] = None) -> None:
    """Records an instant on the calling thread."""
    named, made = _name_of(name), _value_of(value)
    if _listening():
        _abi.check(_abi.library.rf_mark_named(named, made))


def counter(name: str, value: Union[int, float]) -> None:
    """Records one sample of a named series of the process: loss, queue length, tokens.

    Errors: TypeError for what is no number; OverflowError past 64 bits.
    """
    if isinstance(value, str) or value is None:
        raise TypeError(f"a counter takes an int or a float, not {type(value).__name__}")
    named, made = _name_of(name), _value_of(value)
    if _listening():
        _abi.check(_abi.library.rf_counter_named(named, made))
