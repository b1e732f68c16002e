"""Two runs, or two groups of runs, side by side: what changed, and what is noise."""
