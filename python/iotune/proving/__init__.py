"""Whether settings keep every byte of a file right, tried on the storage itself."""
