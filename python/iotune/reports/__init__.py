"""What commands print about runs, for people."""
