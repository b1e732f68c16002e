"""Parquet and Arrow files by pyarrow, a database and queries over the files by DuckDB."""

import duckdb
import pyarrow
import pyarrow.feather
import pyarrow.parquet

table = pyarrow.table({"a": list(range(50000)), "b": [f"text {i % 211}" for i in range(50000)]})
pyarrow.parquet.write_table(table, "table.parquet", row_group_size=8000)
pyarrow.feather.write_feather(table, "table.arrow", compression="lz4")
print(pyarrow.parquet.read_table("table.parquet", columns=["a"]).column("a")[777])
print(pyarrow.feather.read_table("table.arrow", memory_map=True).num_rows)
connection = duckdb.connect("data.duckdb", config={"threads": 1})
print(
    connection.sql("select b, sum(a) from 'table.parquet' group by b order by b limit 3").fetchall()
)
connection.sql("create table kept as select a, b from 'table.parquet' where a % 7 = 0")
connection.sql("copy kept to 'kept.csv'")
connection.sql("copy kept to 'kept.parquet'")
connection.close()
print(duckdb.connect("data.duckdb", read_only=True).sql("select count(*) from kept").fetchall())
