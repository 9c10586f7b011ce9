# SPDX-License-Identifier: MIT
"""What to change so that a step gets shorter."""
from __future__ import annotations

import dataclasses
import json
from typing import List, Optional, Sequence, Union

from .reading import Path, report


@dataclasses.dataclass(frozen=True)
class AdviceFinding:
    rule: str  #: "data_wait"; docs/reference/advice.md has them all
    headline: str  #: one sentence
    range: str  #: path of the range that it is about most; "": none
    gain_ns: int  #: at most so much of a step (of the whole where there are no steps) is saved
    gain_percent: Optional[float]  #: the same as a share of a step
    gain_bytes: int  #: of findings about memory: what it frees; else 0
    evidence: str  #: the figures on which it rests
    change: str  #: what to change, in terms of LibTorch, PyTorch and CUDA
    check: str  #: how to see that it worked


@dataclasses.dataclass(frozen=True)
class AdviceAbstention:
    """A rule that could not be judged."""

    rule: str
    missing: str  #: what is not in the data, and what to record


@dataclasses.dataclass(frozen=True)
class Advice:
    """What advise() found. str() is the verdict and a line for each finding."""

    verdict: str  #: one sentence: what bounds the step, and the largest gain
    findings: List[AdviceFinding]  #: greatest gain first
    abstentions: List[AdviceAbstention]

    def __str__(self) -> str:
        return "\n".join([self.verdict] + [f"{one.rule}: {one.headline}" for one in self.findings])


def advise(
    input: Union[Path, Sequence[Path]],
    *,
    attribution: Optional[str] = None,
    annotations: Optional[bool] = None,
    operators: Optional[bool] = None,
    max_memory_bytes: Optional[int] = None,
) -> Advice:
    """What makes steps longer than they have to be, as `rangefinder advise` says it.

        advice = rangefinder.advise("train.rfcap")
        print(advice.verdict)
        for finding in advice.findings:
            print(finding.gain_ns, finding.headline, finding.change)

    Gains are upper bounds, and two can be the same time: they are not to be added up. A rule whose inputs are missing
    abstains and says what to record. Arguments as of report(); report(input, "advice") is the same as a text.

    Errors, cost: as report().
    """
    found = json.loads(report(input, "advice", format="json", attribution=attribution, annotations=annotations,
                              operators=operators, max_memory_bytes=max_memory_bytes))
    said = "advice: "
    verdict = next((note[len(said):] for note in found["notes"] if note.startswith(said)), "")
    findings, abstentions = [], []
    for row in found["rows"]:
        if row["state"] == "found":
            findings.append(AdviceFinding(row["rule"], row["finding"], row["range"] or "", row["gain_ns"] or 0,
                                          row["gain_share_percent"], row["gain_in_bytes_b"] or 0, row["evidence"] or "",
                                          row["change"] or "", row["check"] or ""))
        else:
            abstentions.append(AdviceAbstention(row["rule"], row["finding"]))
    return Advice(verdict, findings, abstentions)
