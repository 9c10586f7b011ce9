# SPDX-License-Identifier: MIT
"""DuckDB reads a trace by its JSON reader and sums the time of kernels by name. Run by compare_peers.py."""
import os
import sys

import answer
import duckdb

SUMS = """
SELECT event.name, count(*), sum(round(event.dur * 1000)::BIGINT)
FROM (SELECT unnest(traceEvents) AS event
      FROM read_json(?, columns = {traceEvents: 'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, dur DOUBLE)[]'},
                     maximum_object_size = ?))
WHERE event.ph = 'X' AND event.cat = 'kernel'
GROUP BY ALL
"""
LARGEST_OBJECT = 2**32 - 1  # a trace is one JSON object

watch = answer.Watch()
size = LARGEST_OBJECT if sys.argv[1].endswith(".gz") else os.path.getsize(sys.argv[1]) + 1024
watch.give(duckdb.sql(SUMS, params=[sys.argv[1], size]).fetchall())
