# SPDX-License-Identifier: MIT
import unittest

import support

import rangefinder
from rangefinder import Error, Status


class Querying(support.TestCase):
    def setUp(self):
        super().setUp()
        with rangefinder.Session(self.capture) as session:
            for _ in range(2):
                with rangefinder.range("step"), rangefinder.range("größe", value=7):
                    pass
                session.step()

    def test_rows(self):
        rows = rangefinder.query(self.capture, "SELECT name, count(*) AS runs, NULL AS none, 0.5 AS half FROM ranges "
                                               "GROUP BY name ORDER BY name")
        self.assertEqual(rows.columns, ["name", "runs", "none", "half"])
        self.assertEqual(list(rows), [("größe", 2, None, 0.5), ("step", 2, None, 0.5)])
        self.assertEqual(rows.dicts()[1], {"name": "step", "runs": 2, "none": None, "half": 0.5})
        self.assertEqual((len(rows), rows[0][0], rows.truncated), (2, "größe", False))

    def test_a_database_answers_more_than_once(self):
        with rangefinder.QueryDatabase(self.capture) as database:
            self.assertEqual(database.query("SELECT count(*) FROM steps").rows, [(2,)])
            self.assertEqual(database.query("SELECT number FROM payloads LIMIT 1").rows, [(7.0,)])
            self.assertEqual(database.query("SELECT count FROM view_ranges WHERE range = 'step'").rows, [(2,)])
        with self.assertRaisesRegex(ValueError, "closed"):
            database.query("SELECT 1")
        database.close()

    def test_limits(self):
        endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT count(*) FROM n"
        with self.assertRaises(Error) as raised:
            rangefinder.query(self.capture, endless, timeout_ms=50)
        self.assertEqual(raised.exception.code, Status.TIMEOUT)
        self.assertIn("rangefinder.query: not done after 50 ms", raised.exception.message)
        self.assertTrue(rangefinder.query(self.capture, "SELECT id FROM ranges", max_rows=1).truncated)
        with self.assertRaises(OverflowError):
            rangefinder.query(self.capture, "SELECT 1", max_rows=-1)

    def test_refusals(self):
        for sql in ("DROP TABLE ranges", "ATTACH 'x' AS x", "SELECT load_extension('x')", "SELEC", ""):
            with self.assertRaises(Error) as raised:
                rangefinder.query(self.capture, sql)
            self.assertEqual(raised.exception.code, Status.INVALID_ARGUMENT, sql)
        with self.assertRaises(ValueError):
            rangefinder.query(self.capture, "SELECT 1\0")
        with self.assertRaises(ValueError):
            rangefinder.query(self.capture, "SELECT 1", attribution="by magic")
        with self.assertRaises(Error) as raised:
            rangefinder.query(self.capture.with_name("nothing.rfcap"), "SELECT 1")
        self.assertEqual(raised.exception.code, Status.NOT_FOUND)

    def test_the_schema(self):
        self.assertIn("activities: ", rangefinder.query_schema())


if __name__ == "__main__":
    unittest.main()
