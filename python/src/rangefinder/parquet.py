# SPDX-License-Identifier: MIT
"""Recordings as Parquet, written by pyarrow: the library of rangefinder needs no component for it."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from ctypes import POINTER, c_bool, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from . import _abi

Path = Union[str, "os.PathLike[str]"]

_Open = ctypes.CFUNCTYPE(c_void_p, c_int, c_void_p, POINTER(c_int32), c_int32, POINTER(c_void_p))
_Write = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p)
_Close = ctypes.CFUNCTYPE(c_void_p, c_void_p)
_Abandon = ctypes.CFUNCTYPE(None, c_void_p)


class ParquetWriter(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("open", _Open), ("write", _Write), ("close", _Close), ("abandon", _Abandon)]


class ParquetOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t), ("job", c_char_p), ("run", c_char_p), ("max_memory_bytes", c_uint64),
        ("attribution", c_uint32), ("replace", c_bool), ("detail", c_bool), ("reserved", c_bool * 2),
        ("writer", POINTER(ParquetWriter)),
    ]


class _ParquetReport(ctypes.Structure):
    _fields_ = [("struct_size", c_size_t), ("recordings", c_uint64), ("activities", c_uint64), ("rows", c_uint64)]


#: Of rangefinder/c/arrow.h, beside those of capture.py.
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "rf_parquet_options_init": (c_int, [POINTER(ParquetOptions), c_size_t]),
    "rf_export_parquet": (c_int, [c_char_p, c_char_p, POINTER(ParquetOptions), POINTER(_ParquetReport)]),
}

for _name in FUNCTIONS:
    _abi.bind(_name, _abi.library, FUNCTIONS)


@dataclasses.dataclass(frozen=True)
class ParquetReport:
    """What an export to Parquet wrote."""

    recordings: int
    activities: int
    rows: int  #: of all tables


class PyarrowWriter:
    """The functions that write files, for the library to call. They make the files that the component makes."""

    def __init__(self) -> None:
        import pyarrow
        import pyarrow.parquet

        self._pyarrow = pyarrow
        self._files: Dict[int, Tuple[Any, Any, Any]] = {}  # writer, schema and output
        self._next = 1
        self._message: Any = None  # the text that the library was given last
        self.raised: Optional[BaseException] = None  #: by the first function that failed
        self.struct = ParquetWriter(ctypes.sizeof(ParquetWriter), _Open(self._open), _Write(self._write),
                                    _Close(self._close), _Abandon(self._abandon))

    def _run(self, work: Callable[[], Any]) -> Optional[int]:
        try:
            work()
            return None
        except BaseException as error:
            self.raised = self.raised or error
            self._message = ctypes.create_string_buffer(str(error).encode(errors="replace") or b"it failed")
            return ctypes.addressof(self._message)

    def _open(self, descriptor: int, schema: int, sorted_by: Any, count: int, file: Any) -> Optional[int]:
        def work() -> None:
            parquet = self._pyarrow.parquet
            types = self._pyarrow.Schema._import_from_c(schema)
            numbers = [field.name for field in types if self._pyarrow.types.is_integer(field.type)]
            order = [parquet.SortingColumn(sorted_by[i], False, True) for i in range(count)]
            output = os.fdopen(os.dup(descriptor), "wb", buffering=0)
            writer = parquet.ParquetWriter(
                output, types, compression="zstd", compression_level=1, version="2.6", store_schema=True,
                use_dictionary=[name for name in types.names if name not in numbers], write_statistics=numbers,
                column_encoding={name: "DELTA_BINARY_PACKED" for name in numbers}, sorting_columns=order or None)
            self._files[self._next] = (writer, types, output)
            file[0] = self._next
            self._next += 1

        return self._run(work)

    def _write(self, file: int, rows: int) -> Optional[int]:
        def work() -> None:
            writer, types, _ = self._files[file]
            batch = self._pyarrow.RecordBatch._import_from_c(rows, types)
            writer.write_batch(batch, row_group_size=max(batch.num_rows, 1))

        return self._run(work)

    def _close(self, file: int) -> Optional[int]:
        def work() -> None:
            writer, _, output = self._files.pop(file)
            with output:
                writer.close()

        return self._run(work)

    def _abandon(self, file: int) -> None:
        self._close(file)


def export_parquet(
    input: Path,
    folder: Path,
    *,
    job: Optional[str] = None,
    run: Optional[str] = None,
    attribution: Optional[str] = None,
    detail: bool = True,
    replace: bool = False,
    max_memory_bytes: Optional[int] = None,
) -> ParquetReport:
    """Writes recordings as Parquet for DuckDB, Spark and pandas, by job, run and rank; rangefinder.fleet asks them.

        rangefinder.export_parquet("run/", "fleet/", job="bert", run="7")

    `input`: a capture, a folder of captures, a trace or an export. `folder`: may hold other recordings. `job`, `run`: by
    default the metadata `job` or the name of the input, and when its first recording began. `detail`: with a row for each
    activity, call, range and collective. docs/reference/parquet-schema.md has the tables.

    Errors: ImportError without pyarrow. Error with NOT_FOUND, UNREADABLE, UNSUPPORTED, TOO_LARGE; EXISTS unless `replace`;
            what pyarrow raises.
    Cost:   memory does not grow with a capture.
    """
    writer = PyarrowWriter()
    options = ParquetOptions()
    _abi.check(_abi.library.rf_parquet_options_init(ctypes.byref(options), ctypes.sizeof(options)))
    _abi.fill(options, {"job": job, "run": run, "attribution": attribution, "detail": detail, "replace": replace,
                        "max_memory_bytes": max_memory_bytes})
    options.writer = ctypes.pointer(writer.struct)
    done = _abi.sized(_ParquetReport)
    status = _abi.library.rf_export_parquet(_abi.path(input), _abi.path(folder), ctypes.byref(options), ctypes.byref(done))
    if writer.raised is not None:
        raise writer.raised
    _abi.check(status)
    return ParquetReport(**_abi.members(done))
