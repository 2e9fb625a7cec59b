"""Writes the tables of TPC-H that the benchmark reads, as Parquet files: lineitem,
orders and customer, with the columns and distributions of TPC-H's specification (4.2).

    tables.py OUT SCALE FILES KEY=VALUE...

OUT is a directory, SCALE the scale factor, FILES the number of files of each large table. Values
are hashes of the row's key, so each run writes the same. Other than the specification
has it, comments are cut from fewer phrases.
"""

import random
import sys

from pyspark.sql import SparkSession

out, scale, files = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
customers, orders = int(150_000 * scale), int(1_500_000 * scale)
parts, suppliers, clerks = int(200_000 * scale), int(10_000 * scale), max(1, int(1_000 * scale))

# So many bytes that a file has several row groups.
ROW_GROUP = 16 << 20

WORDS = """furiously quickly carefully blithely final express regular special pending ironic even bold silent
    packages requests accounts deposits foxes ideas theodolites instructions pinto beans sleep wake nag haggle
    cajole detect integrate boost along among above after against about the of""".split()


def phrase(words):
    text = ""
    while len(text) < 150:
        text += words.choice(WORDS) + " "
    return text


def quoted(values):
    return "array(" + ", ".join(f"'{value}'" for value in values) + ")"


class Row:
    """Random values of the rows that have a key, which consists of SQL expressions."""

    def __init__(self, *key):
        self.key = ", ".join(key)

    def number(self, column, low, high):
        return f"({low} + pmod(xxhash64('{column}', {self.key}), {high - low + 1}))"

    def choice(self, column, *values):
        return f"element_at({quoted(values)}, cast({self.number(column, 1, len(values))} as int))"

    def money(self, column, low, high):
        return money(self.number(column, low, high))

    def comment(self, shortest, longest):
        text = f"element_at(phrases, cast({self.number('phrase', 1, PHRASES)} as int))"
        return f"substring({text}, cast({self.number('start', 1, 30)} as int), cast({self.number('length', shortest, longest)} as int))"


def money(cents):
    return f"cast({cents} * 0.01 as decimal(15, 2))"


# Comments are parts of these.
PHRASES = 1024


class Line(Row):
    """Values of a line item that others depend on. Its order has the columns o_orderkey and o_orderdate."""

    def __init__(self, number):
        super().__init__("o_orderkey", number)
        self.quantity = self.number("quantity", 1, 50)
        self.part = self.number("part", 1, parts)
        self.price = f"({self.quantity} * (90000 + ({self.part} div 10) % 20001 + 100 * ({self.part} % 1000)))"  # in cents
        self.discount = self.number("discount", 0, 10)  # in percent
        self.tax = self.number("tax", 0, 8)
        self.shipped = f"date_add(o_orderdate, cast({self.number('shipped', 1, 121)} as int))"
        self.received = f"date_add({self.shipped}, cast({self.number('received', 1, 30)} as int))"
        self.is_open = f"({self.shipped} > date'1995-06-17')"


def write(table, name):
    table.write.option("parquet.block.size", ROW_GROUP).parquet(f"{out}/{name}")


builder = SparkSession.builder.appName("TPC-H tables")
for setting in sys.argv[4:]:
    key, _, value = setting.partition("=")
    builder = builder.config(key, value)
spark = builder.getOrCreate()
try:
    words = random.Random(1)
    phrases = f"{quoted(phrase(words) for _ in range(PHRASES))} as phrases"

    # 8 of each 32 keys are used. A third of the customers has no orders. Lines are 1 to 7.
    order = Row("o_orderkey")
    customer = order.number("customer", 0, customers * 2 // 3 - 1)
    bases = spark.range(0, orders, 1, files).selectExpr("id div 8 * 32 + id % 8 + 1 as o_orderkey").selectExpr(
        "o_orderkey", f"{customer} div 2 * 3 + {customer} % 2 + 1 as o_custkey",
        f"date_add(date'1992-01-01', cast({order.number('date', 0, 2405)} as int)) as o_orderdate",
        f"cast({order.number('lines', 1, 7)} as int) as lines")

    def over_lines(value):
        """The sum of an expression of a line over the order's lines."""
        return " + ".join(f"if(lines >= {i}, {value(Line(str(i)))}, 0)" for i in range(1, 8))

    write(bases.selectExpr(
        "*", f"{over_lines(lambda line: f'cast({line.is_open} as int)')} as open",
        f"{over_lines(lambda line: f'{line.price} * (100 + {line.tax}) div 100 * (100 - {line.discount}) div 100')} as total", phrases,
    ).selectExpr(
        "o_orderkey", "o_custkey", "case open when 0 then 'F' when lines then 'O' else 'P' end as o_orderstatus",
        f"{money('total')} as o_totalprice", "o_orderdate",
        f"{order.choice('priority', '1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW')} as o_orderpriority",
        f"format_string('Clerk#%09d', {order.number('clerk', 1, clerks)}) as o_clerk", "0 as o_shippriority",
        f"{order.comment(19, 78)} as o_comment"), "orders")

    line = Line("l_linenumber")
    supplier = f"({line.part} + {line.number('supplier', 0, 3)} * ({suppliers} div 4 + ({line.part} - 1) div {suppliers}))"
    write(bases.selectExpr("*", "explode(sequence(1, lines)) as l_linenumber", phrases).selectExpr(
        "o_orderkey as l_orderkey", f"{line.part} as l_partkey", f"{supplier} % {suppliers} + 1 as l_suppkey", "l_linenumber",
        f"{money(f'{line.quantity} * 100')} as l_quantity", f"{money(line.price)} as l_extendedprice",
        f"{money(line.discount)} as l_discount", f"{money(line.tax)} as l_tax",
        f"if({line.received} <= date'1995-06-17', {line.choice('returned', 'R', 'A')}, 'N') as l_returnflag",
        f"if({line.is_open}, 'O', 'F') as l_linestatus", f"{line.shipped} as l_shipdate",
        f"date_add(o_orderdate, cast({line.number('committed', 30, 90)} as int)) as l_commitdate",
        f"{line.received} as l_receiptdate",
        f"{line.choice('instruct', 'DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN')} as l_shipinstruct",
        f"{line.choice('mode', 'REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB')} as l_shipmode",
        f"{line.comment(10, 43)} as l_comment"), "lineitem")

    row = Row("c_custkey")
    nation = row.number("nation", 0, 24)
    phone = [row.number(f"phone {i}", low, high) for i, (low, high) in enumerate([(100, 999), (100, 999), (1000, 9999)])]
    write(spark.range(1, customers + 1, 1, 2).withColumnRenamed("id", "c_custkey").selectExpr("*", phrases).selectExpr(
        "c_custkey", "format_string('Customer#%09d', c_custkey) as c_name",
        f"substring(sha2(string(c_custkey), 256), 1, cast({row.number('address', 10, 40)} as int)) as c_address",
        f"{nation} as c_nationkey", f"concat_ws('-', {nation} + 10, {', '.join(phone)}) as c_phone",
        f"{row.money('balance', -99999, 999999)} as c_acctbal",
        f"{row.choice('segment', 'AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD')} as c_mktsegment",
        f"{row.comment(29, 116)} as c_comment"), "customer")
finally:
    spark.stop()
