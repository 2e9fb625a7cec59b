"""Compares Parquet files with a file of pyarrow, as pyarrow and DuckDB read them.

usage: python3 compare.py EXPECTED FILE...

Each FILE must have the columns and values of EXPECTED, each row as often as the others and
its copies together. Fails with the first difference.
"""

import datetime
import sys

import duckdb
import pyarrow.parquet

duckdb.sql("set timezone = 'UTC'")


def plain(value):
    """Returns a time without its zone, which is UTC, and other values as they are."""
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value


def by_pyarrow(file):
    table = pyarrow.parquet.ParquetFile(file).read()
    return table.column_names, list(zip(*[column.to_pylist(maps_as_pydicts="strict") for column in table.columns]))


def by_duckdb(file):
    found = duckdb.read_parquet(file)
    return found.columns, found.fetchall()


for read in by_pyarrow, by_duckdb:
    names, expected = read(sys.argv[1])
    for file in sys.argv[2:]:
        columns, rows = read(file)
        assert columns == names, "%s: %s finds the columns %s" % (file, read.__name__, columns)
        copies = len(rows) // len(expected)
        assert len(rows) == copies * len(expected) > 0, "%s: %s finds %d rows" % (file, read.__name__, len(rows))
        for i, row in enumerate(rows):
            for name, want, got in zip(names, expected[i // copies], row):
                assert plain(got) == plain(want), "%s: row %d: %s finds %s = %r, not %r" % (file, i, read.__name__, name, got, want)
