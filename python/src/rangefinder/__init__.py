# SPDX-License-Identifier: MIT
"""GPU time on the ranges of your code.

    import rangefinder

    with rangefinder.Session("train.rfcap") as session:
        for batch in loader:
            with rangefinder.range("step"):
                train(batch)
            session.step(len(batch))
    print(rangefinder.report(session.output, "tree"))

rangefinder.torch marks modules and gives backward work to them. Importing loads librangefinder.so:
RANGEFINDER_LIBRARY, then that of the wheel, then the prefix of this Python, then where the system's loader looks.
`python -m rangefinder --help` says what else a wheel holds.
"""
from . import torch
from ._abi import Error, Status
from ._version import __version__
from .advising import Advice, AdviceAbstention, AdviceFinding, advise
from .capture import ArrowTable, Capture, open
from .comparing import Gate, GateCheck, diff, gate, save_baseline
from .parquet import ParquetReport, export_parquet
from .querying import QueryDatabase, QueryRows, query, query_schema
from .ranges import (Range, counter, end_range, mark, pop_range, pop_ranges_to, push_range, range, range_depth,
                     start_range)
from .reading import (CaptureContent, CaptureFinding, CaptureInfo, ChromeReport, DoctorFinding, HtmlReport, KeyAverages, OperatorGroup,
                      PerfettoReport, ReportView, doctor, export_chrome_trace, export_html, export_memory_snapshot, export_perfetto_trace,
                      inspect, key_averages, repair, report, report_views)
from .session import (CaptureReady, DeviceState, Health, HealthEntry, Session, Summary, SummaryRow, prepare)

__all__ = [
    "Advice", "AdviceAbstention", "AdviceFinding", "ArrowTable", "Capture", "CaptureContent", "CaptureFinding", "CaptureInfo", "CaptureReady", "ChromeReport", "DeviceState", "Error", "DoctorFinding",
    "Gate", "GateCheck", "Health", "HealthEntry", "HtmlReport", "KeyAverages", "OperatorGroup", "ParquetReport", "PerfettoReport", "QueryDatabase", "QueryRows", "Range", "ReportView", "Session",
    "Status", "Summary", "SummaryRow",
    "__version__", "advise", "counter", "diff", "doctor", "end_range", "export_chrome_trace", "export_html", "export_memory_snapshot", "export_parquet",
    "export_perfetto_trace", "gate", "inspect",
    "key_averages", "mark", "open", "pop_range", "pop_ranges_to", "prepare", "push_range", "query", "query_schema", "range", "range_depth", "repair", "report",
    "report_views", "save_baseline", "start_range", "torch",
]
