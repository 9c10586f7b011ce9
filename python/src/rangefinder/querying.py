# SPDX-License-Identifier: MIT
"""SQL over a capture, a folder of captures or of traces of torch.profiler, such a trace, or an SQLite export of Nsight
Systems."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _abi

Path = Union[str, "os.PathLike[str]"]
Cell = Union[None, int, float, str]


@dataclasses.dataclass(frozen=True)
class QueryRows:
    """The result of a query: a sequence of rows."""

    columns: List[str]
    rows: List[Tuple[Cell, ...]]
    truncated: bool  #: there were more rows than max_rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Tuple[Cell, ...]]:
        return iter(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]

    def dicts(self) -> List[Dict[str, Cell]]:
        """Each row by the names of its columns; of columns of one name the last."""
        return [dict(zip(self.columns, row)) for row in self.rows]


def _cell(value: _abi.Value) -> Cell:
    if value.kind == _abi.ValueKind.SIGNED:
        return int(value.of.as_signed)
    if value.kind == _abi.ValueKind.DOUBLE:
        return float(value.of.as_double)
    if value.kind == _abi.ValueKind.TEXT:
        return (value.of.as_text or b"").decode(errors="replace")
    return None


def _take_rows(handle: ctypes.c_void_p) -> QueryRows:
    library = _abi.library
    try:
        width = library.rf_rows_column_count(handle)
        columns = [(library.rf_rows_column_name(handle, column) or b"").decode(errors="replace")
                   for column in range(width)]
        value = _abi.Value()
        place = ctypes.byref(value)
        rows: List[Tuple[Cell, ...]] = []
        for row in range(library.rf_rows_count(handle)):
            cells: List[Cell] = []
            for column in range(width):
                _abi.check(library.rf_rows_value(handle, row, column, place))
                cells.append(_cell(value))
            rows.append(tuple(cells))
        return QueryRows(columns, rows, bool(library.rf_rows_truncated(handle)))
    finally:
        library.rf_rows_free(handle)


class QueryDatabase:
    """An input that has been read once and answers any number of queries.

        with rangefinder.QueryDatabase("train.rfcap") as database:
            for name, busy_ns in database.query("SELECT name, gpu_busy_ns FROM view_ranges LIMIT 5"):
                print(name, busy_ns)

    `input`: a file, a folder, or a list of captures or traces, as in report(). `attribution`, `annotations`, `operators`,
    `max_memory_bytes`: as in report().

    Errors:  as report().
    Threads: one at a time.
    """

    def __init__(
        self,
        input: Union[Path, Sequence[Path]],
        *,
        attribution: Optional[str] = None,
        annotations: Optional[bool] = None,
        operators: Optional[bool] = None,
        max_memory_bytes: Optional[int] = None,
    ) -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        options = _abi.options("rf_query_options", {
            "attribution": attribution, "annotations": annotations, "operators": operators,
            "max_memory_bytes": max_memory_bytes})
        inputs = [input] if isinstance(input, (str, bytes, os.PathLike)) else input
        paths = [_abi.path(each) for each in inputs]
        self._handle = _abi.made_by(_abi.library.rf_query_open, (ctypes.c_char_p * len(paths))(*paths), len(paths),
                                    ctypes.byref(options))

    def query(
        self,
        sql: str,
        *,
        timeout_ms: Optional[int] = None,
        max_rows: Optional[int] = None,
        max_query_bytes: Optional[int] = None,
    ) -> QueryRows:
        """The rows of one SELECT. `timeout_ms` (30,000), `max_rows` (100,000), `max_query_bytes` (1 GiB): 0 is no limit.

        Errors: Error with INVALID_ARGUMENT for SQL that is wrong or refused, TIMEOUT and TOO_LARGE for what passes a
                limit. ValueError once it is closed, and for a zero character in `sql`.
        """
        if self._handle is None:
            raise ValueError("the database is closed")
        if "\0" in sql:
            raise ValueError("SQL with a zero character")
        options = _abi.options("rf_query_options", {
            "timeout_ms": timeout_ms, "max_rows": max_rows, "max_query_bytes": max_query_bytes})
        return _take_rows(_abi.made_by(_abi.library.rf_query_run, self._handle, _abi.encode(sql), ctypes.byref(options)))

    def close(self) -> None:
        """Frees the input. Closing twice does nothing."""
        if self._handle is not None:
            _abi.library.rf_query_free(self._handle)
            self._handle = None

    def __enter__(self) -> "QueryDatabase":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None and _abi is not None:
            self.close()


def query(
    input: Union[Path, Sequence[Path]],
    sql: str,
    *,
    timeout_ms: Optional[int] = None,
    max_rows: Optional[int] = None,
    max_query_bytes: Optional[int] = None,
    attribution: Optional[str] = None,
    annotations: Optional[bool] = None,
    operators: Optional[bool] = None,
    max_memory_bytes: Optional[int] = None,
) -> QueryRows:
    """The rows of one SELECT over an input; docs/reference/query-schema.md lists tables and columns.

        for name, busy_ns in rangefinder.query("train.rfcap", "SELECT name, gpu_busy_ns FROM view_ranges LIMIT 5"):
            print(name, busy_ns)

    For more than one question, QueryDatabase reads the input once. Parameters and errors: as of QueryDatabase and its
    query().
    """
    with QueryDatabase(input, attribution=attribution, annotations=annotations, operators=operators,
                       max_memory_bytes=max_memory_bytes) as database:
        return database.query(sql, timeout_ms=timeout_ms, max_rows=max_rows, max_query_bytes=max_query_bytes)


def query_schema() -> str:
    """Tables and columns that a query can name, as a text."""
    return _abi.take_text(_abi.made_by(_abi.library.rf_query_schema))
