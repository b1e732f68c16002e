"""netCDF-4 by Python: a file with records, chunks and compression; read back in slices."""

import netCDF4
import numpy

with netCDF4.Dataset("out.nc", "w") as file:
    file.createDimension("time", None)
    file.createDimension("x", 200)
    file.createDimension("y", 100)
    plain = file.createVariable("plain", "f4", ("time", "x", "y"))
    packed = file.createVariable("packed", "i2", ("time", "x", "y"), zlib=True, complevel=1)
    plain.units = "m"
    for time in range(12):
        plain[time] = numpy.arange(20000).reshape(200, 100) * (time + 1)
        packed[time] = numpy.arange(20000).reshape(200, 100) % 97 + time
with netCDF4.Dataset("out.nc", "a") as file:
    file["plain"][3, 10:20, :] = 7
    file.history = "changed"
with netCDF4.Dataset("out.nc") as file:
    for y in range(0, 100, 10):
        print(y, float(file["plain"][:, :, y].sum()), int(file["packed"][:, ::3, y].sum()))
