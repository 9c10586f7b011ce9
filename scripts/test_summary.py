#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A table of what CTest wrote: test_summary.py FOLDER PRESET...

FOLDER holds PRESET.xml (ctest --output-junit) and PRESET.seconds, from the begin of its build to the end of its tests, for each
preset, and CHECK.status for each check that is no test ("tidy.status": "ok", or what is wrong). The exit status is 0 if
each preset ran tests and none failed, and each check is ok.
"""

import dataclasses
import pathlib
import re
import sys
import xml.etree.ElementTree as xml

LAST_LINES = 40  # of a failed test


@dataclasses.dataclass
class Case:
    name: str
    outcome: str  # passed, skipped, failed
    reason: str = ""  # of a skipped test, or of test cases that were skipped in one that passed
    output: str = ""


def read_case(node):
    """One test of a JUnit file by CTest."""
    name, status = node.get("name"), node.get("status")
    output = node.findtext("system-out") or ""
    reasons = re.findall(r"SKIPPED: *(.*)", output)
    skip = node.find("skipped")
    told_to_skip = skip is not None and skip.get("message", "").startswith("SKIP_")
    if not reasons and told_to_skip:  # in words of its own
        reasons = output.rstrip().splitlines()[-1:]
    reason = "; ".join(dict.fromkeys(reasons))
    if status == "fail":
        return Case(name, "failed", output=output)
    if status == "run":
        return Case(name, "passed", reason)
    if not reasons:  # not built, or its set-up failed: it was not meant to be skipped
        return Case(name, "failed", output=output)
    cases = re.search(r"All tests passed \(.* in (\d+) test case", output)
    if cases and int(cases[1]) > len(reasons):
        return Case(name, "passed", f"{len(reasons)} of {cases[1]} test cases: {reason}")
    return Case(name, "skipped", reason)


def read_preset(folder, preset):
    """Its cases and minutes; no cases where no test was run."""
    seconds = folder / f"{preset}.seconds"
    minutes = int(seconds.read_text()) / 60 if seconds.exists() else 0.0
    file = folder / f"{preset}.xml"
    if not file.exists():
        return [], minutes
    return [read_case(node) for node in xml.parse(file).getroot().iter("testcase")], minutes


def summarise(folder, presets):
    """The text, and whether all is good."""
    lines = [f"{'preset':<14}{'passed':>8}{'skipped':>9}{'failed':>8}{'minutes':>9}"]
    skipped, failed = [], []
    good = True
    for preset in presets:
        cases, minutes = read_preset(folder, preset)
        count = {outcome: sum(case.outcome == outcome for case in cases) for outcome in ("passed", "skipped", "failed")}
        if cases:
            lines.append(f"{preset:<14}{count['passed']:>8}{count['skipped']:>9}{count['failed']:>8}{minutes:>9.1f}")
        else:
            lines.append(f"{preset:<14}{'not built, or no test was run':>25}{minutes:>9.1f}")
        good = good and count["passed"] > 0 and count["failed"] == 0
        skipped += [f"skipped  {preset}: {case.name}: {case.reason}" for case in cases if case.reason]
        for case in cases:
            if case.outcome == "failed":
                failed.append(f"FAILED   {preset}: {case.name}; the end of what it printed:")
                failed += [f"    | {line}" for line in case.output.rstrip().splitlines()[-LAST_LINES:]]
    for file in sorted(folder.glob("*.status")):
        status = file.read_text().strip()
        lines.append(f"{file.stem:<14}{status}")
        good = good and status == "ok"
    ending = "all good" if good else "not good: see above, and the logs in out/log"
    return "\n".join(["", *lines, *skipped, *failed, ending]), good


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    text, good = summarise(pathlib.Path(arguments[0]), arguments[1:])
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
