"""ADIOS2: steps of an array by BP5 and BP4, read back."""

import adios2
import numpy

for engine in ("BP4", "BP5"):
    adios = adios2.Adios()
    out = adios.declare_io(f"out {engine}")
    out.set_engine(engine)
    with adios2.Stream(out, f"{engine}.bp", "w") as stream:
        for _ in stream.steps(6):
            step = stream.current_step()
            data = numpy.arange(6000.0).reshape(60, 100) + step
            stream.write("field", data, [60, 100], [0, 0], [60, 100])
            stream.write("step", step)
    source = adios.declare_io(f"in {engine}")
    source.set_engine(engine)
    with adios2.Stream(source, f"{engine}.bp", "r") as stream:
        for _ in stream.steps():
            part = stream.read("field", [10, 10], [20, 20])
            print(engine, stream.current_step(), float(part.sum()))
