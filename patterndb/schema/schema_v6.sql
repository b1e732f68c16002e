-- From version 5 to 6: the newest observations are kept, the others are added up.

-- files: of a run with many files of one kind some rows are several files' together. size: which
-- tenth the bytes of one file lie in, patterndb/store/retention.h; filled there for older rows.
ALTER TABLE observations ADD COLUMN files INTEGER NOT NULL DEFAULT 1;
ALTER TABLE observations ADD COLUMN size INTEGER NOT NULL DEFAULT 0;

-- Of all runs that showed a pattern, whether their rows are kept or not. A run that showed several
-- patterns of one byte key counts for the first.
CREATE TABLE sightings (
  workload INTEGER NOT NULL REFERENCES workloads (id),
  platform INTEGER NOT NULL REFERENCES platforms (id),
  pattern INTEGER NOT NULL REFERENCES patterns (id),
  first_at REAL NOT NULL,
  last_at REAL NOT NULL,
  runs INTEGER NOT NULL,
  PRIMARY KEY (workload, platform, pattern)
) WITHOUT ROWID;
CREATE INDEX sightings_by_pattern ON sightings (pattern);
INSERT INTO sightings (workload, platform, pattern, first_at, last_at, runs)
  SELECT workload, platform, pattern, min(first_at), max(last_at), count(*)
  FROM (SELECT o.workload, o.platform, min(o.pattern) AS pattern, min(o.observed_at) AS first_at,
               max(o.observed_at) AS last_at
        FROM observations o JOIN patterns p ON p.id = o.pattern
        GROUP BY o.workload, o.platform, p.byte_key, o.spool_file)
  GROUP BY workload, platform, pattern;

-- What rows that are not kept any more add up to. pattern: 0 for none. explored: left at the default
-- by a draw. size as above, rate likewise of bytes a second. runs: whose rows are all gone.
CREATE TABLE totals (
  pattern INTEGER NOT NULL,
  platform INTEGER NOT NULL REFERENCES platforms (id),
  workload INTEGER NOT NULL REFERENCES workloads (id),
  settings INTEGER NOT NULL REFERENCES settings (id),
  explored INTEGER NOT NULL CHECK (explored IN (0, 1)),
  size INTEGER NOT NULL,
  rate INTEGER NOT NULL,
  files INTEGER NOT NULL,
  runs INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  seconds REAL NOT NULL,
  last_at REAL NOT NULL,
  PRIMARY KEY (pattern, platform, workload, settings, explored, size, rate)
) WITHOUT ROWID;

-- times: how many this row is, with older ones of its workload that are not kept any more.
ALTER TABLE drifts ADD COLUMN times INTEGER NOT NULL DEFAULT 1;
CREATE INDEX drifts_by_workload ON drifts (workload, observed_at);

-- Rows of one kind side by side, the newest last.
DROP INDEX observations_by_workload;
CREATE INDEX observations_by_kind ON observations
  (workload, pattern, platform, settings, decision_row, decision_source, size);
-- A row that names an answer is of a pattern of that answer: observations_by_pattern finds it.
DROP INDEX observations_by_decision;
