"""What tests and benchmarks share.

Every script of tests/ starts through tests/run.py, and pytest has tests/ on its path: both find
this package without a line of their own. The modules here need the standard library only, because
ctest runs scripts with the system's Python; those in support.installed need the installed iotune.
"""
