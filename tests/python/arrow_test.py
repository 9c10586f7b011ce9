# SPDX-License-Identifier: MIT
"""Tables by Arrow's C data interface, as pyarrow, pandas, Polars and DuckDB take them."""
import ctypes
import gc
import importlib.util
import os
import pathlib
import re
import unittest

import support

import rangefinder
from rangefinder import Error, Status
from rangefinder import capture as capture_module
from rangefinder import parquet as parquet_module

SOURCE = pathlib.Path(os.environ["RANGEFINDER_TEST_SOURCE"])


def needs(*packages):
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


class Arrow(support.TestCase):
    def setUp(self):
        super().setUp()
        with rangefinder.Session(self.capture) as session:
            for _ in range(3):
                with rangefinder.range("step"), rangefinder.range("größe"):
                    pass
                session.step()
        self.opened = rangefinder.open(self.capture)

    def test_tables_are_listed(self):
        self.assertIn("activities", self.opened.tables)
        self.assertTrue(all(self.opened.tables.values()))

    def test_the_header_and_the_functions_bound_here_agree(self):
        code = re.sub(r"//[^\n]*", "", (SOURCE / "include/rangefinder/c/arrow.h").read_text())
        self.assertEqual(set(re.findall(r"^RF_API [^;]*?\b(rf_\w+)\(", code, re.M)), set(capture_module.FUNCTIONS) | set(parquet_module.FUNCTIONS))

    def test_layout_of_the_structs(self):
        for kind, members in ((capture_module.ArrowSchema, 9), (capture_module.ArrowArray, 10),
                              (capture_module.ArrowArrayStream, 5)):
            self.assertEqual(ctypes.sizeof(kind), 8 * members)

    def test_the_schema_alone(self):
        capsule = self.opened.arrow("ranges").__arrow_c_schema__()
        self.assertIn("arrow_schema", repr(capsule))
        del capsule  # releases what nothing has imported

    def test_a_table_that_is_none(self):
        with self.assertRaises(Error) as raised:
            self.opened.arrow("rangs").__arrow_c_stream__()
        self.assertEqual(raised.exception.code, Status.NOT_FOUND)
        self.assertIn('did you mean "ranges"?', raised.exception.message)
        self.assertTrue(raised.exception.message.startswith("rangefinder.Capture.arrow: "), raised.exception.message)

    def test_a_file_that_is_not_there(self):
        with self.assertRaises(Error) as raised:
            rangefinder.open(self.folder / "none.rfcap")
        self.assertEqual(raised.exception.code, Status.NOT_FOUND)

    def test_a_capsule_that_is_destroyed_while_an_exception_is_on_its_way(self):
        def refuse(_):
            raise KeyError("refused")

        for _ in range(100):
            with self.assertRaises(KeyError):
                refuse(self.opened.arrow("ranges").__arrow_c_stream__())

    def test_the_package_does_without_pyarrow(self):
        program = ("import sys, rangefinder\nsys.modules['pyarrow'] = None\ncapture = rangefinder.open(sys.argv[1])\n"
                   "capture.arrow('ranges').__arrow_c_stream__()\n"
                   "try:\n    capture.table('ranges')\nexcept ImportError as error:\n    print(error)\n")
        self.assertIn("Capture.arrow gives the same table", self.run_program(program))

    @needs("pyarrow")
    def test_pyarrow(self):
        table = self.opened.table("ranges")
        self.assertEqual(table["name"].to_pylist(), ["step", "größe"] * 3)
        self.assertEqual(str(table.schema.field("begin_ns").type), "int64")
        self.assertTrue(str(table.schema.field("name").type).startswith("dictionary"))
        self.assertEqual(table["source_row"].null_count, 6)
        table.validate(full=True)
        for name in self.opened.tables:
            self.opened.table(name).validate(full=True)
        steps = self.opened.table("steps")
        self.assertEqual(steps.num_rows, len(support.rows_of(rangefinder.report(self.capture, "steps", format="json"))))

    @needs("pyarrow")
    def test_two_imports_of_a_column_share_its_memory(self):
        def addresses(table, column):
            return [buffer.address for buffer in table[column].chunk(0).buffers() if buffer is not None]

        first, second = self.opened.table("ranges"), self.opened.table("ranges")
        for column in ("begin_ns", "end_ns", "name", "kind", "thread"):
            self.assertEqual(addresses(first, column)[-1:], addresses(second, column)[-1:], column)
            self.assertTrue(addresses(first, column), column)

    @needs("pyarrow")
    def test_a_table_outlives_its_capture(self):
        table = self.opened.table("ranges")
        begins = table["begin_ns"].to_pylist()
        del self.opened
        gc.collect()
        self.assertEqual(table["begin_ns"].to_pylist(), begins)

    @needs("pyarrow")
    def test_views(self):
        rows = support.rows_of(rangefinder.report(self.capture, format="json"))
        table = self.opened.view("ranges")
        self.assertEqual(table["range"].to_pylist(), [row["range"] for row in rows])
        self.assertEqual(table["count"].to_pylist(), [row["count"] for row in rows])

    @needs("pandas", "pyarrow")
    def test_pandas(self):
        frame = self.opened.table("ranges").to_pandas()
        self.assertEqual(list(frame["name"]), ["step", "größe"] * 3)

    @needs("polars")
    def test_polars(self):
        import polars
        frame = polars.DataFrame(self.opened.arrow("ranges"))
        self.assertEqual(frame["name"].cast(polars.String).to_list(), ["step", "größe"] * 3)
        self.assertTrue((frame["end_ns"] >= frame["begin_ns"]).all())

    @needs("duckdb", "pyarrow")
    def test_duckdb(self):
        import duckdb
        ranges = self.opened.table("ranges")
        rows = duckdb.sql("SELECT CAST(name AS VARCHAR) AS name, COUNT(*) FROM ranges GROUP BY 1 ORDER BY 1").fetchall()
        self.assertEqual(rows, [("größe", 3), ("step", 3)])
        self.assertEqual(ranges.num_rows, 6)

    @needs("pyarrow")
    def test_parquet_by_pyarrow(self):
        import pyarrow.parquet
        out = self.folder / "out"
        done = rangefinder.export_parquet(self.capture, out, job="a b", run="1")
        self.assertEqual((done.recordings, done.activities), (1, 0))
        ranges = pyarrow.parquet.read_table(out / "detail/ranges/job=a%20b/run=1/rank=0/ranges.parquet", partitioning=None)
        self.assertEqual(sorted(ranges["path"].to_pylist()), ["step"] * 3 + ["step/größe"] * 3)
        self.assertEqual(sum(ranges["duration_ns"].to_pylist()),
                         sum(row["host_ns"] for row in support.rows_of(rangefinder.report(self.capture, "tree", format="json"))))
        with self.assertRaises(Error) as raised:
            rangefinder.export_parquet(self.capture, out, job="a b", run="1")
        self.assertEqual(raised.exception.code, Status.EXISTS)
        rangefinder.export_parquet(self.capture, out, job="a b", run="1", replace=True)
        self.assertEqual(list(out.glob("**/*.tmp")), [])
        with self.assertRaises(Error) as raised:
            rangefinder.export_parquet(self.folder / "none.rfcap", out)
        self.assertEqual(raised.exception.code, Status.NOT_FOUND)


if __name__ == "__main__":
    unittest.main()
