# SPDX-License-Identifier: MIT
"""Questions to the recordings of many jobs, which `rangefinder export --format parquet` wrote, on DuckDB.

    from rangefinder import fleet

    answer = fleet.run("fleet/", "stragglers")
    print(answer.columns, answer.rows[0])
    fleet.connect("fleet/").sql("SELECT job, SUM(gpu_sum_ns) FROM recordings GROUP BY job")

The same SQL runs on Spark: examples/fleet. docs/reference/parquet-schema.md has the tables.
"""
from __future__ import annotations

import dataclasses
import os
import pathlib
import urllib.parse
from typing import Any, List, Optional, Sequence, Tuple, Union

Path = Union[str, "os.PathLike[str]"]

#: Tables of sums, which every export has; and those of events, which `--no-detail` leaves out.
TABLES = ("recordings", "summary", "steps", "kernels", "health")
DETAIL_TABLES = ("activities", "calls", "ranges", "collectives")
#: Of docs/reference/parquet-schema.md: the newest that the views know.
SCHEMA_VERSION = 1
VIEWS = ("stragglers", "steps", "ranges", "kernels", "loss")


class FleetError(RuntimeError):
    """What is missing, and what to do."""


def sql(view: str) -> str:
    """The SQL of a view, in what DuckDB and Spark have in common. Errors: ValueError for a view that is none."""
    if view not in VIEWS:
        raise ValueError(f"no view {view!r}: one of {', '.join(VIEWS)}")
    return (pathlib.Path(__file__).parent / f"{view}.sql").read_text()


def folder_of(table: str) -> str:
    """Where a table is, below the folder of the export."""
    return f"detail/{table}" if table in DETAIL_TABLES else table


@dataclasses.dataclass(frozen=True)
class Answer:
    columns: List[str]
    rows: List[Tuple[Any, ...]]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _folder_value(text: Optional[str]) -> str:
    """A value as it stands in the name of a folder, or the pattern for all of them."""
    if text is None:
        return "*"
    return urllib.parse.quote(text.encode(errors="surrogateescape"), safe="").replace("~", "%7E") or "_"


def _view_of(table: str, files: List[str]) -> str:
    return (f"CREATE VIEW {table} AS SELECT * FROM read_parquet([{', '.join(map(_quoted, files))}], "
            "hive_partitioning = true, hive_types = {'job': VARCHAR, 'run': VARCHAR, 'rank': INTEGER}, "
            "union_by_name = true)")


def _connect(folder: Path, tables: Sequence[str], job: Optional[str], run: Optional[str]) -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise FleetError(f"fleet needs DuckDB: pip install duckdb ({error})") from None
    root = pathlib.Path(folder)
    pattern = f"job={_folder_value(job)}/run={_folder_value(run)}/rank=*/*.parquet"
    connection = duckdb.connect()
    for table in tables:
        files = sorted(str(file) for file in (root / folder_of(table)).glob(pattern))
        if files:
            connection.execute(_view_of(table, files))
        elif table in TABLES and any((root / table).glob("job=*")):
            raise FleetError(f"{folder}: no such job or run")
        elif table in TABLES:
            raise FleetError(f"{folder}: no table {table}; write one with rangefinder export RUN --format parquet -o "
                             f"{folder}")
    version = connection.execute("SELECT MAX(schema_version) FROM recordings").fetchall()[0][0]
    if version > SCHEMA_VERSION:
        raise FleetError(f"{folder}: tables of version {version}; this rangefinder knows {SCHEMA_VERSION}")
    return connection


def connect(folder: Path, *, job: Optional[str] = None, run: Optional[str] = None) -> Any:
    """A connection of DuckDB, in memory, with a view for each table. `job`, `run`: only these recordings.

    Errors: FleetError where duckdb is not installed, and where the folder holds no such export.
    """
    return _connect(folder, TABLES + DETAIL_TABLES, job, run)


def run(folder: Path, view: str, *, job: Optional[str] = None, run: Optional[str] = None,
        top: Optional[int] = None) -> Answer:
    """The answer to a view: "stragglers", "steps", "ranges", "kernels" or "loss". `top`: at most so many rows.

    Errors: as connect(); ValueError for a view that is none.
    Cost:   reads the tables of sums alone: some kilobytes a recording.
    """
    text = sql(view)
    connection = _connect(folder, TABLES, job, run)
    try:
        result = connection.execute(text)
        columns = [column[0] for column in result.description]
        return Answer(columns, result.fetchall() if top is None else result.fetchmany(top))
    finally:
        connection.close()
