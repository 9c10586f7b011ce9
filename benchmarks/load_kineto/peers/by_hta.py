# SPDX-License-Identifier: MIT
"""HolisticTraceAnalysis loads a trace and sums the time of kernels by name. Run by compare_peers.py."""
import logging
import os
import sys
import warnings

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # it would round to whole microseconds
warnings.filterwarnings("ignore")
logging.disable(logging.ERROR)
import answer  # noqa: E402
from hta.trace_analysis import TraceAnalysis  # noqa: E402

watch = answer.Watch()
trace = TraceAnalysis(trace_files={0: os.path.abspath(sys.argv[1])}, include_last_profiler_step=True).t
events = trace.get_trace(0)
kernels = events[events["cat"] == trace.symbol_table.get_sym_id_map().get("kernel", -1)]
names = trace.symbol_table.get_sym_table()
sums = kernels.groupby("name")["dur"].agg(["count", "sum"])
watch.give((names[name], count, round(microseconds * 1000)) for name, count, microseconds in sums.itertuples())
