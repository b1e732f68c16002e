-- The pattern database, version 1. Docs: docs/database.md.
-- A text column that is unknown is '', never NULL, so that unique keys hold.

CREATE TABLE platforms (
  id INTEGER PRIMARY KEY,
  filesystem TEXT NOT NULL,
  mpi TEXT NOT NULL,
  hdf5 TEXT NOT NULL,
  host_class TEXT NOT NULL,
  UNIQUE (filesystem, mpi, hdf5, host_class)
);

-- Who does the I/O: a program's base name, a file's base name with its numbers masked.
CREATE TABLE workloads (
  id INTEGER PRIMARY KEY,
  program TEXT NOT NULL,
  file TEXT NOT NULL,
  ranks INTEGER NOT NULL,
  nodes INTEGER NOT NULL,
  UNIQUE (program, file, ranks, nodes)
);

-- byte_key decides whether two patterns are the same; descriptor and element_bytes tell how the
-- program sees it. Lists of numbers are text, joined by 'x'.
CREATE TABLE patterns (
  id INTEGER PRIMARY KEY,
  byte_key TEXT NOT NULL,
  byte_descriptor TEXT NOT NULL,
  descriptor TEXT NOT NULL,
  op TEXT NOT NULL CHECK (op IN ('write', 'read')),
  dimensions INTEGER NOT NULL,
  distributions TEXT NOT NULL,
  byte_counts TEXT NOT NULL,
  element_bytes INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  grid TEXT NOT NULL,
  mode TEXT NOT NULL,
  chunk TEXT NOT NULL,
  filters INTEGER NOT NULL,
  dataset_dims TEXT NOT NULL,
  UNIQUE (byte_key, descriptor, element_bytes, dataset_dims)
);
CREATE INDEX patterns_by_descriptor ON patterns (descriptor);
CREATE INDEX patterns_by_byte_descriptor ON patterns (byte_descriptor);

-- speaker = 1: the dominant pattern of the workload's file in its direction since last_seen.
CREATE TABLE workload_patterns (
  workload INTEGER NOT NULL REFERENCES workloads (id),
  pattern INTEGER NOT NULL REFERENCES patterns (id),
  dataset TEXT NOT NULL,
  datasets INTEGER NOT NULL,
  repeats INTEGER NOT NULL,
  speaker INTEGER NOT NULL,
  last_seen REAL NOT NULL,
  PRIMARY KEY (workload, pattern)
) WITHOUT ROWID;
CREATE INDEX workload_patterns_by_pattern ON workload_patterns (pattern);

-- Canonical text 'name=value;name=value', sorted by name; '' is the program's own default.
CREATE TABLE settings (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
);

-- One file of one run. (spool_file, item) keeps a spool file that outlived its commit from
-- counting twice.
CREATE TABLE observations (
  id INTEGER PRIMARY KEY,
  spool_file TEXT NOT NULL,
  item INTEGER NOT NULL,
  run TEXT NOT NULL,
  trace TEXT NOT NULL,
  program_path TEXT NOT NULL,
  file_path TEXT NOT NULL,
  workload INTEGER NOT NULL REFERENCES workloads (id),
  platform INTEGER NOT NULL REFERENCES platforms (id),
  pattern INTEGER REFERENCES patterns (id),
  settings INTEGER NOT NULL REFERENCES settings (id),
  decision_source TEXT NOT NULL,
  decision_row INTEGER NOT NULL,
  bytes_written INTEGER NOT NULL,
  bytes_read INTEGER NOT NULL,
  seconds REAL NOT NULL,
  elapsed_seconds REAL NOT NULL,
  observed_at REAL NOT NULL,
  UNIQUE (spool_file, item)
);
CREATE INDEX observations_by_workload ON observations (workload, pattern);
CREATE INDEX observations_by_pattern ON observations (pattern, platform);

-- Answers are only added: of those with one byte key and platform the newest made_at holds.
CREATE TABLE tunings (
  id INTEGER PRIMARY KEY,
  pattern INTEGER NOT NULL REFERENCES patterns (id),
  platform INTEGER NOT NULL REFERENCES platforms (id),
  settings INTEGER NOT NULL REFERENCES settings (id),
  state TEXT NOT NULL
    CHECK (state IN ('untrained', 'default-is-best', 'tuned', 'reverted', 'refused')),
  gain REAL,
  low REAL,
  high REAL,
  rounds INTEGER NOT NULL,
  made_at REAL NOT NULL,
  source TEXT NOT NULL,
  UNIQUE (pattern, platform, settings, state, made_at, source)
);

-- Coefficients or a skops archive in base64, never a format that can run code when read.
CREATE TABLE models (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('coefficients', 'skops')),
  platform INTEGER REFERENCES platforms (id),
  payload TEXT NOT NULL,
  made_at REAL NOT NULL,
  UNIQUE (name, kind, platform, made_at)
);
