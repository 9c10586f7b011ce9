# SPDX-License-Identifier: MIT
"""Recordings as tables of Apache Arrow, by its C data interface: for pyarrow, pandas, Polars and DuckDB."""
from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, List, Sequence, Tuple, Union

from . import _abi

Path = Union[str, "os.PathLike[str]"]


# ---- the structs of Arrow's specification ----------------------------------------------------------------------------
class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class ArrowArrayStream(ctypes.Structure):
    pass


_ReleaseSchema = ctypes.CFUNCTYPE(None, POINTER(ArrowSchema))
_ReleaseArray = ctypes.CFUNCTYPE(None, POINTER(ArrowArray))
_ReleaseStream = ctypes.CFUNCTYPE(None, POINTER(ArrowArrayStream))

ArrowSchema._fields_ = [
    ("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
    ("children", POINTER(POINTER(ArrowSchema))), ("dictionary", POINTER(ArrowSchema)), ("release", _ReleaseSchema),
    ("private_data", c_void_p),
]
ArrowArray._fields_ = [
    ("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", POINTER(ArrowArray)),
    ("release", _ReleaseArray), ("private_data", c_void_p),
]
ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(c_char_p, POINTER(ArrowArrayStream))), ("release", _ReleaseStream),
    ("private_data", c_void_p),
]


class TableInfo(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("description", c_char_p)]


#: The functions of rangefinder/c/arrow.h.
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "rf_timeline_load": (c_int, [POINTER(c_char_p), c_size_t, c_uint64, _abi.NEW_HANDLE]),
    "rf_timeline_free": (None, [_abi.HANDLE]),
    "rf_table_count": (c_size_t, []),
    "rf_table_at": (c_int, [c_size_t, POINTER(TableInfo)]),
    "rf_timeline_table": (c_int, [_abi.HANDLE, c_char_p, POINTER(ArrowArrayStream)]),
    "rf_timeline_view": (c_int, [_abi.HANDLE, c_char_p, POINTER(ArrowArrayStream)]),
    "rf_arrow_stream_new": (POINTER(ArrowArrayStream), []),
    "rf_arrow_schema_new": (POINTER(ArrowSchema), []),
    "rf_arrow_stream_free": (None, [POINTER(ArrowArrayStream)]),
    "rf_arrow_schema_free": (None, [POINTER(ArrowSchema)]),
    "rf_arrow_stream_destructor": (c_void_p, [c_void_p]),
    "rf_arrow_schema_destructor": (c_void_p, [c_void_p]),
}

for _name in FUNCTIONS:
    _abi.bind(_name, _abi.library, FUNCTIONS)

# ---- capsules --------------------------------------------------------------------------------------------------------
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_get_pointer = ctypes.cast(ctypes.pythonapi.PyCapsule_GetPointer, c_void_p)

# Capsules free what they hold by functions of C: one may be destroyed while an exception is on its way.
_destroy_stream = _abi.library.rf_arrow_stream_destructor(_get_pointer)
_destroy_schema = _abi.library.rf_arrow_schema_destructor(_get_pointer)


# ---- tables ----------------------------------------------------------------------------------------------------------
class ArrowTable:
    """A table that any library takes which knows Arrow's PyCapsule protocol: pyarrow.table(t), polars.DataFrame(t),
    pandas.DataFrame.from_arrow(t), and duckdb.sql("SELECT ... FROM t").

    It may be taken any number of times, and stays valid when the Capture is closed.
    """

    def __init__(self, capture: "Capture", name: str, function: str):
        self._handle = capture._shared
        self._function = function
        self.name = name

    def _stream(self) -> Any:
        stream = _abi.library.rf_arrow_stream_new()
        if not stream:
            raise MemoryError(f"no memory for {self.name}")
        try:
            _abi.check(getattr(_abi.library, self._function)(self._handle.pointer, _abi.encode(self.name), stream))
        except BaseException:
            _abi.library.rf_arrow_stream_free(stream)
            raise
        return stream

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """A capsule with an ArrowArrayStream of one batch. `requested_schema` is for others to convert to."""
        stream = self._stream()
        return _new_capsule(ctypes.cast(stream, c_void_p), b"arrow_array_stream", _destroy_stream)

    def __arrow_c_schema__(self) -> Any:
        """A capsule with an ArrowSchema."""
        stream, schema = self._stream(), _abi.library.rf_arrow_schema_new()
        try:
            if not schema or stream.contents.get_schema(stream, schema) != 0:
                raise MemoryError(f"no memory for the schema of {self.name}")
        except BaseException:
            _abi.library.rf_arrow_schema_free(schema)
            raise
        finally:
            _abi.library.rf_arrow_stream_free(stream)
        return _new_capsule(ctypes.cast(schema, c_void_p), b"arrow_schema", _destroy_schema)

    def __repr__(self) -> str:
        return f"<rangefinder.ArrowTable {self.name}>"


class _Handle:
    """The timeline of C, freed with the last Capture or ArrowTable that uses it."""

    def __init__(self, pointer: c_void_p):
        self.pointer = pointer
        self._free = _abi.library.rf_timeline_free  # still there when the module is not

    def __del__(self) -> None:
        self._free(self.pointer)


class Capture:
    """A recording in memory: a capture, a folder of captures, a trace, or several of them as one job.

        capture = rangefinder.open("train.rfcap")
        kernels = capture.table("activities").to_pandas()     # with pyarrow
        polars.DataFrame(capture.arrow("activities"))         # without
        duckdb.sql("SELECT name, SUM(end_ns - begin_ns) FROM activities GROUP BY name")

    Times are nanoseconds on the capture's clock. docs/reference/arrow.md has all tables and columns.
    """

    def __init__(self, input: Union[Path, Sequence[Path]], *, max_memory_bytes: int = 0):
        inputs = [input] if isinstance(input, (str, bytes, os.PathLike)) else input
        paths = [_abi.path(each) for each in inputs]
        self._shared = _Handle(_abi.made_by(_abi.library.rf_timeline_load, (c_char_p * len(paths))(*paths), len(paths),
                                            max_memory_bytes))

    @property
    def tables(self) -> Dict[str, str]:
        """Names and descriptions of the tables."""
        return {row["name"]: row["description"] for row in map(_abi.members, _table_infos())}

    def arrow(self, name: str) -> ArrowTable:
        """A table by Arrow's PyCapsule protocol; no package of Python is needed.

        Errors: when it is taken, Error with NOT_FOUND for a table that is none, with the nearest name.
        """
        return ArrowTable(self, name, "rf_timeline_table")

    def arrow_view(self, view: str) -> ArrowTable:
        """The same of a view of report_views(), with the numbers that the view has as JSON."""
        return ArrowTable(self, view, "rf_timeline_view")

    def table(self, name: str) -> Any:
        """A table as a pyarrow.Table, whose columns point into the capture where memory is laid out so.

        Errors: ImportError without pyarrow; arrow() needs none. Error as arrow().
        """
        return _pyarrow().table(self.arrow(name))

    def view(self, view: str) -> Any:
        """A view of report_views() as a pyarrow.Table. Errors: as table()."""
        return _pyarrow().table(self.arrow_view(view))


def _table_infos() -> List[TableInfo]:
    rows = []
    for index in range(_abi.library.rf_table_count()):
        row = _abi.sized(TableInfo)
        _abi.check(_abi.library.rf_table_at(index, ctypes.byref(row)))
        rows.append(row)
    return rows


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("Capture.table needs pyarrow (pip install pyarrow); Capture.arrow gives the same table to "
                          f"Polars and DuckDB without it ({error})") from None
    return pyarrow


def open(input: Union[Path, Sequence[Path]], *, max_memory_bytes: int = 0) -> Capture:
    """Reads a recording into memory.

    Errors: Error with NOT_FOUND, UNREADABLE, UNSUPPORTED; TOO_LARGE where it needs more than `max_memory_bytes` (0: half
            of the memory there is).
    Cost:   memory about 50 bytes an event. Other threads of Python run meanwhile.
    """
    return Capture(input, max_memory_bytes=max_memory_bytes)
