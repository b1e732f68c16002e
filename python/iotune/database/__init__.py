"""Forms in which patterns and answers leave the pattern database and enter it."""
