# SPDX-License-Identifier: MIT
"""A report and an export of one input name the same owner of every device operation, instance by instance."""
import collections
import json
import os
import pathlib
import unittest

import support

import rangefinder

SOURCE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"])
SHARED = pathlib.Path(os.environ.get("RANGEFINDER_SHARED", SOURCE.parent / "shared")) / "data"
REAL = ["kineto/*.json.gz", "hta/**/*.json.gz", "tracelens/**/*.json.gz", "nsys/**/*.sqlite"]


def rows(path, view):
    return json.loads(rangefinder.report(path, view, format="json", instances=True))["rows"]


def reported(path):
    """Of each range that has any: its name, operations and their time; first of what it owns, then with all inside."""
    ranges = {row["id"]: row for row in rows(path, "ranges")}

    def name(range_id):
        row = ranges[range_id]
        around = ranges.get(row["parent_id"])
        return row["range"] if around is None else row["range"][len(around["range"]) + 1:]

    owned = collections.defaultdict(lambda: [0, 0])
    operations = 0
    for view in ("kernels", "memcpy"):
        for row in rows(path, view):
            operations += 1
            if row["range_id"] is not None:
                owned[row["range_id"]][0] += 1
                owned[row["range_id"]][1] += row["duration_ns"]
    return (operations, collections.Counter((name(key), *figures) for key, figures in owned.items()),
            collections.Counter((name(key), row["gpu_ops"], row["gpu_sum_ns"])
                                for key, row in ranges.items() if row["gpu_ops"]))


def exported(path, output, **options):
    """The same of an export, in which a range has a slice on each stream."""
    rangefinder.export_chrome_trace(path, output, replace=True, flows=False, api_calls=False, **options)
    with open(output, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    ranges = collections.defaultdict(lambda: ["", 0, 0])
    for event in events:
        figures = event.get("args", {})
        if event.get("cat") != "gpu_user_annotation" or "gpu_ops" not in figures:
            continue
        of_range = ranges[figures.get("External id", event["name"])]
        of_range[0] = event["name"]
        of_range[1] += figures["gpu_ops"]
        of_range[2] += figures["gpu_sum_ns"]
    return collections.Counter(tuple(figures) for figures in ranges.values())


class Owners(support.TestCase):
    def same_owners(self, path):
        operations, owned, inclusive = reported(path)
        output = self.folder / "out.json"
        self.assertEqual(owned, exported(path, output, inclusive_ranges=False), path)
        self.assertEqual(inclusive, exported(path, output), path)
        return operations, sum(owned.values())

    def test_captures(self):
        for name in ("simulated", "graph"):
            operations, owners = self.same_owners(SOURCE / "tests" / "data" / "captures" / f"{name}.rfcap")
            self.assertGreater(operations, 20)
            self.assertGreater(owners, 10)

    def test_real_traces(self):
        if not SHARED.is_dir():
            self.skipTest("the collection of real traces is not here")
        paths = [path for pattern in REAL for path in sorted(SHARED.glob(pattern))]
        self.assertGreater(len(paths), 10)
        total = [self.same_owners(path) for path in paths]
        print(f"{len(paths)} traces, {sum(t[0] for t in total)} operations, {sum(t[1] for t in total)} owners")
        self.assertGreater(sum(t[1] for t in total), 500)


if __name__ == "__main__":
    unittest.main()
