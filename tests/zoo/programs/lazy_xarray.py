"""xarray with dask: lazy pieces by threads into netCDF-4, several files opened as one."""

import dask
import numpy
import xarray

for year in range(3):
    data = xarray.Dataset(
        {"t": (("time", "x"), numpy.arange(24000.0).reshape(240, 100) + year)},
        coords={"time": numpy.arange(240) + 240 * year, "x": numpy.arange(100)},
    )
    data.to_netcdf(f"year{year}.nc", engine="netcdf4")
with dask.config.set(scheduler="threads", num_workers=3):
    whole = xarray.open_mfdataset("year*.nc", chunks={"time": 60}, engine="netcdf4")
    anomaly = whole - whole.mean("time")
    anomaly.to_netcdf("anomaly.nc", encoding={"t": {"zlib": True, "complevel": 1}})
    print(float(whole.t.sum()), float((anomaly.t**2).sum()))
    whole.close()
with xarray.open_dataset("anomaly.nc", chunks={"x": 10}) as lazy:
    print(float(abs(lazy.t).max().compute()))
