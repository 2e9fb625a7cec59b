"""Runs Spark tasks that do next to nothing: spark.range(0, n, 1, n), which is n
tasks, summed, so many times over. Writes the seconds that each run took, as
JSON, into a file.

    range.py FILE TASKS RUNS KEY=VALUE...
"""

import json
import sys
import time

from pyspark.sql import SparkSession

file, tasks, runs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
builder = SparkSession.builder.appName("range")
for setting in sys.argv[4:]:
    key, _, value = setting.partition("=")
    builder = builder.config(key, value)
spark = builder.getOrCreate()
try:
    version = spark.version
    times = []
    for _ in range(runs):
        began = time.monotonic()
        total = spark.range(0, tasks, 1, tasks).selectExpr("sum(id)").collect()[0][0]
        times.append(time.monotonic() - began)
        if total != tasks * (tasks - 1) // 2:
            sys.exit(f"the sum of the numbers below {tasks} came out as {total}")
finally:
    spark.stop()
with open(file, "w") as out:
    json.dump({"Version": version, "Seconds": times}, out)
