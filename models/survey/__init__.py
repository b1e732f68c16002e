"""Measurements across many patterns: what models learn from, and what searches are compared on."""
