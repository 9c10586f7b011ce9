# SPDX-License-Identifier: MIT
import json
import pathlib
import pickle
import unittest

import support

import rangefinder
from rangefinder import Error, Status


class Reading(support.TestCase):
    def setUp(self):
        super().setUp()
        with rangefinder.Session(self.capture) as session:
            for _ in range(2):
                with rangefinder.range("step"), rangefinder.range("größe"):
                    pass
                session.step()

    def test_reports(self):
        self.assertRegex(rangefinder.report(self.capture), r"größe +2 ")
        rows = json.loads(rangefinder.report(str(self.capture), "tree", format="json", depth=1))["rows"]
        self.assertEqual([row["path"] for row in rows], ["step"])
        self.assertIn("größe,2,", rangefinder.report(self.capture, format="csv", filter="gr", top=1))
        self.assertNotIn("step,2", rangefinder.report(self.capture, format="csv", filter="gr"))

    def test_chrome_traces(self):
        output, told = self.folder / "trace.json.gz", []
        done = rangefinder.export_chrome_trace(self.capture, output, progress=lambda *now: told.append(now))
        self.assertGreater(done.events, 4)
        self.assertEqual(done.output_bytes, output.stat().st_size)
        self.assertGreater(done.json_bytes, done.output_bytes)
        self.assertTrue(told)
        self.assertTrue(all(0 < so_far <= total for so_far, total in told), told)
        with self.assertRaises(Error) as exists:
            rangefinder.export_chrome_trace(self.capture, output)
        self.assertEqual(exists.exception.code, Status.EXISTS)
        rangefinder.export_chrome_trace(self.capture, output, replace=True, compression="plain", attribution="forward")
        self.assertIn("größe", {event["name"] for event in json.loads(output.read_text())["traceEvents"]})

    def test_errors(self):
        for call, code in (
            (lambda: rangefinder.report(self.folder / "none.rfcap"), Status.NOT_FOUND),
            (lambda: rangefinder.report(self.capture, "trees"), Status.NOT_FOUND),
            (lambda: rangefinder.report(self.capture, filter="(", filter_is_regex=True), Status.INVALID_ARGUMENT),
            (lambda: rangefinder.report(pathlib.Path(__file__)), Status.UNREADABLE),
            (lambda: rangefinder.export_memory_snapshot(self.capture, self.folder / "x.pickle"), Status.NOT_FOUND),
            (lambda: rangefinder.export_chrome_trace(self.capture, self.folder / "none/x.json"), Status.NOT_FOUND),
        ):
            with self.assertRaises(Error) as raised:
                call()
            self.assertEqual(raised.exception.code, code, raised.exception)
            self.assertNotEqual(raised.exception.message, "")
        with self.assertRaisesRegex(ValueError, "text, csv, json"):
            rangefinder.report(self.capture, format="xml")
        with self.assertRaisesRegex(ValueError, "end, peak"):
            rangefinder.export_memory_snapshot(self.capture, self.folder / "x.pickle", moment="noon")
        with self.assertRaises(OverflowError):
            rangefinder.report(self.capture, top=-1)
        again = pickle.loads(pickle.dumps(Error(Status.BUSY, "held")))
        self.assertEqual((again.code, again.message), (Status.BUSY, "held"))


if __name__ == "__main__":
    unittest.main()
