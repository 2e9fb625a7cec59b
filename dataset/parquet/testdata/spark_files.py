"""Writes the Parquet files of this directory that Spark writes, and reads others.

usage: python3 spark_files.py DIRECTORY ROWS [FILE...]

It writes spark-….parquet to DIRECTORY. Then it reads each FILE, which must have the columns
and ROWS rows of package parquet's tests, each row as often as the others and its copies
together. It fails if Spark finds other values. The files in the repository have 10 rows and
are of Spark 4.3.0.
"""

import datetime
import decimal
import glob
import os
import shutil
import sys

from pyspark.sql import SparkSession
from pyspark.sql import types as t

directory, rows, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
os.environ["TZ"] = "UTC"
spark = (SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
         .config("spark.sql.session.timeZone", "UTC").config("spark.sql.timeType.enabled", "true").getOrCreate())
spark.sparkContext.setLogLevel("ERROR")


def moment(i):
    return datetime.datetime(2020, 2, 29, 12, 34, 56, 789000) + datetime.timedelta(days=i, microseconds=i)


def some(i, value):
    """Returns None for each third row."""
    return None if i % 3 == 1 else value


def number(i, places):
    return decimal.Decimal(i * 1234567 - 1000).scaleb(-places)


pair = t.StructType([t.StructField("a", t.LongType()), t.StructField("b", t.StringType())])
columns = [
    ("bool", t.BooleanType(), lambda i: i % 2 == 0),
    ("int8", t.ByteType(), lambda i: i % 100 - 50),
    ("int16", t.ShortType(), lambda i: i - 5),
    ("int32", t.IntegerType(), lambda i: i % 2000 * 1000003 - 7),
    ("int64", t.LongType(), lambda i: i * 10**12 - 9),
    ("float32", t.FloatType(), lambda i: i / 4),
    ("float64", t.DoubleType(), lambda i: i / 3),
    ("string", t.StringType(), lambda i: "text %d" % (i % 7)),
    ("bytes", t.BinaryType(), lambda i: bytearray(b"\x00\xff%d" % i)),
    ("date", t.DateType(), lambda i: moment(i).date()),
    ("micros", t.TimestampType(), moment),
    ("local", t.TimestampNTZType(), moment),
    ("decimal9", t.DecimalType(9, 2), lambda i: number(i % 10, 2)),
    ("decimal18", t.DecimalType(18, 4), lambda i: number(i, 4)),
    ("decimal38", t.DecimalType(38, 4), lambda i: -number(i, 4) * 10**20),
    ("maybe_int", t.IntegerType(), lambda i: some(i, i)),
    ("maybe_string", t.StringType(), lambda i: some(i, "some %d" % i)),
    ("maybe_time", t.TimestampType(), lambda i: some(i, moment(i))),
    ("list", t.ArrayType(t.LongType()), lambda i: some(i, list(range(i % 4)))),
    ("lists", t.ArrayType(t.ArrayType(t.StringType())),
     lambda i: [some(j, ["%d.%d" % (i, j)] * j) for j in range(i % 4)]),
    ("struct", pair, lambda i: (i, some(i, "b%d" % i))),
    ("maybe_struct", pair, lambda i: some(i, (i, None))),
    ("structs", t.ArrayType(pair), lambda i: [(j, some(j, "x")) for j in range(i % 3)]),
    ("map", t.MapType(t.StringType(), t.LongType()), lambda i: some(i, {"k%d" % j: i + j for j in range(i % 3)})),
    ("map_of_lists", t.MapType(t.IntegerType(), t.ArrayType(t.StringType())),
     lambda i: {j: [str(i)] * j for j in range(i % 3)}),
]
# Columns of the FILEs that Spark does not write with these types, or at all.
read_only = [
    ("uint8", lambda i: i % 256),
    ("uint16", lambda i: 60000 + i % 5000),
    ("uint32", lambda i: 2**32 - 1 - i),
    ("uint64", lambda i: decimal.Decimal(2**64 - 1 - i)),
    ("float16", lambda i: i % 100 / 2),
    ("fixed", lambda i: bytearray(b"%04d" % (i % 10000))),
    ("millis", lambda i: moment(i).replace(microsecond=moment(i).microsecond // 1000 * 1000)),
    ("nanos", moment),
    ("time", lambda i: (datetime.datetime.min + datetime.timedelta(microseconds=i * 1000003)).time()),
]
every = spark.createDataFrame([tuple(value(i) for _, _, value in columns) for i in range(rows)],
                              t.StructType([t.StructField(name, kind) for name, kind, _ in columns])).coalesce(1)
few = every.select("int64", "float64", "string", "list")


def write(name, frame, **options):
    for option, value in options.items():
        spark.conf.set("spark.sql.parquet." + option, value)
    frame.write.mode("overwrite").options(**{"parquet.enable.summary-metadata": "false"}).parquet(os.path.join(directory, "out"))
    for option in options:
        spark.conf.unset("spark.sql.parquet." + option)
    shutil.move(glob.glob(os.path.join(directory, "out", "part-*.parquet"))[0],
                os.path.join(directory, "spark-" + name + ".parquet"))
    shutil.rmtree(os.path.join(directory, "out"))


write("snappy", every)
write("legacy", every.drop("local"), writeLegacyFormat="true", outputTimestampType="INT96")
for codec in ["uncompressed", "gzip", "lz4_raw", "zstd"]:
    write(codec, few, **{"compression.codec": codec})

spark.sparkContext._jsc.hadoopConfiguration().set("parquet.writer.version", "v2")
write("v2", every)

want = every.drop("local").collect()
for file in files:
    read = spark.read.parquet(file).select(want[0].__fields__ + [name for name, _ in read_only]).collect()
    copies = len(read) // rows
    assert len(read) == copies * rows > 0, "%s: %d rows" % (file, len(read))
    for i, b in enumerate(read):
        a = want[i // copies]
        for name, x, y in list(zip(a.__fields__, a, b)) + [(name, value(i // copies), b[name]) for name, value in read_only]:
            if name.startswith("struct") or name == "maybe_struct":  # the names of fields have another case
                x, y = repr(x).lower(), repr(y).lower()
            assert x == y, "%s: row %d: column %s is %r, not %r" % (file, i, name, y, x)
    print("%s: %d rows are right" % (file, len(read)))
