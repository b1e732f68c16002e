-- From version 3 to 4: settings whose bytes were compared here (`iotune prove`, `iotune train`).

-- A proof holds for this very platform: file system, exact versions, kind of machine. hdf5 is ''
-- for hints of MPI-IO, where it plays no part. mpi_io: which of an MPI's MPI-IOs it was.
-- nodes: one and several are distinguished. passed = 0: wrong bytes, a failure or a hang.
CREATE TABLE proofs (
  id INTEGER PRIMARY KEY,
  filesystem TEXT NOT NULL,
  mpi TEXT NOT NULL,
  mpi_io TEXT NOT NULL,
  hdf5 TEXT NOT NULL,
  host_class TEXT NOT NULL,
  parameter TEXT NOT NULL,
  value_class TEXT NOT NULL,
  passed INTEGER NOT NULL CHECK (passed IN (0, 1)),
  seeds INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  nodes INTEGER NOT NULL,
  evidence TEXT NOT NULL,
  made_at REAL NOT NULL,
  UNIQUE (filesystem, mpi, mpi_io, hdf5, host_class, parameter, value_class, nodes, ranks, made_at)
);
