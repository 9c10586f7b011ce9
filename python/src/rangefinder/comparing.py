# SPDX-License-Identifier: MIT
"""What is different between two versions of a program, and whether that is too much."""
from __future__ import annotations

import ctypes
import dataclasses
import os
from typing import Any, List, Optional, Sequence, Union

from . import _abi
from .reading import Path


def diff(
    baseline: Path,
    candidate: Path,
    *,
    format: Optional[str] = None,
    attribution: Optional[str] = None,
    top: Optional[int] = None,
    width: Optional[int] = None,
    annotations: Optional[bool] = None,
    operators: Optional[bool] = None,
    strict: Optional[bool] = None,
    utf8: Optional[bool] = None,
    colour: Optional[bool] = None,
    terminal: Optional[bool] = None,
    max_memory_bytes: Optional[int] = None,
) -> str:
    """What is different between two runs, and why, as `rangefinder diff` says it.

        print(rangefinder.diff("before.rfcap", "after.rfcap"))
        rows = json.loads(rangefinder.diff("before", "after", format="json"))["rows"]

    `baseline`, `candidate`: a capture, a trace of torch.profiler, an Nsight export, a folder that is one job of several
    ranks, or a folder of several runs. `format`: "text", "csv", "json" or "markdown". `top`: of text and Markdown, at most
    so many rows a table; 10, and 0 for all. `strict`: a recording that is damaged or incomplete is an error; False. The
    others as of report().

    Errors: Error with NOT_FOUND, UNREADABLE, UNSUPPORTED for an input; TOO_LARGE where a run needs more than
            `max_memory_bytes`; INCOMPLETE with `strict`. ValueError for an unknown word.
    Cost:   one run at a time is read; memory as of the largest. Other threads of Python run meanwhile.
    """
    given = {name: value for name, value in locals().items() if name not in ("baseline", "candidate")}
    options = _abi.options("rf_diff_options", given)
    return _abi.take_text(
        _abi.made_by(_abi.library.rf_diff, _abi.path(baseline), _abi.path(candidate), ctypes.byref(options)))


@dataclasses.dataclass(frozen=True)
class GateCheck:
    """A rule, put to one metric."""

    rule: str  #: "step.p50 > +2%"
    metric: str  #: "step"
    statistic: str  #: "p50", "mean"
    unit: str  #: of the figures: "ns", "B", "1/s", or "": a count
    reason: str  #: what the figures do not say; may be ""
    baseline: float
    candidate: float
    limit: float  #: with the three below: a share of the baseline where `is_share`, else in the unit
    change: float
    change_low: float  #: the interval of the change
    change_high: float
    verdict: str  #: as Gate.verdict
    is_share: bool


@dataclasses.dataclass(frozen=True)
class Gate:
    """What gate() found. str() is what the command prints."""

    verdict: str  #: "pass"; "regression", if there is one; else "cannot_tell", if there is one
    checks: List[GateCheck]  #: regressions first, then what cannot be told
    text: str
    markdown: str  #: GitHub-flavoured, for a comment or a job summary
    junit: str  #: XML
    json: str  #: one object with schema_version

    def __str__(self) -> str:
        return self.text


def _paths(inputs: Union[Path, Sequence[Path]]) -> Any:
    """Inputs as an array of C: one, or several."""
    paths = [_abi.path(each) for each in ([inputs] if isinstance(inputs, (str, bytes, os.PathLike)) else inputs)]
    return (ctypes.c_char_p * len(paths))(*paths)


def _word(verdict: int) -> str:
    return _abi.GateVerdict(verdict).name.lower()


def gate(
    baseline: Union[Path, Sequence[Path]],
    candidate: Union[Path, Sequence[Path]],
    rules: Union[str, Sequence[str]] = (),
    *,
    confidence: Optional[float] = None,
    assumed_run_spread: Optional[float] = None,
    other_hardware: Optional[bool] = None,
    attribution: Optional[str] = None,
    annotations: Optional[bool] = None,
    operators: Optional[bool] = None,
    strict: Optional[bool] = None,
    max_memory_bytes: Optional[int] = None,
) -> Gate:
    """Whether a program became slower by more than is allowed, as `rangefinder gate` says it.

        found = rangefinder.gate("main.rfbase", ["run1.rfcap", "run2.rfcap"], ["step.p50 > +2%"])
        assert found.verdict != "regression", found

    `baseline`, `candidate`: one run or a list of runs, each a capture, a trace, a folder of runs, or a file of
    save_baseline(). `rules`: what fails the gate, in the language of docs/reference/gate.md; by default "step > +2%" and
    "memory.peak > +2%", where there are data. `confidence`: of the intervals; 0.95. `assumed_run_spread`: how much times
    vary from run to run, a share, where both sides are single runs; 0.02. `other_hardware`: recordings of other hardware
    are compared too; by default they are an error. The others as of diff().

    Errors: as of diff(); INVALID_ARGUMENT for a rule that cannot be read, a limit of another unit than the metric's, and
            other hardware; NOT_FOUND also for a metric that no run has.
    Cost:   one run at a time is read; memory as of the largest. Other threads of Python run meanwhile.
    """
    texts = [_abi.encode(rule) for rule in ([rules] if isinstance(rules, str) else rules)]
    given = {"confidence": confidence, "assumed_run_spread": assumed_run_spread, "other_hardware": other_hardware,
             "attribution": attribution, "annotations": annotations, "operators": operators, "strict": strict,
             "max_memory_bytes": max_memory_bytes, "rules": (ctypes.c_char_p * len(texts))(*texts),
             "rule_count": len(texts)}
    options = _abi.options("rf_gate_options", given)
    before, after = _paths(baseline), _paths(candidate)
    library = _abi.library
    handle = _abi.made_by(library.rf_gate_run, before, len(before), after, len(after), ctypes.byref(options))
    try:
        rows = [_abi.members(row) for row in _abi.listed(handle, "rf_gate_check", _abi.GateCheck)]
        checks = [GateCheck(**{**row, "verdict": _word(row["verdict"])}) for row in rows]
        formats = {name: _abi.take_text(_abi.made_by(library.rf_gate_text, handle, _abi.choice("format", name)))
                   for name in ("text", "markdown", "junit", "json")}
        return Gate(_word(library.rf_gate_get_verdict(handle)), checks, **formats)
    finally:
        library.rf_gate_free(handle)


def save_baseline(
    runs: Union[Path, Sequence[Path]],
    output: Path,
    *,
    replace: bool = False,
    attribution: Optional[str] = None,
    annotations: Optional[bool] = None,
    operators: Optional[bool] = None,
    strict: Optional[bool] = None,
    max_memory_bytes: Optional[int] = None,
) -> None:
    """Writes runs as one small file, which gate() takes as a baseline: figures of each step, and no events.

        rangefinder.save_baseline(["run1.rfcap", "run2.rfcap"], "main.rfbase")

    Options as of gate(). `replace`: an output file that exists; False.

    Errors: as of diff(); EXISTS, IO. The file appears when it is whole.
    """
    given = {"attribution": attribution, "annotations": annotations, "operators": operators, "strict": strict,
             "max_memory_bytes": max_memory_bytes}
    options = _abi.options("rf_gate_options", given)
    paths = _paths(runs)
    _abi.check(_abi.library.rf_baseline_save(paths, len(paths), _abi.path(output), replace, ctypes.byref(options)))
