"""PyTables: tables with an index, compressed and growing arrays, queries."""

import numpy
import tables


class Row(tables.IsDescription):
    number = tables.Int32Col()
    value = tables.Float64Col()
    name = tables.StringCol(12)


tables.parameters.MAX_NUMEXPR_THREADS = 1
with tables.open_file("table.h5", "w") as file:
    table = file.create_table("/", "rows", Row, filters=tables.Filters(complevel=1))
    row = table.row
    for i in range(20000):
        row["number"], row["value"], row["name"] = i, i * 0.25, f"n{i % 97}"
        row.append()
    table.flush()
    table.cols.number.create_index()
    growing = file.create_earray("/", "growing", tables.Float32Atom(), (0, 50))
    for i in range(40):
        growing.append(numpy.full((5, 50), i, "f4"))
    file.create_vlarray("/", "uneven", tables.Int32Atom()).append([1, 2, 3])
with tables.open_file("table.h5", "a") as file:
    print(sum(r["value"] for r in file.root.rows.where("(number > 500) & (number < 600)")))
    file.root.rows.remove_rows(10, 20)
    print(file.root.growing[:, 7].sum(), file.root.rows.nrows)
with tables.open_file("small.h5", "w") as file:
    file.create_array("/", "a", numpy.arange(10))
