"""Lines of programs that findings show: in C, Fortran, Python or a shell, each runs as it stands.

tests/python/findings/test_snippets.py compiles and runs all of them.
"""
