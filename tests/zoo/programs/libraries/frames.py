"""Tables in the formats of pandas and polars."""

import os

import numpy
import pandas
import polars

numbers = numpy.arange(20000)
words = [f"w{k % 97}" for k in range(20000)]
frame = pandas.DataFrame({"a": numbers, "b": numbers * 0.5, "c": words})
frame.to_hdf("fixed.h5", key="x", mode="w")
frame.to_hdf("table.h5", key="x", mode="w", format="table", data_columns=["a"], complevel=1)
for _ in range(5):
    frame[:1000].to_hdf("table.h5", key="more", format="table", append=True)
print(len(pandas.read_hdf("table.h5", "x", where="a > 19990")))
print(len(pandas.read_hdf("table.h5", "more")))
frame.to_parquet("p.parquet", row_group_size=4000)
frame.to_parquet("parts", partition_cols=["c"])
frame.to_feather("f.feather")
frame.to_csv("c.csv.gz", index=False)
frame.to_pickle("x.pickle")
print(pandas.read_parquet("p.parquet", columns=["b"]).b.sum())
print(len(pandas.read_parquet("parts", filters=[("c", "=", "w5")])))
print(pandas.read_feather("f.feather").a.sum(), len(pandas.read_pickle("x.pickle")))
print(pandas.read_csv("c.csv.gz", usecols=[1]).sum().item())
lazy = polars.scan_parquet("p.parquet").filter(polars.col("a") % 3 == 0)
lazy = lazy.select(polars.col("b").sum())
print(lazy.collect().item())
polars.scan_csv("c.csv.gz").collect().write_ipc("i.arrow")
print(polars.scan_ipc("i.arrow").collect()["a"].sum())
polars.scan_parquet("p.parquet").sink_parquet("sunk.parquet")
print(polars.read_parquet("sunk.parquet").height, len(os.listdir("parts")))
