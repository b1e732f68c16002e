"""A process's peak memory, for Python code that a test starts.

Not ru_maxrss: after a fork and an exec that is at least what the parent, pytest, had in memory.
"""

from __future__ import annotations

# An expression: KiB.
PEAK_KIB = "int(next(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')))"
