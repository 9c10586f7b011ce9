# SPDX-License-Identifier: MIT
"""What `rangefinder fleet` runs."""
from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from typing import Any, List, Optional, Sequence

from . import VIEWS, Answer, FleetError, run, sql


def _printable(text: str) -> str:
    """For a terminal: names come from other people's programs."""
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _time(ns: int) -> str:
    """1234567 as "1.235 ms"."""
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(ns) >= factor:
            return f"{ns / factor:.3f} {unit}"
    return f"{ns} ns"


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if column.endswith("_ns"):
        return _time(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return _printable(str(value))


def as_text(answer: Answer) -> str:
    """Aligned columns; times in readable units."""
    titles = [column[:-3] if column.endswith("_ns") else column for column in answer.columns]
    lines = [[_cell(column, value) for column, value in zip(answer.columns, row)] for row in answer.rows]
    widths = [max([len(title)] + [len(line[i]) for line in lines]) for i, title in enumerate(titles)]
    is_number = [any(isinstance(row[i], int) for row in answer.rows) for i in range(len(titles))]

    def padded(words: Sequence[str]) -> str:
        return "  ".join(word.rjust(width) if number else word.ljust(width)
                         for word, width, number in zip(words, widths, is_number)).rstrip()

    return "\n".join([padded(titles)] + [padded(line) for line in lines]) + "\n"


def as_csv(answer: Answer) -> str:
    """RFC 4180; exact numbers."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows(["" if value is None else value for value in row] for row in answer.rows)
    return out.getvalue()


def as_json(view: str, answer: Answer) -> str:
    rows = [dict(zip(answer.columns, row)) for row in answer.rows]
    return json.dumps({"schema_version": 1, "view": view, "columns": answer.columns, "rows": rows}) + "\n"


def main(words: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="rangefinder fleet", description="Compare the recordings of many jobs.")
    parser.add_argument("folder", help="what `rangefinder export --format parquet` wrote")
    parser.add_argument("--view", required=True, choices=VIEWS)
    parser.add_argument("--job", help="only this job")
    parser.add_argument("--run", help="only this run")
    parser.add_argument("--top", type=int, help="at most so many rows")
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sql", action="store_true", help="print the SQL and do not run it")
    given = parser.parse_args(words)
    if given.sql:
        sys.stdout.write(sql(given.view))
        return 0
    try:
        answer = run(given.folder, given.view, job=given.job, run=given.run, top=given.top)
    except FleetError as error:
        print(f"rangefinder: {error}", file=sys.stderr)
        return 2
    if given.json:
        sys.stdout.write(as_json(given.view, answer))
    elif given.csv:
        sys.stdout.write(as_csv(answer))
    else:
        sys.stdout.write(as_text(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
