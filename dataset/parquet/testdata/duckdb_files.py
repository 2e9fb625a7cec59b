"""Writes the Parquet files of this directory that DuckDB writes.

usage: python3 duckdb_files.py DIRECTORY

DIRECTORY must have pyarrow-snappy.parquet, whose columns the files have, but for arrays of
bytes, which DuckDB lacks. duckdb-v2.parquet does not have uint32: DuckDB's delta encoding
of large ones is outside of 32 bits, which package parquet refuses. The files in the
repository are of DuckDB 2.0.0.
"""

import os
import sys

import duckdb

directory = sys.argv[1]
duckdb.sql("set timezone = 'UTC'")


def write(name, exclude, options):
    duckdb.sql("copy (select * exclude (%s) from read_parquet('%s')) to '%s' (format parquet, %s)" % (
        exclude, os.path.join(directory, "pyarrow-snappy.parquet"), os.path.join(directory, name), options))


write("duckdb-v1.parquet", "fixed", "compression zstd")
write("duckdb-v2.parquet", "fixed, uint32", "compression snappy, parquet_version v2, dictionary_size_limit 1")
