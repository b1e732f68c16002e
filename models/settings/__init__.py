"""Which settings are worth a try: for a pattern, on a storage, with an MPI-IO."""
