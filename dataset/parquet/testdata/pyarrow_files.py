"""Writes the Parquet files of this directory that pyarrow writes.

usage: python3 pyarrow_files.py DIRECTORY ROWS

The files in the repository have 10 rows and are of pyarrow 26.0.1. The values are
functions of the row's number; the tests compute them, too.
"""

import datetime
import decimal
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq

directory, rows = sys.argv[1], int(sys.argv[2])
numbers = range(rows)
epoch = datetime.datetime(1970, 1, 1)


def moment(i):
    return datetime.datetime(2020, 2, 29, 12, 34, 56, 789000) + datetime.timedelta(days=i, microseconds=i)


def some(i, value):
    """Returns None for each third row."""
    return None if i % 3 == 1 else value


def number(i, places):
    return decimal.Decimal(i * 1234567 - 1000).scaleb(-places)


every = pa.table({
    "bool": pa.array([i % 2 == 0 for i in numbers], pa.bool_()),
    "int8": pa.array([i % 100 - 50 for i in numbers], pa.int8()),
    "int16": pa.array([i - 5 for i in numbers], pa.int16()),
    "int32": pa.array([i % 2000 * 1000003 - 7 for i in numbers], pa.int32()),
    "int64": pa.array([i * 10**12 - 9 for i in numbers], pa.int64()),
    "uint8": pa.array([i % 256 for i in numbers], pa.uint8()),
    "uint16": pa.array([60000 + i % 5000 for i in numbers], pa.uint16()),
    "uint32": pa.array([2**32 - 1 - i for i in numbers], pa.uint32()),
    "uint64": pa.array([2**64 - 1 - i for i in numbers], pa.uint64()),
    "float16": pa.array([i % 100 / 2 for i in numbers], pa.float16()),
    "float32": pa.array([i / 4 for i in numbers], pa.float32()),
    "float64": pa.array([i / 3 for i in numbers], pa.float64()),
    "string": pa.array(["text %d" % (i % 7) for i in numbers], pa.string()),
    "bytes": pa.array([b"\x00\xff%d" % i for i in numbers], pa.binary()),
    "fixed": pa.array([b"%04d" % (i % 10000) for i in numbers], pa.binary(4)),
    "date": pa.array([moment(i).date() for i in numbers], pa.date32()),
    "millis": pa.array([moment(i) for i in numbers], pa.timestamp("ms", "UTC")),
    "micros": pa.array([moment(i) for i in numbers], pa.timestamp("us", "UTC")),
    "nanos": pa.array([moment(i) for i in numbers], pa.timestamp("ns")),
    "time": pa.array([i * 1000003 for i in numbers], pa.time64("us")),
    "decimal9": pa.array([number(i % 10, 2) for i in numbers], pa.decimal128(9, 2)),
    "decimal18": pa.array([number(i, 4) for i in numbers], pa.decimal128(18, 4)),
    "decimal38": pa.array([-number(i, 4) * 10**20 for i in numbers], pa.decimal128(38, 4)),
    "maybe_int": pa.array([some(i, i) for i in numbers], pa.int32()),
    "maybe_string": pa.array([some(i, "some %d" % i) for i in numbers], pa.string()),
    "maybe_time": pa.array([some(i, moment(i)) for i in numbers], pa.timestamp("us", "UTC")),
    "list": pa.array([some(i, list(range(i % 4))) for i in numbers], pa.list_(pa.int64())),
    "lists": pa.array([[some(j, ["%d.%d" % (i, j)] * j) for j in range(i % 4)] for i in numbers],
                      pa.list_(pa.list_(pa.string()))),
    "struct": pa.array([{"a": i, "b": some(i, "b%d" % i)} for i in numbers],
                       pa.struct([("a", pa.int64()), ("b", pa.string())])),
    "maybe_struct": pa.array([some(i, {"a": i, "b": None}) for i in numbers],
                             pa.struct([("a", pa.int64()), ("b", pa.string())])),
    "structs": pa.array([[{"a": j, "b": some(j, "x")} for j in range(i % 3)] for i in numbers],
                        pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())]))),
    "map": pa.array([some(i, [("k%d" % j, i + j) for j in range(i % 3)]) for i in numbers],
                    pa.map_(pa.string(), pa.int64())),
    "map_of_lists": pa.array([[(j, [str(i)] * j) for j in range(i % 3)] for i in numbers],
                             pa.map_(pa.int32(), pa.list_(pa.string()))),
})

few = every.select(["int64", "float64", "string", "list"])


def write(name, table, **options):
    pq.write_table(table, os.path.join(directory, "pyarrow-" + name + ".parquet"), row_group_size=max(rows // 2, 1), **options)


write("snappy", every)
write("v2", every, data_page_version="2.0", use_dictionary=False, version="2.6", compression="zstd")
write("int96", every.select(["maybe_time", "nanos"]), use_deprecated_int96_timestamps=True)
write("decimal-int", every.select(["decimal9", "decimal18", "decimal38"]), store_decimal_as_integer=True)
for codec in ["none", "gzip", "brotli", "lz4", "zstd"]:
    write(codec, few, compression=codec)
for encoding, columns in {
    "DELTA_BINARY_PACKED": ["int64"],
    "DELTA_LENGTH_BYTE_ARRAY": ["string"],
    "DELTA_BYTE_ARRAY": ["string"],
    "BYTE_STREAM_SPLIT": ["float64"],
}.items():
    write(encoding.lower().replace("_", "-"), every.select(columns), use_dictionary=False,
          column_encoding={c: encoding for c in columns})
