"""Response times of a storage: samples, their distribution, and what the slowest of many costs.

After Dong, Byna and Wu, "Heavy-tailed Distribution of Parallel I/O System Response Time", PDSW'15.
"""
