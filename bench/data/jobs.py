"""Runs a job on data sets several times in one Spark session. Writes the seconds that
each run took, as JSON, into a file.

    jobs.py JSON KEY=VALUE...

JSON has the names File, Runs, Job, Out, In, Iterations and Cores (of all executors). A run writes its output to
a directory below Out that is named by its number, from 0 on.
"""

import json
import sys
import time

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import (avg, col, collect_list, concat_ws, count, desc, explode, expr, lit, size, split, sum,
                                   to_date)


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


def terasort(out, path):
    """Sorts records of 100 bytes, without Python: Spark's DataFrames have no source of such records, but its RDDs in
    the JVM have. A record ends with a line end, which the format text writes."""
    records = spark.sparkContext._jsc.binaryRecords(path, 100).rdd()
    binary = spark._jvm.org.apache.spark.sql.Encoders.BINARY()
    rows = DataFrame(spark._jsparkSession.createDataset(records, binary).toDF(), spark)
    rows.sort("value").select(expr("cast(substring(value, 1, 99) as string)")).write.text(out)


def write_rows(rows, out):
    rows.select(concat_ws("|", *rows.columns)).write.text(out)


def date(text):
    return to_date(lit(text))


def tpch_q1(out, tables):
    items = spark.read.parquet(f"{tables}/lineitem").where(col("l_shipdate") <= date("1998-09-02"))
    discounted = col("l_extendedprice") * (1 - col("l_discount"))
    sums = items.groupBy("l_returnflag", "l_linestatus").agg(
        sum("l_quantity"), sum("l_extendedprice"), sum(discounted), sum(discounted * (1 + col("l_tax"))),
        avg("l_quantity"), avg("l_extendedprice"), avg("l_discount"), count("*"))
    write_rows(sums.sort("l_returnflag", "l_linestatus"), out)


def tpch_q3(out, tables):
    customers = spark.read.parquet(f"{tables}/customer").where(col("c_mktsegment") == "BUILDING")
    orders = spark.read.parquet(f"{tables}/orders").where(col("o_orderdate") < date("1995-03-15"))
    items = spark.read.parquet(f"{tables}/lineitem").where(col("l_shipdate") > date("1995-03-15"))
    rows = customers.join(orders, col("c_custkey") == col("o_custkey")).join(items, col("l_orderkey") == col("o_orderkey"))
    revenue = sum(col("l_extendedprice") * (1 - col("l_discount"))).alias("revenue")
    sums = rows.groupBy("l_orderkey", "o_orderdate", "o_shippriority").agg(revenue)
    first = sums.sort(desc("revenue"), "o_orderdate").limit(10)
    write_rows(first.select("l_orderkey", "revenue", "o_orderdate", "o_shippriority"), out)


def tpch_q6(out, tables):
    items = spark.read.parquet(f"{tables}/lineitem").where(
        (col("l_shipdate") >= date("1994-01-01")) & (col("l_shipdate") < date("1995-01-01"))
        & expr("l_discount between 0.05 and 0.07") & (col("l_quantity") < 24))
    write_rows(items.agg(sum(col("l_extendedprice") * col("l_discount"))), out)


def tpch_q18(out, tables):
    items = spark.read.parquet(f"{tables}/lineitem")
    large = items.groupBy("l_orderkey").agg(sum("l_quantity").alias("total")).where("total > 300")
    orders = spark.read.parquet(f"{tables}/orders").join(large, col("o_orderkey") == large["l_orderkey"], "left_semi")
    rows = orders.join(spark.read.parquet(f"{tables}/customer"), col("c_custkey") == col("o_custkey"))
    rows = rows.join(items, col("o_orderkey") == items["l_orderkey"])
    sums = rows.groupBy("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice").agg(sum("l_quantity"))
    write_rows(sums.sort(desc("o_totalprice"), "o_orderdate").limit(100), out)


arguments = json.loads(sys.argv[1])
job = {
    "wordcount": wordcount, "sort": sort, "join": join, "pagerank": pagerank, "terasort": terasort,
    "tpch-q1": tpch_q1, "tpch-q3": tpch_q3, "tpch-q6": tpch_q6, "tpch-q18": tpch_q18,
}[arguments["Job"]]
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
