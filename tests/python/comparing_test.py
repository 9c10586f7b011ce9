# SPDX-License-Identifier: MIT
import json
import unittest

import support

import rangefinder
from rangefinder import Error, Status


class Comparing(support.TestCase):
    def recorded(self, name, ranges):
        path = self.folder / name
        with rangefinder.Session(path) as session:
            for _ in range(12):
                for text in ranges:
                    with rangefinder.range(text):
                        pass
                session.step()
        return path

    def setUp(self):
        super().setUp()
        self.before = self.recorded("before.rfcap", ["step", "größe"])
        self.after = self.recorded("after.rfcap", ["step", "länge"])

    def test_a_difference(self):
        text = rangefinder.diff(self.before, str(self.after))
        self.assertIn("größe", text)
        self.assertIn("länge", text)
        found = json.loads(rangefinder.diff(self.before, self.after, format="json"))
        self.assertIn("schema_version", found)
        rows = {row["name"]: row["became"] for row in found["rows"] if row["by"] == "path"}
        self.assertEqual((rows["größe"], rows["länge"], rows["step"]), ("gone", "new", "same"))

    def test_formats_and_rows(self):
        self.assertIn("|---", rangefinder.diff(self.before, self.after, format="markdown"))
        self.assertGreater(len(rangefinder.diff(self.before, self.after)),
                           len(rangefinder.diff(self.before, self.after, top=1)))
        self.assertGreater(rangefinder.diff(self.before, self.after, format="csv").count("\n"), 3)

    def test_refusals(self):
        with self.assertRaises(ValueError):
            rangefinder.diff(self.before, self.after, format="html")
        with self.assertRaises(OverflowError):
            rangefinder.diff(self.before, self.after, top=-1)
        with self.assertRaises(Error) as raised:
            rangefinder.diff(self.before, self.folder / "absent.rfcap")
        self.assertEqual(raised.exception.code, Status.NOT_FOUND)
        self.assertTrue(raised.exception.message.startswith("rangefinder.diff: "), raised.exception.message)

    def test_a_gate(self):
        runs = [self.recorded(f"run{i}.rfcap", ["step", "größe"]) for i in range(3)]
        baseline = self.folder / "main.rfbase"
        rangefinder.save_baseline(runs, baseline)
        found = rangefinder.gate(baseline, self.before, "path.calls:größe > +50%")
        self.assertEqual((found.verdict, len(found.checks)), ("pass", 1))
        check = found.checks[0]
        self.assertEqual((check.rule, check.metric, check.verdict), ("path.calls:größe > +50%", "path.calls:größe", "pass"))
        self.assertEqual((check.baseline, check.candidate, check.change, check.is_share, check.limit), (1, 1, 0, True, 0.5))
        self.assertEqual(str(found), found.text)
        self.assertEqual(json.loads(found.json)["verdict"], "pass")
        self.assertIn("<testsuite", found.junit)
        self.assertIn("größe", found.markdown)

    def test_a_gate_that_fails(self):
        found = rangefinder.gate([self.before], [self.recorded("twice.rfcap", ["step", "größe", "größe"])],
                                 ["path.calls:größe > +50%", "path.calls:step > +50%"], attribution="launch")
        self.assertEqual(found.verdict, "regression")
        self.assertEqual([check.verdict for check in found.checks], ["regression", "pass"])
        self.assertEqual(found.checks[0].change, 1)

    def test_refusals_of_a_gate(self):
        def refused(*arguments, **options):
            with self.assertRaises(Error) as raised:
                rangefinder.gate(*arguments, **options)
            self.assertTrue(raised.exception.message.startswith("rangefinder.gate: "), raised.exception.message)
            return raised.exception.code

        self.assertEqual(refused(self.before, self.after, "step >"), Status.INVALID_ARGUMENT)
        self.assertEqual(refused(self.before, self.after, "path:nothing > +2%"), Status.NOT_FOUND)
        self.assertEqual(refused(self.before, self.after, confidence=1.5), Status.INVALID_ARGUMENT)
        self.assertEqual(refused(self.before, self.folder / "absent"), Status.NOT_FOUND)
        with self.assertRaises(ValueError):
            rangefinder.gate(self.before, self.after, attribution="by magic")
        baseline = self.folder / "main.rfbase"
        rangefinder.save_baseline(self.before, baseline)
        with self.assertRaises(Error) as raised:
            rangefinder.save_baseline([self.before], baseline)
        self.assertEqual(raised.exception.code, Status.EXISTS)
        rangefinder.save_baseline([self.before], baseline, replace=True)


if __name__ == "__main__":
    unittest.main()
