#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `export --format parquet` writes is read by pyarrow, DuckDB and Spark, and each finds the totals of the command's own
reports, to the nanosecond.

fleet_test.py --command RANGEFINDER --inputs CLI_TEST_INPUTS --judge pyarrow|duckdb|spark --source SOURCE_TREE
"""
import argparse
import csv
import importlib.util
import io
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TABLES = ("recordings", "summary", "steps", "kernels", "health")
VIEWS = ("stragglers", "steps", "ranges", "kernels", "loss")


class Wrong(Exception):
    pass


def check(true, what):
    if not true:
        raise Wrong(what)


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(0)


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300)
    said, wrong = done.stdout.decode(), done.stderr.decode()  # as it is: a hostile name has a return
    check(done.returncode == status, f"{words}: exit {done.returncode}\n{said[-2000:]}\n{wrong[-2000:]}")
    return said if status == 0 else wrong


class Export:
    """Recordings of three jobs in one folder, and what reports say of them."""

    def __init__(self, command, inputs, root):
        self.command, self.inputs, self.folder = command, root / "in", root / "fleet"
        self.inputs.mkdir()
        run(inputs, self.inputs)
        self.jobs = {"bert": "job", "lossy": "dropped.rfcap", "hostile / job": "hostile.rfcap"}
        for job, file in self.jobs.items():
            said = json.loads(run(command, "export", self.inputs / file, "--format", "parquet", "-o", self.folder, "--job",
                                  job, "--run", "20261127", "--json", "-q"))
            check(said["recordings"] == (2 if job == "bert" else 1), said)

    def report(self, job, view):
        return json.loads(run(self.command, "report", self.inputs / self.jobs[job], "--view", view, "--json"))

    def totals(self):
        """By job: the account of all device time."""
        return {job: self.report(job, "ranges")["account"]["total"] for job in self.jobs}

    def kernels(self, job):
        return {row["kernel"]: (row["count"], row["total_ns"]) for row in self.report(job, "kernels")["rows"]}

    def paths(self, job):
        return {row["path"]: (row["count"], row["host_ns"], row["gpu_sum_ns"]) for row in self.report(job, "tree")["rows"]}


def check_answers(answers, export):
    """`answers`: by view, a list of rows as dicts of texts."""
    for job, total in export.totals().items():
        for view in ("ranges", "kernels"):
            rows = [row for row in answers[view] if row["job"] == job]
            for figure in ("gpu_ops", "gpu_sum_ns"):
                found = sum(int(row[figure]) for row in rows)
                check(found == total[figure], f"{view} of {job}: {figure} is {found}, the report says {total[figure]}")
    kernels = {row["name"]: (int(row["gpu_ops"]), int(row["gpu_sum_ns"])) for row in answers["kernels"]
               if row["job"] == "bert" and row["kind"] == "kernel"}
    check(kernels == export.kernels("bert"), f"kernels: {kernels}")
    paths = {row["path"]: (int(row["runs"]), int(row["host_ns"]), int(row["gpu_inclusive_ns"]))
             for row in answers["ranges"] if row["job"] == "bert" and row["owner"] == "range"}
    check(paths == export.paths("bert"), f"ranges: {paths}\nthe report: {export.paths('bert')}")
    lost = {(row["job"], row["cause"]): int(row["lost_records"]) for row in answers["loss"]}
    check(lost == {("bert", "(all)"): 0, ("hostile / job", "(all)"): 0, ("lossy", "(all)"): 12,
                   ("lossy", "dropped_ranges"): 12}, f"losses: {lost}")
    steps = [row for row in answers["steps"] if row["job"] == "bert"]
    check([(row["step"], row["ranks"], row["median_ns"]) for row in steps] == [("0", "2", "9000")], f"steps: {steps}")
    check(all(int(row["lost_records"]) == 12 for row in answers["ranges"] if row["job"] == "lossy"), "losses in sight")


def check_events(found, export):
    """`found`: by job, the sum of all durations in detail/activities, and the losses that its rows tell."""
    expected = {job: (total["gpu_sum_ns"], 12 if job == "lossy" else 0) for job, total in export.totals().items()
                if total["gpu_ops"]}
    check(found == expected, f"events: {found}\nthe reports: {expected}")


def as_csv(value):
    return "" if value is None else str(value).replace("\0", "")


def rows_of(text):
    # A hostile name has a zero byte, which csv refuses before Python 3.11.
    return list(csv.DictReader(io.StringIO(text.replace("\0", ""), newline="")))


def judge_duckdb(export, _):
    answers = {view: rows_of(run(export.command, "fleet", export.folder, "--view", view, "--csv")) for view in VIEWS}
    check_answers(answers, export)
    for job in export.jobs:
        only = rows_of(run(export.command, "fleet", export.folder, "--view", "loss", "--csv", "--job", job))
        check({row["job"] for row in only} == {job}, only)
    message = run(export.command, "fleet", export.folder, "--view", "steps", "--job", "none", status=2)
    check("no such job" in message, message)
    check("gpu_sum" in run(export.command, "fleet", export.folder, "--view", "kernels"), "a table for people")
    check("ROW_NUMBER" in run(export.command, "fleet", export.folder, "--view", "steps", "--sql"), "the SQL")
    message = run(export.command, "fleet", export.inputs, "--view", "steps", status=2)
    check("no table recordings" in message, message)

    from rangefinder import fleet
    with fleet.connect(export.folder) as connection:
        events = connection.sql("SELECT job, SUM(duration_ns), MAX(lost_records) FROM activities GROUP BY job").fetchall()
    check_events({job: (total, lost) for job, total, lost in events}, export)


def judge_spark(export, source):
    path = source / "examples/fleet/fleet_job.py"
    spec = importlib.util.spec_from_file_location("fleet_job", path)
    job = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(job)
    answers = {}
    spark = job.session("local[2]")
    try:
        job.register(spark, str(export.folder), job.TABLES)
        for view in VIEWS:
            answer = spark.sql((job.sql_folder(None) / f"{view}.sql").read_text())
            answers[view] = [dict(zip(answer.columns, map(as_csv, row))) for row in answer.collect()]
        events = spark.sql("SELECT job, SUM(duration_ns), MAX(lost_records) FROM activities GROUP BY job").collect()
    finally:
        spark.stop()
    check_answers(answers, export)
    check_events({job: (total, lost) for job, total, lost in events}, export)
    for view in VIEWS:
        theirs = rows_of(run(export.command, "fleet", export.folder, "--view", view, "--csv"))
        check(answers[view] == theirs, f"{view}: Spark says {answers[view]}\nDuckDB says {theirs}")
    # As it is submitted.
    said = rows_of(run(sys.executable, path, "--folder", export.folder, "--view", "loss", "--master", "local[2]"))
    check(said == answers["loss"], f"the job says {said}")


def judge_pyarrow(export, _):
    import pyarrow
    import pyarrow.parquet as parquet

    files = sorted(export.folder.glob("**/*.parquet"))
    check(not list(export.folder.glob("**/*.tmp")), "no temporary file is left")
    for file in files:
        table = parquet.ParquetFile(file)
        for name in table.schema_arrow.names:
            kind = table.schema_arrow.field(name).type
            if name.endswith("_ns"):
                check(kind == pyarrow.int64(), f"{file}: {name} is {kind}")
        for column in range(table.metadata.num_columns if table.metadata.num_row_groups else 0):
            check(table.metadata.row_group(0).column(column).compression == "ZSTD", f"{file}: column {column}")
    activities = [parquet.ParquetFile(file).read() for file in files if "/detail/activities/job=bert/" in str(file)]
    check(len(activities) == 2, "a file for the device of each rank")
    for table in activities:
        begins = table["begin_ns"].to_pylist()
        check(begins == sorted(begins), "sorted by begin")
        check(pyarrow.types.is_dictionary(table.schema.field("name").type), "names are a dictionary")
        check(set(table["owner"].to_pylist()) == {"range"} and set(table["step"].to_pylist()) == {0}, "owners and steps")
    for file in files:
        if "/job=lossy/" in str(file):
            lost = set(parquet.ParquetFile(file).read()["lost_records"].to_pylist())
            check(lost <= {12}, f"{file}: every row tells of the loss: {lost}")
        if "/kernels/job=hostile" in str(file):
            name = parquet.ParquetFile(file).read()["name"].to_pylist()[0]
            check(name.startswith("a\0b\x1b[31m") and name.endswith("\u202e\ufffdFF"), f"a name that is no UTF-8: {name!r}")
    total = sum(sum(table["duration_ns"].to_pylist()) for table in activities)
    check(total == export.totals()["bert"]["gpu_sum_ns"], f"activities: {total} ns")
    recording = parquet.ParquetFile(next(file for file in files if "/recordings/job=lossy/" in str(file))).read()
    check(recording["lost_records"].to_pylist() == [12] and recording["schema_version"].to_pylist() == [1], "recording")
    check((export.folder / "steps/job=hostile%20%2F%20job/run=20261127/rank=0").is_dir(), "names of folders are safe")
    check_refusals(export)


def check_refusals(export):
    words = (export.command, "export", export.inputs / "job", "--format", "parquet", "-o", export.folder, "--job", "bert",
             "--run", "20261127")
    check("exists already" in run(*words, status=2), "nothing is replaced")
    run(*words, "--force")
    small = export.folder.parent / "small"
    run(export.command, "export", export.inputs / "job", "--format", "parquet", "-o", small, "--no-detail")
    check(not (small / "detail").exists(), "no detail where none is wanted")
    check((small / "summary/job=job").is_dir(), "the name of the folder is that of the job")
    run(export.command, "fleet", export.inputs, "--view", "bogus", status=2)


def main():
    parser = argparse.ArgumentParser()
    for name in ("command", "inputs", "source"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--judge", choices=("pyarrow", "duckdb", "spark"), required=True)
    given = parser.parse_args()
    wanted = {"pyarrow": ["pyarrow"], "duckdb": ["duckdb"], "spark": ["duckdb", "pyspark"]}[given.judge]
    missing = [package for package in wanted if importlib.util.find_spec(package) is None]
    if missing:
        skip(f"not installed: {', '.join(missing)}")
    if given.judge == "spark" and shutil.which("java") is None:
        skip("Spark needs Java, and there is none")
    with tempfile.TemporaryDirectory(prefix="rangefinder-fleet-") as folder:
        export = Export(given.command, given.inputs, pathlib.Path(folder))
        {"pyarrow": judge_pyarrow, "duckdb": judge_duckdb, "spark": judge_spark}[given.judge](export, given.source)
    print(f"{given.judge} agrees with the reports")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as wrong:
        print(f"wrong: {wrong}", file=sys.stderr)
        sys.exit(1)
