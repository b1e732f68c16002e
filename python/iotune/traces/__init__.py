"""Traces as Python objects: their calls, summaries and data frames, and traces of dead runs."""
