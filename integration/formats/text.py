"""Reads CSV, JSON lines, partitioned directories and compressed text, and writes the same.

usage: python3 text.py ROWS OURS THEIRS

ROWS is a file with a JSON list of the rows. DuckDB must read them in each format and
compression below the directory OURS, and pyarrow must read the names in OURS/text. Then the
same is written to the directory THEIRS. Fails with the first difference.
"""

import glob
import json
import os
import sys

import duckdb
import pyarrow

rows_file, ours, theirs = sys.argv[1:]
rows = [(r["ID"], r["Name"], float(r["Price"]), r["Done"], r["Country"], r["Day"]) for r in json.load(open(rows_file))]
flat = {"ID": "BIGINT", "Name": "VARCHAR", "Price": "DOUBLE", "Done": "BOOLEAN"}
partitions = {"country": "VARCHAR", "day": "DATE"}
compressions = {"none": "", "gzip": ".gz", "zstd": ".zst"}


def source(format, path, **options):
    if format == "csv":
        options |= {"columns": flat, "header": True, "nullstr": "'NULL'"}
    if format == "json":
        options |= {"columns": flat}
    text = "".join(", %s=%s" % option for option in options.items())
    return "read_%s('%s'%s)" % (format, path, text)


def check(where, got, want):
    got, want = sorted(got), sorted(want)
    assert len(got) == len(want), "%s: %d rows, not %d" % (where, len(got), len(want))
    for a, b in zip(got, want):
        assert a == b, "%s: %r, not %r" % (where, a, b)


duckdb.sql("create table t (ID bigint, Name varchar, Price double, Done boolean, country varchar, day date)")
duckdb.executemany("insert into t values (?, ?, ?, ?, ?, ?)", rows)
for format in "csv", "json":
    for compression, suffix in compressions.items():
        table = source(format, "%s/%s-%s/part-*" % (ours, format, compression), compression="'%s'" % compression)
        check(table, duckdb.sql("select %s from %s" % (", ".join(flat), table)).fetchall(), [row[:4] for row in rows])
        duckdb.sql("copy (select %s from t) to '%s/%s-%s.%s%s' (format %s, compression %s)" % (
            ", ".join(flat), theirs, format, compression, format, suffix, format, compression))
for format in "csv", "json", "parquet":
    table = source(format, "%s/partitioned-%s/*/*/part-*" % (ours, format), hive_partitioning=True, hive_types=partitions)
    found = duckdb.sql("select %s, country, day::varchar from %s" % (", ".join(flat), table)).fetchall()
    check(table, [tuple(map(str, row)) for row in found], [tuple(map(str, row)) for row in rows])
    duckdb.sql("copy t to '%s/partitioned-%s' (format %s, partition_by (country, day))" % (theirs, format, format))

names = "".join(row[1].replace("\n", " ") + "\n" for row in rows).encode()
(text,) = glob.glob(ours + "/text/part-*.zst")
assert pyarrow.CompressedInputStream(text, "zstd").read() == names, text
os.mkdir(theirs + "/text")
with pyarrow.CompressedOutputStream(theirs + "/text/names.zst", "zstd") as out:
    out.write(names)
