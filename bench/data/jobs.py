"""Runs a job on data sets several times in one Spark session. Writes the seconds that
each run took, as JSON, into a file.

    jobs.py JSON KEY=VALUE...

JSON has the names File, Runs, Job, Out, In, Iterations and Cores (of all executors). A run writes its output to
a directory below Out that is named by its number, from 0 on.
"""

import json
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, collect_list, concat_ws, explode, lit, size, split, sum


def lines(path):
    return spark.read.text(path)


def wordcount(out, text):
    words = lines(text).select(explode(split("value", " ")).alias("word")).where("word != ''")
    words.groupBy("word").count().select(concat_ws("\t", "word", "count")).write.text(out)


def sort(out, text):
    lines(text).sort("value").write.text(out)


def table(path, name):
    row = split("value", "\t", 2)
    return lines(path).select(row[0].alias("key"), row[1].alias(name))


def join(out, left, right):
    rows = table(left, "left").join(table(right, "right"), "key")
    rows.select(concat_ws("\t", "key", "left", "right")).write.text(out)


def pagerank(out, path):
    # Cached data keeps its number of partitions, and what is joined with it gets the same.
    spark.conf.set("spark.sql.shuffle.partitions", 2 * arguments["Cores"])
    link = split("value", " ", 2)
    links = lines(path).select(link[0].alias("page"), link[1].alias("to"))
    links = links.groupBy("page").agg(collect_list("to").alias("links")).cache()
    ranks = links.select("page", lit(1.0).alias("rank"))
    for _ in range(arguments["Iterations"]):
        sent = links.join(ranks, "page").select(explode("links").alias("page"), (col("rank") / size("links")).alias("share"))
        ranks = sent.groupBy("page").agg((0.15 + 0.85 * sum("share")).alias("rank"))
    ranks.select(concat_ws("\t", "page", "rank")).write.text(out)
    links.unpersist()


arguments = json.loads(sys.argv[1])
job = {"wordcount": wordcount, "sort": sort, "join": join, "pagerank": pagerank}[arguments["Job"]]
builder = SparkSession.builder.appName(arguments["Job"])
for setting in sys.argv[2:]:
    key, _, value = setting.partition("=")
    builder = builder.config(key, value)
spark = builder.getOrCreate()
try:
    version = spark.version
    times = []
    for run in range(arguments["Runs"]):
        began = time.monotonic()
        job(f"{arguments['Out']}/{run}", *arguments["In"])
        times.append(time.monotonic() - began)
finally:
    spark.stop()
with open(arguments["File"], "w") as file:
    json.dump({"Version": version, "Seconds": times}, file)
