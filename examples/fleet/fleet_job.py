# SPDX-License-Identifier: MIT
"""A view of `rangefinder fleet` on Spark: the same SQL, for more recordings than one machine can read.

    spark-submit fleet_job.py --folder s3a://profiles/fleet --view stragglers --output s3a://profiles/answers/stragglers
    python fleet_job.py --folder fleet --view kernels --master 'local[2]'

The SQL is that of the Python package rangefinder, which is found without being imported: workers and driver need no
library of rangefinder. `--sql-folder` names another place of the *.sql files.
"""
import argparse
import csv
import importlib.util
import pathlib
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col

VIEWS = ("stragglers", "steps", "ranges", "kernels", "loss")
TABLES = {
    "recordings": "recordings", "summary": "summary", "steps": "steps", "kernels": "kernels", "health": "health",
    "activities": "detail/activities", "calls": "detail/calls", "ranges": "detail/ranges",
    "collectives": "detail/collectives",
}
SUMMARIES = ("recordings", "summary", "steps", "kernels", "health")


def sql_folder(given):
    if given:
        return pathlib.Path(given)
    package = importlib.util.find_spec("rangefinder")
    if package is None or package.origin is None:
        sys.exit("fleet_job.py: the package rangefinder is not installed; name the folder of its *.sql with --sql-folder")
    return pathlib.Path(package.origin).parent / "fleet"


def register(spark, folder, tables=SUMMARIES):
    """Makes tables visible to SQL. What folders are called stays text, and a rank is a number."""
    for table in tables:
        rows = spark.read.parquet(f"{folder.rstrip('/')}/{TABLES[table]}")
        rows.withColumn("rank", col("rank").cast("int")).createOrReplaceTempView(table)


def session(master):
    builder = SparkSession.builder.appName("rangefinder fleet")
    if master:
        builder = builder.master(master).config("spark.ui.enabled", "false")
    # A run that is called 20261127 is not a number.
    return builder.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false").getOrCreate()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", required=True, help="what `rangefinder export --format parquet` wrote")
    parser.add_argument("--view", required=True, choices=VIEWS)
    parser.add_argument("--output", help="folder for the answer as Parquet; default: CSV on standard output")
    parser.add_argument("--sql-folder", help="where VIEW.sql is; default: the package rangefinder")
    parser.add_argument("--master", help="as spark-submit's; for a run without spark-submit, local[2]")
    given = parser.parse_args()
    query = (sql_folder(given.sql_folder) / f"{given.view}.sql").read_text()
    spark = session(given.master)
    try:
        register(spark, given.folder)
        answer = spark.sql(query)
        if given.output:
            answer.write.parquet(given.output)
            return
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(answer.columns)
        writer.writerows(["" if value is None else value for value in row] for row in answer.collect())
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
